#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames of Python between native ones: what each version of the interpreter that is here says of itself, is shown.
. "$(dirname "$0")/lib.sh"

run "$rawprof" cpu --python-only --native -- true
is '--python-only and --native: status' "$status" 2
has '--python-only and --native: says so' "$err" 'leave no stacks'
need_profile
if [ "$(uname -m)" != x86_64 ]; then
	skip 'frames of Python' 'only on x86-64 so far'
	finish
fi
if ! have_python; then
	skip 'frames of Python' 'no python3'
	finish
fi
run "$rawprof" cpu --python-only -- true
if grep -q 'no functions of languages here' "$err"; then
	skip 'frames of Python' 'not on this kernel'
	finish
fi
export LC_ALL=C.UTF-8
python=$(python3 -c 'import sys; print(sys.executable)') # python3 may be a script
frames=$PWD/tests/workloads/frames.py

# stacks: those of $tmp/folded without the command and the count.
stacks() { sed 's/^[^;]*;//; s/ [0-9]*$//' "$tmp/folded" | sort -u; }

# as_it_says VERSION MODE SECONDS COMMAND...: all stacks that the program tells are there, name by name and line by line.
as_it_says() {
	local python=$1 mode=$2 seconds=$3
	shift 3
	run "$rawprof" "$@" --lines --python-only --format folded -o "$tmp/folded" -- "$python" "$frames" "$mode" "$seconds"
	[ $status -eq 0 ] || fail "$python $mode" "status $status"
	sort -u "$out" >"$tmp/want"
	stacks >"$tmp/got"
	is "$python $mode: it says 16 stacks" "$(wc -l <"$tmp/want")" 16
	is "$python $mode: they are there" "$(comm -13 "$tmp/got" "$tmp/want")" ''
	is "$python $mode: no function without a name" "$(grep -c '\[python\]' "$tmp/got")" 0
}
version() {
	as_it_says "$1" nap 0.3 offcpu
	as_it_says "$1" spin 0.06 cpu -F 999
}
pythons=$python
for p in /usr/bin/python3 "${PYENV_ROOT:-/root/.pyenv}"/versions/3.{8,9,10,11,12,13,14}.*/bin/python3; do
	[ -x "$p" ] && [ "$(realpath "$p")" != "$(realpath "$python")" ] && pythons="$pythons $p"
done
# shellcheck disable=SC2086 # a list
at_once version $pythons

# ---- the whole machine: begun without, until one runs

recording cpu -v -F 499 --comm spinner --python-only --format folded -o "$tmp/named"
(exec -a spinner "$python" "$frames" spin 0.3) >/dev/null
kill -INT $recorder
wait $recorder
lacks 'whole machine, only frames of Python: it begins with them' "$err" 'frames of languages are walked since'
recording cpu -v -F 499 --lines --format folded -o "$tmp/whole"
"$python" "$frames" spin 1 >/dev/null
kill -INT $recorder
wait $recorder
has 'whole machine: it loads what walks them' "$err" 'frames of languages are walked since [0-9]+ ms after the start'
holds 'whole machine: and they are there' "$(grep -c '<module> .*frames.py' "$tmp/whole") > 0"

# ---- other interpreters in the process

# Each thread runs one after the other; its frames are those of the one it runs.
others() {
	run "$rawprof" cpu -F 999 --user --lines --python-only --format folded -o "$tmp/folded" -- "$1" tests/workloads/subinterpreter.py 0.15
	[ $status -eq 0 ] || fail "$1 another interpreter" "status $status"
	holds "$1: another interpreter: its frames" \
		"$(share "$tmp/folded" '^[^;]*;<module> <(string|script)>:7;outer <(string|script)>:6;inner <(string|script)>:4[ ;]') > 40"
	holds "$1: another interpreter: then one's own" "$(share "$tmp/folded" ';after [^;]*:[0-9]+[ ;]') > 15"
	is "$1: another interpreter: it is not who started it" \
		"$(grep -cE ';enter [^;]*:26;inner|;inner [^;]*;enter ' "$tmp/folded")" 0
}
# shellcheck disable=SC2086 # a list
at_once others $pythons

