#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof on kernels that are older than the running one: everything that such a kernel would refuse is refused on
# the way there (tests/old). What cannot be shown so is a verifier that is less clever; tests/vm has real ones.
. "$(dirname "$0")/lib.sh"
need_profile

preload=build/old/preload.so
old=$rawprof
if [ -x rawprof-old ]; then # in a VM: static, with the same linked in
	preload='' old=$PWD/rawprof-old
elif [ ! -e $preload ]; then
	skip 'older kernels' "$preload is not built"
	finish
fi
# on VERSION ARGS...: rawprof there, its output in $out.
on() {
	local version=$1
	shift
	run env OLD_KERNEL="$version" LD_PRELOAD="${preload:+$PWD/$preload}" "$old" "$@"
}
says() { awk -v name="$1" 'index(substr($0, 8), name " ") == 1 && ($1 == "yes" || $1 == "no") { print $1 }' "$out"; }
why() { awk -v name="$1" 'index(substr($0, 8), name " ") == 1 { print substr($0, 31) }' "$out"; }
version() { awk -F. '{ print $1 * 100 + $2 }' <<<"$1"; }

"$rawprof" doctor >"$tmp/today"
on 5.3 doctor
lacks 'the preloaded library is at work' "$out" '^  yes  tp_btf '

for kernel in 5.4 5.7 5.8 5.10 5.12 5.14 5.15 5.17 6.1 6.6; do
	on $kernel doctor
	cp "$out" "$tmp/doctor"
	# What the running kernel has, and was there by then, is there; what came later is not, and is said to be.
	wrong=$(awk -v now="$(version $kernel)" '
		FNR == NR { if ($1 == "yes") today[$2] = 1; next }
		/^Mechanisms/ { on = 1; next }
		/^$/ { on = 0 }
		on && $2 in today {
			split($3, since, "."); there = since[1] * 100 + since[2] <= now
			if (($1 == "yes") != there || (!there && !/this kernel is older/)) print $1, $2, $3
		}' "$tmp/today" "$out")
	is "$kernel: doctor knows what there is" "$wrong" ''
	if [ "$(version $kernel)" -lt 508 ]; then
		is "$kernel: doctor: status" "$status" 1
		has "$kernel: doctor says what cpu needs" "$out" '^  no   cpu .*this kernel is too old: ring buffers exist since Linux 5\.8'
		on $kernel cpu 0.1
		is "$kernel: cpu: status" "$status" 1
		has "$kernel: cpu says what it needs" "$err" 'this kernel is too old: ring buffers exist since Linux 5\.8'
		continue
	fi
	is "$kernel: doctor: status" "$status" 0
	on $kernel cpu -F 499 --format folded -o "$tmp/folded" -- "$work/family" 0.6
	is "$kernel: cpu: status" "$status" 0
	ledger_closes "$kernel: cpu"
	for who in parent forked execed; do
		holds "$kernel: cpu: work_of_$who" "$(share "$tmp/folded" ";work_of_$who( |;)") > 15"
	done
	on $kernel cpu -F 499 --format folded -o "$tmp/folded" --call-graph eh -- "$work/split" 0.3
	is "$kernel: cpu by unwind tables: status" "$status" 0
	holds "$kernel: cpu by unwind tables: whole stacks" "$(share "$tmp/folded" ';main;work_(60|30|10)( |;)') > 80"
	# What the tables cannot do there goes by frame pointers, and that is said.
	if [ "$(version $kernel)" -lt 515 ]; then
		has "$kernel: cpu by unwind tables: says what it cannot" "$err" 'system calls go by frame pointers'
	fi
done

# A kernel symbol is named on each: by the kernel's own text since 5.13, else by /proc/kallsyms.
for kernel in 5.8 5.13 5.14; do
	on $kernel cpu -F 499 --format folded -o "$tmp/folded" -- "$work/syscalls" 0.4
	holds "$kernel: kernel frames have names" "$(share "$tmp/folded" ';vfs_read(;| )') > 50"
done

finish
