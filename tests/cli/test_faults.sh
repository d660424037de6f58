#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A sample of `make check-faults` and of `make check-kills`: of the calls that can fail some that do, and SIGKILL at a
# few moments.
. "$(dirname "$0")/lib.sh"
need_profile
faults=build/faults/faults
if ! [ -x $faults ]; then
	skip 'faults' "$faults is not there: make check-cli T=faults"
	finish
fi

# sample NAME WHAT...: its last line says how many passed.
sample() {
	local name=$1 p f
	shift
	RUN_TIMEOUT=500 run "$faults" "$@"
	p=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$out")
	f=$(sed -n 's/.* passed, \([0-9]*\) failed,.*/\1/p' "$out")
	passed=$((passed + ${p:-0}))
	if [ "$status" -eq 0 ] && [ "$f" = 0 ]; then
		ok "$name"
		grep '^skip:' "$out"
	else
		failed=$((failed + ${f:-0}))
		fail "$name" "status $status"
		cat "$out"
	fi
}

sample 'calls that fail' --sample 150
sample 'killed' --kills 10
finish
