#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof explain --repair: changes that load, and none where there is none to be had.
. "$(dirname "$0")/lib.sh"

run "$rawprof" explain cpu --repair --step
is '--repair with --step: status' "$status" 2
has '--repair with --step: says why' "$err" 'goes with --break alone'
if ! can_profile; then
	skip 'repairs' "$why_not"
	finish
fi

# repaired PROGRAM LINE...: the lines of the change.
repaired() {
	run "$rawprof" explain "$1" --repair
	is "$1: status" "$status" 0
	local line
	for line in "${@:2}"; do
		has "$1: $line" "$out" "^  [+-] $line"
	done
}
repaired 01/falls_off 'EXIT\(\)$'
repaired 01/no_result 'MOV\(R0, 0\)$'
repaired 02/kept_in_r1 'MOV_REG\(R[6-9], R1\)$' 'MOV_REG\(R1, R[6-9]\)$'
repaired 02/on_one_path 'MOV\(R6, 0\)$'
repaired 04/unchecked 'JNE\(R0, 0, is_good\)$'
repaired 04/plain_descriptor 'LD_MAP\(R1, calls\)$'
repaired 06/any_index 'J(GT|LE)\(R[0-9], [0-9]+, '
repaired 08/not_gpl '\.license = "Dual BSD/GPL"$'
repaired 10/kept 'CALL\(ringbuf_discard\)$'
repaired 10/not_asked 'J(EQ|NE)\(R0, 0, '

# Kfuncs, where there are any. Of a task that is another's no change is known.
run "$rawprof" explain 20/not_asked
if grep -q 'Possibly NULL pointer passed to trusted arg0' "$out"; then
	repaired 20/not_asked 'J(EQ|NE)\(R1, 0, '
	run "$rawprof" explain 21/woken --repair
	is 'no change is known: status' "$status" 1
	has 'no change is known: says so' "$err" 'no change is known'
else
	skip 'repairs of calls of kfuncs' 'this kernel has none, or says something else'
fi

# What would have to read or write elsewhere is left to the reader.
for p in 03/too_deep 04/next_value 12/writes; do
	run "$rawprof" explain "$p" --repair
	is "$p: status" "$status" 1
	has "$p: says so" "$err" 'none of [0-9]+ changes|no change is known'
	lacks "$p: no change is shown" "$out" '^  [+] '
done
run "$rawprof" explain cpu --repair
has 'a good program' "$out" '^nothing to repair: the kernel accepts it$'
run "$rawprof" explain cpu --break 'MOV_REG(R6, R1)' --repair
is '--break --repair: status' "$status" 0
has '--break --repair: what the verifier says' "$out" '^  says R6 !read_ok$'

finish
