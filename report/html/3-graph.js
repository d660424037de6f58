/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree drawn as an icicle or a flame graph, on a canvas that is as large as what is seen of it and
 * shows what the scroll bar says. What is narrower than a pixel is skipped with all below it.
 */
const ROW = 19, NARROW = 0.4, ANCESTORS = 3;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace';

function measureCharacter() {
	const context = document.createElement('canvas').getContext('2d');
	context.font = FONT;
	return context.measureText('mmmmmmmmmmmmmmmmmmmm').width / 20 || 7.22;
}
const CHARACTER = measureCharacter();

// The end of a name says more than its beginning only in paths; so its end is cut.
function cutText(text, pixels) {
	const room = Math.floor(pixels / CHARACTER);
	if (room < 3)
		return '';
	return text.length <= room ? text : text.slice(0, room - 1) + '\u2026';
}

// A canvas of the size of its box, in device pixels; returns its context, in CSS pixels.
function fitCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + 'px';
		canvas.style.height = height + 'px';
	}
	const context = canvas.getContext('2d');
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = FONT;
	context.textBaseline = 'middle';
	return context;
}

// A box that scrolls over something as high as it is told; draws what is seen on a canvas that stays.
function makeScroll(box, draw) {
	const canvas = document.createElement('canvas'), sizer = document.createElement('div');
	sizer.className = 'sizer';
	box.append(canvas, sizer);
	box.addEventListener('scroll', draw);
	return { box, canvas, setHeight: h => { sizer.style.height = Math.max(0, h - box.clientHeight) + 'px'; } };
}

