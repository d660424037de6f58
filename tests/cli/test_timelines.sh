#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Profiles over time, read by checkers written from the formats' descriptions: the sums are those of the JSON
# document of the same recording, to the unit.
. "$(dirname "$0")/lib.sh"
need_profile
have_python || {
	skip 'timelines' 'python3 is not installed'
	finish
}

# totals FILE [TYPE]: of a saved profile: the count and the value TYPE.
totals() {
	"$rawprof" report --format json "$1" 2>>"$err" | python3 -c '
import json, sys
p = json.load(sys.stdin)
types = [t["type"] for t in p["value_types"]]
print(p["totals"][0], p["totals"][types.index(sys.argv[1])])' "$2"
}
# recorded NAME COMMAND [OPTIONS] -- PROGRAM...: into $tmp/NAME.rawprof.
recorded() {
	run "$rawprof" record "$2" -o "$tmp/$1.rawprof" "${@:3}"
	is "$1: status" "$status" 0
}
# shown NAME FORMAT [OPTIONS]: what the checker says of it is in $said.
shown() {
	rm -f "$tmp/shown"
	"$rawprof" report -q --format "$2" -o "$tmp/shown" "${@:3}" "$tmp/$1.rawprof" 2>>"$err"
	python3 tests/cli/timelines.py "$2" "$tmp/shown" >"$said" 2>>"$err" || fail "$1: $2" 'the checker refuses it'
	sums=$(head -n 1 "$said")
}
# found KEY: the number that the checker printed.
found() { sed -n "s/^$1 //p" "$said"; }
# all_formats NAME TYPE: each has the sums of all.
all_formats() {
	local all
	all=$(totals "$tmp/$1.rawprof" "$2")
	holds "$1: something is in it" "${all% *} > 0"
	shown "$1" firefox --weight "$2"
	is "$1: firefox: all $2" "${sums% *}" "${all#* }"
	shown "$1" perfetto --weight "$2"
	is "$1: perfetto: all" "$sums" "$all"
	shown "$1" chrome --weight "$2"
	is "$1: chrome: all" "$sums" "$all"
}

recorded cpu cpu -F 999 -- "$work/split" 1
all_formats cpu cpu
shown cpu firefox
is 'cpu: firefox: all samples' "${sums% *}" "$(totals "$tmp/cpu.rawprof" cpu | cut -d ' ' -f 1)"
near 'cpu: firefox: CPU time is the samples' "$(found cpu)" "$(totals "$tmp/cpu.rawprof" cpu | cut -d ' ' -f 2)" 0

# A file of its own is what report makes of the saved one, but for the recording.
run "$rawprof" cpu -F 999 -o "$tmp/direct.firefox.json" -- "$work/split" 0.3
is 'direct: status' "$status" 0
run python3 tests/cli/timelines.py firefox "$tmp/direct.firefox.json"
is 'direct: the checker takes it' "$status" 0
kept=$(head -n 1 "$out")
run "$rawprof" cpu -F 999 -o "$tmp/direct.perfetto-trace" -- "$work/split" 0.3
has 'direct: the ending chooses perfetto' "$err" 'wrote .*\(perfetto\)'
run "$rawprof" cpu --format perfetto -- true
holds 'direct: to standard output' "$status == 0 && $(wc -c <"$out") > 100"
holds 'direct: samples' "${kept% *} > 50"

# naps sleeps most of its time: states, reasons.
recorded wall wall -- "$work/naps" 1
all_formats wall wall
shown wall firefox
has 'wall: waits are markers with their reason' "$said" '^reasons .*sleep'
holds 'wall: markers' "$(found wait) > 2"
shown wall perfetto
holds 'wall: states of threads' "$(found states) >= 1"
holds 'wall: slices' "$(found slices) > 2"

# pingpong: two threads wake each other.
recorded wakers offcpu --wakers -- "$work/pingpong" 1
all_formats wakers delay
shown wakers perfetto
holds 'offcpu --wakers: arrows' "$(found arrows) > 10 && $(found arrows) <= $(found wakes)"
shown wakers firefox
holds 'offcpu --wakers: markers' "$(found woken) > 10"

recorded lock lock -- "$work/waits" 1
all_formats lock delay
shown lock perfetto
holds 'lock: waits are slices' "$(found slices) > 0"

# Requests overlap: lanes.
dd if=/dev/zero of="$tmp/file" bs=1M count=8 conv=fsync 2>/dev/null
recorded io io --stacks -- dd if="$tmp/file" of=/dev/null bs=64k iflag=direct
if [ "$(totals "$tmp/io.rawprof" delay | cut -d ' ' -f 1)" != 0 ]; then
	all_formats io delay
	shown io perfetto
	holds 'io: requests are slices' "$(found slices) > 0"
else
	skip 'io: requests' 'no block device is below the file'
fi
finish
