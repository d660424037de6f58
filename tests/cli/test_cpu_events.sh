#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof cpu by other events than time: as many as the program knows that there are, named right in each format.
. "$(dirname "$0")/lib.sh"
need_profile

# sampled EVENT ARGS...: folded stacks of a program with so many faults and switches.
sampled() {
	folded -e "$1" "${@:2}" -- "$work/counted" 3000 200 50
	read -r faults switches _ <"$said"
}

sampled page-faults -c 1
near 'page-faults: all that the program counts' "$(awk '/;touch/ { n += $NF } END { print n + 0 }' "$out")" 3000 8
holds 'page-faults: no more than all' "$(total "$out") <= $faults + 400"
ledger_closes 'page-faults'
sampled page-faults:u -c 10 --weight page-faults:u
near 'page-faults: each for ten' "$(awk '/;touch/ { n += $NF } END { print n + 0 }' "$out")" 3000 60
sampled context-switches -c 1
near 'context-switches: all that the program counts' "$(total "$out")" "$switches" 30
holds 'context-switches: where it naps' "$(awk '/;nap/ { n += $NF } END { print n + 0 }' "$out") >= 195"

sampled sched:sched_switch
near 'a tracepoint: as often as the program comes by' "$(total "$out")" "$switches" 30
holds 'a tracepoint: with the stack of who does' "$(awk '/main;work;nap;.*__schedule/ { n += $NF } END { print n + 0 }' "$out") >= 195"
ledger_closes 'a tracepoint'
sampled tp:sched:sched_switch -c 10
near 'every tenth, on each CPU' "$(total "$out")" "$((switches / 10))" 4
ledger_closes 'every tenth'
sampled sched:sched_switch -c 10 --weight sched:sched_switch
near 'every tenth stands for ten' "$(total "$out")" "$switches" 40
folded -e sched:sched_switch -C 0 -- taskset -c 1 "$work/counted" 0 100 0
holds 'another CPU' "$(awk '/;nap/ { n += $NF } END { print n + 0 }' "$out") == 0"
ledger_closes 'another CPU'

run "$rawprof" cpu -e syscalls:sys_enter_clock_nanosleep -c 2 --format json -o "$tmp/json" -- "$work/counted" 0 200 0
if have_python; then
	python3 - "$tmp/json" >"$out" <<-'EOF'
		import json, sys
		text = open(sys.argv[1]).read()
		print('sys_enter_clock_nanosleep' in text, json.loads(text) is not None)
	EOF
	is 'JSON: the event has its name' "$(cat "$out")" 'True True'
fi
run "$rawprof" cpu -e syscalls:sys_enter_clock_nanosleep -c 2 -- taskset -c 0 "$work/counted" 0 200 0
has 'table: what was sampled' "$out" '^100 samples of syscalls:sys_enter_clock_nanosleep in'
run "$rawprof" cpu -e syscalls:sys_enter_clock_nanosleep -o "$tmp/a.rawprof" -- "$work/counted" 0 200 0
run "$rawprof" report --format folded --weight syscalls:sys_enter_clock_nanosleep "$tmp/a.rawprof"
is 'a saved profile: the event is a weight' "$(total "$out")" 200
run "$rawprof" cpu -e syscalls:sys_enter_clock_nanosleep --samples -- "$work/counted" 0 20 0
is '--samples: each with the name of the event' "$(grep -c ' syscalls:sys_enter_clock_nanosleep$' "$out")" 20
folded -e syscalls:sys_enter_clock_nanosleep -- "$work/counted" 0 20 0
is 'a system call: all of them' "$(total "$out")" 20
lacks 'a system call: without the way to the tracepoint' "$out" '(perf_syscall|syscall_trace_e|syscall_exit_work)[^;]* [0-9]+$'
if command -v go >/dev/null; then
	run "$rawprof" cpu -e syscalls:sys_enter_clock_nanosleep -c 4 -o "$tmp/a.pb.gz" -- "$work/counted" 0 200 0
	pprof -raw "$tmp/a.pb.gz"
	has 'pprof: samples, and the event' "$out" '^samples/count.* syscalls:sys_enter_clock_nanosleep/count'
	has 'pprof: the period' "$out" '^Period: 4$'
fi

refused() {
	run "$rawprof" cpu "${@:3}"
	is "$1: status" "$status" 1
	has "$1: says why" "$err" "$2"
}
refused 'a tracepoint misspelt' 'did you mean sched:sched_switch\?' -e sched:sched_swich 1
refused 'a tracepoint and a frequency' 'there is no frequency' -e sched:sched_switch -F 99 1
refused 'a tracepoint of one side' '--user and --kernel' -e sched:sched_switch:u 1
finish
