#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof explain --step and --why: the verifier's walk, held against its log.
. "$(dirname "$0")/lib.sh"

# refused NAME MESSAGE ARGS...
refused() {
	run "$rawprof" explain "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}
refused '--html alone' '--html is for --step' ksym --html
refused '--step of nothing' 'which program' --step
refused '--step with --dot' '--step is text' ksym --step --dot
refused '--across of nothing' 'name of a program' --across "$tmp"
refused '--why without a register' 'takes a register' ksym --why 3

data=$PWD/tests/data
run "$rawprof" explain --kernel-log "$data/nullcheck-6.18.log" --step
is 'a saved log: status' "$status" 0
has 'a saved log: the tree of paths' "$out" '^    1 from [0-9]+ of path 0 to [0-9]+: '
has 'a saved log: a pushed branch' "$out" 'pushed: the other branch, path [0-9]+$'
has 'a saved log: what was safe' "$out" 'safe: all that holds here was covered at step [0-9]+$'
awk '/^#####/ { on = $2 == "G9" } on && !/^#####/' "$data/refusals-6.18.log" >"$tmp/g9"
run "$rawprof" explain --kernel-log "$tmp/g9" --step
has 'a refused log: why' "$out" 'R1 was destroyed by instruction 0'
run "$rawprof" explain --kernel-log "$data/nullcheck-6.18.log" --step --html
has 'a page from a log' "$out" '^<!DOCTYPE html>$'

run "$rawprof" explain --kernel-log "$tmp/g9" --dot
has 'a refused log as a graph: where' "$out" '^.n0 \[style=filled, .*refused: R1 !read_ok'
run "$rawprof" explain --kernel-log "$data/nullcheck-6.18.log" --dot
has 'a log as a graph: the lines' "$out" '^.n0 \[label="0: MOV_REG\(R6, R1\)'
has 'a log as a graph: a condition that holds' "$out" '^.n0 -> n16 \[color=darkgreen\]'

if ! can_profile; then
	skip 'walks of this kernel' "$why_not"
	finish
fi
if ! have_python || [[ ! $(uname -r) =~ ^(6\.1[89]|[7-9]\.) ]]; then
	skip 'walks held against their logs' 'needs python3, and the logs of Linux 6.18 or later'
	finish
fi

# Every state that is shown is the log's, and what was safe was covered.
for p in cpu_sample ksym follow_fork follow_exit mem_brk_ret runq_switch trace_enter lock_futex offcpu_switch mem_slab_tp \
	02/kept_in_r1 03/padding_cleared 04/count_calls 04/unchecked 06/by_loop 07/on_sample 08/on_execve 10/openat_exit 11/by_bpf_loop 12/ancestors; do
	"$rawprof" explain "$p" --format log >"$tmp/log" 2>"$err" || {
		skip "$p" "$(head -n 1 "$err")"
		continue
	}
	run "$rawprof" explain "$p" --kernel-log "$tmp/log" --step --format json
	is "$p: status" "$status" 0
	is "$p: the same as its log" "$(python3 tests/cli/step.py "$out" "$tmp/log" 2>&1)" ''
done
# The check can fail: where another number is shown than the log's.
sed 's/"raw": "map_value(map=found/"raw": "map_value(map=other/' "$out" >"$tmp/json"
holds 'another value is found out' "$(python3 tests/cli/step.py "$tmp/json" "$tmp/log" | wc -c) > 1"

"$rawprof" explain 06/by_loop --format log >"$tmp/log"
run "$rawprof" explain 06/by_loop --kernel-log "$tmp/log" --step --format json
sed 's/"same": \["R10"\]/"same": ["R10", "R0"]/; s/"imprecise": \["R0"\]/"imprecise": []/' "$out" >"$tmp/json"
holds 'a state that does not cover is found out' \
	"$(python3 tests/cli/step.py "$tmp/json" "$tmp/log" | grep -c 'does not cover it: R0 was [0-9]*, and is') > 0"
# ---- several kernels
run "$rawprof" explain 06/by_loop --across "$tmp/none"
is '--across nowhere: status' "$status" 1
mkdir -p "$tmp/across/6.1" "$tmp/across/6.12"
run "$rawprof" explain 06/by_loop --across "$tmp/across"
has '--across without records: says how' "$err" 'make across'
gzip -c "$tmp/log" >"$tmp/across/6.1/by_loop.log.gz"
sed 's/R0=0  *;*$/&/; s/^3: (b7) r0 = 0 .*/3: (b7) r0 = 0   ; R0=scalar()/' "$tmp/log" >"$tmp/across/6.12/by_loop.log"
run "$rawprof" explain 06/by_loop --across "$tmp/across"
is '--across: status' "$status" 0
is '--across: kernels, in their order' "$(awk '$2 == "accepted" { print $1 }' "$out")" "$(printf '6.1\n6.12\n%s' "$(uname -r)")"
has '--across: what is known otherwise' "$out" '^         R0 is 0, then scalar$'
sed -n '/^6.12, then/,$p' "$out" >"$tmp/last"
has '--across: and back' "$tmp/last" '^         R0 is scalar, then 0$'
cp "$tmp/across/6.1/by_loop.log.gz" "$tmp/across/6.12/"
rm "$tmp/across/6.12/by_loop.log"
gzip -dc "$tmp/across/6.1/by_loop.log.gz" | sed 's/map_value(map=number,/map_value(/' | gzip >"$tmp/across/6.12/by_loop.log.gz"
run "$rawprof" explain 06/by_loop --across "$tmp/across"
has '--across: the same' "$out" '^  the same, step for step$'
run "$rawprof" explain 11/by_bpf_loop --dot
has '--dot: a callback' "$out" '^.n0 -> n[0-9]+ .*label="passes"'
has '--dot: a call' "$out" '^.n[0-9]+ -> n[0-9]+ .*label="calls"'
run "$rawprof" explain 06/by_loop --step
has 'the loop is the hot spot' "$out" '^  x63 +[0-9.]+ % +4  examples/06-.*: JLE\(R1, 1, out\)$'
has 'what nothing depended on' "$out" '^ +numbers that nothing depended on: R0$'
has 'precision, backwards' "$out" '^ +back for what has to be exact: R0 <- 6 5 4 3$'
run "$rawprof" explain cpu --why 'MOV_REG(R7, R0)' R0
has '--why: through a call' "$out" 'EXIT\(\)$'
has '--why: its value' "$out" '^(frame[0-9]\.)?R0 before instruction [0-9]+ \(step [0-9]+\): '
run "$rawprof" explain cpu --why nowhere R0
is '--why of no line: status' "$status" 1
run "$rawprof" explain cpu --why 1 X9
is '--why of no register: status' "$status" 1

finish
