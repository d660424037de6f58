#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames of JavaScript between native ones: what V8 says of itself, in each of its tiers, is shown. NODES: more versions
# than the one that is installed, as paths (`make check-interpreters`).
. "$(dirname "$0")/lib.sh"

need_profile
if [ "$(uname -m)" != x86_64 ]; then
	skip 'frames of JavaScript' 'only on x86-64 so far'
	finish
fi
run "$rawprof" cpu --python-only -- true
if grep -q 'no functions of languages here' "$err"; then
	skip 'frames of JavaScript' 'not on this kernel'
	finish
fi

# ---- a program that lies

for how in circle nowhere huge; do
	folded -F 999 --user -- "$work/fakenode" $how 0.2
	holds "$how: native frames" "$(share "$out" ';main;.*;burn') > 80"
	is "$how: nothing is lost" "$(ledger LOST)" 0
	ledger_closes "$how"
done

# What it executes then has code whose rules are computed, as V8 says nothing of it.
folded -F 999 --user -- "$work/fakenode" nowhere 0.2 "$work/compiled" 1
holds 'executed by node: code in memory is walked' "$(share "$out" ';main;calls_compiled;\[anon\]') > 40"

# Its names lie where whoever reads them waits for ever: the recording ends, although the program does not.
"$work/fakenode" silent 300 &
silent=$!
sleep 0.2
if kill -0 $silent 2>/dev/null; then
	run timeout -s KILL 60 "$rawprof" cpu -q -d 1 -F 999 --user --format folded -p $silent
	is 'silent: it ends' "$status" 0
	holds 'silent: native frames' "$(share "$out" ';main;.*;burn') > 80"
else
	skip 'silent' 'no userfaultfd here, or not for this user'
fi
kill $silent 2>/dev/null

node=$(command -v node || command -v nodejs)
if [ -z "$node" ]; then
	skip 'frames of JavaScript' 'no node'
	finish
fi
export LC_ALL=C.UTF-8
frames=$PWD/tests/workloads/frames.js

stacks() {
	awk '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); s = ""
		for (i = 1; i <= n; i++) if (f[i] ~ /frames\.js(:[0-9]+)?$/) s = s (s == "" ? "" : ";") f[i]
		print s }' "$1" | sort -u
}

# tier "NAME NODE OPTION...": all stacks that the program tells are there, name by name and line by line.
tier() {
	local name node
	# shellcheck disable=SC2086 # a list
	set -- $1
	name=$1 node=$2
	shift 2
	name="$("$node" --version) $name"
	run "$rawprof" cpu -F 999 --lines --user --format folded -o "$tmp/folded" -- "$node" "$@" "$frames" 400
	[ $status -eq 0 ] || fail "$name" "status $status"
	sort -u "$out" >"$tmp/want"
	stacks "$tmp/folded" >"$tmp/got"
	is "$name: it says 14 stacks" "$(wc -l <"$tmp/want")" 14
	is "$name: they are there" "$(comm -13 "$tmp/got" "$tmp/want")" ''
	# What is collected before it is named: more on a busy machine (3 % seen), all if naming is broken.
	holds "$name: functions without a name" "$(share "$tmp/folded" '\[js\]') < 10"
}

# chain NODE: one piece of optimised code, with what is inlined in it. No stack is another than one of these.
chain() {
	local name f='frames.js'
	name="$("$1" --version) inlined"
	run "$rawprof" cpu -F 999 --lines --user --format folded -o "$tmp/folded" -- "$1" "$frames" 0 hot 1
	stacks "$tmp/folded" | grep 'js:118' >"$tmp/got"
	for line in 90 91; do
		has "$name: line $line" "$tmp/got" \
			"^<anonymous> frames.js:118;hot frames.js:100;outer frames.js:95;middle frames.js:$line;inner frames.js:88$"
	done
	is "$name: no other" "$(grep -vE "^<anonymous> $f:118(;hot $f(:(98|99|100))?(;outer $f(:9[456])?(;middle $f(:9[01])?(;inner $f(:88)?)?)?)?)?\$" "$tmp/got")" ''
}

tiers=() nodes=()
for n in "$node" ${NODES:-}; do
	knows() { "$n" --v8-options 2>/dev/null | grep -q -- "^ *--$1 "; }
	nodes+=("$n")
	tiers+=("interpreted $n --no-opt --no-sparkplug" "baseline $n --no-opt --always-sparkplug")
	knows maglev && tiers+=("maglev $n --maglev --always-sparkplug")
	knows always-turbofan && tiers+=("optimised $n --always-turbofan")
	knows always-opt && tiers+=("optimised $n --always-opt")
done
at_once tier "${tiers[@]}"
at_once chain "${nodes[@]}"

# ---- between native frames

folded -F 999 --user --lines -- "$node" "$frames" 400
has 'a callback: the native root' "$out" 'node::Start.*;main frames.js:[0-9]+;'
has 'a callback of a builtin' "$out" ';methode frames.js:34;[^;]+;.*<anonymous> frames.js:36;spin'
folded -F 999 --native -- "$node" "$frames" 50
lacks '--native: no frame of JavaScript' "$out" ';(main|recursion);'
folded -F 999 --python-only -- "$node" "$frames" 400
lacks '--python-only: of JavaScript too no other frames' "$out" ';main;.*(Builtins_|v8::|node::)'
has '--python-only: its functions' "$out" ';main;recursion;'
run "$rawprof" cpu -F 999 --format json -- "$node" "$frames" 200
has 'json: their kind' "$out" '"kind":"js"'
has 'json: their file' "$out" '"file":"[^"]*tests/workloads/frames.js"'

# ---- code without a frame of its own

cat >"$tmp/matches.js" <<'END'
const text = 'ab'.repeat(20000) + 'cdxyx', end = process.cpuUsage().user + 400000;
function matches() { return /^(a|b|ab)*[cd]+(x|y)+$/.test(text); }
while (process.cpuUsage().user < end) matches();
END
folded -F 999 --user -- "$node" "$tmp/matches.js"
has 'code of a regular expression' "$out" ';matches;.*;RegExp [0-9]+$'

# ---- threads that wait

cat >"$tmp/naps.js" <<'END'
function nap() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20); }
function naps() { for (let i = 0; i < 20; i++) nap(); }
naps();
END
run "$rawprof" offcpu --lines --format folded -o "$tmp/folded" -- "$node" "$tmp/naps.js"
has 'offcpu: who waited' "$tmp/folded" ';naps naps.js:2;nap naps.js:1;'
finish
