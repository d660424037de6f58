#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof io on another kernel, and on disks whose latency is known: null_blk with a timer of 5 ms (VM_MODULES), one
# that gives requests back, one as fast as it goes, a file system, and without BTF.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile
if [ ! -b /dev/nullb0 ]; then
	skip 'a disk of 5 ms' 'there is no null_blk'
	finish
fi
late_ms=5

# figure NAME: of the histogram in $out, in microseconds.
figure() {
	grep -m 1 -oE "$1 [0-9.]+ [a-z]+" "$out" | awk '{ print $2 * ($3 == "s" ? 1e6 : $3 == "ms" ? 1000 : $3 == "us" ? 1 : 0.001) }'
}
completed() { awk '$3 == "nullb0" { print $4 + $8, ($6 + $10) * 512 }' /proc/diskstats; }

before=$(completed)
run "$rawprof" io --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
is 'requests: status' $status 0
has 'requests: all of them' "$out" '^  60 requests '
is 'requests: as many as the kernel says' "$(completed | cut -d ' ' -f 1)" $((${before% *} + 60))
# Emulated timers come late, never early: by 2 % where the clock counts instructions.
if [ -n "${VM_ICOUNT:-}" ]; then
	for p in p50 p99 max; do near "requests: $p in us" "$(figure $p)" $((late_ms * 1000)) $((late_ms * 50)); done
else
	holds 'requests: none is faster than the disk' "$(figure p50) >= $((late_ms * 1000)) * 0.969"
fi
ledger_closes 'requests'

# Many at once; the program's own clock begins before the kernel's, and ends when it has been woken.
run "$rawprof" io --disk nullb0 -- "$work/aio" /dev/nullb0 600 16
read -r own50 own99 < <(grep -E '^[0-9]+ [0-9]+$' "$out")
has 'many at once: all of them' "$out" '^  600 requests '
if [ -n "${VM_ICOUNT:-}" ]; then
	near 'many at once: p50 in us, by the program' "$(figure p50)" "$((own50 / 1000))" $((own50 / 20000))
	near 'many at once: p99 in us, by the program' "$(figure p99)" "$((own99 / 1000))" $((own99 / 20000))
else
	holds 'many at once: no longer than by the program' "$(figure p50) <= $own50 / 1000 * 1.05"
fi
ledger_closes 'many at once'

run "$rawprof" io --phases --by op,phase --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
has 'phases: in the device' "$out" '^op=read phase=device$'
has 'phases: the head says what is counted' "$out" '^[0-9]+ phases in .*; time in phases of block requests by op, phase$'
sed -n '/phase=device/,/^$/p' "$out" >"$tmp/device" && cp "$tmp/device" "$out"
holds 'phases: the device is what is slow' "$(figure p50) >= $((late_ms * 1000)) * 0.969"

run "$rawprof" io --sizes --by op --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
has 'sizes: bytes' "$out" '^  60 requests .*sum 240 KiB'
run "$rawprof" io --log --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
is 'log: lines, and whose' "$(grep -cE '^ +[0-9.]+ fsyncs +[0-9]+ nullb0 +read +[0-9]+ +4096 ' "$out")" 60
run "$rawprof" io --pattern --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
has 'pattern' "$out" '^nullb0 +[0-9]+ +fsyncs +60 +240 KiB +4\.00 KiB +0\.0% +100\.0%'
run "$rawprof" io --stacks --weight requests --format folded -o "$tmp/folded" --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
is 'stacks' "$(awk '/^fsyncs;/ { n += $NF } END { print n + 0 }' "$tmp/folded")" 60
run "$rawprof" io --syscalls --by call,comm -- "$work/fsyncs" /dev/nullb0 60 direct
sed -n '/^call=pread comm=fsyncs/,/^$/p' "$out" >"$tmp/pread" && cp "$tmp/pread" "$out"
has 'system calls: all of them' "$out" '^  60 calls '
holds 'system calls: as slow as the disk' "$(figure p50) >= $((late_ms * 1000)) * 0.969"
run "$rawprof" io --by disk --comm nobody -- "$work/fsyncs" /dev/nullb0 60 direct
is 'filtered' "$(ledger KEPT) $(($(ledger FILTERED) >= 60))" '0 1'


