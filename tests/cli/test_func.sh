#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof func: calls whose number and length are known.
. "$(dirname "$0")/lib.sh"

# ---- without any right

# refused NAME MESSAGE ARGS...
refused() {
	run "$rawprof" func "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}
refused 'no function' 'which function.*libc:malloc' 1
refused '--by nothing known' 'function, thread, process or comm' x --by colour 1
refused 'two views' 'either --count or --hist' x --count --hist 1
refused '--slower of --count' 'not with --slower' x --count --slower 5 1
refused '--slower 0' 'number' x --slower 0 1
calls=$work/calls
run "$rawprof" func --list "$calls:*"
is '--list: status' "$status" 0
has '--list names a function' "$out" '^user +dives +'
run "$rawprof" func "$calls:divs" -- "$calls" recurse 1
is 'a name mistyped: status' "$status" 1
has 'a name mistyped: the nearest one' "$err" 'dives'
run "$rawprof" help func
for o in --count --hist --by --slower --list --interval; do
	has "help func names $o" "$out" "^ +(-., )?$o\b"
done
need_profile

# rows FUNCTIONS ARGS...: as Prometheus text in $out; what the program prints in $said. FUNCTIONS: with commas.
rows() {
	local patterns=() f
	for f in ${1//,/ }; do patterns+=("$calls:$f"); done
	run "$rawprof" func "${patterns[@]}" --format prometheus -o "$tmp/rows" "${@:2}"
	mv "$out" "$said"
	mv "$tmp/rows" "$out"
	[ $status -eq 0 ] || fail "rawprof func $*" "status $status"
}
# cell FIGURE LABEL: the sum of it in rows that have the label.
cell() { grep "^rawprof_func_$1{" "$out" | grep -E -- "$2" | awk '{ n += $NF } END { print n + 0 }'; }
of() { cell calls "function=\"$1\""; }
left() { cell left "function=\"$1\""; }
closes() {
	is "$1: the ledger closes" "$(ledger FIRED)" "$(($(ledger KEPT) + $(ledger FILTERED) + $(ledger LOST)))"
	is "$1: nothing is lost" "$(ledger LOST)" 0
}

# ---- how long

rows naps -- "$calls" sleep 100
is 'sleep: calls' "$(of naps)" 100
read -r all longest <"$said"
near 'sleep: what the program measured, within 2 %' "$(cell total_seconds naps)" "$(awk "BEGIN { print $all / 1e6 }")" \
	"$(awk "BEGIN { print $all / 1e6 * 0.02 }")"
near 'sleep: the longest' "$(cell max_seconds naps)" "$(awk "BEGIN { print $longest / 1e6 }")" \
	"$(awk "BEGIN { print $longest / 1e6 * 0.05 + 0.0002 }")"
run "$rawprof" func "$calls:naps" "$calls:steps" --hist --format json -- "$calls" sleep 30
is '--hist: status' "$status" 0
has '--hist: all calls' "$out" '"count":30[,}]'

# ---- how many, whatever becomes of them

rows leaps,leaps_inside,steps -- "$calls" jump 400
is '400 longjmps: all calls' "$(of leaps) $(of leaps_inside) $(of steps)" '400 400 1'
is '400 longjmps: all were left' "$(left leaps) $(left leaps_inside) $(left steps)" '400 400 0'
run "$rawprof" func "$calls:leaps" "$calls:leaps_inside" "$calls:steps" -- "$calls" jump 400
closes '400 longjmps'
has '400 longjmps: none is still there' "$out" 'left without a return 800\)'
is '400 longjmps: those that returned' "$(ledger KEPT)" 1

rows dives -- "$calls" recurse 1000
is 'recursion, 1,000 deep: all calls' "$(of dives)" 1001
is 'recursion, 1,000 deep: all return' "$(grep -c '^rawprof_func_left{' "$out")" 0
run "$rawprof" func "$calls:dives" "$calls:steps" -- "$calls" recurse 1000
closes 'recursion, 1,000 deep'
is 'recursion, 1,000 deep: the time of each is known' "$(ledger KEPT)" 1001
rows dives,steps -- "$calls" over 1000
is 'a longjmp over 1,000 calls: all were left' "$(left dives) $(left steps) $(of steps)" '1001 0 1'

run "$rawprof" func "$work/throws:fails" "$work/throws:passes" "$work/throws:catches" --format prometheus -o "$tmp/rows" \
	-- "$work/throws" 100
is 'exceptions pass: the program goes on' "$status $(cat "$out")" '0 100'
mv "$tmp/rows" "$out"
is 'exceptions pass: all calls' "$(of 'fails\(int\)') $(of 'passes\(int\)') $(of 'catches\(int\)')" '100 100 100'
is 'exceptions pass: those that were left' "$(left 'fails\(int\)') $(left 'catches\(int\)')" '100 0'

rows even,odd -- "$calls" mutual 50
is 'recursion of two functions' "$(of even) $(of odd)" '26 25'
rows hands,takes -- "$calls" tail 1000
is 'a function that jumps to another' "$(of hands) $(of takes)" '1000 1000'
holds 'it ends after that one' "$(cell total_seconds hands) > $(cell total_seconds takes)"
rows steps,thread --by thread -- "$calls" threads 2000
is 'threads: calls' "$(of steps)" 8000
is 'threads: rows' "$(grep -c '^rawprof_func_calls{.*steps' "$out")" 4
rows raises,on_signal,steps -- "$calls" signal 200
is 'a handler on a stack of its own' "$(of raises) $(of on_signal) $(of steps)" '200 200 200'
run "$rawprof" func "$calls:raises" "$calls:on_signal" "$calls:steps" -- "$calls" signal 200
closes 'a handler on a stack of its own'
is 'a handler on a stack of its own: all return' "$(ledger KEPT)" 600
rows ends -- "$calls" exit
is 'a call that ends the process' "$(of ends)" 1
run "$rawprof" func syscall:clock_nanosleep --format prometheus -o "$tmp/rows" -- "$calls" sleep 30
mv "$tmp/rows" "$out"
is 'a system call' "$(of clock_nanosleep)" 30
rows steps --count -- "$calls" threads 2000
is '--count' "$(of steps)" 8000
rows steps --slower 10000000 -- "$calls" threads 100
is '--slower: none is' "$(of steps)" 0

finish
