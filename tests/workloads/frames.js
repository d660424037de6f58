// SPDX-License-Identifier: BSD-2-Clause
// Functions of JavaScript of all sorts, on known lines: each burns time at the end of a stack, which is told first,
// outermost function first, as V8 itself says it. Arguments: thousands of rounds for each; "hot" and seconds for a chain
// that is optimised.
'use strict';
const rounds = 1000 * Number(process.argv[2]);
Error.stackTraceLimit = Infinity;

// What V8 says of the frames of this file above the one that asks, and of the one that asks for it.
function stack() {
	const kept = Error.prepareStackTrace;
	Error.prepareStackTrace = (_, sites) => sites;
	const sites = new Error().stack;
	Error.prepareStackTrace = kept;
	return sites.slice(2).filter((s) => s.getFileName() === __filename)
		.map((s) => `${s.getFunctionName() || '<anonymous>'} frames.js:${s.getLineNumber()}`).reverse();
}
const spin = (n) => { while (n-- > 0) Date.now(); };
const SPIN = `spin frames.js:18`;
function told() { console.log([...stack(), SPIN].join(';')); return rounds; }

// ---- each calls spin() on the line on which it tells

function recursion(n) {
	if (n > 0)
		return recursion(n - 1) + 1;
	spin(told()); return 0;
}
class Größe {
	#hidden = 1;
	static fest() { spin(told()); }
	get wert() { spin(told()); return this.#hidden; }
	methode() {
		return [3, 1, 2].sort((a, b) => {
			if (!this.done)
				spin(told());
			this.done = true;
			return a - b;
		});
	}
}
const 日本語 = function () { spin(told()); };
const obj = {
	short() { spin(told()); },
	['comp' + 'uted']: function named() { spin(told()); },
	'𝒳 surrogates': function 𝒳() { spin(told()); },
};
function* generator() {
	yield 1;
	spin(told());
	yield 2;
}
function closure() {
	const held = rounds;
	return () => {
		if (held >= 0)
			spin(told());
	};
}
function thrower() {
	try {
		throw new TypeError('x');
	} catch {
		spin(told());
	}
}
function long(x) {
	let s = x;
	s += 1;
	if (s > 1e9) {
		s = 0;
	}
	for (let i = 0; i < 3; i++) {
		switch (i) {
		case 1:
			spin(told());
			break;
		default:
			s += i;
		}
	}
	return s;
}
(function () { if (process.argv[3] !== 'hot') spin(told()); })();

// ---- a chain that becomes one piece of optimised code

function inner(a, b) { let q = a; for (let i = 0; i < 20; i++) q = (q + b + Date.now()) | 0; return q; }
function middle(a) {
	return inner(a, 1) ^
		inner(a, 2);
}
function outer(a) {
	const b = a + 1;
	return middle(b) + 1;
}
function hot(end) {
	let s = 0;
	while (Date.now() < end) {
		for (let i = 0; i < 1000; i++) s += outer(i);
	}
	return s;
}
function main() {
	recursion(3);
	Größe.fest();
	new Größe().wert;
	new Größe().methode();
	日本語();
	obj.short(); obj.computed(); obj['𝒳 surrogates']();
	for (const _ of generator());
	closure()();
	thrower();
	long(1);
	[1].map(() => { spin(told()); }); spin(4 * rounds); // so that what is new is read before it ends
}
if (process.argv[3] === 'hot')
	hot(Date.now() + 1000 * Number(process.argv[4]));
else
	main();
