/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads as rows: what state they were in where the recording has intervals, how many samples there
 * were where it has points, and nothing but a sum where it has no times.
 */
const LANE = 22, NAMES = 210;
const lanes = { list: [], sums: null, start: null, moments: null };

function threadName(t) {
	const comm = data.names[threads.comm[t]], id = threads.tid[t] || threads.pid[t];
	return id ? `${comm} ${id}` : comm;
}

function setupThreads() {
	const box = byId('threads');
	lanes.scroll = makeScroll(box, drawThreads);
	if (stream) {
		indexMoments();
		watchTime(lanes.scroll.canvas, NAMES);
	}
	lanes.scroll.canvas.addEventListener('click', e => {
		const lane = laneAt(e);
		if (lane >= 0 && e.clientX - lanes.scroll.canvas.getBoundingClientRect().left < NAMES)
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

// The busiest first, of the weight that is shown.
function fillThreads() {
	const sums = new Float64Array(nthreads), values = samples.values[state.weight];
	for (let s = 0; s < nsamples; s++)
		sums[samples.thread[s]] += values[s];
	lanes.sums = sums;
	lanes.list = Array.from(sums.keys()).filter(t => sums[t] || (stream && lanes.start[t + 1] > lanes.start[t]))
		.sort((a, b) => sums[b] - sums[a] || threads.tid[a] - threads.tid[b] || a - b);
	lanes.scroll.setHeight(lanes.list.length * LANE + AXIS);
	fillLegend(byId('states'));
	drawThreads();
}

function drawThreads() {
	if (state.view !== 'threads')
		return;
	const { box, canvas } = lanes.scroll, width = box.clientWidth, height = box.clientHeight;
	const c = fitCanvas(canvas, width, height), top = box.scrollTop, most = Math.max(1, ...lanes.sums);
	const first = Math.max(0, Math.floor((top - AXIS) / LANE));
	for (let i = first; i < lanes.list.length && AXIS + i * LANE - top < height; i++) {
		const t = lanes.list[i], y = AXIS + i * LANE - top;
		if (t === state.thread) {
			c.fillStyle = theme.chosen;
			c.fillRect(0, y, width, LANE - 1);
		}
		if (stream)
			drawLane(c, t, y, width - NAMES);
		c.fillStyle = theme.accent;
		c.globalAlpha = 0.25;
		c.fillRect(0, y + 2, NAMES * 0.96 * lanes.sums[t] / most, LANE - 5);
		c.globalAlpha = 1;
		c.fillStyle = theme.text;
		c.fillText(cutText(threadName(t), NAMES - 16), 8, y + LANE / 2);
	}
	if (!stream)
		return;
	const scale = (width - NAMES) / (heat.to - heat.from);
	c.save();
	c.beginPath();
	c.rect(NAMES, 0, width - NAMES, height);
	c.clip();
	paintSelection(c, NAMES, scale, AXIS - top < 0 ? 0 : AXIS - top, height);
	c.fillStyle = theme.back;
	c.fillRect(NAMES, 0, width, Math.max(0, AXIS));
	c.fillStyle = theme.dim;
	c.font = '11px system-ui, sans-serif';
	paintAxis(c, NAMES, scale, AXIS / 2, width);
	c.restore();
}

// What is narrower than a pixel shares it; the pixel shows the state that has the most of it.
function drawLane(c, t, y, width) {
	const scale = width / (heat.to - heat.from), kinds = labelNames.length + 1, pixels = new Map();
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
		} else if (stream.kind[i] === UNTIL) {
			const begin = Math.max(0, end - stream.weight[i] / 1000 * scale), wide = Math.min(width, end) - begin;
			if (wide <= 0)
				continue;
			if (wide < 1) {
				add(Math.floor(begin), place, wide);
				continue;
			}
			c.fillStyle = placeColor(place);
			c.fillRect(NAMES + begin, y + 2, wide, LANE - 5);
		}
	}
	for (const [x, parts] of pixels) {
		const most = parts.reduce((best, v, k) => v > parts[best] ? k : best, 0);
		c.fillStyle = placeColor(most);
		c.globalAlpha = Math.min(1, 0.45 + parts[most]);
		c.fillRect(NAMES + x, y + 2, 1.5, LANE - 5);
	}
	c.globalAlpha = 1;
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
	const t = lanes.list[lane], x = e.clientX - lanes.scroll.canvas.getBoundingClientRect().left - NAMES;
	let text = `${threadName(t)} of process ${threads.pid[t]}\n${figure(lanes.sums[t], state.weight)}`;
	if (stream && x >= 0)
		text += describeMoment(t, heat.from + x / (lanes.scroll.box.clientWidth - NAMES) * (heat.to - heat.from));
	showTip(text, e);
}

// What the thread did then: the interval around the time, else the nearest sample within three pixels.
function describeMoment(t, time) {
	const near = 3 * (heat.to - heat.from) / (lanes.scroll.box.clientWidth - NAMES);
	let best = -1, gap = near;
	for (let k = lanes.start[t]; k < lanes.start[t + 1]; k++) {
		const i = lanes.moments[k], at = stream.time[i];
		const away = stream.kind[i] === UNTIL && at >= time && at - stream.weight[i] / 1000 <= time ? 0 : Math.abs(at - time);
		if (away < gap) {
			best = i;
			gap = away;
		}
	}
	let text = `\nat ${(time / 1e6).toFixed(3)} s`;
	if (best < 0)
		return text;
	const s = stream.sample[best], place = stacks.place[samples.node[s]];
	if (samples.label[s] >= 0)
		text += ' ' + data.names[samples.label[s]];
	if (stream.kind[best] === UNTIL)
		text += ` for ${scaled(stream.weight[best], 1000, ['ns', 'us', 'ms', 's'])}`;
	return text + (place >= 0 ? `\n${keys.text[keys.ofPlace[place]]}` : '');
}
