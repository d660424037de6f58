#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Begin and end of a session: signals, exit statuses, durations, and that nothing is left behind.
. "$(dirname "$0")/lib.sh"
need_profile
leaves_nothing_from_here

# The program's own end is rawprof's.
run "$rawprof" cpu --format folded -- "$work/split" 0.1 7
is 'the status of the program' "$status" 7
run "$rawprof" cpu --format folded -- sh -c 'kill -TERM $$'
is 'a program that a signal ended' "$status" $((128 + 15))
run "$rawprof" cpu --format folded -- true
is 'a program that ends at once' "$status" 0

# interrupted SIGNAL COUNT ARGS...: sends it so often to a session that would go on for a minute.
interrupted() {
	local signal=$1 count=$2 i
	shift 2
	recording "$@" -v
	sleep 1 # for samples to be there
	last_command="rawprof $* and $count times $signal"
	for ((i = 0; i < count; i++)); do
		kill -"$signal" $recorder 2>/dev/null
		sleep 0.01
	done
	wait $recorder 2>/dev/null
	status=$?
}
set -m # so that a background job does not ignore Ctrl-C
"$work/split" 30 &
burner=$!
interrupted INT 1 cpu -F 999 --format folded -d 60
is 'Ctrl-C: status' "$status" 0
has 'Ctrl-C: and the report is there' "$out" ';work_60( |;)'
ledger_closes 'Ctrl-C'
interrupted TERM 1 cpu -F 999 --format folded -d 60
is 'SIGTERM: status' "$status" 0
has 'SIGTERM: and the report is there' "$out" ';work_60( |;)'
interrupted KILL 1 cpu -F 999 --format folded -d 60
is 'SIGKILL' "$status" 137
kill $burner
wait $burner 2>/dev/null
set +m

# Both ways to say how long, and the time that passes.
for args in '-d 1' '--duration 1' '1' '-d 0.5'; do
	start=$(date +%s%N)
	# shellcheck disable=SC2086 # two words
	run "$rawprof" cpu --format folded $args
	seconds=$(awk -v a="$start" -v b="$(date +%s%N)" 'BEGIN { print (b - a) / 1e9 }')
	is "cpu $args: status" "$status" 0
	holds "cpu $args: not shorter" "$seconds >= ${args##* }"
done

# -d ends the recording although the program would go on, and does not leave it behind.
cp "$work/sleeper" "$tmp/sleeper-$$"
start=$SECONDS
run "$rawprof" cpu -F 999 --format folded -d 0.5 -- "$tmp/sleeper-$$" 30
holds '-d with a program: ends' "$((SECONDS - start)) < 10"
left=$(pgrep -f "^$tmp/sleeper-$$")
is '-d with a program: it does not run on' "$left" ''
# shellcheck disable=SC2086 # a list of pids
[ -z "$left" ] || kill $left

leaves_nothing

# What -v says, and what -q does not.
run "$rawprof" cpu -v -d 0.2
has '-v: which event samples' "$err" 'cpu-clock|cycles'
run "$rawprof" cpu -q --format folded -- "$work/split" 0.2
is '-q: nothing but the result' "$(wc -c <"$err")" 0
finish
