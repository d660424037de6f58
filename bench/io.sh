#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench ONLY=io`: what a request to a disk costs in BPF programs, by `rawprof io` and biolatency of libbpf-tools, which
# watch the same requests at the same time; whether they say the same; and what fio says. Root; five
# minutes. RUNS=5, REQUESTS=200000 for each; BIOLATENCY names the program to compare with.
set -u
cd "$(dirname "$0")/.." || exit 1
runs=${RUNS:-5} requests=${REQUESTS:-200000} peer=${BIOLATENCY:-biolatency} build=${BUILD:-build}
for program in fio losetup bpftool chrt python3 "$peer"; do
	command -v "$program" >/dev/null || { echo "bench/io.sh: $program is not installed" >&2; exit 1; }
done
tmp=$(mktemp -d)
loop='' stats=$(cat /proc/sys/kernel/bpf_stats_enabled)
results=$tmp/io.md
say() { printf '%s\n' "$@" >>"$results"; }
tidy() {
	echo "$stats" >/proc/sys/kernel/bpf_stats_enabled
	[ -z "$loop" ] || losetup -d "$loop"
	umount "$tmp/slow" "$tmp/memory" 2>/dev/null
	rm -rf "$tmp"
}
trap tidy EXIT

# spent PID: ns and runs of all BPF programs that the process has.
spent() {
	local id
	for id in /proc/"$1"/fdinfo/*; do sed -n 's/^prog_id:[[:space:]]*//p' "$id"; done | sort -u | while read -r id; do
		bpftool prog show id "$id"
	done | sed -n 's/.*run_time_ns \([0-9]*\) run_cnt \([0-9]*\).*/\1 \2/p' | awk '{ ns += $1; n += $2 } END { print ns + 0, n + 0 }'
}
completed() { awk '{ n += $4 + $8 + $15 + $19 } END { printf "%d\n", n }' /proc/diskstats; }

# load ARGS...: 4 KB reads here and there of the disk; fio's document is $tmp/fio.
load() {
	fio --name=bench --filename="$loop" --rw=randread --bs=4k --direct=1 --size=64M --output-format=json \
		--output="$tmp/fio" "$@" >/dev/null 2>&1
}
# by_fio NAME: of its reads.
by_fio() {
	python3 -c 'import json, sys
read = json.load(open(sys.argv[1]))["jobs"][0]["read"]
p = read["clat_ns"]["percentile"]
print({"iops": read["iops"], "mean": read["clat_ns"]["mean"] / 1e3,
       "p50": p["50.000000"] / 1e3, "p99": p["99.000000"] / 1e3}[sys.argv[2]])' "$tmp/fio" "$1"
}
# by_us FILE NAME LABEL: count, or mean, p50, p99 in us, of a histogram in our JSON.
by_us() {
	python3 -c 'import json, sys
for h in json.loads(open(sys.argv[1]).readlines()[-1])["histograms"]:
    if sys.argv[3] in h["labels"].values():
        print(h[sys.argv[2]] / (1 if sys.argv[2] == "count" else 1e3))' "$1" "$2" "$3"
}

# compare NAME SCHEDULER "RAWPROF OPTIONS" "PEER OPTIONS": a line of the table. Who comes first at a tracepoint finds
# memory cold for the other, so they take turns.
compare() {
	local i ours theirs a b n
	echo "$2" >"/sys/block/${loop#/dev/}/queue/scheduler"
	for ((i = 0; i < runs; i++)); do
		if [ $((i % 2)) -eq 0 ]; then
			# shellcheck disable=SC2086 # options are words
			{ ./rawprof io -q $3 >"$tmp/ours" 2>&1 & ours=$!; sleep 1; "$peer" $4 >/dev/null 2>&1 & theirs=$!; }
		else
			# shellcheck disable=SC2086
			{ "$peer" $4 >/dev/null 2>&1 & theirs=$!; sleep 1; ./rawprof io -q $3 >"$tmp/ours" 2>&1 & ours=$!; }
		fi
		sleep 1.5
		a=$(spent $ours) b=$(spent $theirs) n=$(completed)
		load --ioengine=libaio --iodepth=16 --io_size=$((4096 * requests))
		n=$(($(completed) - n))
		echo "$a $(spent $ours) $b $(spent $theirs) $n $(by_fio iops)" >>"$tmp/lines"
		kill -INT $ours $theirs
		wait $ours $theirs
	done
	awk -v name="$1" -v scheduler="$2" '
		{ o = ($3 - $1) / $9; t = ($7 - $5) / $9; r[NR] = o / t; os += o; ts += t; runs += ($4 - $2) / $9; truns += ($8 - $6) / $9; speed += $10 }
		END {
			for (i = 1; i <= NR; i++) for (j = i + 1; j <= NR; j++) if (r[j] < r[i]) { x = r[i]; r[i] = r[j]; r[j] = x }
			printf "| %s | %s | %.0f ns in %.2f runs | %.0f ns in %.2f runs | %.2f (%.2f to %.2f) | %.0f |\n", name, scheduler,
				os / NR, runs / NR, ts / NR, truns / NR, r[int((NR + 1) / 2)], r[1], r[NR], speed / NR
		}' "$tmp/lines" >>"$results"
	rm "$tmp/lines"
}

