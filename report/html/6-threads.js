/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads as rows: what state they were in where the recording has intervals, how many samples there
 * were where it has points, and nothing but a sum where it has no times.
 */
const LANE = 22;
const lanes = { left: 210, list: [], sums: null, start: null, moments: null };

function threadName(t) {
	const comm = data.names[threads.comm[t]], id = threads.tid[t] || threads.pid[t];
	return id ? `${comm} ${id}` : comm;
}

function setupThreads() {
	const box = byId('threads');
	lanes.scroll = makeScroll(box, drawThreads);
	if (stream) {
		indexMoments();
		watchTime(lanes.scroll.canvas, () => lanes.left);
	}
	lanes.scroll.canvas.addEventListener('click', e => {
		const lane = laneAt(e);
		if (lane >= 0 && e.clientX - lanes.scroll.canvas.getBoundingClientRect().left < lanes.left)
			chooseThread(lanes.list[lane] === state.thread ? -1 : lanes.list[lane]);
	});
	lanes.scroll.canvas.addEventListener('mousemove', describeLane);
	lanes.scroll.canvas.addEventListener('mouseleave', hideTip);
	box.addEventListener('keydown', e => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (!step || !lanes.list.length)
			return;
		e.preventDefault();
		const at = lanes.list.indexOf(state.thread) + step;
		chooseThread(at < 0 ? -1 : lanes.list[Math.min(at, lanes.list.length - 1)]);
	});
}

// The moments of each thread, by time: those of thread t are moments[start[t]] to [start[t + 1] - 1].
function indexMoments() {
	const start = new Int32Array(nthreads + 2), moments = new Int32Array(stream.n);
	const thread = i => samples.thread[stream.sample[i]];
	for (let i = 0; i < stream.n; i++)
		start[thread(i) + 2]++;
	for (let t = 2; t < start.length; t++)
		start[t] += start[t - 1];
	for (let i = 0; i < stream.n; i++)
		moments[start[thread(i) + 1]++] = i;
	Object.assign(lanes, { start, moments });
}

// The busiest first: those with the most weight, or, where all have the same time, the most changes.
function fillThreads() {
	const sums = new Float64Array(nthreads), values = samples.values[state.weight];
	for (let s = 0; s < nsamples; s++)
		sums[samples.thread[s]] += values[s];
	const busy = stream && stream.intervals ? t => lanes.start[t + 1] - lanes.start[t] : t => sums[t];
	lanes.sums = sums;
	lanes.list = Array.from(sums.keys()).filter(t => sums[t] || (stream && lanes.start[t + 1] > lanes.start[t]))
		.sort((a, b) => busy(b) - busy(a) || sums[b] - sums[a] || threads.tid[a] - threads.tid[b] || a - b);
	lanes.scroll.setHeight(lanes.list.length * LANE + AXIS);
	fillLegend(byId('states'));
	drawThreads();
}

function drawThreads() {
	if (state.view !== 'threads')
		return;
	const { box, canvas } = lanes.scroll, width = box.clientWidth, height = box.clientHeight;
	// The names have less where there is little.
	lanes.left = Math.min(210, Math.round(0.36 * width));
	const c = fitCanvas(canvas, width, height), top = box.scrollTop, most = Math.max(1, ...lanes.sums);
	const first = Math.max(0, Math.floor((top - AXIS) / LANE));
	for (let i = first; i < lanes.list.length && AXIS + i * LANE - top < height; i++) {
		const t = lanes.list[i], y = AXIS + i * LANE - top;
		if (t === state.thread) {
			c.fillStyle = theme.chosen;
			c.fillRect(0, y, width, LANE - 1);
		}
		if (stream)
			drawLane(c, t, y, width - lanes.left);
		c.fillStyle = theme.accent;
		c.globalAlpha = 0.25;
		c.fillRect(0, y + 2, lanes.left * 0.96 * lanes.sums[t] / most, LANE - 5);
		c.globalAlpha = 1;
		c.fillStyle = theme.text;
		c.fillText(cutText(threadName(t), lanes.left - 16), 8, y + LANE / 2);
	}
	if (!stream)
		return;
	const scale = (width - lanes.left) / (heat.to - heat.from);
	c.save();
	c.beginPath();
	c.rect(lanes.left, 0, width - lanes.left, height);
	c.clip();
	paintSelection(c, lanes.left, scale, AXIS - top < 0 ? 0 : AXIS - top, height);
	c.fillStyle = theme.back;
	c.fillRect(lanes.left, 0, width, Math.max(0, AXIS));
	c.fillStyle = theme.dim;
	c.font = '11px system-ui, sans-serif';
	paintAxis(c, lanes.left, scale, AXIS / 2, width);
	c.restore();
}

