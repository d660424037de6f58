#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof io beside fio: a disk whose latency is known, many requests at once, requests that a driver gives back.
#
# fio's time of a request ends when fio has been woken and has taken it; on a busy machine it waits for a CPU, which is
# not the disk's fault. It runs before all others here, as does the disk; and the disk takes milliseconds.
. "$(dirname "$0")/lib.sh"
need_profile
for program in fio chrt losetup python3; do
	command -v $program >/dev/null && continue
	skip 'beside fio' "$program is not installed"
	finish
done

loop='' memory=''
tidy() {
	[ -z "$loop" ] || losetup -d "$loop"
	rmdir /sys/kernel/tracing/instances/rawprof-fio 2>/dev/null
	umount "$tmp/slow" 2>/dev/null
	[ -z "$memory" ] || umount "$tmp/memory"
	cleanup
}
trap tidy EXIT
leaves_nothing_from_here
mkdir "$tmp/slow" "$tmp/memory"

# load ARGS...: fio with 4 KB reads here and there, and these options. Its document is $tmp/fio.
load() {
	chrt -f 2 fio --name=load --direct=1 --ioengine=libaio --rw=randread --bs=4k --size=64M \
		--output-format=json --output="$tmp/fio" "$@" >/dev/null 2>>"$err"
}
# diskstats: requests and bytes of the disk so far.
diskstats() { awk -v d="${loop#/dev/}" '$3 == d { printf "%d %.0f\n", $4 + $8 + $15 + $19, ($6 + $10 + $17) * 512 }' /proc/diskstats; }
# record "ARGS" COMMAND...: rawprof begins, the command runs, rawprof ends; its document is $tmp/json. In the variables
# requests, bytes and lost is what the disk did, and what rawprof knows that it has not seen.
record() {
	local args=$1 before
	shift
	# shellcheck disable=SC2086 # options are words
	recording io $args --format json -o "$tmp/json" -v
	last_command="rawprof io $args, while: $*"
	before=$(diskstats)
	"$@"
	read -r requests bytes < <(echo "$before $(diskstats)" | awk '{ printf "%d %.0f\n", $3 - $1, $4 - $2 }')
	kill -INT $recorder
	wait $recorder
	status=$?
	grep -q '"ledger"' "$tmp/json" && lost=$(python3 tests/cli/io.py totals "$tmp/json" | cut -d ' ' -f 3)
}
# hist LABELS: count, sum, p50 and p99 in us of a histogram.
hist() { python3 tests/cli/io.py figures "$tmp/json" "$1"; }

# ---- a disk of 10 ms, every 50th time 40

as_fio() { awk "BEGIN { d = $1 - $2; exit !(d <= $2 / 20 && -d <= $2 / 20) }"; }
# fio may be late, as it has to be woken first; the disk takes 40 ms for one request in 50.
as_slow() { awk "BEGIN { exit !($1 >= 38000 && $1 <= $2 * 1.05) }"; }
slow() { load --filename="$loop" --iodepth="$1" --io_size="$2"; }
if [ ! -c /dev/fuse ]; then
	skip 'a disk of 10 ms' 'there is no /dev/fuse'
else
	"$work/slowdisk" "$tmp/slow" 64 10000 50 40000 2>"$err" &
	for ((i = 0; i < 100; i++)); do
		[ -f "$tmp/slow/disk" ] && break
		sleep 0.05
	done
	loop=$(timeout 20 losetup -f --show --direct-io=on "$tmp/slow/disk" 2>>"$err")
	[ -n "$loop" ] || skip 'a disk of 10 ms' "$(head -n 1 "$err")"