# agree: the same requests, counted by the kernel, by us, by them.
agree() {
	local ours theirs before n
	before=$(awk -v d="${loop#/dev/}" '$3 == d { print $4 }' /proc/diskstats)
	./rawprof io -q --disk "${loop#/dev/}" --by op -o "$tmp/agree.json" 2>/dev/null &
	ours=$!
	"$peer" -d "${loop#/dev/}" >"$tmp/theirs" 2>&1 &
	theirs=$!
	sleep 2
	load --ioengine=libaio --iodepth=16 --io_size=$((4096 * requests))
	n=$(($(awk -v d="${loop#/dev/}" '$3 == d { print $4 }' /proc/diskstats) - before))
	kill -INT $ours $theirs
	wait $ours $theirs
	read -r count low high < <(awk '$2 == "->" { n += $5; c[++k] = n; lo[k] = $1; hi[k] = $3 }
		END { for (i = 1; i <= k; i++) if (c[i] >= n / 2) { print n + 0, lo[i], hi[i]; exit } }' "$tmp/theirs")
	say "| $n | $(by_us "$tmp/agree.json" count read | cut -d . -f 1) | $count | $(by_us "$tmp/agree.json" p50 read) us | $low to $high us |"
}

# beside_fio NAME ENGINE ARGS...: who says what of the same reads.
beside_fio() {
	local name=$1 calls='' ours theirs=''
	shift
	./rawprof io -q --disk "${loop#/dev/}" --comm fio --by op -o "$tmp/io.json" 2>/dev/null &
	ours=$!
	if [[ $* == *psync* ]]; then
		./rawprof io -q --syscalls --by call,comm --comm fio -o "$tmp/calls.json" 2>/dev/null &
		theirs=$!
	fi
	sleep 1.5
	load "$@"
	kill -INT $ours $theirs
	wait $ours $theirs
	if [ -n "$theirs" ]; then
		calls="$(by_us "$tmp/calls.json" p50 pread) / $(by_us "$tmp/calls.json" p99 pread)"
	fi
	say "| $name | $(by_fio p50) / $(by_fio p99) | ${calls:--} | $(by_us "$tmp/io.json" p50 read) / $(by_us "$tmp/io.json" p99 read) |"
}

echo 1 >/proc/sys/kernel/bpf_stats_enabled
mkdir "$tmp/memory" "$tmp/slow"
mount -t tmpfs -o size=80m none "$tmp/memory" || exit 1
head -c 64M /dev/urandom >"$tmp/memory/disk"
loop=$(losetup -f --show "$tmp/memory/disk") || exit 1

say '# What a request to a disk costs' '' \
	"By bench/io.sh, $(date +%F), Linux $(uname -r), $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(
		. /etc/os-release && echo "$PRETTY_NAME"
	), $("$peer" --version 2>&1 | head -n 1), $(fio --version); load $(cut -d ' ' -f 1 /proc/loadavg) when it began." '' \
	"A loop device over memory, 4 KB reads here and there by fio, 16 at once, $requests for each run. Both programs watch the
same requests; who is first at a tracepoint changes from run to run. BPF time is by the kernel's own statistics, for
each request that any disk completed: the mean of $runs runs; the ratio is their median." '' \
	'| what | scheduler | rawprof io | biolatency | ratio (range) | requests/s |' '|---|---|---|---|---|---|'
compare 'latency' none '' ''
compare 'latency' mq-deadline '' ''
compare 'by disk' none '--by disk' '-D'
compare 'by flags' none '--by flags' '-F'
compare 'with the time in queues: --phases, -Q' none --phases -Q
compare 'the same' mq-deadline --phases -Q
echo none >"/sys/block/${loop#/dev/}/queue/scheduler"

say '' '## Do they say the same?' '' \
	"Of one run. biolatency's histogram has powers of two: its median lies in the bucket that is shown. It begins where a request is
issued, rawprof where it starts. The kernel may run no program for an end; rawprof counts those as lost: end not seen." '' \
	'| requests, by the kernel | rawprof | biolatency | median, rawprof | biolatency |' '|---|---|---|---|---|'
agree
say '' '## And fio?' '' \
	"Microseconds, p50 / p99. fio begins before a request is one and ends when it has been woken and has taken it: with one
read at a time by pread(2) its latency is that of the system call, as \`io --syscalls\` shows, and the request is a part of
that. With many at once they also wait for fio, which handles one after the other. Beside 10 ms, and every 50th time 40, all that
is little, if fio goes before other programs and does not wait for a CPU." '' \
	'| reads | fio (clat) | rawprof io --syscalls | rawprof io |' '|---|---|---|---|'
beside_fio 'one at a time, psync' --ioengine=psync --io_size=$((4096 * requests / 4))
beside_fio '16 at once, libaio' --ioengine=libaio --iodepth=16 --io_size=$((4096 * requests))
losetup -d "$loop"
loop=''
if [ -c /dev/fuse ] && [ -x "$build/workloads/slowdisk" ]; then
	"$build/workloads/slowdisk" "$tmp/slow" 64 10000 50 40000 &
	sleep 1
	loop=$(timeout 20 losetup -f --show --direct-io=on "$tmp/slow/disk") || exit 1
	load() {
		chrt -f 2 fio --name=bench --filename="$loop" --rw=randread --bs=4k --direct=1 --size=64M \
			--output-format=json --output="$tmp/fio" "$@" >/dev/null 2>&1
	}
	beside_fio '10 ms, one at a time, psync' --ioengine=psync --io_size=$((4096 * 400))
	beside_fio '10 ms, 64 at once, libaio' --ioengine=libaio --iodepth=64 --io_size=$((4096 * 10000))
fi
cp "$results" "${OUTPUT:-/dev/stdout}"
