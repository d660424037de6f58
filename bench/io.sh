#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a request to a disk costs in BPF programs: `rawprof io` and biolatency of libbpf-tools, which watch the same
# requests at the same time. A loop device, 4 KB random reads by fio. Root. RUNS=5, REQUESTS=100000 for each.
# BIOLATENCY names the program to compare with.
set -u
cd "$(dirname "$0")/.." || exit 1
runs=${RUNS:-5} requests=${REQUESTS:-100000} peer=${BIOLATENCY:-biolatency}
for program in fio losetup bpftool "$peer"; do
	command -v "$program" >/dev/null || { echo "bench/io.sh: $program is not installed" >&2; exit 1; }
done
tmp=$(mktemp -d)
loop='' stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
tidy() {
	echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	[ -z "$loop" ] || losetup -d "$loop"
	rm -rf "$tmp"
}
trap tidy EXIT
head -c 64M /dev/urandom >"$tmp/disk.img"
loop=$(losetup -f --show "$tmp/disk.img") || exit 1
echo 1 >/proc/sys/kernel/bpf_stats_enabled

# spent PID: ns and runs of all BPF programs that the process has.
spent() {
	local id
	for id in /proc/"$1"/fdinfo/*; do sed -n 's/^prog_id:[[:space:]]*//p' "$id"; done | sort -u | while read -r id; do
		bpftool prog show id "$id"
	done | sed -n 's/.*run_time_ns \([0-9]*\) run_cnt \([0-9]*\).*/\1 \2/p' | awk '{ ns += $1; n += $2 } END { print ns + 0, n + 0 }'
}
completed() { awk -v d="${loop#/dev/}" '$3 == d { print $4 + $8 + $15 + $19 }' /proc/diskstats; }
all_completed() { awk '{ n += $4 + $8 + $15 + $19 } END { print n }' /proc/diskstats; }

# compare NAME "RAWPROF OPTIONS" "PEER OPTIONS": a line of the table.
compare() {
	local i ours theirs a b n speed
	for ((i = 0; i < runs; i++)); do
		# shellcheck disable=SC2086 # options are words
		./rawprof io -q $2 >"$tmp/ours" 2>&1 &
		ours=$!
		# shellcheck disable=SC2086
		"$peer" $3 >"$tmp/theirs" 2>&1 &
		theirs=$!
		sleep 2
		a=$(spent $ours) b=$(spent $theirs) n=$(all_completed)
		speed=$(fio --name=bench --filename="$loop" --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=16 \
			--number_ios="$requests" --size=64M --loops=100 --output-format=terse 2>/dev/null | cut -d ';' -f 8)
		n=$(($(all_completed) - n))
		echo "$a $(spent $ours) $b $(spent $theirs) $n ${speed:-0}" >"$tmp/line"
		kill -INT $ours $theirs
		wait $ours $theirs
		sed -n 's/^ledger: .* \([0-9,]*\) lost.*/\1/p' "$tmp/ours" | tr -d , | paste -d ' ' "$tmp/line" -
	done | awk -v name="$1" '
		{ o = ($3 - $1) / $9; t = ($7 - $5) / $9; r[NR] = o / t; os += o; ts += t; runs += ($4 - $2) / $9; truns += ($8 - $6) / $9; speed += $10; lost += $11 }
		END {
			for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) if (r[j] < r[i]) { x = r[i]; r[i] = r[j]; r[j] = x }
			printf "| %s | %.0f ns in %.2f runs | %.0f ns in %.2f runs | %.2f (%.2f to %.2f) | %.0f/s | %d |\n", name,
				os / NR, runs / NR, ts / NR, truns / NR, r[int((NR + 1) / 2)], r[1], r[NR], speed / NR, lost
		}'
}

echo '| what | rawprof io | biolatency | ratio: median (range) | requests | lost by rawprof |'
echo '|---|---|---|---|---|---|'
compare 'latency' '' ''
compare 'latency by disk' '--by disk' '-D'
compare 'latency by flags' '--by flags' '-F'
compare 'with the time in queues' '--phases' '-Q'
