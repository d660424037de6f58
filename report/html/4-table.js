/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions, sorted and searched; only the rows that are seen are there. */
const LINE = 24;
const COLUMNS = [
	{ id: 'self', name: 'Self' }, { id: 'total', name: 'Total' },
	{ id: 'name', name: 'Function' }, { id: 'module', name: 'Module' },
];

// Where a key's frames are from: of the first of them.
let placeOf = null;
function placeOfKey(key) {
	if (!placeOf) {
		placeOf = new Map();
		for (let i = 0; i < nplaces; i++)
			if (!placeOf.has(keys.ofPlace[i]))
				placeOf.set(keys.ofPlace[i], i);
	}
	return placeOf.has(key) ? placeOf.get(key) : -1;
}
function moduleOf(key) {
	const place = placeOfKey(key);
	return place >= 0 && places.module[place] >= 0 ? data.strings[places.module[place]] : '';
}
function describePlace(place) {
	let text = places.module[place] >= 0 ? '\n' + data.strings[places.module[place]] : '';
	if (places.file[place] >= 0)
		text += '\n' + data.strings[places.file[place]] + (places.line[place] ? ':' + places.line[place] : '');
	return text;
}

const table = { rows: [], self: null, total: null, whole: 0, at: 0, elements: [] };

function setupTable() {
	const heads = byId('heads'), box = byId('table');
	for (const { id, name } of COLUMNS) {
		const b = document.createElement('button');
		b.className = 'cell ' + id;
		b.dataset.sort = id;
		b.textContent = name;
		b.setAttribute('role', 'columnheader');
		b.addEventListener('click', () => sortBy(id));
		heads.append(b);
	}
	table.sizer = document.createElement('div');
	table.sizer.className = 'lines';
	box.append(table.sizer);
	box.addEventListener('scroll', drawTable);
	box.addEventListener('keydown', tableKey);
	box.addEventListener('click', e => {
		const row = e.target.closest('.row');
		if (row)
			showCallers(table.rows[+row.dataset.at]);
	});
}

function sortBy(id) {
	state.down = state.sort === id ? !state.down : id === 'self' || id === 'total';
	state.sort = id;
	fillTable();
	remember();
}

// The rows, from the weights of the tree that is shown.
function fillTable() {
	const { self, total } = main.tree.functions(keys.text.length), { sort, down } = state;
	const shown = [];
	for (let key = 0; key < total.length; key++)
		if (total[key] && keys.kind[key] !== COMM && keys.kind[key] !== LABEL && (!found || found[key]))
			shown.push(key);
	const figures = sort === 'self' ? self : total;
	const byName = (a, b) => keys.text[a] < keys.text[b] ? -1 : keys.text[a] > keys.text[b] ? 1 : a - b;
	const order = sort === 'name' ? byName :
		sort === 'module' ? (a, b) => moduleOf(a) < moduleOf(b) ? -1 : moduleOf(a) > moduleOf(b) ? 1 : byName(a, b) :
		(a, b) => figures[a] - figures[b] || (sort === 'self' ? total[a] - total[b] : self[a] - self[b]) || byName(b, a);
	shown.sort(down ? (a, b) => order(b, a) : order);
	table.at = Math.min(table.at, Math.max(0, shown.length - 1));
	Object.assign(table, { rows: shown, self, total, whole: main.tree.total[0] });
	table.sizer.style.height = shown.length * LINE + 'px';
	for (const b of byId('heads').children)
		b.setAttribute('aria-sort', b.dataset.sort !== sort ? 'none' : down ? 'descending' : 'ascending');
	drawTable();
}

function makeRow() {
	const row = document.createElement('div');
	row.className = 'row';
	row.setAttribute('role', 'row');
	for (const { id } of COLUMNS) {
		const cell = document.createElement('span');
		cell.className = 'cell ' + id;
		cell.setAttribute('role', 'cell');
		row.append(cell);
	}
	for (const i of [0, 1]) {
		row.children[i].append(...['i', 'b', 'em'].map(tag => document.createElement(tag)));
	}
	table.sizer.append(row);
	return row;
}

function drawTable() {
	const box = byId('table'), first = Math.max(0, Math.floor(box.scrollTop / LINE) - 2);
	const n = Math.max(0, Math.min(table.rows.length - first, Math.ceil(box.clientHeight / LINE) + 4));
	while (table.elements.length < n)
		table.elements.push(makeRow());
	table.elements.forEach((row, i) => {
		row.hidden = i >= n;
		if (i < n)
			fillRow(row, first + i);
	});
}

// Without the unit where the column is all of one.
function short(v, type) { return data.types[type].unit === 'count' ? number.format(v) : figure(v, type); }

function fillRow(row, at) {
	const key = table.rows[at], type = state.weight;
	row.style.transform = `translateY(${at * LINE}px)`;
	row.dataset.at = at;
	row.classList.toggle('at', at === table.at);
	[table.self, table.total].forEach((figures, i) => {
		const [bar, text, share] = row.children[i].children, v = figures[key];
		bar.style.width = 100 * Math.min(1, v / table.whole) + '%';
		text.textContent = short(v, type);
		share.textContent = percent(v, table.whole);
	});
	row.children[2].textContent = row.children[2].title = keys.text[key];
	row.children[2].dataset.kind = KIND_NAMES[keys.kind[key]];
	const path = moduleOf(key);
	row.children[3].textContent = path.slice(path.lastIndexOf('/') + 1);
	row.children[3].title = path;
}

