/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the page, which is in its address, and what the mouse and the keys do to it. */
const VIEWS = ['graph', 'table', 'callers', 'threads', 'about'];
const DEFAULTS = {
	view: 'graph', weight: data.weight || 0, zoom: -1, find: '', anyCase: false, from: -1, to: -1, thread: -1,
	fn: -1, turned: false, leaf: !!data.reverse, byLine: false, sort: 'self', down: true, rows: '',
};
// Short names in the address; what is as it was at first is not in it.
const WORDS = {
	view: 'view', weight: 'w', zoom: 'z', find: 's', anyCase: 'i', from: 'from', to: 'to', thread: 'thread', fn: 'fn',
	turned: 'flame', leaf: 'leaf', byLine: 'lines', sort: 'sort', down: 'down', rows: 'rows',
};
const state = { ...DEFAULTS };
const hasLines = places.file.some(file => file >= 0);
const main = { tree: null, leafTree: null, graph: null, startZoom: 0 };
let upward = null, downward = null;
let found = null; // by key: does it match what is searched for?
let theme = {};

// ---- weights

// Of each sample, in what is selected.
function sampleWeights() {
	const values = samples.values[state.weight], timed = state.from >= 0 && isTimed(state.weight);
	let weights = values;
	if (timed)
		weights = weightsBetween(state.from, state.to);
	if (state.thread < 0)
		return weights;
	return weights.map((w, s) => samples.thread[s] === state.thread ? w : 0);
}

// An interval counts as far as it lies between the times.
function weightsBetween(from, to) {
	const weights = new Float64Array(nsamples), type = state.weight, unit = 1000 / 2 ** data.types[type].shift;
	const end = stream.intervals ? stream.n : momentAt(to);
	for (let i = momentAt(from); i < end; i++) {
		if (stream.kind[i] === UNTIL && type === stream.value) {
			const part = Math.min(stream.time[i], to) - Math.max(stream.time[i] - stream.weight[i] / 1000, from);
			if (part > 0)
				weights[stream.sample[i]] += part * unit;
		} else if (stream.time[i] < to) {
			weights[stream.sample[i]] += momentWeight(i, type);
		}
	}
	return weights;
}

function shownTree() { return state.leaf ? main.leafTree : main.tree; }

function weigh(tree, weights) {
	tree.self.fill(0);
	for (let s = 0; s < nsamples; s++)
		tree.self[tree.ends[s]] += weights[s];
	tree.sum();
}

// The weights have changed: another selection, another value.
function reweigh() {
	const weights = sampleWeights();
	weigh(main.tree, weights);
	if (state.leaf) {
		main.leafTree = main.leafTree || buildTree(true);
		weigh(main.leafTree, weights);
	}
	showTotal();
}

function rebuild() {
	keys = makeKeys(state.byLine);
	placeOf = main.leafTree = null;
	for (const graph of [main.graph, upward, downward])
		graph.colors.clear();
	main.tree = buildTree(false);
	reweigh();
	find();
}

function showTotal() {
	const total = byId('total'), v = main.tree.total[0];
	total.textContent = figure(Math.round(v), state.weight);
	total.dataset.value = Math.round(v);
	total.title = number.format(Math.round(v)) + ' ' + data.types[state.weight].unit;
}

// ---- what is shown

function show() {
	for (const view of VIEWS)
		byId('view-' + view).hidden = view !== state.view;
	for (const tab of document.querySelectorAll('[data-view]'))
		tab.setAttribute('aria-selected', tab.dataset.view === state.view);
	byId('weight').value = state.weight;
	byId('search').value = state.find;
	const pressed = { case: state.anyCase, turn: state.turned, leaf: state.leaf, lines: state.byLine };
	for (const id in pressed)
		byId(id).setAttribute('aria-pressed', pressed[id]);
	byId('tocallers').hidden = true;
	say('');
	fillView();
	showSelection();
}

function fillView() {
	if (state.view === 'graph')
		showGraph();
	else if (state.view === 'table')
		fillTable();
	else if (state.view === 'callers')
		fillCallers();
	else if (state.view === 'threads')
		fillThreads();
}

// zoom -1: where the graph opens.
function showGraph() {
	const { graph } = main, tree = shownTree();
	graph.matches = found;
	if (graph.tree !== tree) {
		graph.tree = tree;
		main.startZoom = graph.start();
	}
	graph.setTree(tree, state.zoom < 0 ? main.startZoom : state.zoom);
	fillLegend(byId('legend'));
	showCrumbs();
}

