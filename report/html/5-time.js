/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heat map: columns of 20 ms over the recording, as many of them in one as have to share a
 * pixel; rows are states, CPUs or the threads with the most; above them the sum of all rows. What
 * is dragged over is the selection, in whole columns of 20 ms, whatever the zoom.
 */
const COLUMN = 20000, GUTTER = 92, SUM = 34, AXIS = 16, MAX_ROWS = 24;

const heat = { from: 0, to: 1, modes: [], bins: null, drag: null };

function setupTime() {
	if (!stream)
		return;
	byId('time').hidden = false;
	heat.canvas = byId('heat').firstElementChild;
	heat.to = wholeTime();
	heat.cpus = [...new Set(stream.cpu)].sort((a, b) => a - b);
	heat.modes = [labelNames.length && data.label, heat.cpus.length > 1 && 'CPU', 'thread'].filter(mode => mode);
	byId('rows').hidden = heat.modes.length < 2;
	byId('rows').addEventListener('click', () => {
		state.rows = heat.modes[(heat.modes.indexOf(rowMode()) + 1) % heat.modes.length];
		drawTime();
		remember();
	});
	byId('narrower').addEventListener('click', () => zoomTime(0.5, 0.5));
	byId('wider').addEventListener('click', () => zoomTime(2, 0.5));
	byId('whole').addEventListener('click', () => zoomTime(1e9, 0.5));
	byId('clear').addEventListener('click', () => select(-1, -1));
	byId('timehint').textContent = timeHint();
	watchTime(heat.canvas, () => GUTTER);
	heat.canvas.addEventListener('mousemove', e => describeHeat(e));
	heat.canvas.addEventListener('mouseleave', hideTip);
}

function wholeTime() { return Math.ceil(stream.end / COLUMN) * COLUMN; }

function timeHint() {
	const rate = data.info.rate_asked || 0;
	return rate && rate * COLUMN / 1e6 < 4 ?
		`${(rate * COLUMN / 1e6).toFixed(0)} samples in 20 ms of a CPU: -F 499 would show more` : '';
}

// Dragging selects, the wheel zooms (with Shift it moves); on the heat map and over the threads.
function watchTime(canvas, gutter) {
	const timeAt = e => {
		const at = canvas.getBoundingClientRect();
		const share = (e.clientX - at.left - gutter()) / (at.width - gutter());
		return heat.from + Math.max(0, Math.min(1, share)) * (heat.to - heat.from);
	};
	let pending = 0, last = null, moved = false;
	const update = () => {
		pending = 0;
		if (heat.drag !== null && moved)
			selectColumns(heat.drag, timeAt(last), false);
	};
	canvas.addEventListener('pointerdown', e => {
		if (e.button || e.clientX - canvas.getBoundingClientRect().left < gutter())
			return;
		heat.drag = timeAt(e);
		last = e;
		moved = false;
		canvas.setPointerCapture(e.pointerId);
	});
	canvas.addEventListener('pointermove', e => {
		if (heat.drag === null)
			return;
		moved = moved || Math.abs(e.clientX - last.clientX) > 2;
		if (moved)
			last = e;
		if (moved && !pending)
			pending = requestAnimationFrame(update);
	});
	canvas.addEventListener('pointerup', e => {
		if (heat.drag === null)
			return;
		selectColumns(heat.drag, moved ? timeAt(e) : heat.drag, true);
		heat.drag = null;
	});
	canvas.addEventListener('wheel', e => {
		if (!e.ctrlKey && !e.shiftKey && !e.deltaX && canvas !== heat.canvas)
			return;
		e.preventDefault();
		const share = (timeAt(e) - heat.from) / (heat.to - heat.from);
		if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
			moveTime((e.deltaX || e.deltaY) / 500);
		else
			zoomTime(e.deltaY > 0 ? 1.25 : 0.8, share);
	}, { passive: false });
}

// At least as much as can be seen is selected: a click is a column of the map.
function selectColumns(a, b, done) {
	const step = a === b ? columnTime() : COLUMN;
	select(Math.floor(Math.min(a, b) / step) * step, (Math.floor(Math.max(a, b) / step) + 1) * step, done);
}

function zoomTime(factor, share) {
	const whole = wholeTime(), width = Math.max(5 * COLUMN, Math.min(whole, (heat.to - heat.from) * factor));
	const at = heat.from + share * (heat.to - heat.from);
	heat.from = Math.max(0, Math.min(whole - width, at - share * width));
	heat.to = heat.from + width;
	drawTime();
	drawThreads();
	remember();
}
function moveTime(share) {
	const width = heat.to - heat.from, from = Math.max(0, Math.min(wholeTime() - width, heat.from + share * width));
	heat.from = from;
	heat.to = from + width;
	drawTime();
	drawThreads();
	remember();
}

