#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof cpu where the clock counts instructions: one CPU, one nanosecond and one cycle an instruction, nothing
# else that runs. Then what a program does is known exactly, and the profile has to be that.
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

# So many cycles a sample, so many samples: 0.4 s of CPU time are 400 million cycles and a start.
folded -e cycles -c 100000 -- "$work/split" 0.4
shares 'cycles'
holds 'cycles: a sample every 100,000' "$(total "$out") >= 4000 && $(total "$out") < 4120"

folded -F 1000 --sw-event -- "$work/split" 1
shares 'cpu-clock'
holds 'cpu-clock: a thousand samples a second' "$(total "$out") >= 990 && $(total "$out") < 1030"

finish