function showCrumbs() {
	const { graph } = main, { tree, zoom } = graph, box = byId('crumbs'), path = [];
	for (let i = zoom; i >= 0; i = tree.parent[i])
		path.unshift(i);
	box.textContent = '';
	path.forEach((node, i) => {
		if (path.length > 7 && i > 2 && i < path.length - 3) {
			if (i === 3)
				box.append(' \u203a \u22ef ' + (path.length - 6));
			return;
		}
		const b = document.createElement('button'), name = graph.name(node);
		b.textContent = cutText(name, 26 * CHARACTER);
		b.title = name;
		b.disabled = node === zoom;
		b.addEventListener('click', () => zoomTo(node));
		box.append(i ? ' \u203a ' : '', b);
	});
}

function showSelection() {
	const chips = byId('chips');
	chips.textContent = '';
	if (state.thread >= 0) {
		const b = document.createElement('button');
		b.className = 'chip';
		b.textContent = threadName(state.thread) + ' \u00d7';
		b.title = 'All threads';
		b.addEventListener('click', () => chooseThread(-1));
		chips.append(b);
	}
	byId('clear').hidden = state.from < 0;
	let text = stream ? clock(heat.to - heat.from === wholeTime() ? stream.end : heat.to - heat.from) : '';
	if (state.from >= 0)
		text = `${(state.from / 1e6).toFixed(2)}\u2013${(state.to / 1e6).toFixed(2)} s` +
			(isTimed(state.weight) ? '' : `: ${data.types[state.weight].type} has no times, all of it is shown`);
	byId('span').textContent = text;
}

function setView(view, push) {
	state.view = view;
	show();
	remember(push);
}

function zoomTo(node) {
	state.zoom = node;
	main.graph.setZoom(node);
	showCrumbs();
	remember(true);
}

// Microseconds; -1: all. While it is dragged the address stays.
function select(from, to, done = true) {
	if (state.from !== from || state.to !== to) {
		state.from = from;
		state.to = stream && from >= 0 ? Math.min(to, wholeTime()) : to;
		refresh();
	}
	if (done)
		remember();
}

function chooseThread(thread) {
	state.thread = thread;
	refresh();
	drawTime();
	remember();
}

function refresh() {
	reweigh();
	if (state.view === 'graph' && main.graph.tree === shownTree()) {
		main.graph.setTree(shownTree(), state.zoom < 0 ? main.startZoom : state.zoom);
		showCrumbs();
	} else {
		fillView();
	}
	paintTime();
	showSelection();
	showMatched();
}

// ---- search

function find() {
	const box = byId('search');
	found = null;
	box.classList.remove('bad');
	if (state.find) {
		try {
			const pattern = new RegExp(state.find, state.anyCase ? 'i' : '');
			found = Uint8Array.from(keys.text, text => pattern.test(text) ? 1 : 0);
		} catch (e) {
			box.classList.add('bad');
		}
	}
	showMatched();
}

function showMatched() {
	const whole = main.tree.total[0], v = found ? main.tree.matched(found) : 0;
	byId('matched').textContent = found ? `Matched: ${percent(v, whole)}` : '';
	byId('matched').dataset.value = Math.round(v);
}

function search(text) {
	state.find = text;
	find();
	if (state.view === 'graph') {
		main.graph.matches = found;
		main.graph.draw();
	} else if (state.view !== 'about' && state.view !== 'threads') {
		fillView();
	}
	remember();
}

// ---- the address

function remember(push) {
	const words = [];
	for (const name in WORDS)
		if (state[name] !== DEFAULTS[name])
			words.push(`${WORDS[name]}=${encodeURIComponent(typeof state[name] === 'boolean' ? +state[name] : state[name])}`);
	if (stream && (heat.from > 0 || heat.to < wholeTime()))
		words.push(`t=${Math.round(heat.from)}-${Math.round(heat.to)}`);
	const address = '#' + words.join('&');
	if (address === (location.hash || '#'))
		return;
	try {
		history[push ? 'pushState' : 'replaceState'](null, '', address);
	} catch (e) {
		location.hash = address;
	}
}