function plotWidth() { return Math.max(50, byId('heat').clientWidth - GUTTER); }
// How long a column of the map is: whole columns of 20 ms, at least a pixel wide.
function columnTime() {
	return COLUMN * Math.max(1, Math.ceil((heat.to - heat.from) / COLUMN / plotWidth()));
}

// What rows are: as chosen, else what shows most.
function rowMode() { return heat.modes.includes(state.rows) ? state.rows : heat.modes[0]; }

// Which row a moment is in, and what the rows are called.
function heatRows(type) {
	if (rowMode() === data.label) {
		const names = labelNames.slice(0, MAX_ROWS).map(name => data.names[name].slice(1, -1));
		const row = labelPlace;
		if (labelNames.length > MAX_ROWS)
			names[MAX_ROWS - 1] = `${labelNames.length - MAX_ROWS + 1} others`;
		return { names, of: i => Math.min(row.has(samples.label[stream.sample[i]]) ?
			row.get(samples.label[stream.sample[i]]) : -1, MAX_ROWS - 1) };
	}
	if (rowMode() === 'CPU') {
		const group = Math.ceil(heat.cpus.length / MAX_ROWS);
		const row = new Map(heat.cpus.map((cpu, i) => [cpu, Math.floor(i / group)]));
		const names = [];
		heat.cpus.forEach((cpu, i) => {
			if (i % group === 0)
				names.push(cpu < 0 ? 'CPU ?' : 'CPU ' + cpu + (group > 1 ? '\u2026' : ''));
		});
		return { names, of: i => row.get(stream.cpu[i]) };
	}
	const sums = new Float64Array(nthreads);
	for (let i = 0; i < stream.n; i++)
		sums[samples.thread[stream.sample[i]]] += momentWeight(i, type);
	const most = Array.from(sums.keys()).filter(t => sums[t]).sort((a, b) => sums[b] - sums[a] || a - b);
	const rows = most.length > MAX_ROWS ? MAX_ROWS - 1 : most.length, row = new Int32Array(nthreads).fill(rows);
	const names = most.slice(0, rows).map((t, i) => {
		row[t] = i;
		return threadName(t);
	});
	if (most.length > rows)
		names.push(`${most.length - rows} others`);
	return { names, of: i => row[samples.thread[stream.sample[i]]] };
}

// The weight of each row in each column; an interval lies in all columns that it touches.
function fillBins() {
	const type = isTimed(state.weight) ? state.weight : stream.value, step = columnTime();
	const first = Math.floor(heat.from / step), n = Math.ceil(heat.to / step) - first;
	const { names, of } = heatRows(type), bins = new Float64Array(names.length * n);
	const slope = new Float64Array(names.length * (n + 1));
	const start = momentAt(first * step), thread = state.thread;
	const end = stream.intervals ? stream.n : momentAt((first + n) * step);
	for (let i = start; i < end; i++) {
		if (thread >= 0 && samples.thread[stream.sample[i]] !== thread)
			continue;
		const weight = momentWeight(i, type), row = of(i);
		if (!weight || row < 0 || row >= names.length)
			continue;
		const column = Math.floor(stream.time[i] / step) - first;
		if (stream.kind[i] === UNTIL && type === stream.value)
			spread(bins, slope, row, n, (stream.time[i] - stream.weight[i] / 1000) / step - first,
				stream.time[i] / step - first, step);
		else if (column < n)
			bins[row * n + column] += weight;
	}
	for (let row = 0; row < names.length; row++) {
		let height = 0;
		for (let i = 0; i < n; i++) {
			height += slope[row * (n + 1) + i];
			bins[row * n + i] += Math.max(0, height);
		}
	}
	heat.bins = { names, bins, n, first, step, type };
	return heat.bins;
}
// From a to b, in columns: the ends are parts of a column, between them all are full.
function spread(bins, slope, row, n, a, b, step) {
	const low = Math.max(0, a), high = Math.min(n, b), full = step * 1000 / 2 ** data.types[stream.value].shift;
	if (high <= low)
		return;
	const i = Math.floor(low), k = Math.min(n - 1, Math.floor(high));
	if (i === k) {
		bins[row * n + i] += (high - low) * full;
		return;
	}
	bins[row * n + i] += (i + 1 - low) * full;
	bins[row * n + k] += (high - k) * full;
	slope[row * (n + 1) + i + 1] += full;
	slope[row * (n + 1) + k] -= full;
}

function drawTime() {
	if (!stream)
		return;
	byId('rows').textContent = 'Rows by ' + rowMode();
	fillBins();
	paintTime();
}

