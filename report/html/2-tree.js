/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks merged into a tree. Its shape is made once; a selection changes only the weights, which
 * is some passes over arrays. Nodes are in preorder, siblings by name: a parent comes before its
 * children, and what is below node i is i + 1 to end[i] - 1.
 */

// What nodes are told apart by: names, and in keys of lines also source lines.
let keys = { text: data.names, kind: nameKind, rank: null, ofPlace: places.name };

function makeKeys(byLine) {
	if (!byLine)
		return { text: data.names, kind: nameKind, rank: null, ofPlace: places.name };
	const text = data.names.slice(), kind = Array.from(nameKind), known = new Map();
	const ofPlace = places.name.map((name, i) => {
		if (places.file[i] < 0)
			return name;
		const id = `${name} ${places.file[i]} ${places.line[i]}`;
		if (!known.has(id)) {
			known.set(id, text.length);
			text.push(data.names[name] + ' ' + source(i));
			kind.push(nameKind[name]);
		}
		return known.get(id);
	});
	const order = text.map((t, i) => i).sort((a, b) => text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : a - b);
	const rank = new Int32Array(text.length);
	order.forEach((key, place) => { rank[key] = place; });
	return { text, kind, rank, ofPlace };
}

function source(place) {
	const file = data.strings[places.file[place]];
	return file.slice(file.lastIndexOf('/') + 1) + (places.line[place] ? ':' + places.line[place] : '');
}

class Builder {
	constructor() {
		this.n = 1;
		this.parent = new Int32Array(1024).fill(-1);
		this.key = new Int32Array(1024).fill(-1);
		this.slots = new Int32Array(4096).fill(-1);
	}
	find(parent, key) {
		const mask = this.slots.length - 1;
		let at = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b);
		at = (at ^ at >>> 15) & mask;
		for (let node; (node = this.slots[at]) >= 0; at = at + 1 & mask)
			if (this.parent[node] === parent && this.key[node] === key)
				return at;
		return at;
	}
	// The node that is called by parent, made if there is none.
	step(parent, key) {
		const at = this.find(parent, key);
		if (this.slots[at] >= 0)
			return this.slots[at];
		if (this.n === this.parent.length)
			this.grow();
		const node = this.n++;
		this.parent[node] = parent;
		this.key[node] = key;
		this.slots[this.find(parent, key)] = node;
		return node;
	}
	grow() {
		const bigger = a => {
			const b = new Int32Array(2 * a.length);
			b.set(a);
			return b;
		};
		this.parent = bigger(this.parent);
		this.key = bigger(this.key);
		this.slots = new Int32Array(4 * this.parent.length).fill(-1);
		for (let i = 1; i < this.n; i++)
			this.slots[this.find(this.parent[i], this.key[i])] = i;
	}
	finish(rank, nkeys) { return new Tree(this, rank, nkeys); }
}

class Tree {
	constructor(from, rank, nkeys) {
		const n = from.n;
		this.n = n;
		this.parent = new Int32Array(n).fill(-1);
		this.key = new Int32Array(n).fill(-1);
		this.end = new Int32Array(n).fill(n);
		this.depth = new Int32Array(n);
		this.outer = new Uint8Array(n); // no caller of the same name, so a sum may count it
		this.number = this.walk(from, sortedChildren(from, rank, nkeys), nkeys);
		this.self = new Float64Array(n);
		this.total = new Float64Array(n);
		this.begin = new Float64Array(n);
		this.cursor = new Float64Array(n);
		this.label = labelNames.length ? new Int16Array(n) : null;
		this.labelKinds = this.label && this.key.map(k => k >= 0 && labelPlace.has(k) ? labelPlace.get(k) : -1);
	}
	// Numbers the nodes in preorder; returns the new numbers of the old.
	walk(from, { child, next }, nkeys) {
		const number = new Int32Array(from.n), open = new Int32Array(nkeys);
		let old = 0, count = 1;
		for (;;) {
			if (child[old] >= 0) {
				old = child[old];
			} else {
				while (old && next[old] < 0)
					old = this.leave(from, number, open, old, count);
				if (!old)
					return number;
				const sibling = next[old];
				this.leave(from, number, open, old, count);
				old = sibling;
			}
			const i = number[old] = count++, parent = number[from.parent[old]];
			this.parent[i] = parent;
			this.key[i] = from.key[old];
			this.depth[i] = this.depth[parent] + 1;
			this.outer[i] = open[from.key[old]]++ ? 0 : 1;
		}
	}
	leave(from, number, open, old, count) {
		this.end[number[old]] = count;
		open[from.key[old]]--;
		return from.parent[old];
	}
	// Totals, places and colours from what each node has itself.
	sum() {
		const { n, parent, total, begin, cursor } = this;
		total.set(this.self);
		for (let i = n - 1; i > 0; i--)
			total[parent[i]] += total[i];
		begin[0] = cursor[0] = 0;
		for (let i = 1; i < n; i++) {
			const p = parent[i];
			cursor[i] = begin[i] = cursor[p];
			cursor[p] += total[i];
		}
		if (this.label)
			this.spreadLabels();
	}
	// A node has a label's colour if all of its weight is of that label; -1: of several.
	spreadLabels() {
		const { n, parent, total, self, label, labelKinds } = this, UNSEEN = -2;
		label[0] = UNSEEN;
		for (let i = 1; i < n; i++)
			label[i] = labelKinds[i] >= 0 ? labelKinds[i] : label[parent[i]] >= 0 ? label[parent[i]] :
				self[i] ? -1 : UNSEEN;
		for (let i = n - 1; i > 0; i--) {
			const p = parent[i];
			if (!total[i] || label[p] === label[i])
				continue;
			label[p] = label[p] === UNSEEN ? label[i] : -1;
		}
	}
	// Self and total of each key; what calls itself is counted once, what a label's node has is its frame's.
	functions(nkeys) {
		const self = new Float64Array(nkeys), total = new Float64Array(nkeys);
		for (let i = 1; i < this.n; i++) {
			self[this.key[this.label && this.labelKinds[i] >= 0 ? this.parent[i] : i]] += this.self[i];
			if (this.outer[i])
				total[this.key[i]] += this.total[i];
		}
		return { self, total };
	}
	// What is of matching keys, each weight once.
	matched(isMatch) {
		let sum = 0;
		for (let i = 1; i < this.n;) {
			if (isMatch[this.key[i]]) {
				sum += this.total[i];
				i = this.end[i];
			} else {
				i++;
			}
		}
		return sum;
	}
	children(node) {
		const list = [];
		for (let i = node + 1; i < this.end[node]; i = this.end[i])
			if (this.total[i])
				list.push(i);
		return list;
	}
	widest(node) { return this.children(node).reduce((a, b) => a < 0 || this.total[b] > this.total[a] ? b : a, -1); }
}