fi
for depth in 1 16 64; do
	[ -n "$loop" ] || break
	# A kernel may run no program for some ends, and then some of these are not known of; and a machine may be so
	# busy that fio is late all the same. Neither is so every time.
	for ((try = 0; try < 5; try++)); do
		record "--by op --disk ${loop#/dev/}" slow $depth $((depth == 1 ? 4096 * 300 : 4096 * 4000))
		read -r count sum p50 p99 < <(hist read)
		read -r fio_count fio_bytes fio_p50 fio_p99 < <(python3 tests/cli/io.py fio "$tmp/fio")
		[ "$count" = "$requests" ] && as_fio "$p50" "$fio_p50" && as_slow "$p99" "$fio_p99" && break
	done
	is "depth $depth: status" $status 0
	is "depth $depth: requests, by the kernel" "$count" "$requests"
	is "depth $depth: requests, by fio" "$count" "$fio_count"
	is "depth $depth: bytes, by the kernel and fio" "$bytes" "$fio_bytes"
	near "depth $depth: p50 in us, by fio" "$p50" "$fio_p50" "$(awk "BEGIN { print $fio_p50 / 20 }")"
	holds "depth $depth: p99 in us, the slow requests, and not later than fio sees them" \
		"$p99 >= 38000 && $p99 <= $fio_p99 * 1.05"
	holds "depth $depth: none is faster than the disk" "$p50 >= 9700 && $sum >= 9900 * $count"
done
[ -z "$loop" ] || {
	record "--sizes --by op --disk ${loop#/dev/}" slow 64 $((4096 * 1000))
	read -r count sum _ < <(hist read)
	is 'sizes: bytes, by the kernel' "$((sum + 4096 * lost))" "$bytes"
	losetup -d "$loop"
	umount "$tmp/slow"
	loop=''
}

# ---- as fast as it goes: what is not in the result is in the ledger

# All tags of the queue come up again at the end, so that what lost its end is found out.
fast() {
	load --filename="$loop" --iodepth=64 --io_size=$((4096 * 200000))
	taskset -c 0 dd if="$loop" of=/dev/null bs=4k count=1000 iflag=direct status=none
}
if mount -t tmpfs -o size=80m none "$tmp/memory" 2>"$err"; then
	memory=yes
	head -c 64M /dev/zero >"$tmp/memory/disk"
	loop=$(losetup -f --show "$tmp/memory/disk" 2>>"$err")
fi
if [ -n "$loop" ]; then
	for view in '--by op' '--phases --by op,phase' '--by process'; do
		for ((try = 0; try < 3; try++)); do
			record "$view --disk ${loop#/dev/}" fast
			kept=$(python3 tests/cli/io.py totals "$tmp/json" | cut -d ' ' -f 1)
			[ "$requests" != $((kept + lost)) ] || break
		done
		is "fast, $view: kept and lost are all" "$kept + $lost = $((kept + lost))" "$kept + $lost = $requests"
		holds "fast, $view: next to nothing is lost" "$requests >= 201000 && $lost <= $requests / 100"
		has "fast, $view: the ledger closes" "$tmp/json" '"closes":true'
	done
	losetup -d "$loop"
	loop=''
else
	skip 'as fast as it goes' "$(head -n 1 "$err")"
fi

# ---- requests that the driver gives back: on whatever disk this is, which others use too

events=/sys/kernel/tracing/instances/rawprof-fio
traced() {
	echo 1 >$events/tracing_on
	load --filename="$tmp/file" --rw=randrw --bs=64k --iodepth=64
	echo 0 >$events/tracing_on
}
if mkdir $events 2>/dev/null; then
	echo 0 >$events/tracing_on
	echo 1 >$events/events/block/block_rq_issue/enable
	for ((try = 0; try < 5; try++)); do
		echo >$events/trace
		record '--log --comm fio' traced
		cp $events/trace "$tmp/trace"
		read -r lines requeued wrong < <(python3 tests/cli/io.py requeued "$tmp/json" "$tmp/trace")
		[ "$wrong" != 0 ] || break
	done
	if [ "$lines" -eq 0 ]; then
		skip 'requeued' 'no request comes of a file here'
	elif [ "$requeued" -eq 0 ]; then
		skip 'requeued' "the driver takes all of $lines requests at once"
	else
		is "requeued: $requeued of $lines issued as often as the kernel says" "$wrong" 0
		is 'requeued: the moments of each are in order' "$(python3 tests/cli/io.py log "$tmp/json" disorder)" 0
	fi
else
	skip 'requeued' 'no instance of the kernel trace can be made'
fi

leaves_nothing
finish
