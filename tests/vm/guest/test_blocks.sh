#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof io on another kernel, and on a disk whose latency is known: null_blk with a timer of 5 ms (VM_MODULES).
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
# Emulated timers come late, never early: by 2 % where nothing else runs.
if [ -n "${VM_ICOUNT:-}" ]; then
	for p in p50 p99 max; do near "requests: $p in us" "$(figure $p)" $((late_ms * 1000)) $((late_ms * 50)); done
else
	near 'requests: p50 in us' "$(figure p50)" $((late_ms * 1000)) $((late_ms * 100))
	holds 'requests: none is faster than the disk' "$(figure p50) >= $((late_ms * 1000)) * 0.969"
fi
ledger_closes 'requests'

run "$rawprof" io --phases --by op,phase --disk nullb0 -- "$work/fsyncs" /dev/nullb0 60 direct
has 'phases: in the device' "$out" '^op=read phase=device$'
sed -n '/phase=device/,/^$/p' "$out" >"$tmp/device" && cp "$tmp/device" "$out"
near 'phases: the device is what is slow, p50 in us' "$(figure p50)" $((late_ms * 1000)) $((late_ms * 100))

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

finish