function recall() {
	const given = {};
	for (const word of location.hash.slice(1).split('&')) {
		const at = word.indexOf('=');
		try {
			given[word.slice(0, at)] = decodeURIComponent(word.slice(at + 1));
		} catch (e) {
			continue;
		}
	}
	for (const name in WORDS) {
		const text = given[WORDS[name]], usual = DEFAULTS[name];
		state[name] = text === undefined ? usual : typeof usual === 'boolean' ? text === '1' :
			typeof usual === 'number' ? (/^-?\d+$/.test(text) ? +text : usual) : text;
	}
	if (!VIEWS.includes(state.view))
		state.view = 'graph';
	if (!data.types[state.weight])
		state.weight = DEFAULTS.weight;
	if (state.thread >= nthreads)
		state.thread = -1;
	if (!COLUMNS.some(c => c.id === state.sort))
		state.sort = 'self';
	if (!stream || state.from < 0 || state.to <= state.from)
		state.from = state.to = -1;
	const span = stream && /^(\d+)-(\d+)$/.exec(given.t || '');
	if (stream)
		[heat.from, heat.to] = span && +span[2] > +span[1] && +span[2] <= wholeTime() ?
			[+span[1], +span[2]] : [0, wholeTime()];
}

function restore() {
	const byLine = state.byLine;
	recall();
	if (!main.tree || byLine !== state.byLine)
		rebuild();
	else
		reweigh();
	find();
	drawTime();
	show();
}

// ---- mouse and keys

function say(text) { byId('details').textContent = text.replace(/\n/g, ' \u00b7 '); }
function showTip(text, e) {
	const tip = byId('tip');
	tip.textContent = text;
	tip.hidden = !text;
	if (!text)
		return;
	tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	const below = e.clientY + 18;
	tip.style.top = (below + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : below) + 'px';
}
function hideTip() { byId('tip').hidden = true; }

const KEYS = [
	['/  Ctrl-F  F3', 'search, a regular expression'], ['Ctrl-I', 'ignore case'],
	['\u2190 \u2191 \u2192 \u2193', 'go through frames, functions or threads'],
	['Enter', 'zoom to the frame; callers and callees of the function'],
	['Escape', 'clear the search, then the zoom, the selection, the thread'], ['Backspace', 'back'],
	['c', 'callers and callees of the frame'], ['1 \u2026 5', 'the views'], ['i', 'root at the bottom or on top'],
	['l', 'merge from the leaf'], ['+ \u2212 0', 'zoom of the time'], ['[ ]', 'move the selection by its own length'],
	['d', 'light or dark'], ['?', 'this list'],
];

function escape() {
	if (state.find) {
		search('');
		byId('search').value = '';
	} else if (state.view === 'graph' && state.zoom > 0) {
		zoomTo(0);
	} else if (state.view === 'graph' && state.zoom < 0 && main.startZoom) {
		zoomTo(0);
	} else if (state.from >= 0) {
		select(-1, -1);
	} else if (state.thread >= 0) {
		chooseThread(-1);
	}
	byId('search').blur();
}

function toggle(name) {
	state[name] = !state[name];
	if (name === 'byLine') {
		state.zoom = state.fn = -1;
		rebuild();
	} else if (name === 'leaf') {
		state.zoom = -1;
		reweigh();
	} else if (name === 'anyCase') {
		find();
	}
	show();
	remember();
}

function moveSelection(direction) {
	const width = state.to - state.from, from = state.from + direction * width;
	if (state.from >= 0 && from >= 0 && from + width <= wholeTime())
		select(from, from + width);
}

function focusSearch() {
	byId('search').focus();
	byId('search').select();
}

const SHORTCUTS = {
	'/': focusSearch, F3: focusSearch, '?': () => byId('keys').showModal(), Backspace: () => history.back(),
	c: () => main.graph.focus > 0 && showCallers(shownTree().key[main.graph.focus]),
	i: () => toggle('turned'), l: () => toggle('leaf'), d: () => turnTheme(),
	'+': () => stream && zoomTime(0.5, 0.5), '-': () => stream && zoomTime(2, 0.5), 0: () => stream && zoomTime(1e9, 0.5),
	'[': () => moveSelection(-1), ']': () => moveSelection(1),
};
VIEWS.forEach((view, i) => { SHORTCUTS[i + 1] = () => setView(view, true); });

