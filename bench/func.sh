#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What it costs a program that a function is measured: a loop around a call, so many times (CALLS), alone and beside
# rawprof and bpftrace, which do the same: the time from entry to return in a histogram, or a count of entries. In turn,
# ROUNDS (5) times; the medians as a table. Root. `make bench ONLY=functions`.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5} calls=${CALLS:-1000000}
program=$PWD/build/workloads/calls
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# beside SETUP: ns a call while SETUP runs in the background, which is given some time to begin
beside() {
	local tool
	sh -c "exec $1" >/dev/null 2>"$tmp/tool" &
	tool=$!
	sleep 2
	"$program" cost "$calls"
	kill -INT $tool 2>/dev/null
	wait $tool 2>/dev/null
}

# By row: from entry to return, what only counts.
names=(alone 'rawprof func, func --count')
pair=('' "./rawprof func --hist $program:costs -q -o /dev/null")
count=('' "./rawprof func --count $program:costs -q -o /dev/null")
if command -v bpftrace >/dev/null; then
	names+=('bpftrace, hist and count')
	pair+=("bpftrace -e 'uprobe:$program:costs { @since[tid] = nsecs; }
		uretprobe:$program:costs /@since[tid]/ { @ = hist(nsecs - @since[tid]); delete(@since[tid]); }'")
	count+=("bpftrace -e 'uprobe:$program:costs { @ = count(); }'")
fi
for ((round = 0; round < rounds; round++)); do
	"$program" cost $((calls * 10)) | tee -a "$tmp/pair.0" >>"$tmp/count.0"
	for ((i = 1; i < ${#names[@]}; i++)); do
		beside "${pair[i]}" >>"$tmp/pair.$i"
		beside "${count[i]}" >>"$tmp/count.$i"
	done
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }'; }
exec >"${OUTPUT:-/dev/stdout}"
printf '# What a call of a function that is measured costs\n\nMedians of %s runs of %s calls: bench/func.sh. Of the first tenth of a second rawprof asks the\nkernel what its programs cost, and pays for that as well.\n\n' "$rounds" "$calls"
printf '| beside | entry and return, ns | a count, ns |\n|---|---|---|\n'
for i in "${!names[@]}"; do
	printf '| %s | %s | %s |\n' "${names[i]}" "$(median "$tmp/pair.$i")" "$(median "$tmp/count.$i")"
done
