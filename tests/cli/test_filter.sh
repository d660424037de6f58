#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `rawprof trace --filter`: which events are left, what is said of wrong expressions, what `explain` shows.
. "$(dirname "$0")/lib.sh"
need_profile
if [ ! -r /sys/kernel/tracing/events/sched/sched_process_exec/format ]; then
	skip "$(basename "$0")" 'tracefs cannot be read'
	finish
fi
# shellcheck disable=SC2016 # the other shell expands it
execs='for i in 1 2 3 4 5 6; do /bin/true; /bin/echo -n; done'
exec_event=sched:sched_process_exec

# ---- which are kept
run "$rawprof" trace $exec_event --filter 'filename ~ "*/tr?e"' --format json -- sh -c "$execs"
is 'an exec of one program: status' "$status" 0
is 'an exec of one program: each of them' "$(grep -c '"filename":"/bin/true"' "$out")" 6
is 'and no other' "$(wc -l <"$out")" 6
has 'the ledger has the rest' "$err" 'filtered \(.*by --filter 7.*\)|filtered by --filter 7|by --filter 7'
run "$rawprof" trace $exec_event --filter 'filename !~ "*/true" && comm != "sh"' --format json -- sh -c "$execs"
is 'the opposite' "$(grep -c '"filename":"/bin/echo"' "$out") $(wc -l <"$out")" '6 6'
run "$rawprof" trace $exec_event --filter 'old_pid != pid' --format json -- sh -c "$execs"
is 'nothing is kept' "$(wc -l <"$out")" 0
run "$rawprof" trace sched:sched_switch --filter 'prev_state & S && prev_comm == "sleep"' -- \
	sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
is 'names of values: no other' "$(sed 1d "$out" | grep -vcE 'prev_comm="sleep" .*prev_state=S')" 0
holds 'names of values: each sleep' "$(sed 1d "$out" | wc -l) >= 5"

# ---- what is wrong
run "$rawprof" trace sched:sched_switch --filter 'prev_comm == "x" && nxt_pid == 1'
is 'no such field: status' "$status" 2
has 'no such field: the nearest' "$err" "has no field 'nxt_pid'; did you mean next_pid\?"
has 'no such field: where' "$err" '^ {22}\^~~~~~~$'
run "$rawprof" trace sched:sched_switch sched:sched_process_exit --filter 'prev_pid == 1'
has 'an event that lacks it is named' "$err" "sched:sched_process_exit has no field 'prev_pid'"

# ---- what is shown
run "$rawprof" explain trace sched_switch --filter 'next_pid == 77 && prev_comm ~ "*ab*"' --no-pager
is 'explain: status' "$status" 0
has 'explain: a line quotes its part of the expression' "$out" '^--filter:1: next_pid == 77: JNE\(R1, 77, drop\)$'
has 'explain: with its column' "$out" '^--filter:19: prev_comm ~ "\*ab\*": CALL\(probe_read_kernel_str\)$'
run "$rawprof" explain trace sched_switch --filter 'next_pid == 77' --lint
is 'explain: the lint finds nothing' "$status" 0
run "$rawprof" explain cpu --filter 'pid == 1'
is 'explain: a filter belongs to an event' "$status" 2
finish
