/* SPDX-License-Identifier: BSD-2-Clause */
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const make = (tag, cls, text) => {
	const e = document.createElement(tag);
	if (cls)
		e.className = cls;
	if (text !== undefined)
		e.textContent = text;
	return e;
};
const insns = new Map(data.instructions.map(i => [i.insn, i]));
const visitsOf = new Map();
data.steps.forEach((s, n) => {
	if (!visitsOf.has(s.insn))
		visitsOf.set(s.insn, []);
	visitsOf.get(s.insn).push(n);
});
const preciseAt = new Map();
data.precise.forEach(c => {
	if (!preciseAt.has(c.step))
		preciseAt.set(c.step, []);
	preciseAt.get(c.step).push(c);
});
let now = 0;

// Whatever shows an instruction has data-insn; what is pointed at is lit everywhere, a path in all its instructions.
function light(lit) {
	document.querySelectorAll('.lit').forEach(e => e.classList.remove('lit'));
	for (const insn of lit)
		document.querySelectorAll(`[data-insn="${insn}"], [data-has~="${insn}"]`).forEach(e => e.classList.add('lit'));
}

// Code that is pointed at has its state shown, as of the visit at or after this step: it ends where the mouse leaves it.
document.addEventListener('mouseover', event => {
	const e = event.target.closest('[data-insn], [data-path]');
	const path = e && e.dataset.path !== undefined ? data.paths[e.dataset.path] : undefined;
	light(path ? new Set(data.steps.slice(path.first, path.last + 1).map(s => s.insn)) : e ? [e.dataset.insn] : []);
	if (event.target.closest('#state'))
		return;
	const all = e && !path && visitsOf.get(Number(e.dataset.insn));
	state(all ? all.find(n => n >= now) ?? all[all.length - 1] : now);
});

function draw(parent, tag, attributes) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const k in attributes)
		e.setAttribute(k, attributes[k]);
	parent.append(e);
	return e;
}

const times = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

// The listing: source lines, instructions, and below them what the kernel made of them.
function listing() {
	const box = $('listing');
	const most = Math.max(1, ...data.instructions.map(i => i.visits));
	let last = '';
	for (const i of data.instructions) {
		if (i.function || i.label)
			box.append(make('div', 'label', (i.function || i.label) + ':'));
		if (i.source !== last)
			box.append(make('div', 'source', i.source));
		last = i.source;
		const row = make('div', 'row');
		row.dataset.insn = i.insn;
		const visits = i.visits === 0 ? 'never' : i.visits === 1 ? '' : 'x' + i.visits;
		const hot = i.visits > 1 && i.visits * 4 > most;
		row.append(make('span', hot ? 'hot' : 'dim', visits.padStart(7) + ' '), make('span', 'dim', String(i.insn).padStart(5) + '  '), i.text);
		row.title = `visited ${times(i.visits, 'time')}` + (hot ? ', a hot spot' : '');
		if (data.refused && i.insn === data.steps[data.steps.length - 1].insn)
			row.classList.add('refused');
		row.onclick = () => visit(i.insn, 1);
		box.append(row);
		for (const kind of ['xlated', 'machine'])
			for (const text of i[kind] || []) {
				const sub = make('div', 'sub ' + kind, text);
				sub.dataset.insn = i.insn;
				box.append(sub);
			}
	}
}

// The next visit of an instruction, or the one before.
function visit(insn, way) {
	const all = visitsOf.get(insn);
	if (!all)
		return;
	const next = way > 0 ? all.find(n => n > now) : all.filter(n => n < now).pop();
	go(next === undefined ? (way > 0 ? all[0] : all[all.length - 1]) : next);
}

// A state as a map from place to value.
function places(state) {
	const out = new Map();
	(state === undefined ? [] : data.states[state]).forEach((number, depth) => {
		for (const [place, value] of Object.entries(data.frames[number]))
			if (place !== 'callsite')
				out.set((depth ? `frame${depth}.` : '') + place, value);
	});
	return out;
}

