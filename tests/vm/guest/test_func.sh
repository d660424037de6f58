#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof func on functions of the kernel, by each way that it has: the same calls as ftrace sees.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile
tracing=/sys/kernel/tracing
calls=$work/calls
mkdir -p "$tmp/made"

# cell FIGURE FUNCTION: of the rows in $tmp/rows.
cell() { sed -n "s/^rawprof_func_$1{.*function=\"$2\".* //p" "$tmp/rows"; }
# How often ftrace saw the function since it was asked.
ftrace_begin() {
	[ -e $tracing/function_profile_enabled ] || return
	echo 0 >$tracing/function_profile_enabled
	echo "$1" >$tracing/set_ftrace_filter && echo 1 >$tracing/function_profile_enabled
}
ftrace_hits() {
	echo 0 >$tracing/function_profile_enabled
	cat $tracing/trace_stat/function* | awk -v f="$1" '$1 == f { n += $2 } END { print n + 0 }'
}

# by_way WAY NUMBER: so many directories are made, by nobody else.
by_way() {
	local hits=$2
	rm -rf "$tmp/made"
	mkdir "$tmp/made"
	if ftrace_begin vfs_mkdir; then hits=; fi
	run "$rawprof" func --attach "$1" vfs_mkdir --format prometheus -o "$tmp/rows" \
		-- sh -c "for i in \$(seq $2); do mkdir $tmp/made/\$i; done"
	if [ -z "$hits" ]; then hits=$(ftrace_hits vfs_mkdir); fi
	if [ $status -ne 0 ] && grep -q 'not by the way that was asked for\|neither fentry nor kprobes' "$err"; then
		skip "vfs_mkdir by $1" 'this kernel has it not'
		return
	fi
	is "vfs_mkdir by $1: as often as it was called" "$(cell calls vfs_mkdir)" "$2"
	is "vfs_mkdir by $1: as often as ftrace says" "$(cell calls vfs_mkdir)" "$hits"
	run "$rawprof" func --attach "$1" --count vfs_mkdir --format prometheus -o "$tmp/rows" \
		-- sh -c "for i in \$(seq $2); do mkdir $tmp/made/again\$i; done"
	is "vfs_mkdir by $1, --count" "$(cell calls vfs_mkdir)" "$2"
	run "$rawprof" func --attach "$1" do_mkdirat --ret \
		-- sh -c "for i in \$(seq 3); do mkdir $tmp/made/again1; done"
	has "do_mkdirat by $1: what it returned" "$out" '^do_mkdirat +-17 EEXIST +3 '
}
by_way fentry 40
by_way kprobe-multi 41
by_way kprobe 42

# trace: each call, with what it returned.
run "$rawprof" trace kernel:do_mkdirat --ret --format json -- sh -c "for i in 1 2 3; do mkdir $tmp/made/traced; done; true"
if [ $status -eq 0 ]; then
	is 'trace: each call of do_mkdirat' "$(sed -n 's/.*"ret32":\(-\{0,1\}[0-9]*\),"duration_ns":[0-9]*}$/\1/p' "$out" | tr '\n' ' ')" '0 -17 -17 '
	run "$rawprof" trace kernel:do_mkdirat --ret --filter 'ret32 == -17' -- sh -c "for i in 1 2 3; do mkdir $tmp/made/traced; done; true"
	is 'trace --filter: by what it returned' "$(grep -c 'kernel:do_mkdirat' "$out")" 3
	run "$rawprof" trace kernel:do_mkdirat -- mkdir "$tmp/made/once"
	is 'trace: as it begins' "$(grep -c 'kernel:do_mkdirat arg0=' "$out")" 1
else
	skip 'trace: functions of the kernel' 'this kernel permits none'
fi

# Calls inside each other: a user function, its system call, what that calls in the kernel.
run "$rawprof" func "$calls:naps" syscall:clock_nanosleep hrtimer_nanosleep --format prometheus -o "$tmp/rows" -- "$calls" sleep 20
if [ $status -eq 0 ]; then
	is 'three kinds at once' "$(cell calls naps) $(cell calls clock_nanosleep) $(cell calls hrtimer_nanosleep)" '20 20 20'
	holds 'the inner one is shorter' "$(cell total_seconds hrtimer_nanosleep) < $(cell total_seconds naps)"
else
	skip 'three kinds at once' 'no kernel functions here'
fi
run "$rawprof" func "$calls:dives" --format prometheus -o "$tmp/rows" -- "$calls" recurse 1000
is 'recursion, 1,000 deep' "$(cell calls dives)" 1001
run "$rawprof" func "$calls:steps" "$calls:thread" --format prometheus -o "$tmp/rows" -- "$calls" threads 300
is 'threads' "$(cell calls steps) $(cell calls thread)" '1200 4'

finish