class Graph {
	// options: name of the root, onZoom(node), onHover(text or ''), onMenu(key), flip(): root at the bottom?
	constructor(box, options) {
		this.options = options;
		this.scroll = makeScroll(box, () => this.draw());
		this.tree = null;
		this.zoom = 0;
		this.focus = -1;
		this.hover = -1;
		this.matches = null;
		this.colors = new Map();
		const canvas = this.scroll.canvas;
		canvas.addEventListener('click', e => this.click(e));
		canvas.addEventListener('dblclick', e => this.open(this.nodeAt(e)));
		canvas.addEventListener('mousemove', e => this.point(this.nodeAt(e), e));
		canvas.addEventListener('mouseleave', e => this.point(-1, e));
		box.addEventListener('keydown', e => this.key(e));
	}
	get width() { return this.scroll.box.clientWidth; }
	get viewHeight() { return this.scroll.box.clientHeight; }
	setTree(tree, zoom) {
		this.tree = tree;
		this.focus = this.hover = -1;
		this.setZoom(zoom || 0);
	}
	setZoom(node) {
		this.zoom = node < this.tree.n && (!node || this.tree.total[node]) ? node : 0;
		this.layout();
		this.scroll.box.scrollTop = this.flipped ? this.height : 0;
		this.draw();
	}
	get flipped() { return this.options.flip(); }
	// Rows above the zoomed node: its last callers, and one that stands for those before them.
	layout() {
		const { tree, zoom } = this, depth = tree.depth[zoom];
		this.skip = depth > ANCESTORS + 1 ? depth - ANCESTORS : 0;
		this.scale = tree.total[zoom] ? this.width / tree.total[zoom] : 0;
		let deepest = depth;
		for (let i = zoom; i < tree.end[zoom];) {
			if (tree.total[i] * this.scale < NARROW) {
				i = tree.end[i];
				continue;
			}
			if (tree.depth[i] > deepest)
				deepest = tree.depth[i];
			i++;
		}
		this.rows = this.row(deepest) + 1;
		this.height = Math.max(this.rows * ROW, this.flipped ? this.viewHeight : 0);
		this.scroll.setHeight(this.height);
	}
	row(depth) { return this.skip ? depth - this.skip + 1 : depth; }
	y(row) {
		const top = this.scroll.box.scrollTop;
		return (this.flipped ? this.height - (row + 1) * ROW : row * ROW) - top;
	}
	ancestor(node, depth) {
		while (this.tree.depth[node] > depth)
			node = this.tree.parent[node];
		return node;
	}
	color(node) {
		const { tree } = this, key = tree.key[node];
		const place = tree.label ? tree.label[node] : 0, id = tree.label ? key * 64 + place : key;
		let color = this.colors.get(id);
		if (!color) {
			color = colorIn(tree.label ? labelRange(place) : data.ranges.kinds[keys.kind[key]], keys.text[key]);
			this.colors.set(id, color);
		}
		return color;
	}
	name(node) { return node ? keys.text[this.tree.key[node]] : this.options.root(); }
	paint(c, node, x, width, row, faded) {
		const y = this.y(row), isMatch = node && this.matches && this.matches[this.tree.key[node]];
		c.globalAlpha = faded ? 0.55 : this.matches && !isMatch ? 0.45 : 1;
		c.fillStyle = !node ? theme.root : isMatch ? 'rgb(230,0,230)' : this.color(node);
		c.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.5), ROW - 1);
		if (width > 3 * CHARACTER + 6) {
			c.fillStyle = isMatch ? '#fff' : node ? '#1c1c1c' : theme.text;
			c.fillText(cutText(this.name(node), width - 7), x + 4, y + ROW / 2);
		}
		if (node === this.focus || node === this.hover) {
			c.globalAlpha = 1;
			c.strokeStyle = theme.strong;
			c.lineWidth = node === this.focus ? 2 : 1;
			c.strokeRect(x + 1, y + 1, Math.max(width - 3, 1), ROW - 3);
		}
	}
	draw() {
		const { tree, zoom, width, viewHeight } = this, c = fitCanvas(this.scroll.canvas, width, viewHeight);
		if (!tree || !tree.total[0]) {
			c.fillStyle = theme.dim;
			c.fillText('Nothing was recorded here.', 12, 20);
			return;
		}
		this.drawAncestors(c);
		const from = tree.begin[zoom], { scale } = this;
		for (let i = zoom; i < tree.end[zoom];) {
			const w = tree.total[i] * scale, row = this.row(tree.depth[i]), y = this.y(row);
			if (w < NARROW || (this.flipped ? y < -ROW : y > viewHeight)) {
				i = tree.end[i];
				continue;
			}
			if (y > -ROW && y < viewHeight)
				this.paint(c, i, (tree.begin[i] - from) * scale, w, row, false);
			i++;
		}
		c.globalAlpha = 1;
	}
	drawAncestors(c) {
		const { tree, zoom, skip, width } = this;
		for (let i = zoom; i && (i = tree.parent[i]) >= 0 && tree.depth[i] >= skip;) {
			this.paint(c, i, 0, width, this.row(tree.depth[i]), true);
			if (!i)
				break;
		}
		c.globalAlpha = 1;
		if (!skip)
			return;
		c.fillStyle = theme.dim;
		c.fillText(cutText(`\u22ef ${skip} more frames ${this.flipped ? 'below' : 'above'}`, width - 8), 4,
			this.y(0) + ROW / 2);
	}
	// The node under the mouse, -1: none. The row that stands for callers is the last of them.
	nodeAt(e) {
		const { tree, zoom, skip } = this, at = this.scroll.canvas.getBoundingClientRect();
		if (!tree || !tree.total[0])
			return -1;
		const y = e.clientY - at.top + this.scroll.box.scrollTop;
		const row = Math.floor((this.flipped ? this.height - y : y) / ROW);
		const depth = skip ? row + skip - 1 : row;
		if (row < 0 || row >= this.rows)
			return -1;
		if (depth < tree.depth[zoom])
			return this.ancestor(zoom, depth);
		const weight = tree.begin[zoom] + (e.clientX - at.left) / this.scale;
		for (let i = zoom; i < tree.end[zoom];) {
			if (weight < tree.begin[i] || weight >= tree.begin[i] + tree.total[i]) {
				i = tree.end[i];
			} else if (tree.depth[i] === depth) {
				return tree.total[i] * this.scale < NARROW ? -1 : i;
			} else {
				i++;
			}
		}
		return -1;
	}
	click(e) {
		const node = this.nodeAt(e);
		if (node < 0)
			return;
		this.focus = node;
		this.scroll.box.focus({ preventScroll: true });
		this.options.onZoom(node);
		this.options.onFocus(node);
	}
	open(node) {
		if (node > 0)
			this.options.onMenu(this.tree.key[node]);
	}
	point(node, e) {
		if (node !== this.hover) {
			this.hover = node;
			this.draw();
		}
		this.options.onHover(node < 0 ? '' : this.describe(node), e);
	}
	describe(node) {
		const { tree, zoom } = this, type = state.weight, kind = node ? KIND_NAMES[keys.kind[tree.key[node]]] : '';
		let text = `${this.name(node)}\n${figure(tree.total[node], type)}, ${percent(tree.total[node], tree.total[0])}`;
		if (tree.self[node] && tree.self[node] !== tree.total[node])
			text += `, self ${figure(tree.self[node], type)}`;
		if (zoom && node > zoom && node < tree.end[zoom])
			text += `, ${percent(tree.total[node], tree.total[zoom])} of what is shown`;
		const where = node ? placeOfKey(tree.key[node]) : -1;
		return text + (kind ? `\n${kind}` : '') + (where >= 0 ? describePlace(where) : '');
	}
	// Arrows go to the caller, the widest callee, and to what lies beside.
	key(e) {
		const { tree } = this;
		if (!tree || !tree.total[0])
			return;
		const at = this.focus < 0 ? this.zoom : this.focus;
		let to = -1;
		if (e.key === (this.flipped ? 'ArrowDown' : 'ArrowUp'))
			to = Math.max(0, tree.parent[at]);
		else if (e.key === (this.flipped ? 'ArrowUp' : 'ArrowDown'))
			to = tree.widest(at) < 0 ? at : tree.widest(at);
		else if ((e.key === 'ArrowLeft' || e.key === 'ArrowRight') && at) {
			const beside = tree.children(tree.parent[at]);
			to = beside[beside.indexOf(at) + (e.key === 'ArrowLeft' ? -1 : 1)];
			if (to === undefined)
				to = at;
		} else if (e.key === 'Enter') {
			this.options.onZoom(at);
			to = at;
		}
		if (to < 0)
			return;
		e.preventDefault();
		this.moveTo(to);
	}
	moveTo(node) {
		const { tree, zoom } = this;
		this.focus = node;
		if (node < zoom || node >= tree.end[zoom])
			this.options.onZoom(node < zoom && zoom < tree.end[node] ? node : tree.parent[node]);
		const y = this.y(this.row(tree.depth[node])), { box } = this.scroll;
		if (y < 0)
			box.scrollTop += y;
		else if (y > this.viewHeight - ROW)
			box.scrollTop += y - this.viewHeight + ROW;
		this.draw();
		this.options.onFocus(node);
	}
	// Rows down to the deepest frame below a node that is wide enough to be named there.
	namedRows(node) {
		const { tree } = this, least = tree.total[node] * 4 * CHARACTER / Math.max(1, this.width);
		let deepest = tree.depth[node];
		for (let i = node; i < tree.end[node];) {
			if (tree.total[i] < least) {
				i = tree.end[i];
				continue;
			}
			deepest = Math.max(deepest, tree.depth[i]);
			i++;
		}
		return deepest - tree.depth[node] + 1 + Math.min(tree.depth[node], ANCESTORS + 1);
	}
	// Where a graph that is too deep to be seen whole is opened: below the callers that all stacks share,
	// or nearly all.
	start() {
		const { tree } = this, rows = Math.max(8, Math.floor(this.viewHeight / ROW));
		let node = 0;
		while (this.namedRows(node) > rows) {
			const widest = tree.widest(node);
			if (widest < 0 || tree.total[widest] < 0.99 * tree.total[0])
				break;
			node = widest;
		}
		return node;
	}
}
