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
