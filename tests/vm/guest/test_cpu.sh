#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof cpu on another kernel: time is where it is known to be. Emulated timers come late and in bunches while
# other programs use the machine, so shares are those of the three functions among each other, roughly;
# test_icount.sh is exact.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile

# shares NAME: of work_60, work_30 and work_10 in $out.
shares() {
	local all n
	all=$(awk '/;work_[0-9]+( |;)/ { n += $NF } END { print n + 0 }' "$out")
	holds "$1: there are samples" "$all > 100"
	for n in 60 30 10; do
		near "$1: work_$n" "$(awk -v re=";work_$n( |;)" -v all="$all" '$0 ~ re { n += $NF }
			END { printf "%.1f", all ? 100 * n / all : 0 }' "$out")" $n 15
	done
	holds "$1: hardly any other time" "$all > 0.6 * $(total "$out")"
}

folded -F 499 --sw-event -- "$work/split" 2
shares 'cpu-clock'
has 'cpu-clock: whole stacks' "$out" '^split;.*;main;work_60 [0-9]'
ledger_closes 'cpu-clock'

"$rawprof" doctor >"$tmp/doctor"
if grep -q '^  yes  hw_cycles ' "$tmp/doctor"; then
	folded -F 499 -e cycles -- "$work/split" 2
	shares 'cycles'
	ledger_closes 'cycles'
	run "$rawprof" cpu -F 499 -- "$work/split" 0.5
	has 'cycles are the first choice' "$out" 'samples of cycles '
else
	skip 'cycles' 'this machine has no such counter'
fi

folded -F 499 -- "$work/syscalls" 1
# Of its own time: how long it takes to start depends on what else the machine outside does.
grep ';main;' "$out" >"$tmp/main"
holds 'kernel frames: on top of read_zeros' "$(share "$tmp/main" ';main;read_zeros;.*vfs_read(;| )') > 70"

# By unwind tables, from a function without a frame: on arm64 its return address is in a register alone.
folded -F 499 --call-graph eh -- "$work/leaf" 4
holds 'unwind tables: who called a leaf' "$(share "$out" ';main;calls_leaf;leaf ') > 80"
lacks 'unwind tables: none is cut off' "$out" '^leaf;leaf '

# Functions in assembly, of which no .eh_frame tells: rules are computed from their code, for a second on an emulated CPU.
folded -F 499 --call-graph eh -- "$work/byhand" 4
for stack in calls_bare\;bare calls_framed\;framed\;spins calls_keeping\;keeping\;spins; do
	by_hand=$(sed 's/;$//' <<<"$stack")
	grep -E "(^|;)(calls_)?${by_hand%%;*}" "$out" >"$tmp/of" || true
	holds "by hand: $stack" "$(share "$tmp/of" ";main;$stack ") > 95 && $(total "$tmp/of") > 50"
done

# Children, by whichever tracepoint follows them; their shares are in test_icount.sh.
folded -F 499 -- "$work/family" 1.5
ledger_closes 'children'
for who in parent forked execed; do
	holds "children: work_of_$who" "$(share "$out" ";work_of_$who( |;)") > 0"
done

# What walks frames of Java is loaded where there may be some.
for command in cpu wall offcpu lock mem; do
	JAVA_HOME=$tmp run "$rawprof" $command -o "$tmp/folded" --format folded -- "$work/split" 0.2
	is "where Java may run: $command" $status 0
done

run "$rawprof" cpu -o "$tmp/flame.svg" -- "$work/split" 0.5
is 'svg: status' $status 0
has 'svg: the functions are in it' "$tmp/flame.svg" 'work_60'

# What copies labels of goroutines and threads loads here, or it is said why not.
for command in cpu offcpu wall 'lock --stacks'; do
	for labels in --go-labels '--thread-context --trace-ids' '--goroutines --trace-ids'; do
		# shellcheck disable=SC2086 # words
		run "$rawprof" $command $labels -o "$tmp/labels.rawprof" -- "$work/split" 0.3
		is "$command $labels: status" "$status" 0
		lacks "$command $labels: it is as without" "$err" 'rawprof: .*(refused|cannot)'
	done
done
run "$rawprof" cpu --thread-context -F 499 -o "$tmp/labels.rawprof" -- "$work/context" program right 3
if grep -q 'no labels of goroutines and threads here' "$err"; then
	skip 'labels of threads' 'not here, which is said'
else
	run "$rawprof" report --by http.route "$tmp/labels.rawprof"
	has 'labels of threads' "$out" '^[4-7][0-9]\.[0-9]% .* /b$'
fi

finish
