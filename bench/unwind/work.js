// SPDX-License-Identifier: BSD-2-Clause
// Closures, sorting, regular expressions, JSON and typed arrays: interpreted, compiled, collected.
'use strict';
function tree(depth) {
	return depth === 0 ? { leaf: true } : { left: tree(depth - 1), right: tree(depth - 1), depth };
}
function count(node) {
	return node.leaf ? 1 : count(node.left) + count(node.right);
}
function sieve(n) {
	const composite = new Uint8Array(n + 1);
	let primes = 0;
	for (let i = 2; i <= n; i++) {
		if (composite[i]) continue;
		primes++;
		for (let j = i * i; j <= n; j += i) composite[j] = 1;
	}
	return primes;
}
function words(rounds) {
	const text = count.toString() + sieve.toString() + tree.toString();
	const seen = new Map();
	for (let i = 0; i < rounds; i++)
		text.replace(/[A-Za-z]+/g, (word) => seen.set(word + (i % 97), (seen.get(word) || 0) + 1));
	return [...seen].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).length;
}
const end = Date.now() + Number(process.argv[2]) * 1000;
let sum = 0;
while (Date.now() < end) {
	sum += count(tree(14)) + sieve(200000) + words(500);
	sum += JSON.parse(JSON.stringify(tree(11))).depth;
}
console.log(sum);
