#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof cpu where the clock counts instructions: one CPU, one nanosecond and (on arm64) one cycle for each,
# nothing else that runs. Then what a program does is known exactly, and the profile has to be that.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile
if [ -z "${VM_ICOUNT:-}" ]; then
	skip 'icount' 'the clock of this machine is that of the world'
	finish
fi

# shares NAME: of work_60, work_30 and work_10 in $out, of the program's own time.
shares() {
	local n
	for n in 60 30 10; do
		near "$1: work_$n" "$(share "$out" ";work_$n( |;)")" $n 1.5
	done
	ledger_closes "$1"
	is "$1: nothing is lost" "$(ledger LOST)" 0
}

"$rawprof" doctor >"$tmp/doctor"
if grep -q '^  yes  hw_cycles ' "$tmp/doctor"; then
	folded -e cycles -c 50000 -- "$work/split" 0.4
	shares 'cycles'

	# 0.3 s of CPU time are 300 million cycles; then there are the start and the end. Those that the handler of a
	# sample uses are not counted: the counter stands still for 2,000 to 8,000 of them.
	folded -e cycles -c 1000000 -- "$work/split" 0.3
	holds 'cycles: a sample every million' "$(total "$out") >= 297 && $(total "$out") <= 303"

	# Ten million rounds of two instructions more: each instruction is a cycle.
	for n in 0 10000000; do
		run "$rawprof" stat -x ';' -e '{cycles:u,instructions:u},task-clock' -o "$tmp/stat.$n" -- "$work/rounds" $n
		is "stat: status of $n rounds" $status 0
	done
	field() { awk -F';' -v e="$1" -v f="$2" '$3 == e { print $f }' "$tmp/stat.$3"; }
	near 'stat: cycles' "$(($(field cycles:u 1 10000000) - $(field cycles:u 1 0)))" 20000000 2000
	near 'stat: instructions' "$(($(field instructions:u 1 10000000) - $(field instructions:u 1 0)))" 20000000 2000
	near 'stat: instructions per cycle' "$(field instructions:u 6 10000000)" 1 0.001
	is 'stat: counted all of the time' "$(field cycles:u 5 10000000)" 100.00
	run "$rawprof" stat -- "$work/rounds" 1000000
	has 'stat: the usual ones' "$out" '^ +[0-9,]+ +cycles +[01]\.[0-9]+ GHz$'
	has 'stat: insn per cycle' "$out" '^ +[0-9,]+ +instructions +[01]\.[0-9]+ insn per cycle$'
	lacks 'stat: what is not here is not shown' "$out" 'branches|not supported'
else
	skip 'cycles' 'this machine has no such counter'
fi

folded -F 2000 --sw-event -- "$work/split" 0.5
shares 'cpu-clock'
holds 'cpu-clock: two thousand samples a second' "$(total "$out") >= 995 && $(total "$out") <= 1006"

# A parent and two children, each with a third of the time.
folded -F 2000 --sw-event -- "$work/family" 0.6
for who in parent forked execed; do
	near "children: work_of_$who" "$(share "$out" ";work_of_$who( |;)")" 33 2
done
ledger_closes 'children'

finish