function verdicts(box, path) {
	const c = path.covered;
	const line = (words, list) => {
		if (list.length)
			box.append(make('div', '', `  ${words}: ${list.join(' ')}`));
	};
	if (!c) {
		box.append(make('div', 'safe', 'safe: the log does not show which earlier state covers this one'));
		return;
	}
	const say = make('div', 'safe row', `safe: covered at step ${c.by}` + (c.loop ? ', on this very path' : ''));
	say.onclick = () => go(c.by);
	box.append(say);
	line('the same there', c.same);
	line('within what it was there', c.within);
	line('numbers that nothing depended on', c.imprecise);
	line('not needed from here on', c.unused);
}

// What is known of a number beyond its text: its ranges, and its 64 bits where single ones are known.
function knowledge(v) {
	const row = make('tr', 'known'), box = make('td');
	if (!v || !(v.signed || v.bits))
		return row;
	const told = [v.text, '0..18446744073709551615', '-9223372036854775808..9223372036854775807', '0..4294967295', '-2147483648..2147483647'];
	const say = [];
	for (const [words, range] of [['unsigned', v.unsigned], ['signed', v.signed], ['lower half', v.unsigned32], ['lower half, signed', v.signed32]])
		if (range && !told.includes(range)) {
			say.push(`${words} ${range}`);
			told.push(range);
		}
	box.colSpan = 3;
	box.append(make('div', 'dim', say.join('; ')));
	if (v.bits) {
		const bits = make('div', 'bits');
		for (const run of v.bits.match(/x+|[01]+|[^x01]+/g))
			bits.append(make('span', run[0] === 'x' ? 'dim' : '', run));
		box.append(bits);
	}
	row.append(box);
	return row;
}

// The state at a step: of this one, or of another that is pointed at.
function state(at) {
	const box = $('state'), step = data.steps[at], i = insns.get(step.insn);
	const before = places(step.before), after = step.after === undefined ? before : places(step.after);
	const head = make('div', '', i ? `${step.insn}: ${i.text}` : '');
	head.dataset.insn = step.insn;
	box.replaceChildren(make('div', 'source', i ? i.source : ''), head);
	box.classList.toggle('other', at !== now);
	if (at !== now)
		head.append(make('span', 'dim', `  as of step ${at}`));
	const path = data.paths[step.path];
	if (step.safe)
		verdicts(box, path);
	if (step.pushed !== undefined) {
		const e = make('div', 'row label', `pushed the other branch, path ${step.pushed}`);
		e.onclick = () => go(data.paths[step.pushed].first);
		box.append(e);
	}
	for (const chain of preciseAt.get(at) || [])
		box.append(make('div', 'exact', 'back for what has to be exact: ' + chain.marks.map(m => `${m.slice(1).join(',') || '-'} at ${data.steps[m[0]].insn}`).join(', ')));
	if (at + 1 === data.steps.length && data.refused)
		box.append(make('div', 'refused', `refused: ${data.refused}\n${data.why || ''}`));
	const table = make('table');
	for (const place of new Set([...before.keys(), ...after.keys()])) {
		const was = before.get(place), is = after.get(place);
		const row = make('tr', was !== is ? 'changed' : '');
		const v = data.values[is];
		row.append(make('th', '', place), make('td', '', is === undefined ? '(gone)' : v.text));
		if (v)
			row.title = v.raw;
		if (was !== is && was !== undefined)
			row.append(make('td', 'dim', 'was ' + data.values[was].text));
		table.append(row);
		const known = knowledge(v);
		if (known.textContent)
			table.append(known);
	}
	box.append(table);
}

// What has to be exact behind this step, as lines backwards in the margin of the listing.
function exact() {
	const box = $('listing'), lines = new Map();
	const rowOf = step => box.querySelector(`.row[data-insn="${data.steps[step].insn}"]`);
	box.querySelectorAll('.precise').forEach(e => {
		e.classList.remove('precise');
		delete e.dataset.exact;
	});
	box.querySelectorAll('svg').forEach(e => e.remove());
	for (const chain of preciseAt.get(now) || []) {
		let last = rowOf(now);
		for (const [step, ...which] of chain.marks) {
			const row = rowOf(step), all = new Set((row.dataset.exact || '').split(' ').concat(which));
			row.classList.add('precise');
			row.dataset.exact = [...all].filter(Boolean).join(' ');
			if (row !== last)
				lines.set(`${last.dataset.insn} ${row.dataset.insn}`, [last, row]);
			last = row;
		}
	}
	if (!lines.size)
		return;
	const svg = draw(box, 'svg', { class: 'exact', width: 44, height: box.scrollHeight });
	const middle = e => e.offsetTop + e.offsetHeight / 2;
	for (const [from, to] of lines.values()) {
		const a = middle(from), b = middle(to), out = 40 - Math.min(52, 12 + Math.abs(b - a) / 6);
		draw(svg, 'path', { d: `M40,${a} C${out},${a} ${out},${b} 40,${b} m-6,-3 l6,3 l-6,3` });
	}
}