# ---- disks that are made here

# disk NAME ATTRIBUTE=VALUE...: a null_blk of that kind, its name in $disk.
disk() {
	local dir=/sys/kernel/config/nullb/$1 i before after
	[ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config 2>/dev/null
	before=$(ls /sys/block)
	mkdir "$dir" 2>"$err" || return
	for i in memory_backed=1 size=64 "${@:2}"; do echo "${i#*=}" >"$dir/${i%%=*}" || return; done
	echo 1 >"$dir/power" || return
	after=$(ls /sys/block)
	disk=$(grep -vxF "$before" <<<"$after")
	[ -b "/dev/$disk" ]
}
# diskstats: requests of $disk so far.
diskstats() { awk -v d="$disk" '$3 == d { print $4 + $8 + $15 + $19 }' /proc/diskstats; }
# record ARGS, and a command in $load: in the variable requests what the disk did.
record() {
	local before pid i
	: >"$err"
	last_command="rawprof io $*, while: $load"
	"$rawprof" io -v "$@" >"$out" 2>"$err" &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		grep -q 'recording' "$err" && break
		sleep 0.1
	done
	before=$(diskstats)
	bash -c "$load" >"$said" 2>&1
	requests=$(($(diskstats) - before))
	kill -INT $pid
	wait $pid
	status=$?
}

# One that takes so many bytes a second, and gives back what is more.
if disk slow mbps=4 irqmode=0 completion_nsec=0; then
	events=/sys/kernel/tracing/instances/rawprof-test
	number=$(cat "/sys/block/$disk/dev")
	mkdir $events
	echo "dev == $(((${number%:*} << 20) | ${number#*:}))" >$events/events/block/block_rq_issue/filter
	echo 1 >$events/events/block/block_rq_issue/enable
	load="$work/aio /dev/$disk 3000 64"
	record --log --format json --disk "$disk"
	issued=$(grep -c ' block_rq_issue: ' $events/trace)
	rmdir $events
	is 'given back: a line for each' "$(grep -c '"op":"read"' "$out")" "$requests"
	is 'given back: issued as often as the kernel says' \
		"$(sed -n 's/.*"issues":\([0-9]*\).*/\1/p' "$out" | awk '{ n += $1 } END { print n }')" "$issued"
	ledger_closes 'given back'
	if [ "$issued" -gt "$requests" ]; then
		record --phases --by op,phase --disk "$disk"
		has 'given back: that is a phase' "$out" '^op=read phase=requeue$'
		ledger_closes 'phases, given back'
	else
		skip 'given back' 'this null_blk holds back instead'
	fi
else
	skip 'given back' "this null_blk cannot: $(head -n 1 "$err")"
fi

# As fast as it goes: what is not in the result is in the ledger. At the end all tags come up again.
if disk fast irqmode=1 completion_nsec=0; then
	load="$work/aio /dev/$disk 20000 64; $work/fsyncs /dev/$disk 600 direct"
	for view in '--by op' '--phases' '--processes'; do
		# shellcheck disable=SC2086 # options are words
		record $view --disk "$disk"
		is "fast, $view: kept and lost are all" "$(($(ledger KEPT) + $(ledger LOST)))" "$requests"
		holds "fast, $view: next to nothing is lost" "$requests >= 20600 && $(ledger LOST) <= $requests / 100"
		ledger_closes "fast, $view"
	done
else
	skip 'as fast as it goes' "this null_blk cannot: $(head -n 1 "$err")"
fi

# A file system on one whose cache has to be flushed.
if disk cached cache_size=16 irqmode=1 && mke2fs "/dev/$disk" >"$said" 2>&1 && mkdir -p "$tmp/mnt" &&
	mount -t ext4 -o barrier=1 "/dev/$disk" "$tmp/mnt" 2>"$err"; then
	sync # what the mount has to write
	load="$work/fsyncs $tmp/mnt/a 50; sync"
	record --by op --disk "$disk"
	is 'fsync: as many as the kernel says' "$(ledger KEPT)" "$requests"
	has 'fsync: flushes' "$out" '^op=flush$'
	ledger_closes 'fsync'
	run "$rawprof" io --fsync --by fs,phase -- "$work/fsyncs" "$tmp/mnt/b" 50
	for phase in call flush rest; do has "--fsync: $phase" "$out" "^fs=ext4 phase=$phase$"; done
	sed -n '/^fs=ext4 phase=call/,/^$/p' "$out" >"$tmp/call" && cp "$tmp/call" "$out"
	has '--fsync: all of them' "$out" '^  50 calls '
	run "$rawprof" io --syscalls -- dd if=/dev/zero "of=$tmp/mnt/c" bs=4k count=100
	sed -n '/^call=write fs=ext4/,/^$/p' "$out" >"$tmp/call" && cp "$tmp/call" "$out"
	has '--syscalls: by file system' "$out" '^  100 calls '
	umount "$tmp/mnt"
else
	skip 'a file system' "it cannot be had: $(head -n 1 "$err")"
fi

# ---- without BTF: the classic tracepoints, which know disk and sector

if unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf' 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell expands
	without_btf() { run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' "$rawprof" io "$@"; }
	without_btf --disk nullb0 -- "$work/aio" /dev/nullb0 600 16
	has 'no BTF: says what it does without' "$err" 'no BTF tracepoints: requests count from where they are issued'
	is 'no BTF: kept and lost are all of them' "$(($(ledger KEPT) + $(ledger LOST)))" 600
	holds 'no BTF: most are kept' "$(ledger KEPT) > 500"
	holds 'no BTF: as slow as the disk' "$(figure p50) >= $((late_ms * 1000)) * 0.969"
	ledger_closes 'no BTF'
	without_btf --phases --by op,phase --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
	has 'no BTF: --phases: in the device' "$out" '^op=read phase=device$'
	ledger_closes 'no BTF: --phases'
	without_btf --log --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
	is 'no BTF: --log: lines, and whose' "$(grep -cE '^ +[0-9.]+ fsyncs +[0-9]+ nullb0 +read +[0-9]+ +4096 ' "$out")" 60
	without_btf --sizes --by op --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
	has 'no BTF: --sizes' "$out" '^  60 requests .*sum 240 KiB'
	for view in --syscalls --fsync; do
		without_btf $view 1
		is "no BTF: $view: status" $status 1
		has "no BTF: $view: says why" "$err" 'BTF tracepoints alone'
	done
else
	skip 'no BTF' 'no mount namespace can be made'
fi

# ---- to which the kernel looks older still

if [ -x rawprof-old ]; then
	for version in 5.8 5.10 5.15; do
		run env OLD_KERNEL=$version ./rawprof-old io --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
		has "as Linux $version: all of them" "$out" '^  60 requests '
		ledger_closes "as Linux $version"
		run env OLD_KERNEL=$version ./rawprof-old io --phases --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
		has "as Linux $version: --phases" "$out" 'phase=device$'
		run env OLD_KERNEL=$version ./rawprof-old io --syscalls --by call,comm -- "$work/fsyncs" /dev/nullb0 60 direct
		if [ $version = 5.8 ] || [ $version = 5.10 ]; then
			is "as Linux $version: --syscalls: status" $status 1
			has "as Linux $version: --syscalls: says why" "$err" 'since Linux 5\.11'
		else
			has "as Linux $version: --syscalls" "$out" '^call=pread comm=fsyncs$'
		fi
	done
fi

finish