# ---- other commands with stacks

# Not at once: a process is known as Python a moment after it has begun, a busy machine needs some.
run "$rawprof" trace syscalls:sys_enter_getpid --stacks -- "$python" -S -c 'import os, time
def asks(): return os.getpid()
time.sleep(0.5); asks()'
has 'trace --stacks: functions' "$out" '^ +asks <string>:2$'
# Debian's own is stripped, others' are not.
has 'trace --stacks: between native frames' "$out" '^ +(os_getpid|\[(lib)?python[^]]*\+0x[0-9a-f]+\]) '
run "$rawprof" trace syscalls:sys_enter_getpid --stacks --python-only -- "$python" -S -c 'import os, time
def asks(): return os.getpid()
time.sleep(0.5); asks()'
lacks 'trace --stacks --python-only: no others' "$out" '^ +(os_getpid|_start|do_syscall)'
folded_func() { run "$rawprof" func libc:getpid --stacks --lines --format folded -- "$@"; }
folded_func "$python" -S -c 'import os
def asks(): return os.getpid()
asks()'
has 'func --stacks: functions' "$out" ';<module> <string>:3;asks <string>:2;'

# ---- versions that are not walked are named

run "$rawprof" cpu -F 999 -- "$work/nogilpython"
has 'without the interpreter lock: said' "$err" 'nogilpython: Python 3.13 without the interpreter lock is not known'
mkdir "$tmp/many"
for i in {1..24}; do cp "$work/nogilpython" "$tmp/many/python$i"; done
run "$rawprof" cpu -F 999 -- sh -c 'for f in "$1"/*; do "$f"; done' sh "$tmp/many"
holds 'without the interpreter lock: said of a few, not of any number' "$(grep -c 'is not known' "$err") == 16"
rm -rf "$tmp/many"

# ---- between native frames

folded -F 999 --user -- "$python" "$frames" spin 0.06
has 'a callback: native frames between' "$out" ';key;([^;]+;)+key\.<locals>\.<lambda>;rest'
has 'a function calls a function' "$out" ';recursion;(_[^;]*;|\[[^;]*;)*recursion;'
holds 'the interpreter is shown by what it runs' "$(share "$out" '_PyEval_EvalFrameDefault') < 5"
holds 'their native root' "$(share "$out" '(Py_BytesMain|Py_RunMain).*;<module>;run;') > 80"
folded -F 999 --native -- "$python" "$frames" spin 0.02
lacks '--native: no frame of Python' "$out" ';(<module>|recursion);'

# ---- processes: threads that have slept since before, children, 50 ms

"$python" "$frames" nap 4 >"$tmp/before" &
sleeper=$!
for ((i = 0; i < 100; i++)); do
	[ "$(wc -l <"$tmp/before")" -eq 16 ] && break
	sleep 0.05
done
run "$rawprof" wall --lines --python-only --format folded -o "$tmp/folded" -p "$sleeper" 0.3
stacks | sed 's/;\[[^;]*\]$//' | sort -u >"$tmp/got"
is 'a process that was there: its threads' "$(sort -u "$tmp/before" | comm -13 "$tmp/got" -)" ''
kill "$sleeper"

cat >"$tmp/forks.py" <<'END'
import os, time
def child():
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
for _ in range(5):
    if not os.fork():
        child()
        os._exit(0)
for _ in range(5):
    os.wait()
END
folded -F 999 --user --lines -- "$python" "$tmp/forks.py"
holds 'children by fork: their frames' "$(share "$out" ';<module> forks.py:[0-9]+;child forks.py:4;?') > 55"
cat >"$tmp/short.sh" <<'END'
for i in 1 2 3 4 5 6; do
	$1 -S -E -c 'import time
def soon():
    while time.process_time() < 0.05: pass
soon()'
done
END
folded -F 999 --user -- sh "$tmp/short.sh" "$python"
holds 'processes of 50 ms: names' "$(share "$out" ';<module>;soon') > 20"
is 'processes of 50 ms: all names' "$(grep -c '\[python\]' "$out")" 0