// The tree of paths: a path stands below the one that pushed it.
function paths() {
	const box = $('paths');
	const depth = [];
	data.paths.forEach((p, n) => {
		depth[n] = p.pushed_at === undefined ? 0 : depth[data.steps[p.pushed_at].path] + 1;
		const ends = { exit: 'returns', safe: 'safe', log: data.refused ? 'refused' : 'the log ends' }[p.end];
		const row = make('div', 'row', `${'  '.repeat(Math.min(depth[n], 40))}${n}: ${data.steps[p.first].insn} to ${data.steps[p.last].insn}, ${times(p.last - p.first + 1, 'step')}, `);
		row.append(make('span', p.end === 'safe' ? 'safe' : p.end === 'log' ? 'refused' : '', ends));
		row.dataset.path = n;
		row.onclick = () => go(p.first);
		box.append(row);
	});
}

// The control flow: a box for what runs in one go, in the order of the listing, arrows beside them.
function graph() {
	const begins = new Set([data.instructions[0].insn]);
	const order = data.instructions.map(i => i.insn);
	const after = new Map(order.map((n, k) => [n, order[k + 1]]));
	const target = i => {
		const m = i.text.match(/goto(?:l)? pc([+-]\d+)/);
		return m ? i.insn + 1 + Number(m[1]) : undefined;
	};
	for (const i of data.instructions) {
		if (i.function)
			begins.add(i.insn);
		const to = target(i);
		if (to !== undefined || /\) exit/.test(i.text)) {
			begins.add(to);
			begins.add(after.get(i.insn));
		}
	}
	const blocks = [];
	for (const i of data.instructions) {
		if (begins.has(i.insn))
			blocks.push([]);
		blocks[blocks.length - 1].push(i);
	}
	const svg = draw($('graph'), 'svg', {});
	const row = 26, x = 10, width = 260, where = new Map();
	blocks.forEach((b, n) => where.set(b[0].insn, n));
	let widest = 0;
	const edge = (from, to, cls) => {
		if (!where.has(to))
			return;
		const a = from * row + 19, b = where.get(to) * row + 3, far = where.get(to) - from;
		const out = x + width + 12 + Math.min(240, Math.abs(far) * 6);
		widest = Math.max(widest, out);
		draw(svg, 'path', { class: cls, d: far === 1 ? `M${x + 40},${a} V${b}` : `M${x + width},${a - 6} C${out},${a - 6} ${out},${b + 6} ${x + width},${b + 6}` });
	};
	blocks.forEach((b, n) => {
		const last = b[b.length - 1], to = target(last), jumps = to !== undefined, always = /\(05\)|\(06\)/.test(last.text);
		if (jumps)
			edge(n, to, always ? '' : 'taken');
		if (!(jumps && always) && !/\) exit/.test(last.text) && after.get(last.insn) !== undefined)
			edge(n, after.get(last.insn), jumps ? 'not' : '');
		const g = draw(svg, 'g', { 'data-insn': b[0].insn, 'data-has': b.map(i => i.insn).join(' '), class: b[0].visits ? '' : 'never' });
		draw(g, 'rect', { x, y: n * row + 2, width, height: 18, rx: 3 });
		const text = draw(g, 'text', { x: x + 5, y: n * row + 15 });
		const name = [b.length > 1 ? `${b[0].insn}-${last.insn}` : b[0].insn + '', b[0].function || b[0].label, b[0].visits !== 1 && `x${b[0].visits}`, last.text.slice(5)];
		text.textContent = name.filter(Boolean).join(' ').slice(0, 36);
		g.onclick = () => visit(b[0].insn, 1);
	});
	svg.setAttribute('width', Math.max(x + width, widest) + 10);
	svg.setAttribute('height', blocks.length * row + 10);
}

