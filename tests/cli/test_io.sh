#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof io: requests of which the kernel's own counts are known (/proc/diskstats), on a loop device that nobody else
# uses; and on a compressed disk in memory, which has no requests.
. "$(dirname "$0")/lib.sh"

# ---- without any right

refused() {
	run "$rawprof" io "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}
refused 'two views' 'different views' --log --sizes
for view in --phases --sizes --pattern --processes --log --stacks --fsync; do
	refused "system calls and $view" 'different views' --syscalls $view 1
	[ $view = --fsync ] || refused "fsync and $view" 'different views' --fsync $view 1
done
refused '--weight of histograms' '--weight is for --stacks' --weight size 1
refused '--by nothing that there is' '--by wants' --by disk,colour
refused '--by one twice' '--by wants' --by disk,disk
refused '--by five' '--by wants' --by disk,op,flags,process,cgroup
refused '--by phase alone' 'is for --phases' --by phase
refused '--by call of requests' 'for --syscalls' --by call
refused '--by disk of calls' 'told apart by' --syscalls --by disk
refused '--by of a log' 'is for histograms' --log --by disk
refused '--log at intervals' '--interval' --log -i 1
refused '--log as prometheus' 'lines of text' --log --format prometheus
refused 'stacks without --stacks' '--stacks' --format folded
refused '--top of histograms' 'are for tables' --phases --top 5
refused '--top and --by' '--by is for histograms' --top 5 --by op
refused '--min of nothing' 'milliseconds' --min soon
run "$rawprof" help io
sed -n '/--by LIST/,/^$/p' "$out" >"$tmp/by"
for word in disk op flags process comm cgroup call fs phase; do
	has "help io names --by $word" "$tmp/by" "\b$word\b"
done
need_profile
run "$rawprof" io --disk nonesuch 1
is 'no such disk: status' "$status" 1
has 'no such disk: says so' "$err" "no disk 'nonesuch'"
run "$rawprof" io --processes --sort colour 1
is 'no such column: status' "$status" 2
has 'no such column: says which there are' "$err" 'pid, comm, disk, requests'
run "$rawprof" io --phases --by disk 0.1
has '--phases: the head says what is counted' "$out" '^[0-9,]+ phases? in .*; time in phases of block requests by disk$'
if ! have_python; then
	skip 'requests' 'python3 is not installed, which reads the JSON'
	finish
fi

# ---- a disk of our own

loop='' mounted='' zram=''
tidy() {
	[ -z "$mounted" ] || umount "$tmp/mnt"
	[ -z "$loop" ] || losetup -d "$loop"
	[ -z "$zram" ] || echo "$zram" >/sys/class/zram-control/hot_remove
	cleanup
}
trap tidy EXIT
truncate -s 256M "$tmp/disk.img"
loop=$(losetup -f --show "$tmp/disk.img" 2>"$err")
if [ -z "$loop" ]; then
	skip 'requests' "no loop device: $(head -n 1 "$err")"
	finish
fi
disk=${loop#/dev/}

# diskstats DISK: reads, sectors read, writes, sectors written, discards, sectors of them, flushes.
diskstats() { awk -v d="$1" '$3 == d { print $4, $6, $8, $10, $15, $17, $19 }' /proc/diskstats; }
before() { diskstats "$disk" >"$tmp/before"; }
# since: how much of each came since then, in the variables reads, read, writes, written, discards, discarded, flushes.
since() {
	diskstats "$disk" | paste -d ' ' "$tmp/before" - >"$tmp/both"
	# shellcheck disable=SC2046 # words
	set -- $(awk '{ for (i = 1; i <= 7; i++) print $(i + 7) - $i }' "$tmp/both")
	reads=$1 read=$(($2 * 512)) writes=$3 written=$(($4 * 512)) discards=$5 discarded=$(($6 * 512)) flushes=$7
}
# once ARGS...: rawprof begins, $tmp/script runs, rawprof ends. Its documents are in $tmp/json.
once() {
	[ -z "$mounted" ] || sync -f "$tmp/mnt" # or what is left to do is done before or after, as it likes
	recording io --format json -o "$tmp/json" -v "$@"
	before
	bash "$tmp/script" >"$said" 2>&1
	since
	kill -INT $recorder
	wait $recorder
	status=$?
	kept=$(ledger KEPT)
	[ -n "$kept" ] || kept=$(python3 tests/cli/io.py totals "$tmp/json" | cut -d ' ' -f 1)
}
# record ARGS... and a script on standard input. Requests end in interrupts, and a kernel may not run a BPF program for
# what interrupts another run of it, or some task or other. Where that has happened, which is seldom and no fault of
# ours, all of it is done again.
record() {
	local try
	last_command="rawprof io $*"
	cat >"$tmp/script"
	for ((try = 0; try < 5; try++)); do
		once "$@"
		[ "$kept" != $((reads + writes + discards + flushes)) ] || break
	done
	is "$1: status" "$status" 0
}
# hist LABELS: count of that histogram; bytes LABELS: its sum. 0 if there is none.
hists() { python3 tests/cli/io.py hists "$tmp/json" >"$tmp/hists"; }
count_of() { hists && awk -v n="$1" '$1 == n { c = $(NF - 1) } END { print c + 0 }' "$tmp/hists"; }
sum_of() { hists && awk -v n="$1" '$1 == n { s = $NF } END { print s + 0 }' "$tmp/hists"; }
lost() { python3 tests/cli/io.py totals "$tmp/json" | cut -d ' ' -f 3; }
# closes NAME: the JSON says so, what is kept is in the histograms, and none is lost.
closes() {
	has "$1: the ledger closes" "$tmp/json" '"closes":true'
	is "$1: all that is kept is shown" "$(python3 tests/cli/io.py totals "$tmp/json" | awk '{ print $1 == $2 }')" 1
	is "$1: none is lost" "$(lost)" 0
}
leaves_nothing_from_here

# ---- counts and bytes are the kernel's

record --disk "$disk" <<-END
	dd if=/dev/zero of=$loop bs=64k count=50 oflag=direct
	dd if=$loop of=/dev/null bs=4k count=100 iflag=direct
END
is 'plain: reads' "$(count_of "$disk/read")" "$reads"
is 'plain: writes' "$(count_of "$disk/write")" "$writes"
closes plain

if mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$loop" 2>/dev/null && mkdir "$tmp/mnt" && mount "$loop" "$tmp/mnt"; then
	mounted=yes
else
	skip 'a file system' 'no mkfs.ext4, or it cannot be mounted'
fi
load="$work/fsyncs $tmp/mnt/a 100; dd if=/dev/zero of=$tmp/mnt/b bs=1M count=40 conv=fsync; rm $tmp/mnt/b; sync -f $tmp/mnt
	dd if=/dev/zero of=$tmp/mnt/c bs=4k count=1000 oflag=direct; $work/fsyncs $tmp/mnt/c 200 direct; fstrim $tmp/mnt; sync -f $tmp/mnt"
for scheduler in none mq-deadline; do
	[ -n "$mounted" ] || break
	if ! echo $scheduler >"/sys/block/$disk/queue/scheduler" 2>/dev/null; then
		skip "fsync load, $scheduler" 'this kernel does not have it'
		continue
	fi
	record --sizes --by op --disk "$disk" <<<"$load"
	holds "fsync load, $scheduler: there was much" "$writes > 600 && $reads >= 200 && $flushes > 100"
	is "fsync load, $scheduler: reads" "$(count_of read)" "$reads"
	is "fsync load, $scheduler: bytes read" "$(sum_of read)" "$read"
	is "fsync load, $scheduler: writes" \
		"$(($(count_of write) + $(count_of empty-flush) + $(count_of write-zeroes)))" "$writes"
	is "fsync load, $scheduler: bytes written" "$(($(sum_of write) + $(sum_of write-zeroes)))" "$written"
	is "fsync load, $scheduler: discards" "$(count_of discard)" "$discards"
	is "fsync load, $scheduler: bytes discarded" "$(sum_of discard)" "$discarded"
	is "fsync load, $scheduler: flushes" "$(count_of flush)" "$flushes"
	closes "fsync load, $scheduler"

	record --phases --by op,phase --disk "$disk" <<<"$load"
	is "phases, $scheduler: each read is in the device once" "$(count_of read/device)" "$reads"
	is "phases, $scheduler: and starts once" "$(count_of read/queue)" "$reads"
	is "phases, $scheduler: each flush is in the device once" "$(count_of flush/device)" "$flushes"
	if [ $scheduler = none ]; then
		is "phases, $scheduler: direct reads meet no scheduler" "$(count_of read/scheduler)" 0
	else
		is "phases, $scheduler: reads go through the scheduler" "$(count_of read/scheduler)" "$reads"
	fi
done

# ---- one line for each; the events of the kernel's own tracing beside it

events=/sys/kernel/tracing/instances/rawprof-test
number=$(cat "/sys/block/$disk/dev")
number=$(((${number%:*} << 20) | ${number#*:}))
mkdir "$events" 2>/dev/null && for e in issue requeue; do
	echo "dev == $number" >"$events/events/block/block_rq_$e/filter"
	echo 1 >"$events/events/block/block_rq_$e/enable"
	echo 0 >"$events/tracing_on"
done
record --log --disk "$disk" <<<"echo >$events/trace; echo 1 >$events/tracing_on; ${mounted:+$load}; echo 0 >$events/tracing_on"
[ -d "$events" ] && issued=$(grep -c ' block_rq_issue: ' "$events/trace")
rmdir "$events" 2>/dev/null
log() { python3 tests/cli/io.py log "$tmp/json" "$1"; }
is 'log: a line for each' "$(log lines)" "$((reads + writes + discards + flushes))"
is 'log: bytes' "$(log bytes)" "$((read + written + discarded))"
is 'log: the moments of each are in order' "$(log disorder)" 0
[ -z "${issued:-}" ] || is 'log: issued as often as the kernel says' "$(log issues)" "$issued"
[ -z "$mounted" ] || has 'log: who started it' "$tmp/json" '"comm":"fsyncs","pid":[0-9]+,"tid":[0-9]+,"disk":"loop[0-9]+","op":"read"'
ledger_closes 'log'

run "$rawprof" io --log --disk "$disk" -- dd if=/dev/zero "of=$loop" bs=64k count=20 seek=3000 oflag=direct
is 'log as text: status' $status 0
is 'log as text: lines of dd' "$(grep -cE '^ +[0-9]+\.[0-9]{6} dd +[0-9]+ loop[0-9]+ +write +[0-9]+ +65536 +[0-9.]+ +[0-9.]+ +[0-9.]+ ' "$out")" 20
is 'log as text: queue and device are the total' "$(awk '$2 == "dd" { d = $8 + $9 - $10; if (d > 0.0021 || d < -0.0021) n++ } END { print n + 0 }' "$out")" 0
run "$rawprof" io --log --disk "$disk" --format chrome -o "$tmp/chrome" -- dd if=/dev/zero "of=$loop" bs=64k count=20 seek=3000 oflag=direct
is 'log for Chrome: status' $status 0
is 'log for Chrome: slices of dd, which do not overlap' "$(python3 tests/cli/io.py chrome "$tmp/chrome" dd)" '20 1310720 0 0'
run "$rawprof" io --log --disk "$disk" --min 100000 -- dd if=/dev/zero "of=$loop" bs=64k count=20 seek=3000 oflag=direct
is '--min: nothing takes so long' "$(wc -l <"$out") $(ledger KEPT) $(($(ledger FILTERED) >= 20))" '1 0 1'
ledger_closes '--min'

# ---- whose

writer=(dd if=/dev/zero "of=$loop" bs=64k count=20 seek=3000 oflag=direct)
run "$rawprof" io --by comm,op --format json -o "$tmp/json" -- sh -c "${writer[*]}; sleep 0.1"
is '-- PROGRAM: its child' "$(count_of dd/write)" 20
run "$rawprof" io --comm 'd?' --by op --disk "$disk" --format json -o "$tmp/json" -- "${writer[@]}"
is '--comm: a pattern that the kernel does not match' "$(count_of write)" 20
run "$rawprof" io --comm 'e?' --by op --disk "$disk" --format json -o "$tmp/json" -- "${writer[@]}"
is '--comm: and one that no one has' "$(count_of write)" 0
has '--comm: the ledger closes' "$tmp/json" '"closes":true'
run "$rawprof" io --comm nobody --disk "$disk" -- "${writer[@]}"
is '--comm: all others are filtered' "$(ledger KEPT) $(($(ledger FILTERED) >= 20)) $(ledger LOST)" '0 1 0'
run "$rawprof" io --by process --disk "$disk" -- "${writer[@]}"
has '--by process: with its pid' "$out" '^process=dd [0-9]+$'
run "$rawprof" io --by flags,op --disk "$disk" --format json -o "$tmp/json" -- "${writer[@]}"
is '--by flags' "$(count_of sync,idle/write)" 20
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/rawprof-test-$$
if [ "${group%/*}" ] && mkdir "$group" 2>/dev/null; then
	run "$rawprof" io --by cgroup,op --disk "$disk" --format json -o "$tmp/json" -- \
		sh -c "echo 0 >$group/cgroup.procs; ${writer[*]}"
	is '--by cgroup' "$(count_of "/${group##*/}/write")" 20
	run "$rawprof" io --cgroup $group --by op --format json -o "$tmp/json" -- \
		sh -c "${writer[*]}; echo 0 >$group/cgroup.procs; ${writer[*]}"
	is '--cgroup' "$(count_of write)" 20
	rmdir "$group"
else
	skip '--by cgroup, --cgroup' 'no version 2 group can be made'
fi

# ---- tables

run "$rawprof" io --processes --disk "$disk" -- "${writer[@]}"
has '--processes' "$out" '^ *[0-9]+ +dd +loop[0-9]+ +20 .* 0 B +1\.25 MiB '
ledger_closes '--processes'
run "$rawprof" io --top 1 --sort written --disk "$disk" -- sh -c "${writer[*]} status=none; $work/fsyncs $loop 3 direct"
is '--top: rows, and which comes first' "$(awk '/^ *PID/ { head = NR } head && NR > head && /^ *[0-9]+ / { print $2 }' "$out")" dd
run "$rawprof" io --top 3 --disk "$disk" -i 0.1 -- sh -c "${writer[*]} status=none; sleep 0.3"
lacks '--top -i: a pipe is not cleared' "$out" "$(printf '\033')"
if script -V >/dev/null 2>&1; then
	TERM=xterm script -qec "$rawprof io --top 3 --disk $disk -i 0.1 -- sleep 0.35" "$tmp/typescript" >/dev/null </dev/null
	holds '--top -i: a terminal is' "$(grep -c "$(printf '\033\[2J')" "$tmp/typescript") >= 2"
fi
run "$rawprof" io --pattern --disk "$disk" -- "${writer[@]}"
has '--pattern: one after the other' "$out" '^loop[0-9]+ +[0-9]+ +dd +20 +1\.25 MiB +64\.0 KiB +95\.0% +5\.0%'
run "$rawprof" io --pattern --disk "$disk" -- "$work/fsyncs" "$loop" 200 direct
has '--pattern: here and there' "$out" '^loop[0-9]+ +[0-9]+ +fsyncs +200 +800 KiB +4\.00 KiB +0\.0% +100\.0%'
ledger_closes '--pattern'

# ---- stacks

run "$rawprof" io --stacks --weight requests --format folded -o "$tmp/folded" --disk "$disk" -- "${writer[@]}"
is '--stacks: requests' "$(awk '/^dd;.*;ksys_write;.*;submit_bio_noacct_nocheck;/ { n += $NF } END { print n + 0 }' "$tmp/folded")" 20
ledger_closes '--stacks'
run "$rawprof" io --stacks --weight size --format folded -o "$tmp/folded" --disk "$disk" -- "${writer[@]}"
is '--stacks: bytes' "$(awk '/^dd;/ { n += $NF } END { print n + 0 }' "$tmp/folded")" $((20 * 65536))
run "$rawprof" io --stacks -o "$tmp/io.svg" --disk "$disk" -- "${writer[@]}"
has '--stacks as svg' "$tmp/io.svg" 'submit_bio_noacct_nocheck'

# ---- at intervals, everything once

record -i 0.3 --by op --disk "$disk" <<-END
	for i in 1 2 3 4 5 6 7 8 9 10; do ${writer[*]}; sleep 0.1; done
END
holds '-i: several documents' "$(wc -l <"$tmp/json") > 2"
is '-i: writes' "$(count_of write)" "$writes"
closes '-i'
run "$rawprof" io --disk "$disk" --format prometheus -- "${writer[@]}"
has 'prometheus' "$out" '^rawprof_io_latency_seconds_count\{disk="loop[0-9]+",op="write"\} 20$'

# ---- a kernel without BTF

if unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf' 2>/dev/null; then
	without_btf() { run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' "$rawprof" io "$@"; }
	# What completes while another program is at work on that CPU is not seen by one of this kind: it is lost, and said to be.
	# A busy machine may take such a program off the CPU for long, and has several tries.
	for _ in 1 2 3 4 5; do
		without_btf --sizes --by op --disk "$disk" --format json -o "$tmp/json" -- "${writer[@]}"
		is 'no BTF: writes, seen or lost' "$(($(count_of write) + $(lost)))" 20
		[ "$(lost)" -gt 0 ] || break
	done
	has 'no BTF: says what it does without' "$err" 'no BTF tracepoints: requests count from where they are issued'
	is 'no BTF: writes' "$(count_of write)" 20
	is 'no BTF: bytes' "$(sum_of write)" $((20 * 65536))
	closes 'no BTF'
	without_btf --log --disk "$disk" -- "$work/fsyncs" "$loop" 100 direct
	is 'no BTF: lines, and whose' \
		"$(($(grep -cE '^ +[0-9.]+ fsyncs +[0-9]+ loop[0-9]+ +read +[0-9]+ +4096 ' "$out") + $(ledger LOST)))" 100
	holds 'no BTF: few are lost' "$(ledger LOST) <= 10"
	[ -z "$mounted" ] || {
		sleep 1 && "$work/fsyncs" "$tmp/mnt/f" 50 >/dev/null &
		without_btf --by op --disk "$disk" --format json -o "$tmp/json" 3
		wait
		holds 'no BTF: flushes' "$(count_of flush) > 10"
	}
	for _ in 1 2 3 4 5; do
		without_btf --stacks --weight requests --format folded -o "$tmp/folded" --disk "$disk" -- "${writer[@]}"
		[ "$(ledger LOST)" -gt 0 ] || break
	done
	is 'no BTF: stacks' "$(awk '/^dd;/ { n += $NF } END { print n + 0 }' "$tmp/folded")" 20
	without_btf --fsync 1
	is 'no BTF: --fsync: status' $status 1
	has 'no BTF: --fsync: says why' "$err" 'BTF tracepoints alone'
else
	skip 'a kernel without BTF' 'no mount namespace can be made'
fi

# ---- to which the kernel looks older: what it would refuse is refused (tests/old)

preload=$PWD/build/old/preload.so
old() { run env OLD_KERNEL="$1" LD_PRELOAD="$preload" "$rawprof" io "${@:2}" -- "$work/fsyncs" "$loop" 50 direct; }
for version in 5.8 5.10 5.15; do
	[ -e "$preload" ] || break
	for view in --phases --sizes --pattern --log --stacks; do
		old $version $view --disk "$disk"
		is "as Linux $version: $view: status" $status 0
		holds "as Linux $version: $view: all of them" "$(ledger KEPT) >= 50 && $(ledger LOST) == 0"
		ledger_closes "as Linux $version: $view"
	done
	old $version --syscalls --by call
	if [ $version = 5.15 ]; then
		has "as Linux $version: --syscalls" "$out" '^call=pread$'
	else
		is "as Linux $version: --syscalls: status" $status 1
		has "as Linux $version: --syscalls: says why" "$err" 'since Linux 5\.11'
	fi
done

# ---- system calls

[ -z "$mounted" ] || {
	run "$rawprof" io --syscalls -- true
	is '--syscalls: nothing that began before is lost' "$(ledger LOST)" 0
	"$work/compat" 75 1 >/dev/null 2>&1
	if [ $? -eq 77 ]; then
		skip '--syscalls: those of 32-bit programs' 'there are none here'
	else
		# setrlimit; fdatasync of 64-bit programs has the number
		run "$rawprof" io --syscalls -- "$work/compat" 75 1000
		has '--syscalls: those of 32-bit programs: they were made' "$out" '^1000$'
		lacks '--syscalls: those of 32-bit programs are let alone' "$out" '^call=fdatasync'
		is '--syscalls: those of 32-bit programs are not lost either' "$(ledger LOST)" 0
		ledger_closes '--syscalls: those of 32-bit programs'
	fi
	run "$rawprof" io --syscalls --format json -o "$tmp/json" -- dd if=/dev/zero "of=$tmp/mnt/d" bs=4k count=300 conv=fsync status=none
	is '--syscalls: writes' "$(count_of write/ext4)" 300
	is '--syscalls: reads of a device' "$(count_of read/devtmpfs)" 300
	is '--syscalls: fsync' "$(count_of fsync/ext4)" 1
	has '--syscalls: the ledger closes' "$tmp/json" '"closes":true'

	run "$rawprof" io --fsync --by fs,phase --format json -o "$tmp/json" -- "$work/fsyncs" "$tmp/mnt/e" 200
	is '--fsync: calls' "$(count_of ext4/call)" 200
	holds '--fsync: most flush their disk' "$(count_of ext4/flush) > 150"
	near '--fsync: as long as the program says' "$(sum_of ext4/call)" "$(cat "$out")" "$(awk '{ print $1 / 10 }' "$out")"
	is '--fsync: the rest is the rest' "$(count_of ext4/rest)" "$(count_of ext4/flush)"
	holds '--fsync: flushes take no longer than the calls' "$(sum_of ext4/flush) <= $(sum_of ext4/call)"
	run "$rawprof" io --fsync -- "$work/fsyncs" "$tmp/mnt/e" 60
	has '--fsync: the head counts calls, not their parts' "$out" '^60 calls in '
	run "$rawprof" io --fsync --by fs --format json -o "$tmp/json" -- "$work/fsyncs" "$tmp/mnt/e" 60
	is '--fsync: not told apart by phase a call is one' "$(count_of ext4)" 60
}

# ---- one user does not have all of it

# names.py COMM NUMBER FILE [direct]: reads by so many names.
cat >"$tmp/names.py" <<'EOF'
import ctypes, mmap, os, sys
libc, page = ctypes.CDLL(None), mmap.mmap(-1, 4096)
fd = os.open(sys.argv[3], os.O_RDONLY | (os.O_DIRECT if len(sys.argv) > 4 else 0))
for i in range(int(sys.argv[2])):
    libc.prctl(15, b'%s_%d' % (sys.argv[1].encode(), i), 0, 0, 0)
    os.preadv(fd, [page], 0)
EOF
chmod 755 "$tmp" && chmod 644 "$tmp/names.py"
as() { setpriv --reuid="$1" --regid="$1" --clear-groups /usr/bin/python3 "${@:2}"; }
# beside NUMBER FILE DIRECT ARGS...: one user reads by so many names, and then another by three.
beside() {
	recording io --format json -o "$tmp/json" -v "${@:4}"
	# shellcheck disable=SC2086 # or no word
	as 65534 "$tmp/names.py" one "$1" "$2" $3 && as 65533 "$tmp/names.py" two 3 "$2" $3
	kill -INT $recorder
	wait $recorder
}
if as 65533 -c ''; then
	beside 20000 /dev/zero '' --syscalls --by comm
	hists
	holds 'any number of names: so many histograms' "$(wc -l <"$tmp/hists") <= 16385 && $(wc -l <"$tmp/hists") > 1000"
	holds 'any number of names: the others are one' "$(count_of '[others]') >= 3500"
	has 'any number of names: said' "$err" '[0-9]+ values are in the histogram \[others\]'
	is 'any number of names: those of another user are there' "$(grep -c '^two_[0-2] ' "$tmp/hists")" 3
	[ -z "$mounted" ] || {
		head -c 4096 /dev/zero >"$tmp/mnt/names" && sync -f "$tmp/mnt" && chmod 755 "$tmp/mnt"
		beside 20000 "$tmp/mnt/names" direct --by comm --disk "$disk"
		hists
		is 'requests by any name: those of another user are there' "$(grep -c '^two_[0-2] ' "$tmp/hists")" 3
		beside 10000 "$tmp/mnt/names" direct --processes --disk "$disk"
		is '--processes: one user has any name: those of another are there' \
			"$(grep -o '"two_[0-2]"' "$tmp/json" | sort -u | wc -l)" 3
		recording io --format json -o "$tmp/json" -v --processes --disk "$disk" -i 0.5
		for i in 1 2 3 4; do # in both banks
			as 65534 "$tmp/names.py" one 6000 "$tmp/mnt/names" direct
			sleep 0.3
		done
		sleep 1
		as 65534 "$tmp/names.py" again 3 "$tmp/mnt/names" direct
		kill -INT $recorder
		wait $recorder
		is '--processes -i: there is room again' "$(grep -o '"again_[0-2]"' "$tmp/json" | sort -u | wc -l)" 3
	}
else
	skip 'one user does not have all of it' 'cannot be another user here'
fi

# ---- a disk without requests

zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null)
if [ -n "$zram" ] && echo 16M >"/sys/block/zram$zram/disksize"; then
	disk=zram$zram
	record --sizes --by op --disk "$disk" <<<"dd if=/dev/zero of=/dev/$disk bs=16k count=64 oflag=direct
		dd if=/dev/$disk of=/dev/null bs=4k count=50 iflag=direct"
	is 'without requests: reads' "$(count_of read)" "$reads"
	is 'without requests: writes' "$(count_of write)" "$writes"
	is 'without requests: bytes' "$(($(sum_of read) + $(sum_of write)))" $((read + written))
	closes 'without requests'
else
	skip 'a disk without requests' 'no zram'
fi

leaves_nothing
finish
