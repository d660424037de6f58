/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page is given (report/html/data.c), in arrays, and how figures and colours look. */
'use strict';

const byId = id => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);

// A column is an array, or the one number that all are.
function column(values, n, type) {
	const a = new type(n);
	if (Array.isArray(values))
		a.set(values);
	else
		a.fill(values);
	return a;
}

const nplaces = data.places.n || 0, nthreads = data.threads.n || 0, nsamples = data.samples.n || 0;
const nnames = data.names.length;
const nameKind = column(data.kinds, nnames, Uint8Array);
const places = {
	name: column(data.places.name, nplaces, Int32Array),
	module: column(data.places.module, nplaces, Int32Array),
	file: column(data.places.file, nplaces, Int32Array),
	line: column(data.places.line, nplaces, Int32Array),
};
const stacks = {
	parent: column(data.nodes.up, data.nodes.n, Int32Array).map((up, i) => i - up),
	place: column(data.nodes.place, data.nodes.n, Int32Array),
};
const threads = {
	pid: column(data.threads.pid, nthreads, Int32Array),
	tid: column(data.threads.tid, nthreads, Int32Array),
	comm: column(data.threads.comm, nthreads, Int32Array),
};
const samples = {
	node: column(data.samples.node, nsamples, Int32Array),
	thread: column(data.samples.thread, nsamples, Int32Array),
	label: column(data.samples.label, nsamples, Int32Array),
	values: data.samples.values.map(v => column(v, nsamples, Float64Array)),
};
// In the order of enum report_frame_kind; behind these the names of processes, and of labels.
const KIND_NAMES = ['user', 'kernel', 'JIT', 'inlined', 'mark', 'Python', 'JavaScript', 'Java', 'PHP', 'Ruby', 'Perl', 'process', ''];
const KERNEL = 1, MARK = 4, COMM = KIND_NAMES.indexOf('process'), LABEL = COMM + 1;
const AT = 0, UNTIL = 1, WOKEN = 2;

// Moments in the order of their times, which are in microseconds, as all times of the page are.
const stream = data.stream && data.stream.n ? makeStream(data.stream) : null;

function makeStream(s) {
	const time = column(s.time, s.n, Float64Array);
	const made = {
		n: s.n, value: s.value, missed: s.missed, time,
		kind: column(s.kind, s.n, Uint8Array),
		cpu: column(s.cpu, s.n, Int32Array),
		weight: column(s.weight, s.n, Float64Array),
		count: column(s.count, s.n, Float64Array),
		sample: column(s.sample, s.n, Int32Array),
	};
	for (let i = 1; i < s.n; i++)
		time[i] += time[i - 1];
	made.end = Math.max(time[s.n - 1] + 1, (data.info.duration_ns || 0) / 1000);
	made.intervals = made.kind.includes(UNTIL);
	shareOut(made);
	return made;
}

// Points without a weight, of a stack that has some: wall's samples on a CPU, whose time is known in
// sum. Each stands for its share of what no other moment of the stack has.
function shareOut({ n, value, kind, weight, count, sample }) {
	const rest = Float64Array.from(samples.values[value]), points = new Float64Array(nsamples);
	for (let i = 0; i < n; i++) {
		if (kind[i] === AT && !weight[i])
			points[sample[i]] += count[i];
		else if (kind[i] !== WOKEN)
			rest[sample[i]] -= weight[i] / (kind[i] === UNTIL ? 2 ** data.types[value].shift : 1);
	}
	for (let i = 0; i < n; i++)
		if (kind[i] === AT && !weight[i] && points[sample[i]])
			weight[i] = Math.max(0, rest[sample[i]]) * count[i] / points[sample[i]];
}

// The first moment at or after a time.
function momentAt(t) {
	let low = 0, high = stream.n;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (stream.time[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The stream has times of one value type, and of counts, which are the first.
function isTimed(type) { return !!stream && (type === stream.value || type === 0); }

// What a moment weighs, all of it; of an interval in the value type of intervals.
function momentWeight(i, type) {
	if (type !== stream.value)
		return stream.count[i];
	if (stream.kind[i] === AT)
		return stream.weight[i];
	return stream.kind[i] === UNTIL ? stream.weight[i] / 2 ** data.types[type].shift : 0;
}

// ---- figures

const number = new Intl.NumberFormat('en-US');
function three(v) { return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2); }
function scaled(v, step, units) {
	let i = 0;
	while (v >= step && i < units.length - 1) {
		v /= step;
		i++;
	}
	return (i ? three(v) : number.format(Math.round(v))) + '\u00a0' + units[i];
}
function figure(v, type) {
	const { unit, shift, type: name } = data.types[type];
	v *= 2 ** shift;
	if (unit === 'nanoseconds')
		return scaled(v, 1000, ['ns', 'us', 'ms', 's']);
	if (unit === 'bytes')
		return scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
	return number.format(v) + ' ' + (unit === 'count' ? name : unit);
}
function percent(v, whole) { return (whole ? 100 * v / whole : 0).toFixed(2) + '%'; }
function clock(us) {
	return us >= 1e6 ? (us / 1e6).toFixed(2) + ' s' : (us / 1000).toFixed(0) + ' ms';
}
// Text of others that C has not cleaned: nothing that turns a line around.
function plain(s) {
	return String(s).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
		c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// ---- colours: those of the SVG, a function of name and kind (report/flame/color.c)

const utf8 = new TextEncoder();
function hash(bytes) {
	let h = 2166136261;
	for (const b of bytes)
		h = Math.imul(h ^ b, 16777619);
	h ^= h >>> 15;
	h = Math.imul(h, 0x2c1b3c6d);
	return (h ^ h >>> 13) >>> 0;
}
function fraction(h) { return (h & 0xffff) / 65536; }
function channel(n, hue, saturation, lightness) {
	const k = (n + hue / 30) % 12;
	const a = saturation * Math.min(lightness, 1 - lightness);
	const limit = Math.max(-1, Math.min(1, k - 3, 9 - k));
	return Math.floor((lightness - a * limit) * 255 + 0.5);
}
function colorIn([hue, hues, saturation, lightness, lightnesses], name) {
	const start = name.replace(/^[_[]+/, '');
	const family = hash(utf8.encode(start.split(/[:._(<]/, 1)[0])), whole = hash(utf8.encode(name));
	const h = hue + hues * (0.6 * fraction(family) + 0.4 * fraction(whole));
	const l = (lightness + lightnesses * fraction(whole >>> 16)) / 100;
	return `rgb(${[0, 8, 4].map(n => channel(n, h, saturation / 100, l))})`;
}

// Values of the label that colours, in the order that the recording has for them.
const labelNames = findLabels();
const labelPlace = new Map(labelNames.map((name, place) => [name, place]));
function findLabels() {
	const seen = new Set();
	samples.label.forEach((name, i) => {
		if (name >= 0 && samples.values.some(v => v[i]))
			seen.add(name);
	});
	const wanted = name => {
		const at = data.order.indexOf(data.names[name].slice(1, -1));
		return at < 0 ? data.order.length : at;
	};
	return [...seen].sort((a, b) => wanted(a) - wanted(b) || a - b);
}
function labelRange(place) {
	return place < 0 ? data.ranges.mixed : data.ranges.labels[place % data.ranges.labels.length];
}