// Lists of children by rank, as links.
function sortedChildren(from, rank, nkeys) {
	const { n, key, parent } = from, start = new Int32Array(nkeys + 1), sorted = new Int32Array(n - 1);
	const child = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
	const place = rank ? i => rank[key[i]] : i => key[i];
	for (let i = 1; i < n; i++)
		start[place(i) + 1]++;
	for (let i = 0; i < nkeys; i++)
		start[i + 1] += start[i];
	for (let i = 1; i < n; i++)
		sorted[start[place(i)]++] = i;
	for (let i = n - 2; i >= 0; i--) {
		next[sorted[i]] = child[parent[sorted[i]]];
		child[parent[sorted[i]]] = sorted[i];
	}
	return { child, next };
}

// The tree of all samples; ends[i] is the node of sample i. As in report/tree.c, what a stack shares
// with the one before is not walked again.
function buildTree(leafFirst) {
	const b = new Builder(), ends = new Int32Array(nsamples), { parent, place } = stacks;
	const knownComm = new Int32Array(parent.length).fill(-1), knownNode = new Int32Array(parent.length);
	const path = [];
	for (let s = 0; s < nsamples; s++) {
		const comm = threads.comm[samples.thread[s]], label = samples.label[s];
		let node = samples.node[s], at;
		if (leafFirst) {
			at = b.step(0, comm);
			if (label >= 0)
				at = b.step(at, label);
			for (; node; node = parent[node])
				at = b.step(at, keys.ofPlace[place[node]]);
		} else {
			for (; node && knownComm[node] !== comm; node = parent[node])
				path.push(node);
			at = node ? knownNode[node] : b.step(0, comm);
			while (path.length) {
				node = path.pop();
				at = b.step(at, keys.ofPlace[place[node]]);
				knownComm[node] = comm;
				knownNode[node] = at;
			}
			if (label >= 0)
				at = b.step(at, label);
		}
		ends[s] = at;
	}
	const tree = b.finish(keys.rank, keys.text.length);
	tree.ends = ends.map(end => tree.number[end]);
	return tree;
}

// Callers (or callees) of all that is of a key, as a tree whose root is that.
function buildAround(tree, key, up) {
	const b = new Builder(), weights = [], nodes = up ? null : new Int32Array(tree.n);
	for (let i = 1; i < tree.n; i++) {
		if (tree.key[i] !== key || !tree.outer[i] || !tree.total[i])
			continue;
		if (up)
			addCallers(b, tree, i, weights);
		else
			addCallees(b, tree, i, weights, nodes);
	}
	const made = b.finish(keys.rank, keys.text.length);
	weights.forEach((w, old) => { made.self[made.number[old]] = w; });
	if (up)
		made.label = null; // labels are at the leaves
	made.rootKey = key;
	made.sum();
	return made;
}
function addCallers(b, tree, i, weights) {
	let at = 0;
	for (let p = tree.parent[i]; p > 0; p = tree.parent[p])
		at = b.step(at, tree.key[p]);
	weights[at] = (weights[at] || 0) + tree.total[i];
}
function addCallees(b, tree, i, weights, made) {
	made[i] = 0;
	weights[0] = (weights[0] || 0) + tree.self[i];
	for (let k = i + 1; k < tree.end[i];) {
		if (!tree.total[k]) {
			k = tree.end[k];
			continue;
		}
		const at = b.step(made[tree.parent[k]], tree.key[k]);
		made[k] = at;
		weights[at] = (weights[at] || 0) + tree.self[k];
		k++;
	}
}
