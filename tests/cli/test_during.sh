#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --during: what happens inside of long calls of a function, against what the program has measured itself.
. "$(dirname "$0")/lib.sh"
need_profile
tail=$work/tail

# recorded COMMAND LIMIT [OPTIONS]: `tail` by that command into $tmp/a.rawprof; what it measured is in $calls, $slow, $ns.
recorded() {
	run "$rawprof" "$1" --during "$2" -o "$tmp/a.rawprof" "${@:3}" -- "$tail" 300
	is "$1: status" "$status" 0
	read -r _ calls _ slow _ ns <"$out"
	"$rawprof" report --format folded "$tmp/a.rawprof" >"$tmp/folded" 2>"$tmp/notes"
}
# closes NAME: the ledger's sum is that of its parts.
closes() {
	lacks "$1: the ledger closes" "$tmp/notes" 'does not close'
	has "$1: it says what was outside" "$tmp/notes" 'ledger: .*outside of calls [0-9]'
	has "$1: and what was in fast calls" "$tmp/notes" 'ledger: .*in fast calls [0-9]'
}
# only_slow NAME REGEX: stacks of the slow calls' functions, and no others; whole, though there are return probes on them.
only_slow() {
	holds "$1: something is there" "$(total "$tmp/folded") > 0"
	# or at a probe of the function itself
	holds "$1: all is inside of slow calls" "$(share "$tmp/folded" ";serve;request;($2)(;|$| )") > 98"
	lacks "$1: nothing of fast calls, nor between" "$tmp/folded" 'fast_part|between'
}

# ---- all time: that of the calls
recorded wall "$tail:request>100ms"
closes wall
only_slow wall 'slow_part|slow_wait'
has 'wall: slow calls of all, the outermost alone' "$tmp/notes" "inside $slow of $calls calls: "
near 'wall: on-CPU and off-CPU are what the calls took, us' "$(total "$tmp/folded")" $((ns / 1000)) $((ns / 50000))
holds 'wall: the wait is there' "$(awk '/slow_wait/ { n += $NF } END { print n + 0 }' "$tmp/folded") >= $slow * 60000"
has 'calls that were left by longjmp are said' "$err" '60 calls of .*request were left without a return'

# ---- every format has the same sums
"$rawprof" report --format json "$tmp/a.rawprof" 2>"$err" >"$tmp/a.json"
if have_python; then
	is 'wall: json has the sum of the stacks' "$(python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))
print(p["totals"][[t["type"] for t in p["value_types"]].index("wall")] // 1000 // 100)' "$tmp/a.json")" "$(($(total "$tmp/folded") / 100))"
	"$rawprof" report -q --format firefox --weight samples -o "$tmp/a.firefox" "$tmp/a.rawprof" 2>"$err"
	python3 tests/cli/timelines.py firefox "$tmp/a.firefox" >"$tmp/sums" 2>>"$err"
	read -r sums _ <"$tmp/sums"
	is 'wall: a timeline has as many samples' "$sums" "$(python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["totals"][0])' "$tmp/a.json")"
fi

# ---- its parts
recorded cpu "$tail:request>100ms" -F 499
closes cpu
only_slow cpu slow_part
recorded offcpu "$tail:request>100ms" --state S
closes offcpu
only_slow offcpu slow_wait
holds 'offcpu: the waits of all slow calls' "$(total "$tmp/folded") >= $slow * 60000 && $(total "$tmp/folded") <= $ns / 1000"

# ---- functions of libraries, calls that go on
run "$rawprof" offcpu --during 'libc:usleep>50ms' --format folded -- "$tail" 100
has 'a function of a library: the long calls' "$out" ';slow_wait;usleep;'
has 'it says how many' "$err" '^inside [0-9]+ of 2[0-9]{2} calls: '
for call in syscall:clock_nanosleep syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep; do
	run "$rawprof" offcpu --during "$call>50ms" --format folded -- "$tail" 100
	has "$call: the long ones" "$out" ';slow_wait;'
	has "$call: of all" "$err" '^inside [0-9]+ of 2[0-9]{2} calls: '
done
run "$rawprof" cpu -F 999 --during "$tail:serve>50ms" -d 0.7 --format folded -- "$tail" 100000
has 'calls that go on when it ends' "$err" '^inside 2 of 2 calls: '
has 'are long by then' "$out" ';serve;between '
for command in cpu wall; do
	run "$rawprof" $command --during "$tail:serve>1000s" -d 0.3 -o "$tmp/folded" --format folded -- "$tail" 100000
	has "$command: or they are not" "$err" '^inside 0 of 2 calls: '
	is "$command: and nothing is kept" "$(wc -l <"$tmp/folded")" 0
done

# ---- mistakes
refused() { # NAME REGEX ARGS...
	run "$rawprof" "${@:3}"
	is "$1: bad usage" "$status" 2
	has "$1: it says why" "$err" "$2"
}
refused 'no time' "is no function and time: 'libc:read>10ms'|'libc:fsync>10ms'" cpu --during libc:read 1
refused 'no unit' "'10' is no time: 10ms, 500us, 1.5s" cpu --during 'libc:read>10' 1
refused 'samples as they come' 'no --samples' cpu --during 'libc:read>10ms' --samples 1
refused 'wakers' 'no --runq, --wakers' offcpu --during 'libc:read>10ms' --wakers 1
run "$rawprof" cpu --during "$tail:requst>10ms" -d 0.1
is 'a function that is not there' "$status" 1
has 'with the nearest name' "$err" 'did you mean.*request'
forgets_execs during cpu --during "$work/execs:execute>1000s" --format folded
finish
