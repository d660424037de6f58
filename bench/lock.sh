#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What watching locks costs: two threads that meet at a barrier, over and over, so that they do little but wait for each
# other; how long that takes alone, and beside rawprof and the tools that people use today. In turn, ROUNDS (5) times;
# the medians as a table. Root. `make bench ONLY=locks`.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5}
meetings=${MEETINGS:-10000}
work=(build/workloads/lockpair again "$meetings" 0.0001)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# seconds COMMAND...: how long it takes
seconds() {
	local begin=$EPOCHREALTIME
	"$@" >"$tmp/out" 2>"$tmp/err" || {
		echo "failed: $*" >&2
		tail -n 3 "$tmp/err" >&2
		return 1
	}
	awk "BEGIN { print $EPOCHREALTIME - $begin }"
}
# beside SETUP COMMAND...: the same while SETUP runs in the background, which is given a second to begin
beside() {
	local tool
	sh -c "exec $1" >"$tmp/tool" 2>&1 &
	tool=$!
	sleep 1.5
	seconds "${@:2}"
	kill -TERM $tool 2>/dev/null
	wait $tool 2>/dev/null
}

names=(alone 'rawprof lock' 'rawprof lock -U' 'rawprof lock -K')
tools=('' './rawprof lock -q -o /dev/null --format json' './rawprof lock -U -q -o /dev/null --format json'
	'./rawprof lock -K -q -o /dev/null --format json')
if command -v perf >/dev/null; then
	names+=('perf trace -s -e futex' 'perf lock record')
	tools+=("perf trace -a -s -e futex -o $tmp/trace" "perf lock record -a -o $tmp/perf.data")
fi
if command -v bpftrace >/dev/null; then
	names+=('bpftrace, futex by stack')
	tools+=("bpftrace -e 'tracepoint:syscalls:sys_enter_futex { @t[tid] = nsecs; }
		tracepoint:syscalls:sys_exit_futex /@t[tid]/ { @w[tid, ustack] = sum(nsecs - @t[tid]); delete(@t[tid]); }'")
fi

for ((round = 0; round < rounds; round++)); do
	for i in "${!names[@]}"; do
		if [ -z "${tools[i]}" ]; then
			seconds "${work[@]}"
		else
			beside "${tools[i]}" "${work[@]}"
		fi >>"$tmp/times.$i"
	done
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
alone=$(median "$tmp/times.0")
exec >"${OUTPUT:-/dev/stdout}"
printf '# What watching locks costs\n\nTwo threads that meet at a barrier %s times, medians of %s runs: bench/lock.sh.\n\n' "$meetings" "$rounds"
echo '| beside | seconds | more, for each meeting |'
echo '|---|---|---|'
for i in "${!names[@]}"; do
	t=$(median "$tmp/times.$i")
	awk -v name="${names[i]}" -v t="$t" -v alone="$alone" -v n="$meetings" \
		'BEGIN { printf "| %s | %.2f | %.2f us |\n", name, t, (t - alone) / n * 1e6 }'
done