function paintTime() {
	if (!stream)
		return;
	const { names, bins, n, first, step } = heat.bins, width = byId('heat').clientWidth, plot = plotWidth();
	const rowHeight = Math.max(names.length > 12 ? 5 : 12, Math.min(16, Math.floor(96 / names.length)));
	const height = SUM + names.length * rowHeight + AXIS;
	const c = fitCanvas(heat.canvas, width, height), scale = plot / (heat.to - heat.from);
	const x = column => GUTTER + ((first + column) * step - heat.from) * scale;
	// States differ by orders of magnitude: each row is as dark as it gets at its own most.
	const sums = new Float64Array(n), own = rowMode() === data.label, most = new Float64Array(names.length);
	bins.forEach((v, i) => {
		const row = own ? Math.floor(i / n) : 0;
		most[row] = Math.max(most[row], v);
		sums[i % n] += v;
	});
	const tallest = sums.reduce((a, b) => Math.max(a, b), 0);
	Object.assign(heat, { rowHeight, height });
	byId('heat').style.height = height + 'px';
	c.save();
	c.beginPath();
	c.rect(GUTTER, 0, plot, height);
	c.clip();
	c.fillStyle = theme.cold;
	c.fillRect(GUTTER, SUM, plot, names.length * rowHeight - 1);
	for (let i = 0; i < n; i++) {
		const left = x(i), wide = Math.max(1, x(i + 1) - left - (step * scale > 4 ? 1 : 0));
		const tall = sums[i] / tallest * (SUM - 6);
		if (!sums[i])
			continue;
		c.fillStyle = theme.accent;
		c.fillRect(left, SUM - 3 - tall, wide, tall);
		for (let row = 0; row < names.length; row++) {
			if (!bins[row * n + i])
				continue;
			const share = bins[row * n + i] / most[own ? row : 0];
			c.fillStyle = own ? placeColor(row) :
				theme.heat[Math.min(theme.heat.length - 1, Math.floor(share * theme.heat.length))];
			c.globalAlpha = own ? 0.1 + 0.9 * share : 1;
			c.fillRect(left, SUM + row * rowHeight, wide, rowHeight - 1);
			c.globalAlpha = 1;
		}
	}
	paintSelection(c, GUTTER, scale, 0, height - AXIS);
	c.restore();
	c.fillStyle = theme.dim;
	c.font = '11px system-ui, sans-serif';
	const every = Math.ceil(12 / rowHeight);
	names.forEach((name, row) => {
		if (row % every === 0)
			c.fillText(cutText(name, GUTTER - 2), 8, SUM + row * rowHeight + rowHeight / 2);
	});
	paintAxis(c, GUTTER, scale, height - AXIS / 2, width);
}

function paintSelection(c, left, scale, top, bottom) {
	if (state.from < 0)
		return;
	const a = left + (state.from - heat.from) * scale, b = left + (state.to - heat.from) * scale;
	c.fillStyle = theme.shade;
	c.fillRect(left, top, a - left, bottom - top);
	c.fillRect(b, top, 1e5, bottom - top);
	c.strokeStyle = theme.strong;
	c.lineWidth = 1.5;
	c.strokeRect(a, top + 1, b - a, bottom - top - 2);
}

function paintAxis(c, left, scale, y, width) {
	let step = COLUMN;
	for (const factor of [2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 3, 2, 5, 2, 3, 2, 5])
		if (step * scale < 80)
			step *= factor;
	for (let t = Math.ceil(heat.from / step) * step; t <= heat.to; t += step) {
		const at = left + (t - heat.from) * scale;
		if (at < width - 40)
			c.fillText(step >= 1e6 ? `${(t / 1e6).toFixed(0)} s` : `${(t / 1e6).toFixed(2)} s`, at, y);
	}
}

function describeHeat(e) {
	const at = heat.canvas.getBoundingClientRect(), { names, bins, n, first, step, type } = heat.bins;
	const t = heat.from + (e.clientX - at.left - GUTTER) / plotWidth() * (heat.to - heat.from);
	const i = Math.floor(t / step) - first, row = Math.floor((e.clientY - at.top - SUM) / heat.rowHeight);
	if (e.clientX - at.left < GUTTER || i < 0 || i >= n)
		return hideTip();
	let sum = 0;
	for (let r = 0; r < names.length; r++)
		sum += bins[r * n + i];
	const [from, to] = [(first + i) * step, (first + i + 1) * step].map(v => (v / 1e6).toFixed(2));
	const inRow = row >= 0 && row < names.length ? `\n${names[row]}: ${figure(Math.round(bins[row * n + i]), type)}` : '';
	showTip(`${from}\u2013${to} s: ${figure(Math.round(sum), type)}${inRow}`, e);
}
