// SPDX-License-Identifier: BSD-2-Clause
// shares.js SECONDS: half of its CPU time in one(), three tenths in two(), two tenths in three().
function cpu() {
	const used = process.cpuUsage();
	return (used.user + used.system) / 1e6;
}
function burn(share) {
	const end = cpu() + share / 100;
	let sum = 0;

	while (cpu() < end)
		for (let i = 0; i < 2000; i++)
			sum += Math.sqrt(i);
	return sum;
}
function one() { return burn(0.5) + 1; }
function two() { return burn(0.3) + 1; }
function three() { return burn(0.2) + 1; }

const stop = cpu() + +process.argv[2];
while (cpu() < stop) {
	one();
	two();
	three();
}