// What is narrower than a pixel shares it; the pixel shows the state that has the most of it.
function drawLane(c, t, y, width) {
	const scale = width / (heat.to - heat.from), kinds = labelNames.length + 1, pixels = new Map(), wakes = [];
	const add = (x, place, part) => {
		if (!pixels.has(x))
			pixels.set(x, new Float32Array(kinds));
		pixels.get(x)[place] += part;
	};
	for (let k = lanes.start[t]; k < lanes.start[t + 1]; k++) {
		const i = lanes.moments[k], end = (stream.time[i] - heat.from) * scale;
		const name = samples.label[stream.sample[i]], place = labelPlace.has(name) ? labelPlace.get(name) : labelNames.length;
		if (stream.kind[i] === AT) {
			if (end >= 0 && end < width && stream.count[i])
				add(Math.floor(end), place, 0.3 * stream.count[i]);
		} else if (stream.kind[i] === WOKEN) {
			wakes.push(end);
		} else {
			const begin = Math.max(0, end - stream.weight[i] / 1000 * scale), wide = Math.min(width, end) - begin;
			if (wide <= 0)
				continue;
			if (wide < 1) {
				add(Math.floor(begin), place, wide);
				continue;
			}
			c.fillStyle = placeColor(place);
			c.fillRect(lanes.left + begin, y + 2, wide, LANE - 5);
		}
	}
	for (const [x, parts] of pixels) {
		const most = parts.reduce((best, v, k) => v > parts[best] ? k : best, 0);
		c.fillStyle = placeColor(most);
		c.globalAlpha = Math.min(1, 0.7 + parts[most]);
		c.fillRect(lanes.left + x, y + 2, 1.5, LANE - 5);
	}
	c.globalAlpha = 1;
	c.fillStyle = theme.strong;
	for (const x of wakes.length < width / 6 ? wakes : [])
		if (x >= 0 && x < width)
			c.fillRect(lanes.left + x, y, 1.5, 4);
}

const placeColors = [];
function placeColor(place) {
	if (place === labelNames.length)
		return theme.accent;
	if (!placeColors[place])
		placeColors[place] = colorIn(labelRange(place), data.names[labelNames[place]]);
	return placeColors[place];
}

function laneAt(e) {
	const y = e.clientY - lanes.scroll.canvas.getBoundingClientRect().top + lanes.scroll.box.scrollTop - AXIS;
	const lane = Math.floor(y / LANE);
	return lane >= 0 && lane < lanes.list.length ? lane : -1;
}

function describeLane(e) {
	const lane = laneAt(e);
	if (lane < 0)
		return hideTip();
	const t = lanes.list[lane], x = e.clientX - lanes.scroll.canvas.getBoundingClientRect().left - lanes.left;
	let text = `${threadName(t)} of process ${threads.pid[t]}\n${figure(lanes.sums[t], state.weight)}`;
	if (stream && x >= 0)
		text += describeMoment(t, heat.from + x / (lanes.scroll.box.clientWidth - lanes.left) * (heat.to - heat.from));
	showTip(text, e);
}

// What the thread did then: the interval around the time, else the nearest sample within three pixels.
function describeMoment(t, time) {
	const near = 3 * (heat.to - heat.from) / (lanes.scroll.box.clientWidth - lanes.left);
	let best = -1, gap = near, woken = '';
	for (let k = lanes.start[t]; k < lanes.start[t + 1]; k++) {
		const i = lanes.moments[k], at = stream.time[i];
		if (stream.kind[i] === WOKEN) {
			if (Math.abs(at - time) < near)
				woken = `\nwoken by thread ${stream.weight[i]}`;
			continue;
		}
		const away = stream.kind[i] === UNTIL && at >= time && at - stream.weight[i] / 1000 <= time ? 0 : Math.abs(at - time);
		if (away < gap) {
			best = i;
			gap = away;
		}
	}
	let text = `\nat ${(time / 1e6).toFixed(3)} s${woken}`;
	if (best < 0)
		return text;
	const s = stream.sample[best], place = stacks.place[samples.node[s]];
	if (samples.label[s] >= 0)
		text += ' ' + data.names[samples.label[s]];
	if (stream.kind[best] === UNTIL)
		text += ` for ${scaled(stream.weight[best], 1000, ['ns', 'us', 'ms', 's'])}`;
	return text + (place >= 0 ? `\n${keys.text[keys.ofPlace[place]]}` : '');
}
