#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes that do as much as they can of what the kernel tells of: forks, programs, names,
# mappings. The recording ends, and what it remembers stays small.
# It runs alone: nothing else gets on beside its storms.
. "$(dirname "$0")/lib.sh"
need_profile
RUN_TIMEOUT=60 # for what takes three seconds

storms=()
# storm KIND...: begins storms, which calm ends; left alone they end by themselves.
storm() {
	local kind
	for kind; do
		"$work/storm" "$kind" 1000000000 &
		storms+=($!)
	done
}
calm() {
	kill "${storms[@]}"
	wait "${storms[@]}" 2>/dev/null
	storms=()
}
# memory: MiB of the cost line.
memory() {
	cat "$err" "$out" | sed -n 's/^.*own cost: .*memory \([0-9.]*\) \([KMG]\)iB.*$/\1 \2/p' |
		awk '{ print $1 * ($2 == "G" ? 1024 : $2 == "K" ? 1 / 1024 : 1) }'
}
# weathered KIND...: records a program whose profile is known beside such storms. Whoever else is
# busy on the machine has files that take memory, so no more than that program is asked for.
weathered() {
	storm "$@"
	"$work/split" 60 &
	storms+=($!)
	sleep 0.3
	run "$rawprof" cpu --format folded -F 199 -d 4 -p $!
	calm
	is "$*: status" "$status" 0
	has "$*: who is beside it has its names" "$out" '^split;.*work_60'
	ledger_closes "$*"
}
weathered comm mmap
weathered fork exec thread

# remembered KIND TIMES: however much it does, in whatever time, what is remembered is little.
remembered() {
	run "$rawprof" cpu --format folded -F 199 -- "$work/storm" "$1" "$2"
	is "$2 times $1: status" "$status" 0
	holds "$2 times $1: memory stays small" "$(memory) < 40"
	ledger_closes "$2 times $1"
}
remembered comm 1000000
remembered mmap 500000

# What maps without end has names as well.
holds 'its own frames are named' "$(share "$out" '^storm;(.*;)?main')  > 80"

# Stopped for a while, with rings that run over: what is lost is counted, and the end comes.
storm exec comm
target=${storms[1]}
recording cpu -v --format folded -F 999 -d 2 -p "$target"
sleep 1
kill -STOP $recorder
sleep 2
kill -CONT $recorder
last_command="rawprof cpu -d 2, stopped in between"
wait $recorder
is 'rawprof stopped: status' "$?" 0
ledger_closes 'rawprof stopped'
has 'rawprof stopped: says what was lost' "$err" 'records about processes were lost'
holds 'rawprof stopped: memory stays small' "$(memory) < 40"
calm

# The target stopped: it does not run, and the recording goes on.
"$work/split" 60 &
target=$!
kill -STOP $target
run "$rawprof" cpu --format folded -d 1 -p $target
is 'the target stopped: status' "$status" 0
ledger_closes 'the target stopped'
kill -KILL $target
wait $target 2>/dev/null || :

# Four of them at once.
"$work/split" 60 &
target=$!
for i in 1 2 3 4; do
	timeout 60 "$rawprof" cpu -F 199 --format folded -d 1 >"$tmp/at-once.$i" 2>"$tmp/at-once.err.$i" &
	four[i]=$!
done
for i in 1 2 3 4; do
	wait "${four[i]}"
	is "four at once, number $i: status" "$?" 0
	has "four at once, number $i: names" "$tmp/at-once.$i" '^split;.*work_60'
done
kill $target
wait $target 2>/dev/null
finish
