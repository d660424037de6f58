#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make check-consumers`: profiles over time in the programs that they are for. Those come from the registries of npm
# and Python into build/consumers; what cannot be had is skipped, and said.
#
#	@firefox-devtools/profiler-cli	the importer and the call trees of Firefox Profiler, without a browser
#	speedscope			its page, which chromium opens
#	perfetto			the published classes of Perfetto's protocol buffers, and its trace processor, which
#					it downloads when it is first used
. "$(dirname "$0")/../cli/lib.sh"
need_profile
have_python || {
	skip 'consumers' 'python3 is not installed'
	finish
}
there=$PWD/build/consumers
mkdir -p "$there"

# A fixed version each, so that a failure is ours.
firefox=$there/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
node=$there/node_modules/node/bin/node
[ -f "$firefox" ] && [ -x "$node" ] ||
	npm install --prefix "$there" --no-audit --no-fund node@24 @firefox-devtools/profiler-cli@0.10.0 >"$there/npm.log" 2>&1
[ -x "$node" ] || node=$(command -v node)
python=$there/venv/bin/python3
[ -x "$python" ] && "$python" -c 'import perfetto' 2>/dev/null ||
	{ python3 -m venv "$there/venv" && "$there/venv/bin/pip" install -q perfetto==0.59.1; } >"$there/pip.log" 2>&1

run "$rawprof" record cpu -F 999 -o "$tmp/cpu.rawprof" -- "$work/split" 1
is 'cpu: status' "$status" 0
run "$rawprof" record offcpu --wakers -o "$tmp/wakers.rawprof" -- "$work/family" 1
run "$rawprof" record wall -o "$tmp/wall.rawprof" -- "$work/naps" 1
is 'wall: status' "$status" 0
# made NAME FORMAT [OPTIONS]
made() { "$rawprof" report -q --format "$2" -o "$tmp/$1.$2.json" "${@:3}" "$tmp/$1.rawprof" 2>>"$err"; }
# total NAME TYPE
total_of() {
	"$rawprof" report -q --format json "$tmp/$1.rawprof" 2>>"$err" | python3 -c '
import json, sys
p = json.load(sys.stdin)
print(p["totals"][[t["type"] for t in p["value_types"]].index(sys.argv[1])])' "$2"
}

# ---- Firefox Profiler

export PROFILER_CLI_SESSION_DIR=$tmp/sessions
viewer() { run "$node" "$firefox" "$@"; }
# Its daemon has half a second to start, which is not enough on a busy machine.
load() {
	for _ in 1 2 3 4 5; do
		viewer load "$1"
		[ $status -ne 0 ] || return 0
		grep -q 'Profile load failed' "$err" "$out" && return 1
		sleep 2
	done
}
# What all threads of the profile weigh in the call trees of the viewer.
viewer_total() {
	local n=$1 i
	for ((i = 0; i < n; i++)); do
		viewer thread samples --include-idle --json --thread "t-$i"
		cat "$out"
	done | python3 -c '
import json, sys
text, at, total = sys.stdin.read(), 0, 0
while text[at:].strip():
    p, at = json.JSONDecoder().raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
    total += p["categoryBreakdown"]["totalSamples"] if p["categoryBreakdown"] else 0
print(round(total * (1e6 if sys.argv[1] == "ms" else 1)))' "$2"
}
if [ -f "$firefox" ] && "$node" --version >/dev/null 2>&1; then
	made cpu firefox
	load "$tmp/cpu.firefox.json"
	is 'firefox: it loads' "$status" 0
	is 'firefox: the importer has all samples' "$(viewer_total 1 samples)" "$(total_of cpu samples)"
	viewer thread functions --thread t-0
	has 'firefox: functions' "$out" 'split!work_60'
	viewer stop
	made wall firefox --weight wall
	load "$tmp/wall.firefox.json"
	near 'firefox: all of the time' "$(viewer_total 2 ms)" "$(total_of wall wall)" 2000 # it is a double of ms
	viewer thread samples --include-idle --thread t-0
	has 'firefox: blocked, and why' "$out" 'Blocked'
	viewer thread markers --list --thread t-0
	has 'firefox: waits are markers' "$out" 'm-[0-9]+ +sleep'
	viewer stop
	"$rawprof" report -q --serve "$tmp/cpu.rawprof" >"$tmp/address" 2>>"$err" &
	server=$!
	for ((i = 0; i < 100; i++)); do
		[ -s "$tmp/address" ] && break
		sleep 0.1
	done
	load "$(python3 -c 'import sys, urllib.parse
print(urllib.parse.unquote(sys.stdin.read().strip().split("/from-url/")[1]))' <"$tmp/address")"
	is 'firefox: --serve: the importer has all samples' "$(viewer_total 1 samples)" "$(total_of cpu samples)"
	viewer stop
	kill -INT $server
	wait $server
	made wall chrome
	load "$tmp/wall.chrome.json"
	is "firefox: it loads Chrome's as well" "$status" 0
	viewer thread markers --thread t-0
	has "firefox: Chrome's slices" "$out" 'do_syscall_64'
	viewer stop
else
	skip 'firefox' "no profiler-cli from npm: $(tail -n 1 "$there/npm.log")"
fi

# ---- Perfetto

if "$python" -c 'import perfetto' 2>/dev/null; then
	for what in cpu wall wakers; do
		made $what perfetto
		run "$python" tests/consumers/perfetto_read.py "$tmp/$what.perfetto.json"
		is "perfetto: $what: no field that the published schema lacks" "$status" 0
		case $what in cpu) type=cpu ;; wall) type=wall ;; *) type=delay ;; esac
		is "perfetto: $what: all" "$(head -n 1 "$out")" "$(total_of $what $type)"
		run "$python" tests/consumers/perfetto_query.py "$tmp/$what.perfetto.json"
		if grep -q '^unavailable' "$out"; then
			skip "perfetto: $what: trace processor" "it cannot be downloaded here"
		else
			is "perfetto: $what: trace processor: all" "$(sed -n 's/^weight //p' "$out")" "$(total_of $what $type)"
			is "perfetto: $what: trace processor: no errors" "$(sed -n 's/^errors //p' "$out")" 0
		fi
	done
else
	skip 'perfetto' "no package from Python's registry: $(tail -n 1 "$there/pip.log")"
fi

# ---- speedscope, in its own page

page=$there/node_modules/speedscope/dist/release/index.html
[ -f "$page" ] || npm install --prefix "$there" --no-audit --no-fund speedscope@1.25.0 >"$there/npm.log" 2>&1
chromium=$(command -v chromium || command -v chromium-browser)
if [ -f "$page" ] && [ -n "$chromium" ]; then
	made cpu speedscope
	run python3 tests/consumers/speedscope_read.py "$chromium" "$page" "$tmp/cpu.speedscope.json"
	is 'speedscope: status' "$status" 0
	is 'speedscope: it has all samples' "$(sed -n 's/^weight //p' "$out")" "$(total_of cpu samples)"
	is 'speedscope: its functions have all samples' "$(sed -n 's/^self //p' "$out")" "$(total_of cpu samples)"
	"$rawprof" report -q --format folded "$tmp/cpu.rawprof" >"$tmp/folded" 2>>"$err"
	is 'speedscope: as many in a function' "$(sed -n 's/^\([0-9]*\) work_60$/\1/p' "$out")" \
		"$(awk '/work_60 [0-9]+$/ { n += $NF } END { print n }' "$tmp/folded")"
else
	skip 'speedscope' "${chromium:+$(tail -n 1 "$there/npm.log")}${chromium:-chromium is not installed: make check-html}"
fi
finish
