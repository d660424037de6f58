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

# Two shells: what one writes wakes the other.
# shellcheck disable=SC2016 # the inner shell's
recorded wakers offcpu --wakers -- bash -c 'for i in {1..60}; do sleep 0.005; echo $i; done | while read -r l; do :; done'
all_formats wakers delay
shown wakers perfetto
holds 'offcpu --wakers: arrows' "$(found arrows) > 10 && $(found arrows) <= $(found wakes)"
shown wakers firefox
holds 'offcpu --wakers: markers' "$(found woken) > 10"

recorded lock lock -- "$work/waits" 1
all_formats lock delay
shown lock perfetto
holds 'lock: waits are slices' "$(found slices) > 0"

# --serve: the address, who gets the profile, and the end.
"$rawprof" report --serve "$tmp/wall.rawprof" >"$tmp/address" 2>"$err" &
server=$!
for ((i = 0; i < 100; i++)); do
	[ -s "$tmp/address" ] && break
	sleep 0.1
done
has 'serve: the address' "$tmp/address" '^https://profiler.firefox.com/from-url/http%3A%2F%2F127\.0\.0\.1%3A[0-9]+%2F[0-9a-f]{32}%2Fprofile.json$'
"$rawprof" report -q --format firefox -o "$tmp/same" "$tmp/wall.rawprof"
cat >"$tmp/fetch.py" <<'END'
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
url = urllib.parse.unquote(sys.argv[1].split('/from-url/')[1])
port = urllib.parse.urlparse(url).port
socket.create_connection(('127.0.0.1', port)).close()  # who asks nothing holds nobody up
# Nor do those that stay and say nothing: each would have five seconds.
begin = time.monotonic()
crowd = [socket.create_connection(('127.0.0.1', port)) for _ in range(150)]
with urllib.request.urlopen(url, timeout=30) as answer:
    print('same' if answer.read() == open(sys.argv[2], 'rb').read() else 'another')
    print('for', answer.headers['Access-Control-Allow-Origin'])
print('after', time.monotonic() - begin)
with urllib.request.urlopen(urllib.request.Request(url, method='OPTIONS')) as answer:
    print('private', answer.headers['Access-Control-Allow-Private-Network'])
for other in url[:-1], url + 'x', 'http://127.0.0.1:%d/' % port:
    try:
        urllib.request.urlopen(other)
        print('given')
    except urllib.error.HTTPError as e:
        print('refused', e.code)
listening = [line.split()[1] for line in open('/proc/net/tcp') if line.split()[3] == '0A']
print('on', *[a for a in listening if a.endswith(':%04X' % port)])
END
run python3 "$tmp/fetch.py" "$(cat "$tmp/address")" "$tmp/same"
is 'serve: what report writes, whatever others do' "$(sed -n 1p "$out")" same
is 'serve: for that site alone' "$(sed -n 2p "$out")" 'for https://profiler.firefox.com'
holds 'serve: soon, beside 150 that say nothing' "$(sed -n 's/^after //p' "$out") < 10"
is 'serve: a page may ask' "$(grep '^private' "$out")" 'private true'
is 'serve: no other path' "$(grep -c '^refused 404$' "$out")" 3
has 'serve: on this machine alone' "$out" '^on 0100007F:[0-9A-F]+$'
kill -INT $server
wait $server
is 'serve: Ctrl-C ends it' $? 0
run "$rawprof" report --serve --format svg "$tmp/wall.rawprof"
is 'serve: the site reads no svg' "$status" 2
run "$rawprof" report --serve --by comm "$tmp/wall.rawprof"
is 'serve: no figures' "$status" 2

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
