#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a hit of a USDT probe with two arguments costs the program that passes it: a loop around one, so many times
# (HITS), alone and beside rawprof and bpftrace, which do the same: a line with both arguments for each, or a count. In
# turn, ROUNDS (5) times; the medians as a table. Root. `make bench ONLY=usdt`.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5} hits=${HITS:-200000}
program=$PWD/build/workloads/usdt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# beside SETUP TIMES: ns a hit while SETUP runs in the background, which is given some time to begin
beside() {
	local tool
	sh -c "exec $1" >/dev/null 2>"$tmp/tool" &
	tool=$!
	sleep 2
	"$program" hot "$2"
	kill -INT $tool 2>/dev/null
	wait $tool 2>/dev/null
}

# By row: what is done for each hit, what only counts.
names=(alone 'rawprof trace, func --count')
each=('' "./rawprof trace usdt:$program:hot -q -o /dev/null")
count=('' "./rawprof func --count usdt:$program:hot -q -o /dev/null")
if command -v bpftrace >/dev/null; then
	names+=('bpftrace, printf and count')
	each+=("bpftrace -e 'usdt:$program:shop:hot { printf(\"%d %d\\n\", arg0, arg1); }'")
	count+=("bpftrace -e 'usdt:$program:shop:hot { @ = count(); }'")
fi
for ((round = 0; round < rounds; round++)); do
	"$program" hot $((hits * 10)) | tee -a "$tmp/each.0" >>"$tmp/count.0"
	for ((i = 1; i < ${#names[@]}; i++)); do
		beside "${each[i]}" "$hits" >>"$tmp/each.$i"
		beside "${count[i]}" $((hits * 10)) >>"$tmp/count.$i"
	done
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }'; }
exec >"${OUTPUT:-/dev/stdout}"
printf '# What a hit of a USDT probe costs\n\nOf two arguments, medians of %s runs of %s hits, ten times as many that are counted: bench/usdt.sh. Of the\nfirst tenth of a second rawprof asks the kernel what its programs cost, and pays for that as well.\n\n' "$rounds" "$hits"
printf '| beside | each with its arguments, ns | a count, ns |\n|---|---|---|\n'
for i in "${!names[@]}"; do
	printf '| %s | %s | %s |\n' "${names[i]}" "$(median "$tmp/each.$i")" "$(median "$tmp/count.$i")"
done
