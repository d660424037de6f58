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
refused 'two views' 'one of --count, --ret' x --count --hist 1
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
rows() { # FUNCTIONS may be globs
	local -; set -f
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
run "$rawprof" func "$calls:leaps" "$calls:steps" --hist -- "$calls" jump 400
has '--hist: what never returned is named' "$err" 'leaps: no histogram, as none of its 400 calls returned'

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

# A call that ends in another function, to which its own has jumped, in a program with exceptions: `again`, which half of the
# calls jump to, is called by the handler too, from the same place on the stack.
cat >"$tmp/tails.cpp" <<'END'
#include <cstdio>
#define OWN __attribute__((noinline))
volatile int done;
OWN int again(int i) { done = done + i; if (i < 0) throw i; return done; }
OWN int adds(int i) { if (i % 4 == 1) throw i; return i % 2 ? i : again(i); }
OWN void puts_it(const char *s) { done = done + 1; puts(s); }
int main()
{
	for (int i = 0; i < 400; i++)
		try { adds(i); } catch (int) { again(i); }
	puts_it("done");
}
END
if "${CXX:-g++}" -O2 -o "$tmp/tails" "$tmp/tails.cpp" 2>"$tmp/err"; then
	run "$rawprof" func "$tmp/tails:adds" "$tmp/tails:puts_it" --format prometheus -o "$tmp/rows" -- "$tmp/tails"
	is 'tail calls beside exceptions: the program goes on' "$status $(cat "$out")" '0 done'
	mv "$tmp/rows" "$out"
	is 'tail calls beside exceptions: all calls' "$(of 'adds\(int\)') $(of 'puts_it\(char const\*\)')" '400 1'
	is 'tail calls beside exceptions: what was left' "$(left 'adds\(int\)') $(left 'puts_it\(char const\*\)')" '100 0'
	is 'tail calls beside exceptions: the others return' "$(ledger KEPT)" 301
else
	skip 'tail calls beside exceptions' 'there is no C++ compiler'
fi

# Hundreds of functions, each called once: the first call of each counts.
{
	for i in {1..600}; do echo "__attribute__((noinline)) int once_$i(int x) { __asm__(\"\"); return x + $i; }"; done
	echo 'int main(void) { volatile int s = 0;'
	for i in {1..600}; do echo "s += once_$i(s);"; done
	echo 'return 0; }'
} >"$tmp/many.c"
"${CC:-gcc}" -O1 -o "$tmp/many" "$tmp/many.c"
for view in '' --count; do
	run "$rawprof" func "$tmp/many:once_*" $view --format prometheus -o "$tmp/rows" -- "$tmp/many"
	is "600 functions $view: rows" "$(grep -c '^rawprof_func_calls{.*} 1$' "$tmp/rows")" 600
	closes "600 functions $view"
done

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

# ---- one by one

run "$rawprof" func "$calls:gives" --ret --format prometheus -o "$tmp/rows" -- "$calls" values 600
is '--ret: each value' "$(sed -n 's/^rawprof_func_value_calls{.*value="\([^"]*\)".* \(.*\)$/\1=\2/p' "$tmp/rows" | sort -n | tr '\n' ' ')" \
	'-2=100 0=100 1=100 2=100 3=100 4=100 '
run "$rawprof" func syscall:openat --ret -- cat /nonexistent
has '--ret: error codes have names' "$out" '^openat +-2 ENOENT '

run "$rawprof" func "$calls:gives" --slower 1 --format json -o "$tmp/lines" -- "$calls" values 50
is '--slower: a line for each, and the ledger' "$(wc -l <"$tmp/lines") $(ledger FIRED)" "$(ledger KEPT) 50"
if have_python; then
	is '--slower: arguments and values' "$(python3 -c '
import json
rows = [json.loads(l) for l in open("'"$tmp/lines"'")]
good = [r for r in rows if r["duration_ns"] >= 1000 and (r["value"] & 0xffffffff) == (
    -2 & 0xffffffff if r["args"][0] % 6 == 5 else r["args"][0] % 6)]
print(len(rows) > 0 and len(good) == len(rows))')" True
fi
run "$rawprof" func syscall:openat --slower 1 -- ls /nonexistent
has '--slower: arguments of a system call by name, and its error' "$out" 'openat\(AT_FDCWD, 0x[0-9a-f]+, O_RDONLY\|O_[A-Z|_]*\) = '
run "$rawprof" func syscall:clock_nanosleep --slower 1 --format json -- "$calls" sleep 1
has '--slower: as many arguments as there are' "$out" '"args":\[[0-9]+,[0-9]+,[0-9]+,[0-9]+\]'

# The program alone: what it starts and what others do is not probed; functions that are chosen among (IFUNC) can be.
cat >"$tmp/family.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void work(int times)
{
	char from[512] = "text", to[512];
	for (int i = 0; i < times; i++) {
		memcpy(to, from, (size_t)(300 + i % 2));
		free(strdup(to));
	}
}
int main(int argc, char **argv)
{
	work(100);
	if (!fork()) { work(50); _exit(0); }
	wait(NULL);
	if (argc > 1 && !fork()) execl(argv[0], argv[0], (char *)NULL);
	while (wait(NULL) > 0) {}
}
END
"${CC:-gcc}" -O1 -fno-builtin -o "$tmp/family" "$tmp/family.c"
run "$rawprof" func libc:strdup --format prometheus -o "$tmp/rows" -- "$tmp/family" again
mv "$tmp/rows" "$out"
is 'a program and its children' "$(of strdup)" 300
run "$rawprof" func libc:strdup libc:memcpy --no-children --format prometheus -o "$tmp/rows" -- "$tmp/family" again
mv "$tmp/rows" "$out"
is '--no-children: the program alone' "$(of strdup)" 100
holds '--no-children: a function that the dynamic linker chooses' "$(of '[^"]*mem[a-z]*') >= 100"
holds '--no-children: nobody else is probed' "$(ledger FILTERED) == 0"
refused '--no-children without a program' '-- PROGRAM' x --no-children 1

# It goes on by the number of the first thread; once that one is freed, under the other number, its own is gone.
run "$rawprof" func "$calls:dives" -v -- "$calls" exec 10
has 'a thread that executes a program: its calls have ended' "$out" 'filtered \(their thread ended inside 11\)'

run "$rawprof" func "$calls:even" "$calls:odd" "$calls:main" --graph -- "$calls" mutual 3
sed -n 's/^.* | \( *\)\([^ (]*\).*\([{;0]\)$/\1\2\3/p' "$out" >"$tmp/graph"
is '--graph: calls inside each other' "$(tr '\n' ',' <"$tmp/graph")" \
	'main{,  even{,    odd{,      even{,        odd;,      }0,    }0,  }0,}0,'
run "$rawprof" func "$calls:*" --graph --format json -o "$tmp/lines" -- "$calls" recurse 200
for e in begins returns; do
	is "--graph: what $e" "$(grep -c "\"event\":\"$e\",\"function\":\"dives\"" "$tmp/lines")" 201
done

# More than the ring has room for, in less time than from one look to the next. On a busy machine nobody may read
# for long: in one of five runs of a program that gives way to all others, on the same CPU, it is read in time.
one=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
lines_lost() { sed -n 's/,//g; s/^ledger: .* + \([0-9]*\) lost.*/\1/p' "$err"; }
for _ in 1 2 3 4 5; do
	RUN_TIMEOUT=60 run taskset -c "$one" "$rawprof" func syscall:getppid --graph --format json -o "$tmp/lines" -- \
		nice -n 19 "$work/tracee" calls 100000
	[ "$(lines_lost)" != 0 ] || break
done
is 'a burst: nothing is lost that could be read' "$(lines_lost)" 0
is 'a burst: beginnings and ends' "$(wc -l <"$tmp/lines")" 200000

run "$rawprof" func "$calls:steps" --stacks --weight calls --format folded -o "$tmp/folded" -- "$calls" signal 100
is '--stacks: the callers' "$(sed -n 's/.*main;raises;.*;on_signal;steps //p' "$tmp/folded")" 100
run "$rawprof" func "$calls:dives" --stacks --weight calls --format folded -o "$tmp/folded" -- "$calls" recurse 5
is '--stacks: of a recursion' "$(sed 's/.*main;//' "$tmp/folded" | awk '{ n = gsub("dives", "dives"); s += n * $NF } END { print s }')" 21
run "$rawprof" func "$calls:steps" --stacks -o "$tmp/saved.rawprof" -- "$calls" threads 100
run "$rawprof" report --format pprof -o "$tmp/saved.pb.gz" "$tmp/saved.rawprof"
is '--stacks: saved, and shown as pprof' "$status" 0
# What is on the stack where _start begins is the number of arguments, not a return address.
rows '*' -- "$calls" values 7
is 'all functions of a program: it goes on' "$(of gives) $(of main)" '7 1'

# Of what runs often the kernel's statistics are left alone, and the rest is estimated: saved and shown as that.
RUN_TIMEOUT=60 run "$rawprof" func --count "$calls:costs" -o "$tmp/often.rawprof" -- "$calls" cost 2000000
run "$rawprof" report "$tmp/often.rawprof"
has 'often: what they cost is estimated' "$out" '^own cost: BPF about '
has 'often: all are counted' "$out" '^ledger: 2,000,000 calls fired = 2,000,000 kept '
runs=$("$rawprof" report --format json "$tmp/often.rawprof" | sed -n 's/.*"bpf_runs":\([0-9]*\),"bpf_estimated":true.*/\1/p')
holds "often: about as many runs" "${runs:-0} > 1900000 && ${runs:-0} < 2100000"

# ---- one user has not all of the places for calls

# as USER ARGS...
as() { setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
chmod 755 "$tmp"
cp "$calls" "$tmp/many"
chmod 755 "$tmp/many"
if as 65533 test -x "$tmp/many"; then
	ln "$tmp/many" "$tmp/other"
	ln "$tmp/many" "$tmp/later"
	mkfifo "$tmp/input"
	recording func "$tmp/many:dives" --by comm --format prometheus -o "$tmp/rows" -v 600
	"$tmp/many" stay 600 65534 <"$tmp/input" >"$tmp/stays" & # who pays is the user that they become
	many=$!
	exec 7>"$tmp/input"
	until grep -q stay "$tmp/stays" || ! kill -0 $many 2>/dev/null; do sleep 0.1; done
	as 65533 "$tmp/other" recurse 1000
	exec 7>&-
	wait $many
	as 65534 "$tmp/later" recurse 1000
	kill -INT $recorder
	wait $recorder
	mv "$tmp/rows" "$out"
	has 'one user takes all places that it can: not all calls had one' "$err" 'lost \(too many threads [0-9,]+\)'
	is "one user takes all places that it can: another's calls are seen" "$(cell calls 'comm="other"')" 1001
	is 'one user takes all places that it can: they are given back' "$(cell calls 'comm="later"')" 1001
else
	skip 'one user takes all places that it can' 'cannot be another user here'
fi

finish