function tableKey(e) {
	const page = Math.max(1, Math.floor(byId('table').clientHeight / LINE) - 1);
	const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }[e.key];
	if (e.key === 'Enter' && table.rows.length)
		showCallers(table.rows[table.at]);
	if (!step)
		return;
	e.preventDefault();
	table.at = Math.max(0, Math.min(table.rows.length - 1, table.at + step));
	const box = byId('table'), y = table.at * LINE;
	if (y < box.scrollTop)
		box.scrollTop = y;
	else if (y + LINE > box.scrollTop + box.clientHeight)
		box.scrollTop = y + LINE - box.clientHeight;
	drawTable();
	if (table.rows.length)
		say(`${keys.text[table.rows[table.at]]}: self ${figure(table.self[table.rows[table.at]], state.weight)}`);
}

// ---- callers and callees of one function

function showCallers(key) {
	state.fn = key;
	setView('callers', true);
}

function fillCallers() {
	if (state.fn < 0 || state.fn >= keys.text.length) {
		const { self } = main.tree.functions(keys.text.length);
		state.fn = self.reduce((best, v, key) =>
			keys.kind[key] !== COMM && keys.kind[key] !== LABEL && (best < 0 || v > self[best]) ? key : best, -1);
	}
	const { self, total } = main.tree.functions(keys.text.length), key = state.fn, whole = main.tree.total[0];
	if (key < 0)
		return;
	byId('fn').textContent = keys.text[key];
	byId('fnfacts').textContent = `self ${figure(self[key], state.weight)} (${percent(self[key], whole)}), ` +
		`total ${figure(total[key], state.weight)} (${percent(total[key], whole)}) ${moduleOf(key)}`;
	fillSources(key);
	fillCode(key);
	upward.matches = downward.matches = found;
	// As high as the callers need, so that the callees are near.
	upward.tree = buildAround(main.tree, key, true);
	upward.zoom = 0;
	upward.layout();
	byId('up').style.flexBasis = upward.rows * ROW + 'px';
	upward.setTree(upward.tree);
	downward.setTree(buildAround(main.tree, key, false));
}

// The source lines of a function, where they are known, those with the most weight first.
function fillSources(key) {
	const box = byId('sources'), lines = new Map(), weights = sampleWeights();
	box.hidden = !hasLines;
	if (!hasLines)
		return;
	for (let s = 0; s < nsamples; s++) {
		const seen = new Set();
		for (let node = samples.node[s], leaf = true; weights[s] && node; node = stacks.parent[node], leaf = false) {
			const place = stacks.place[node];
			if (keys.ofPlace[place] !== key || places.file[place] < 0)
				continue;
			const line = source(place), sums = lines.get(line) || { self: 0, total: 0 };
			sums.self += leaf ? weights[s] : 0;
			sums.total += seen.has(line) ? 0 : weights[s];
			seen.add(line);
			lines.set(line, sums);
		}
	}
	const sorted = [...lines].sort((a, b) => b[1].self - a[1].self || b[1].total - a[1].total || (a[0] < b[0] ? -1 : 1));
	box.textContent = sorted.slice(0, 12).map(([line, { self, total }]) =>
		`${line}  self ${figure(self, state.weight)}, total ${figure(total, state.weight)}`).join('\n');
}

// ---- instructions, where the profile was written with them; of the whole recording

const FAR = 40;     // lines around one with a weight that are shown
const HEAVY = 0.05; // of the function's own weight

function fillCode(key) {
	const box = byId('code'), head = byId('codehead'), place = placeOfKey(key);
	const name = place >= 0 ? data.names[places.name[place]] : null;
	const found = (data.code || []).filter(code => code.name === name);
	box.hidden = head.hidden = !found.length;
	if (!found.length)
		return;
	head.textContent = `Instructions, the whole recording: ${data.types[data.weight].type} with what is called there, and own`;
	box.replaceChildren(...found.flatMap(codeRows));
	const heavy = box.querySelector('.heavy');
	box.scrollTop = heavy ? Math.max(0, heavy.offsetTop - box.clientHeight / 3) : 0;
}

function codeRows(code) {
	const near = new Uint8Array(code.lines.length);
	code.lines.forEach(([, , total], i) => {
		if (total)
			near.fill(1, Math.max(0, i - FAR), i + FAR + 1);
	});
	const rows = [codeRow('', `${code.name}, ${code.module}`)];
	for (let i = 0, left = 0; i <= near.length; i++) {
		if (i < near.length && !near[i]) {
			left++;
			continue;
		}
		if (left)
			rows.push(codeRow('', `\u2026 ${number.format(left)} lines where nothing was`));
		left = 0;
		if (i < near.length)
			rows.push(codeLine(code, code.lines[i]));
	}
	return rows;
}

function codeLine(code, [text, self, total]) {
	const row = codeRow(total ? `${short(total, data.weight)}  ${short(self, data.weight).padStart(8)}` : '', text);
	row.classList.toggle('heavy', self > 0 && self >= HEAVY * code.self);
	return row;
}

function codeRow(figures, text) {
	const row = document.createElement('div'), cell = document.createElement('b');
	cell.textContent = figures;
	row.append(cell, ' ' + text);
	return row;
}
