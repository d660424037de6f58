// SPDX-License-Identifier: BSD-2-Clause
// server.js PORT: a web server that sorts, matches, packs and hashes.
const http = require('http'), crypto = require('crypto');

class Item {
	constructor(i) {
		this.name = 'item ' + i;
		this.price = (i * 7919 % 1000) / 10;
	}
	get label() {
		return `${this.name}: ${this.price.toFixed(2)}`;
	}
}

function items() {
	const rows = Array.from({ length: 200 }, (_, i) => new Item(i));

	rows.sort((a, b) => a.price - b.price);
	return JSON.stringify(JSON.parse(JSON.stringify(rows.map((row) => ({ label: row.label })))));
}

function match() {
	return 'aaab'.repeat(300).replace(/(a+)b/g, (all, first) => first.split('').reverse().join(''));
}

function* rows(n) {
	for (let i = 0; i < n; i++)
		yield `<li>${i}</li>`;
}

function page() {
	let text = '';

	for (const row of rows(300))
		text += row;
	return text;
}

async function digest() {
	return await new Promise((done) => crypto.pbkdf2('secret', 'salt', 100, 32, 'sha256', (err, key) => done(key.toString('hex'))));
}

const answers = { '/items': items, '/match': match, '/page': page, '/digest': digest };

http.createServer(async (request, response) => response.end(await answers[request.url]()))
	.listen(+process.argv[2], '127.0.0.1');
