#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A CPU that goes while it is sampled, and comes back: the recording goes on, and loses nothing of the others. Changes the
# whole machine, so it is for machines of its own.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile
online=/sys/devices/system/cpu/cpu1/online
if [ -z "${VM_KERNEL:-}" ] || [ ! -w $online ]; then
	skip 'a CPU that goes' 'this is no machine of our own, or its CPUs stay'
	finish
fi

"$work/split" 1000 >"$tmp/a" &
a=$!
"$work/split" 1000 >"$tmp/b" &
b=$!

# unplugged NAME COMMAND...: CPU 1 goes after a second of the recording, and comes back a second later.
unplugged() {
	local name=$1 recording i
	shift
	: >"$err" # the command before this one said that it was recording, too
	"$rawprof" "$@" -v >"$out" 2>"$err" &
	recording=$!
	for ((i = 0; i < 600; i++)); do # on a busy machine an emulated one takes seconds to start it
		! grep -q '^rawprof: recording$' "$err" || break
		sleep 0.1
	done
	sleep 1
	echo 0 >$online
	sleep 1.5
	echo 1 >$online
	sleep 2.5
	kill -INT $recording
	wait $recording
	is "$name: status" $? 0
}

unplugged 'counted' cpu -F 99 --format folded
holds 'counted: there are samples' "$(share "$out" '^split;') > 50"
ledger_closes 'counted'

unplugged 'one by one' cpu --samples -F 99
has 'one by one: CPU 0 is sampled' "$out" '  cpu 0  '
# Of the seconds in which there was but CPU 0, none is of CPU 1: before them and behind them some are.
awk '/  cpu [01]  / { split($1, t, /[T:.+]/); s = t[2] * 3600 + t[3] * 60 + t[4] "." t[5]; for (i = 1; i < NF; i++) if ($i == "cpu" && $(i + 1) == 1) print s }' \
	"$out" >"$tmp/times"
holds 'one by one: a gap while it was away' "$(awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { print gap + 0 }' "$tmp/times") > 0.5"
holds 'one by one: it is sampled again' "$(awk 'NR > 1 && $1 - last > 0.5 { n = 0 } { last = $1; n++ } END { print n + 0 }' "$tmp/times") > 20"

for command in wall offcpu io lock; do
	# shellcheck disable=SC2086 # words
	unplugged "$command" $command
done

kill $a $b
finish
