#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `rawprof trace`: the fields of tracepoints, each event, and what becomes of those that find no room.
. "$(dirname "$0")/lib.sh"
need_profile
if [ ! -r /sys/kernel/tracing/events/sched/sched_switch/format ]; then
	skip "$(basename "$0")" 'tracefs cannot be read'
	finish
fi

# ledger FIELD: fired, kept, filtered or lost, of the last command.
ledger() {
	sed -n 's/,//g; s/^ledger: \([0-9]*\) events\{0,1\} fired = \([0-9]*\) kept + \([0-9]*\) filtered.* + \([0-9]*\) lost.*/\1 \2 \3 \4/p' "$err" |
		awk -v f="$1" '{ print $(f == "fired" ? 1 : f == "kept" ? 2 : f == "filtered" ? 3 : 4) }'
}

# ---- which events
run "$rawprof" trace --list sched_switch
is 'a name that is unique: status' "$status" 0
is 'a name that is unique' "$(head -n 1 "$out")" 'sched:sched_switch'
has 'it has its fields' "$out" '^    prev_comm +char\[16\]$'
run "$rawprof" trace --list 'sched:sched_process_[ef]*'
is 'a glob' "$(grep -c '^sched:sched_process_\(exec\|exit\|fork\)$' "$out")" 3
run "$rawprof" trace sched_swich
is 'a name that is not there: status' "$status" 1
has 'what was meant' "$err" 'did you mean sched:sched_switch\?'
run "$rawprof" trace sched:sched_swich
has 'what was meant, with its group' "$err" 'did you mean sched:sched_switch\?'
run "$rawprof" trace 'nothing:like*'
has 'a glob that matches nothing' "$err" "no event matches 'nothing:like\*'"
run "$rawprof" trace 5
is 'no event: status' "$status" 2

# ---- fields
run "$rawprof" trace sched_switch --max-events 300 10
is 'sched_switch: status' "$status" 0
is '--max-events: so many lines' "$(wc -l <"$out")" 301
has 'strings and numbers' "$out" '^ +[0-9.]+ .* sched:sched_switch prev_comm=".*" prev_pid=[0-9]+ prev_prio='
has 'flags have names' "$out" ' prev_state=[SDITR|+]+ next_comm='
is 'in the order of their times' "$(sed 1d "$out" | awk '$1 < last { n++ } { last = $1 } END { print n + 0 }')" 0
is 'the ledger has the lines' "$(ledger kept)" 300
run "$rawprof" trace sched:sched_process_exec --format json -- sh -c "exec /bin/true"
is 'json: status' "$status" 0
has 'a string of variable length' "$out" '"filename":"/bin/sh"|"filename":"/usr/bin/sh"'
has 'a field with a name that is taken' "$out" '"field_pid":[0-9]+'
is 'two programs were executed' "$(wc -l <"$out")" 2

# ---- each of them
run "$rawprof" trace sched:sched_process_fork sched:sched_process_exit --format json -- "$work/tracee" forks 200
is 'a program and its children: status' "$status" 0
is 'each fork' "$(grep -c '"event":"sched:sched_process_fork"' "$out")" 200
is 'each exit, of the children and of the program' "$(grep -c '"event":"sched:sched_process_exit"' "$out")" 201
is 'the ledger: kept is what was printed' "$(ledger kept)" 401
holds 'the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
if have_python; then
	run python3 -c 'import json, sys
for line in open(sys.argv[1]):
    assert json.loads(line)["event"].startswith("sched:")' "$out"
	is 'json: each line is an object' "$status" 0
else
	skip 'json: each line is an object' 'no python3'
fi
run "$rawprof" trace raw_syscalls:sys_enter -C 0 --max-events 50 --format json 20
lacks '--cpu: no other' "$out" '"cpu":[^0]'
run "$rawprof" trace sched:sched_process_exit --stacks -- "$work/tracee" forks 1
has '--stacks: where it happened' "$out" '^        do_exit'
has '--stacks: in the program too' "$out" '^        .*\((libc|tracee|ld-linux).*\)$'

# ---- a storm
RUN_TIMEOUT=60 run "$rawprof" trace raw_syscalls:sys_enter -o "$tmp/lines" -- "$work/tracee" calls 1500000
is 'a storm: status' "$status" 0
holds 'a storm: all have fired' "$(ledger fired) >= 1500000"
holds 'a storm: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
is 'a storm: kept is what was printed' "$(($(wc -l <"$tmp/lines") - 1))" "$(ledger kept)"
finish
