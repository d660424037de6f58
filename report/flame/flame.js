/* SPDX-License-Identifier: BSD-2-Clause */
/* What a flame graph does in a browser; ECMAScript 5, and without the end of a CDATA section. */
(function () {
'use strict';
var PAD = 12, LEAST = 480, SEARCH = 240, NARROWEST = 0.1;
var svg = document.querySelector('svg.rawprof');
var reset = svg.querySelector('#reset');
var details = svg.querySelector('#details');
var matched = svg.querySelector('#matched');
var height = +svg.getAttribute('height');
var fixed = svg.dataset.fixed ? +svg.getAttribute('width') : 0;
var width = fixed, ignoreCase = false, term = '', hits = '';

/* Preorder, so the first is the root, as wide as everything. */
var frames = Array.prototype.map.call(svg.querySelectorAll('g.f'), function (g) {
	var title = g.querySelector('title').textContent;
	return { g: g, rect: g.querySelector('rect'), text: g.querySelector('text'), title: title,
		name: title.slice(0, title.lastIndexOf(' (')),
		x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d, match: false };
});
var root = frames[0], zoomed = root;
frames.forEach(function (f) { f.g.frame = f; });

function characterWidth() {
	var probe = root.text, was = probe.textContent, wide;
	probe.textContent = 'mmmmmmmmmmmmmmmmmmmm';
	wide = probe.getComputedTextLength() / 20;
	probe.textContent = was;
	return wide > 0 ? wide : 7.22;
}
var character = characterWidth();

function cut(name, pixels) {
	var room = Math.floor((pixels - 6) / character), all;
	if (room < 3)
		return '';
	all = Array.from(name);
	return all.length <= room ? name : all.slice(0, room - 1).join('') + '\u2026';
}

function below(f, z) { return f.d >= z.d && f.x >= z.x && f.x + f.w <= z.x + z.w; }
function above(f, z) { return f.d < z.d && f.x <= z.x && f.x + f.w >= z.x + z.w; }

function draw() {
	var full = width - 2 * PAD, scale = full / zoomed.w;
	frames.forEach(function (f) {
		var parent = above(f, zoomed);
		var pixels = parent ? full : f.w * scale;
		var show = parent || (below(f, zoomed) && pixels >= NARROWEST);
		var x = parent ? PAD : PAD + (f.x - zoomed.x) * scale;
		f.g.classList.toggle('hide', !show);
		f.g.classList.toggle('parent', parent);
		if (!show)
			return;
		f.rect.setAttribute('x', x.toFixed(2));
		f.rect.setAttribute('width', pixels.toFixed(2));
		f.text.setAttribute('x', (x + 3).toFixed(2));
		f.text.textContent = cut(f.name, pixels);
	});
	reset.classList.toggle('on', zoomed !== root);
}

function remember() {
	var parts = [];
	if (zoomed !== root)
		parts.push('x=' + zoomed.x, 'y=' + zoomed.d);
	if (term)
		parts.push('s=' + encodeURIComponent(term));
	try {
		history.replaceState(null, '', location.pathname + location.search +
			(parts.length ? '#' + parts.join('&') : ''));
	} catch (e) {
		location.hash = parts.join('&');
	}
}

function zoom(f) {
	zoomed = f;
	draw();
	remember();
}

/* What a matching frame calls is part of it and not counted again. */
function search(text) {
	var pattern = null, sum = 0, end = 0;
	input.classList.remove('bad');
	try {
		pattern = text ? new RegExp(text, ignoreCase ? 'i' : '') : null;
	} catch (e) {
		input.classList.add('bad');
		return;
	}
	term = text;
	frames.forEach(function (f) {
		f.match = !!pattern && f !== root && pattern.test(f.name);
		f.g.classList.toggle('match', f.match);
		if (f.match && f.x >= end) {
			sum += f.w;
			end = f.x + f.w;
		}
	});
	hits = pattern ? 'Matched: ' + (100 * sum / root.w).toFixed(1) + '%' : '';
	matched.textContent = hits;
	clear.classList.toggle('on', !!term);
	remember();
}

function element(space, name, attributes) {
	var e = document.createElementNS(space, name);
	Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
	return e;
}
var SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
var box = element(SVG, 'foreignObject', { y: 10, width: SEARCH, height: 24 });
var input = element(HTML, 'input', { id: 'search', type: 'text', placeholder: 'Search (regexp)',
	title: 'Ctrl-F or F3 to come here, Ctrl-I to ignore case, Esc to clear', spellcheck: 'false',
	autocomplete: 'off' });
var clear = element(SVG, 'text', { 'class': 'button', y: 64, 'text-anchor': 'end' });
var cased = element(SVG, 'text', { 'class': 'button on', y: 26, 'text-anchor': 'end' });
box.appendChild(input);
clear.textContent = 'Reset Search';
cased.textContent = 'Aa';
[box, clear, cased].forEach(function (e) { svg.appendChild(e); });
cased.appendChild(element(SVG, 'title', {})).textContent = 'Case matters; click to ignore it';

function toggleCase() {
	ignoreCase = !ignoreCase;
	cased.firstChild.data = ignoreCase ? 'aa' : 'Aa';
	cased.querySelector('title').textContent =
		ignoreCase ? 'Case is ignored; click to heed it' : 'Case matters; click to ignore it';
	search(input.value);
}

function clearSearch() {
	input.value = '';
	search('');
}

function resize() {
	width = fixed || Math.max(LEAST, document.documentElement.clientWidth || window.innerWidth);
	svg.setAttribute('width', width);
	svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
	matched.setAttribute('x', width - PAD);
	clear.setAttribute('x', width - PAD);
	box.setAttribute('x', width - PAD - SEARCH);
	cased.setAttribute('x', width - PAD - SEARCH - 8);
	draw();
}

function frameOf(target) {
	var g = target.closest ? target.closest('g.f') : null;
	return g ? g.frame : null;
}

function describe(f) {
	if (!f)
		return '';
	return 'Function: ' + f.title + (zoomed !== root && below(f, zoomed) ?
		', ' + (100 * f.w / zoomed.w).toFixed(2) + '% of what is shown' : '');
}

function recall() {
	var state = {};
	(location.search.slice(1) + '&' + location.hash.slice(1)).split('&').forEach(function (part) {
		var at = part.indexOf('=');
		if (at < 0)
			return;
		try {
			state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));
		} catch (e) {
			return;
		}
	});
	frames.forEach(function (f) {
		if (state.x !== undefined && f.x === +state.x && f.d === +state.y)
			zoomed = f;
	});
	if (state.s) {
		input.value = state.s;
		search(state.s);
	}
}

svg.addEventListener('click', function (event) {
	var f = frameOf(event.target);
	if (f)
		zoom(f);
});
svg.addEventListener('mouseover', function (event) {
	details.textContent = describe(frameOf(event.target));
});
svg.addEventListener('mouseleave', function () { details.textContent = ''; });
reset.addEventListener('click', function () { zoom(root); });
clear.addEventListener('click', clearSearch);
cased.addEventListener('click', toggleCase);
input.addEventListener('input', function () { search(input.value); });
window.addEventListener('resize', resize);
window.addEventListener('keydown', function (event) {
	var ctrl = event.ctrlKey || event.metaKey;
	if (event.key === 'F3' || (ctrl && event.key === 'f')) {
		event.preventDefault();
		input.focus();
		input.select();
	} else if (ctrl && event.key === 'i') {
		event.preventDefault();
		toggleCase();
	} else if (event.key === 'Escape') {
		if (term || input.value)
			clearSearch();
		else
			zoom(root);
		input.blur();
	}
});
/* The root, which is as wide as all, may lie below the window. */
function reveal() {
	if (+zoomed.rect.getAttribute('y') + 18 > window.innerHeight)
		window.scrollTo(0, height - window.innerHeight);
}
recall();
resize();
reveal();
})();
