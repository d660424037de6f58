#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Too little of what rawprof needs: it says what it could not do, ends with status 1, and leaves
# nothing standing.
. "$(dirname "$0")/lib.sh"
need_profile
RUN_TIMEOUT=60

# limited LETTER NUMBER ARGS...: works, or fails with a word.
limited() {
	local letter=$1 number=$2
	shift 2
	# shellcheck disable=SC2016 # the inner shell expands them
	run bash -c 'ulimit "-$0" "$1" && shift && exec "$@"' "$letter" "$number" "$rawprof" "$@"
	[ $status -eq 0 ] && return
	is "ulimit -$letter $number, $1: status" "$status" 1
	has "ulimit -$letter $number, $1: a word" "$err" 'rawprof: |error: '
}
for number in 12000 16000 20000 24000 28000 34000; do
	limited v $number cpu -d 0.1
	limited v $number mem -- /bin/true
done
for number in 8 12 16 20 28 36 48; do
	limited n $number cpu -d 0.1
	limited n $number mem -- /bin/true
done
limited v 20000 cpu -d 0.1
has 'too little address space: what to do' "$err" 'ulimit -v'

# failing CALL ERROR NUMBER...: the program that is started is let go or killed, whatever fails.
failing() {
	local call=$1 error=$2 number
	shift 2
	cp "$work/split" "$tmp/split-$$"
	for number; do
		run strace -o /dev/null -e "trace=$call" -e "inject=$call:error=$error:when=$number" \
			"$rawprof" mem -- "$tmp/split-$$" 0.1
		holds "$call number $number fails: status" "$status == 0 || $status == 1"
		[ "$status" -eq 0 ] || has "$call number $number fails: a word" "$err" "rawprof: .*${call/wait4/waitpid}"
		is "$call number $number fails: nothing stands still" "$(pgrep -f "^$tmp/split-$$")" ''
	done
}
if strace -o /dev/null true 2>/dev/null; then
	failing ptrace EPERM 1 2 3 4 6 8
	failing ptrace ESRCH 2 8
	failing waitid EPERM 1 2 5
	failing wait4 EPERM 1 2 4
else
	skip 'calls that fail at the start of a program' 'no strace'
fi

# Killed at any moment of the start, rawprof leaves the program running, ended, or never begun.
cp "$work/sleeper" "$tmp/sleeper-$$"
for ((i = 0; i < 10; i++)); do
	"$rawprof" mem -- "$tmp/sleeper-$$" 20 >"$out" 2>"$err" &
	pid=$!
	sleep "0.0$((i * 7 % 10))$i"
	kill -KILL $pid
	wait $pid 2>/dev/null
	sleep 0.1
	for left in $(pgrep -f "^$tmp/sleeper-$$"); do
		state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$left/status" 2>/dev/null)
		case "$state" in
		t | T) fail 'rawprof killed' "the program stands still ($state)" ;;
		esac
		kill -KILL "$left"
	done
done
ok 'rawprof killed at the start: no program stands still'
finish