function mark(root, select) {
	root.querySelectorAll('.now').forEach(e => e.classList.remove('now'));
	root.querySelectorAll(select).forEach((e, n) => {
		e.classList.add('now');
		if (!n)
			e.scrollIntoView({ block: 'nearest' });
	});
}

function go(step) {
	now = Math.max(0, Math.min(data.steps.length - 1, step));
	const s = data.steps[now];
	$('slide').value = now;
	$('at').textContent = `step ${now} of ${data.steps.length - 1}, path ${s.path}`;
	mark($('listing'), `.row[data-insn="${s.insn}"]`);
	mark($('graph'), `g[data-has~="${s.insn}"]`);
	mark($('paths'), `[data-path="${s.path}"]`);
	exact();
	state(now);
}

const keys = {
	ArrowRight: ['a step forward', () => go(now + 1)],
	ArrowLeft: ['a step back', () => go(now - 1)],
	ArrowDown: ['the next visit of this instruction', () => visit(data.steps[now].insn, 1)],
	ArrowUp: ['the visit before', () => visit(data.steps[now].insn, -1)],
	']': ['the next path', () => go(data.paths[data.steps[now].path].last + 1)],
	'[': ['the beginning of this path, or the path before', () => {
		const p = data.steps[now].path, first = data.paths[p].first;
		go(now > first || !p ? first : data.paths[p - 1].first);
	}],
	s: ['the next state that was safe', () => {
		const next = data.steps.findIndex((x, n) => n > now && x.safe);
		if (next >= 0)
			go(next);
	}],
	p: ['the path that was pushed here', () => {
		const pushed = data.steps[now].pushed;
		if (pushed !== undefined)
			go(data.paths[pushed].first);
	}],
	m: ['the state that covers this one', () => {
		const p = data.paths[data.steps[now].path];
		if (data.steps[now].safe && p.covered)
			go(p.covered.by);
	}],
	Home: ['the first step', () => go(0)],
	End: ['the last', () => go(data.steps.length - 1)],
	x: ['what the kernel rewrote', () => $('xlated').click()],
	c: ['machine code', () => $('machine').click()],
	'?': ['these keys', () => $('help').showModal()],
};
// The keys of the walk in a terminal do the same here.
const also = { ' ': 'ArrowRight', l: 'ArrowRight', h: 'ArrowLeft', j: 'ArrowDown', k: 'ArrowUp', g: 'Home', G: 'End' };
const shown = { ArrowRight: '\u2192', ArrowLeft: '\u2190', ArrowDown: '\u2193', ArrowUp: '\u2191', ' ': 'space' };
document.addEventListener('keydown', event => {
	const key = also[event.key] || event.key;
	if (!keys[key] || event.key === ' ' && event.target.closest('button, input') || event.ctrlKey || event.altKey || event.metaKey || $('help').open)
		return;
	event.preventDefault();
	keys[key][1]();
});
for (const key in keys) {
	const same = Object.keys(also).filter(k => also[k] === key);
	$('help').querySelector('dl').append(make('dt', '', [key, ...same].map(k => shown[k] || k).join(' ')), make('dd', '', keys[key][0]));
}
$('title').textContent = data.program + (data.refused ? ': refused' : '');
$('slide').max = data.steps.length - 1;
$('slide').oninput = () => go(Number($('slide').value));
$('on').onclick = () => go(now + 1);
$('back').onclick = () => go(now - 1);
$('keys').onclick = () => $('help').showModal();
for (const kind of ['xlated', 'machine']) {
	$(kind).onchange = () => {
		document.body.classList.toggle(kind, $(kind).checked);
		go(now);
	};
	$(kind).parentNode.hidden = !data.instructions.some(i => i[kind] && i[kind].length);
}
listing();
paths();
graph();
go(data.refused ? data.steps.length - 1 : 0);