run "$rawprof" cpu -F 999 --format json -- "$python" "$frames" spin 0.01
has 'json: their kind' "$out" '"kind":"python"'
has 'json: their file' "$out" '"file":"[^"]*tests/workloads/frames.py"'

# ---- the interpreter lock

# The lock is held for 500 ms. On a busy machine who wants it waits for a processor too, and who has it says more.

# Of the waits of one thread: how many there are, which share of their time names the line, and how much that is.
held_up() {
	python3 - "$1" "$2" <<-'END'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1]))['rows'] if r['type'] == 'gil' and r['caller'] == 'waiter']
		right = [r for r in rows if r['released_in'] == 'workloads/gil.py:%s hold' % sys.argv[2]]
		# On a busy machine that thread may have to wait for a processor elsewhere, and has the lock.
		total = sum(r['total'] for r in rows if not r['released_in'].endswith(' holder'))
		ns = sum(r['total'] for r in right)
		print(sum(r['waits'] for r in rows), total and ns / total, ns)
	END
}
gil() {
	local line held n share ns
	run "$rawprof" lock -U --by releaser --format json -o "$tmp/gil" -- "$1" "$PWD/tests/workloads/gil.py"
	read -r line held <"$out"
	read -r n share ns < <(held_up "$tmp/gil" "$line")
	holds "$1: waits for the interpreter lock" "$n >= 10"
	holds "$1: who had it, to the line" "$share >= 0.95"
	holds "$1: and for how long" "$ns > 250e6 && $ns < $held * 1.05"
}
# shellcheck disable=SC2086 # a list
at_once gil $pythons
run "$rawprof" lock -U -- "$python" "$PWD/tests/workloads/gil.py"
has 'the interpreter lock: a sentence' "$out" \
	'waited [0-9.]+ m?s for interpreter lock \(gil, [0-9]+ times\) in waiter, held by thread [0-9]+ in workloads/gil.py:[0-9]+ hold$'
ledger_closes 'the interpreter lock'
run "$rawprof" lock -U --format folded -- "$python" "$PWD/tests/workloads/gil.py"
has 'the interpreter lock: stacks' "$out" ';waiter;.*\[held by\];hold;holder;'

# The same in wall: of the waiter's time in that state, how much there is, and the share with that line on top.
in_wall() {
	python3 - "$1" "$2" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		right = others = 0
		for s in d['samples']:
		    stack = [d['frames'][i] for i in d['stacks'][s['stack']]]
		    names = [f.get('name', '') for f in stack]
		    if s['labels']['state'] != 'gil' or 'waiter' not in names:
		        continue
		    at = names.index('[held by]') # leaf first: before it is the holder, the thread first of all
		    if names[at - 1] == 'hold' and names[0].startswith('thread ') and stack[at - 1].get('line') == int(sys.argv[2]):
		        right += s['values'][1]
		    elif names[at - 1] != 'holder': # as above
		        others += s['values'][1]
		print(right, right / (right + others or 1))
	END
}
gil_in_wall() {
	local line held ns share
	run "$rawprof" wall --lines --format json -o "$tmp/gil" -- "$1" "$PWD/tests/workloads/gil.py"
	read -r line held <"$out"
	read -r ns share < <(in_wall "$tmp/gil" "$line")
	holds "$1: wall: who had it, to the line" "$share >= 0.95"
	holds "$1: wall: and for how long" "$ns > 100e6 && $ns < $held * 1.05"
}
# shellcheck disable=SC2086 # a list
at_once gil_in_wall $pythons
run "$rawprof" wall --format folded -- "$python" "$PWD/tests/workloads/gil.py"
has 'wall: the interpreter lock: stacks' "$out" ';waiter;.*\[held by\];hold;holder;.*;thread [0-9]+;\[gil\] '
ledger_closes 'wall: the interpreter lock'

# ---- a program that lies

for how in circle nowhere huge; do
	folded -F 999 --user -- "$work/fakepython" $how 0.2
	holds "$how: native frames" "$(share "$out" ';main;.*;burn') > 80"
	is "$how: nothing is lost" "$(ledger LOST)" 0
	ledger_closes "$how"
done
finish
