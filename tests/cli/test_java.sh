#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames of Java between native ones: what the virtual machine says of itself is shown, whoever made the code.
. "$(dirname "$0")/lib.sh"

need_profile
if [ "$(uname -m)" != x86_64 ]; then
	skip 'frames of Java' 'only on x86-64 so far'
	finish
fi
run "$rawprof" cpu --python-only -- true
if grep -q 'no functions of languages here' "$err"; then
	skip 'frames of Java' 'not on this kernel'
	finish
fi

# ---- a program that lies

cp "$work/fakejvm" "$tmp/libjvm.so"
export JAVA_HOME=${JAVA_HOME:-$tmp} # so that Java is looked for
for how in circle nowhere huge; do
	for style in '' offsets; do
		folded -F 999 --user -- "$tmp/libjvm.so" $how 0.3 $style
		holds "$how $style: native frames" "$(share "$out" ';main;.*burn') > 70"
		is "$how $style: nothing is lost" "$(ledger LOST)" 0
		ledger_closes "$how $style"
	done
done
for style in '' offsets; do
	run "$rawprof" cpu -F 999 --user -v -f -- "$tmp/libjvm.so" circle 0.3 $style
	has "it is taken for one $style" "$out" ';\[java\];'
done
folded -F 999 --user -- "$tmp/libjvm.so" circle 3 lost
holds 'code that stacks end in is still that of Java' "$(share "$out" ';\[java\];burn_inside') > 90"
folded -F 999 --user -- "$tmp/libjvm.so" nowhere 0.2 lost "$work/compiled" 1
holds 'executed by Java: code in memory is walked' "$(share "$out" ';main;calls_compiled;\[anon\]') > 40"

# ---- what a process says of its file is for its user's processes alone

# says_to_others HOW TWENTIETHS: another user's process was there before, for so long or until something was said of it,
# with the same file.
says_to_others() {
	local i
	setpriv --reuid=4242 --regid=4242 --clear-groups "$tmp/libjvm.so" circle 60 "$1" &
	pids="$pids $!"
	recording cpu -a -v -F 199 --user --format folded -o "$tmp/folded"
	for ((i = 0; i < $2; i++)); do
		if grep -q 'does not say where' "$err"; then break; fi
		sleep 0.05
	done
	"$tmp/libjvm.so" circle 0.5
	kill -INT $recorder
	wait $recorder
	is "$1: it is recorded" "$?" 0
	has "$1: another user's process is still one of Java" "$tmp/folded" '^libjvm.so;.*;\[java\];burn_inside'
	kill -KILL "${pids##* }"
	wait "${pids##* }" 2>/dev/null
}
if [ "$(id -u)" = 0 ] && chmod 711 "$tmp" && setpriv --reuid=4242 --regid=4242 --clear-groups test -x "$tmp/libjvm.so"; then
	end_pids_too
	says_to_others aside 30
	says_to_others empty 1200
	has 'empty: of the user who says so' "$err" 'libjvm.so of user 4242: Java 0 does not say where it has _heaps'
else
	skip 'what a process says to others' 'not root'
fi
unset JAVA_HOME

if ! command -v javac >/dev/null; then
	skip 'frames of Java' 'no javac'
	finish
fi
javac --release 17 -d "$tmp" tests/workloads/Frames.java

# as_it_says NAME JAVA OPTIONS...: the stack that the program tells is there, name by name and line by line.
as_it_says() {
	local name=$1 java=$2 want
	shift 2
	run "$rawprof" cpu -F 999 --user --lines --format folded -o "$tmp/folded" -- "$java" "$@" -Xshare:auto -Xmx64m -cp "$tmp" Frames 0.6
	[ $status -eq 0 ] || fail "$name" "status $status"
	want=$(head -n 1 "$out")
	# Of a lambda the virtual machine leaves out its own frames.
	sed -E 's/;[^;]*\$\$Lambda[^;]*//g; s/.*;call_stub;//' "$tmp/folded" >"$tmp/got"
	holds "$name: it says where it is" "$(tr -cd ';' <<<"$want" | wc -c) >= 8"
	holds "$name: it is there" "$(grep -cF "$want" "$tmp/got") > 0"
	# But for a moment in which the virtual machine puts one in another's place.
	holds "$name: frames have names" "$(awk '/Frames.main[^;]*;.*\[java\]/ { bad += $NF } { all += $NF } END { print bad * 100, all }' \
		"$tmp/folded" | sed 's/ / <= /')"
}
javas=$(command -v java)
for j in ${JAVAS:-}; do
	javas="$javas $j"
done
for java in $javas; do
	as_it_says 'interpreted' "$java" -Xint
	as_it_says 'C1' "$java" -XX:TieredStopAtLevel=1
	as_it_says 'C1 that counts' "$java" -XX:TieredStopAtLevel=3
	as_it_says 'C2, all tiers' "$java" -XX:+UseSerialGC
	as_it_says 'C2 without inlining' "$java" -XX:-Inline -XX:+UseParallelGC
done

# Compiled code has pushed registers where it compares strings, and stubs do so everywhere.
javac --release 17 -d "$tmp" tests/workloads/Strings.java
for java in $javas; do
	folded -F 999 --user -- "$java" -Xmx256m -cp "$tmp" Strings 1.5
	holds 'strings: their work is below main' \
		"$(awk '/ComparableTimSort|String\.compareTo|StringLatin1|Integer\.toString|Strings\./ { all += $NF }
		/Strings\.main/ { in_main += $NF } END { print in_main * 100 " >= " all * 99 }' "$out")"
	holds 'strings: they are compared' "$(share "$out" 'compareTo|ComparableTimSort') > 10"
done

# A virtual thread that has slept has a part of its stack only; below that is the thread that carries it.
javac --release 17 -d "$tmp" tests/workloads/Virtual.java
for java in $javas; do
	"$java" -Xmx64m -cp "$tmp" Virtual 0 || continue # it has none
	for option in -Xint -XX:TieredStopAtLevel=1 -XX:+UseSerialGC; do
		folded -F 999 --user -- "$java" $option -Xmx64m -cp "$tmp" Virtual 1
		holds "virtual threads $option: they are below who carries them" \
			"$(awk '/Virtual\.(turns|spin)/ { all += $NF } /call_stub;.*Virtual\.(turns|spin)/ { below += $NF }
			END { print all + 0 " > 100 && " below * 100 " >= " all * 99 }' "$out")"
	done
done

# Of Java too.
folded -F 999 --python-only -- java -Xmx64m -cp "$tmp" Frames 0.4
has '--python-only: methods' "$out" '^java;Frames.main;'
lacks '--python-only: neither what is below them nor stubs' "$out" 'Frames.main;.*(::|Stub)|(call_stub|JavaMain);.*Frames.main'
folded -F 999 --native -- java -Xmx64m -cp "$tmp" Frames 0.2
lacks '--native: no method' "$out" 'Frames\.'

# A thread that waits, in a process that was there before.
java -Xmx64m -cp "$tmp" Frames 1 >"$tmp/before" &
pid=$!
for ((i = 0; i < 100; i++)); do
	[ -s "$tmp/before" ] && break
	sleep 0.05
done
run "$rawprof" offcpu --lines --format folded -o "$tmp/folded" -p $pid 4
has 'a wait: who waits, to the line' "$tmp/folded" ';Frames.main Frames.java:[0-9]+;Frames.rest Frames.java:63;java.lang.Thread.sleep'
finish