function key(e) {
	const control = e.ctrlKey || e.metaKey, typing = /^(INPUT|SELECT)$/.test(e.target.tagName);
	if (byId('keys').open)
		return;
	if (control && e.key === 'f' || e.key === 'F3') {
		e.preventDefault();
		focusSearch();
	} else if (control && e.key === 'i') {
		e.preventDefault();
		toggle('anyCase');
	} else if (e.key === 'Escape') {
		escape();
	} else if (e.key === 'Enter' && e.target.id === 'search') {
		byId('search').blur();
	} else if (e.target === document.body && /^(Arrow|Page|Home|End|Enter)/.test(e.key)) {
		const box = byId(state.view);
		if (box)
			box.dispatchEvent(new KeyboardEvent('keydown', { key: e.key, cancelable: true })) || e.preventDefault();
	} else if (!typing && !control && !e.altKey && SHORTCUTS[e.key]) {
		e.preventDefault();
		SHORTCUTS[e.key]();
	}
}

// ---- light and dark

function readTheme() {
	const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue('--' + name).trim();
	theme = {};
	for (const name of ['back', 'text', 'dim', 'strong', 'accent', 'root', 'cold', 'shade', 'chosen'])
		theme[name] = of(name);
	theme.heat = of('heat').split(' ');
}
function turnTheme() {
	const dark = matchMedia('(prefers-color-scheme: dark)').matches, now = document.documentElement.dataset.theme;
	setTheme((now ? now === 'dark' : dark) ? 'light' : 'dark');
	try {
		localStorage.setItem('rawprof-theme', document.documentElement.dataset.theme);
	} catch (e) {
		// Nowhere to remember it.
	}
}
function setTheme(name) {
	if (name)
		document.documentElement.dataset.theme = name;
	readTheme();
	if (!main.tree)
		return;
	paintTime();
	fillView();
}
function savedTheme() {
	try {
		const name = localStorage.getItem('rawprof-theme');
		return name === 'dark' || name === 'light' ? name : '';
	} catch (e) {
		return '';
	}
}

// ---- beginning

function makeGraphs() {
	const common = { onHover: (text, e) => showTip(text, e), onMenu: showCallers };
	main.graph = new Graph(byId('graph'), {
		...common, root: () => 'all', flip: () => state.turned, onZoom: zoomTo,
		onFocus: node => {
			say(main.graph.describe(node));
			byId('tocallers').hidden = node <= 0;
		},
	});
	const around = (id, flip) => {
		const graph = new Graph(byId(id), {
			...common, root: () => state.fn < 0 ? '' : keys.text[state.fn], flip: () => flip,
			onZoom: node => graph.setZoom(node), onFocus: node => say(graph.describe(node)),
		});
		return graph;
	};
	upward = around('up', true);
	downward = around('down', false);
}

function begin() {
	setTheme(savedTheme());
	byId('title').textContent = data.title;
	byId('subtitle').textContent = data.subtitle;
	data.types.forEach((t, i) => byId('weight').append(new Option(t.type, i)));
	byId('weights').hidden = data.types.length < 2;
	byId('lines').hidden = !hasLines;
	for (const [name, what] of KEYS) {
		const dt = document.createElement('dt'), dd = document.createElement('dd');
		dt.textContent = name;
		dd.textContent = what;
		byId('keys').querySelector('dl').append(dt, dd);
	}
	setupTable();
	setupTime();
	setupThreads();
	setupAbout();
	makeGraphs();
	listen();
	restore();
}

function listen() {
	for (const tab of document.querySelectorAll('[data-view]'))
		tab.addEventListener('click', () => setView(tab.dataset.view, true));
	byId('weight').addEventListener('change', e => {
		state.weight = +e.target.value;
		refresh();
		drawTime();
		remember();
	});
	byId('search').addEventListener('input', e => search(e.target.value));
	byId('case').addEventListener('click', () => toggle('anyCase'));
	byId('turn').addEventListener('click', () => toggle('turned'));
	byId('leaf').addEventListener('click', () => toggle('leaf'));
	byId('lines').addEventListener('click', () => toggle('byLine'));
	byId('theme').addEventListener('click', turnTheme);
	byId('help').addEventListener('click', () => byId('keys').showModal());
	byId('tocallers').addEventListener('click', () => SHORTCUTS.c());
	addEventListener('keydown', key);
	addEventListener('popstate', restore);
	addEventListener('resize', () => {
		drawTime();
		fillView();
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(''));
}

begin();
