#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a system call costs a program whose calls are all counted and timed: build/workloads/syscaller, CALLS getppid and as
# many close, alone, under rawprof, and under what else makes such a table. In turn, ROUNDS (5) times; the medians as a
# table. Root. `make bench ONLY=syscalls`.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5} calls=${CALLS:-100000}
program=$PWD/build/workloads/syscaller
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

names=(alone 'rawprof trace --syscalls')
commands=("$program $calls time" "./rawprof trace --syscalls -o $tmp/table -- $program $calls time")
if command -v bpftrace >/dev/null; then
	names+=('bpftrace, the same by two tracepoints')
	commands+=("bpftrace -q -o $tmp/table -c '$program $calls time' -e 'tracepoint:raw_syscalls:sys_enter { @s[tid] = nsecs; }
		tracepoint:raw_syscalls:sys_exit /@s[tid]/ { @t[args->id] = stats(nsecs - @s[tid]); @h[args->id] = hist(nsecs - @s[tid]);
		@e[args->id] = sum(args->ret < 0); delete(@s[tid]); }'")
fi
if command -v perf >/dev/null && perf trace -s true >/dev/null 2>&1; then
	names+=('perf trace -s')
	commands+=("perf trace -s -o $tmp/table $program $calls time")
fi
if command -v strace >/dev/null; then
	names+=('strace -c -f (a tenth of the calls)')
	commands+=("strace -c -f -o $tmp/table $program $((calls / 10)) time")
fi
for ((round = 0; round < rounds; round++)); do
	for i in "${!names[@]}"; do
		sh -c "${commands[i]}" 2>/dev/null | grep -E '^[0-9]+$' >>"$tmp/ns.$i"
	done
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }'; }
exec >"${OUTPUT:-/dev/stdout}"
printf '# What a system call costs when all are counted and timed\n\nOf getppid and close, medians of %s runs of %s calls: bench/syscalls.sh.\n\n' "$rounds" "$calls"
printf '| beside | ns a call |\n|---|---|\n'
for i in "${!names[@]}"; do
	printf '| %s | %s |\n' "${names[i]}" "$(median "$tmp/ns.$i")"
done
