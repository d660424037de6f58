#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# USDT probes: what there is, as readelf has it; arguments to the last bit; semaphores.
. "$(dirname "$0")/lib.sh"
need_profile
if [ ! -e /sys/bus/event_source/devices/uprobe ]; then
	skip "$(basename "$0")" 'this kernel has no uprobes'
	finish
fi
usdt=$work/usdt

# ---- what there is
# names FILE: provider:name of each probe, once, as readelf has them.
names() { readelf -nW "$1" | awk '/Provider: / { p = $NF } /^    Name: / { print p ":" $2 }' | sort -u; }
for file in "$usdt" /usr/lib/*-linux-gnu/libstdc++.so.6 /usr/lib/*-linux-gnu/libpython3.11.so.1.0 /usr/bin/python3.11; do
	[ -e "$file" ] || continue
	run "$rawprof" trace --list "usdt:$file:*"
	is "$(basename "$file"): status" "$status" 0
	is "$(basename "$file"): the probes that readelf has" \
		"$(sed -n 's/^usdt:[^:]*:\([^ ]*\).*/\1/p' "$out" | LC_ALL=C.UTF-8 sort)" "$(names "$file" | LC_ALL=C.UTF-8 sort)"
done
run "$rawprof" trace --list "usdt:$usdt:shop:args1?"
is 'a glob' "$(grep -c '^usdt:usdt:shop:args1[012]$' "$out")" 3
has 'where arguments are, and what' "$out" '^    arg9  int32_t    -4@'
run "$rawprof" trace --list "usdt:$usdt:inlined"
has 'in several places' "$out" '^usdt:usdt:shop:inlined \(4 places'
run "$rawprof" trace --list "usdt:$usdt:herd"
is 'a name that is not there: status' "$status" 1
has 'what was meant' "$err" 'did you mean heard\?'
run "$rawprof" trace --list usdt:/bin/sh:begin
has 'a file without probes' "$err" 'has no USDT probes'
run "$rawprof" trace usdt:heard
has 'how they are named' "$err" 'usdt:PROGRAM:NAME'
run "$rawprof" trace --strings 13 "usdt:$usdt:text"
is '--strings 13: status' "$status" 2

# A probe at 40,000 places, each with its arguments elsewhere.
cat >"$tmp/many.s" <<'EOF'
.globl main
main: xor %eax, %eax
ret
.rept 40000
nop
.endr
.section .note.GNU-stack,"",%progbits
.section .note.stapsdt,"","note"
.set i, 0
.rept 40000
.balign 4
.long 8, 3f - 2f, 3
.asciz "stapsdt"
2: .quad main + 3 + i, 0, 0
.asciz "much"
.asciz "often"
.ascii "8@$1"
.byte 48 + i / 10000, 48 + i / 1000 % 10, 48 + i / 100 % 10, 48 + i / 10 % 10, 48 + i % 10, 0
3:
.set i, i + 1
.endr
EOF
if gcc -o "$tmp/many" "$tmp/many.s" 2>/dev/null; then
	run "$rawprof" trace --list "usdt:$tmp/many:*"
	has 'a probe at very many places: of the first' "$out" '^usdt:many:much:often \(1024 places'
	has 'a probe at very many places: arguments' "$out" '^    arg1  uint64_t   8@\$1[0-9]{5}$'
	run "$rawprof" trace "usdt:$tmp/many:often" -- "$tmp/many"
	is 'a probe at very many places is refused: status' "$status" 1
	has 'a probe at very many places is refused: why' "$err" 'is at 40000 places, more than 1024'
fi

# Of all processes: who has more than are listed keeps no one else's out. They are read without rights.
cat >"$tmp/lots.s" <<'EOF'
.section .note.GNU-stack,"",%progbits
.section .note.stapsdt,"","note"
.set i, 0
.rept 100001
.balign 4
.long 8, 3f - 2f, 3
.asciz "stapsdt"
2: .quad main, 0, 0
.asciz "lots"
.byte 'p', 48 + i / 100000, 48 + i / 10000 % 10, 48 + i / 1000 % 10, 48 + i / 100 % 10, 48 + i / 10 % 10, 48 + i % 10, 0
.byte 0
3:
.set i, i + 1
.endr
EOF
printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' >"$tmp/pause.c"
if gcc -no-pie -o "$tmp/lots" "$tmp/pause.c" "$tmp/lots.s" 2>/dev/null; then
	"$tmp/lots" &
	lots=$!
	"$usdt" wait >/dev/null &
	wait=$!
	until [ "$(readlink /proc/$lots/exe)" -ef "$tmp/lots" ] && [ "$(readlink /proc/$wait/exe)" -ef "$usdt" ]; do sleep 0.01; done
	mkfifo "$tmp/list"
	"$rawprof" trace --list 'usdt:*' >"$tmp/list" 2>"$err" &
	pid=$!
	{
		IFS= read -r first
		grep -E '^(Uid|Seccomp):' /proc/$pid/status >"$tmp/rights"
		printf '%s\n' "$first"
		cat
	} <"$tmp/list" >"$out"
	wait $pid
	is 'of all processes: status' $? 0
	is 'of all processes: so many of one file' "$(grep -c '^usdt:lots:lots:p' "$out")" 20000
	has 'of all processes: that it has more' "$err" '/lots has more than 20000 USDT probes'
	has 'of all processes: those of others' "$out" '^usdt:usdt:shop:heard'
	has 'of all processes: read with the system calls of a reader' "$tmp/rights" '^Seccomp:.2'
	[ "$(id -u)" != 0 ] || has 'of all processes: read by another than root' "$tmp/rights" '^Uid:.65534'
	kill $lots $wait
	wait $lots $wait 2>/dev/null
else
	skip 'of all processes' 'gcc cannot'
fi

# ---- arguments
run "$rawprof" trace "usdt:$usdt:args*" --format json -- "$usdt" all 3
is 'arguments: status' "$status" 0
is 'arguments: each time that a probe is passed' "$(wc -l <"$out")" 39
value=(-5 254 -30001 65533 -2000000001 4294967292 -7000000000000001 18364758544493064720 11 -12 9843086184167632639 120)
for n in {1..12}; do
	want=''
	for ((i = 1; i <= n; i++)); do want+=",\"arg$i\":${value[i - 1]}"; done
	is "$n of all sizes and signs" "$(grep -c "\"event\":\"usdt:usdt:shop:args$n\".*\"cpu\":[0-9]*$want}\$" "$out")" 3
done
run "$rawprof" trace usdt::inlined usdt::text usdt::heard --strings 1 -- "$usdt"
is 'of the target: status' "$status" 0
has 'a string' "$out" ' usdt:usdt:shop:text +arg1="bread" arg2=5$'
has 'a string that cannot be read' "$out" ' usdt:usdt:shop:inlined +arg1=\? arg2=1$'
has 'behind a semaphore' "$out" ' usdt:usdt:shop:heard '
run "$rawprof" trace usdt::inlined --format json -- "$usdt"
is 'inlined: each place has its own' "$(sed 's/.*"arg1":\([0-9]*\),"arg2":\([0-9]*\)}/\1 \2/' "$out" | tr '\n' ,)" '10 1,20 2,30 3,40 4,'
if [ "$(uname -m)" = x86_64 ]; then
	run "$rawprof" trace usdt::odd -- "$usdt"
	has 'a variable, a double, what cannot be read' "$out" ' arg1=-77 arg2=2\.5 arg3=\? arg4=\? arg5=-10$'
	has 'why not' "$err" 'argument 3 \(8f@%xmm0\) is not read: it is in a vector register'
fi
# What a program has mapped is known before the first stack is printed, whenever it began.
for i in {1..5}; do
	run "$rawprof" trace usdt::hot --stacks --max-events 5 -- "$usdt" hot 1000
	is 'where it happened' "$(grep -c '^        hot (usdt)$' "$out")" 5
done
is 'the ledger closes' "$(ledger FIRED)" "$(($(ledger KEPT) + $(ledger FILTERED) + $(ledger LOST)))"
if [ -x /usr/bin/python3.11 ]; then
	run "$rawprof" trace 'usdt:python3.11:import-find-load-*' --strings 1 -- /usr/bin/python3.11 -c 'try: import no_such_module
except ImportError: pass'
	is 'Debian'\''s python3: an import begins' "$(grep -c ':import__find__load__start *arg1="no_such_module"$' "$out")" 1
	is 'Debian'\''s python3: and finds nothing' "$(grep -c ':import__find__load__done *arg1="no_such_module" arg2=0$' "$out")" 1
else
	skip 'Debian'\''s python3' 'it is not here'
fi

# ---- which of them, and how many
run "$rawprof" trace usdt::hot --filter 'arg1 >= 5 && arg1 < 9 || arg1 == 15' --format json -- "$usdt" hot 20
is '--filter: of a number' "$(sed -n 's/.*"arg1":\([0-9]*\),.*/\1/p' "$out" | tr '\n' ,)" '5,6,7,8,15,'
run "$rawprof" trace usdt::args8 --filter 'arg7 == -7000000000000001 && arg1 < 0 && arg8 > 0xfedcba9800000000' -- "$usdt" all 2
is '--filter: of all sizes and signs' "$(grep -c 'usdt:usdt:shop:args8 ' "$out")" 2
run "$rawprof" trace usdt::text --strings 1 --filter 'arg1 == "bread"' -- "$usdt" all 2
is '--filter: of a string' "$(grep -c ' arg1="bread" arg2=5$' "$out")" 2
run "$rawprof" trace usdt::text --strings 1 --filter 'arg1 != "bread"' -- "$usdt" all 2
is '--filter: of another string' "$(grep -c ' arg1=' "$out")" 0
is '--filter: the ledger has them' "$(ledger FILTERED)" 2
run "$rawprof" trace usdt::hot --filter 'arg3 > 5' -- "$usdt" hot 20
has '--filter: an argument that there is not' "$err" 'arg3'
run "$rawprof" trace usdt::inlined --count arg1 --format json -- "$usdt" all 3
is '--count: by an argument' "$(grep -oE '"arg1":"(10|20|30|40)","count":3}' "$out" | wc -l)" 4
run "$rawprof" trace usdt::hot --count event -- "$usdt" hot 50000
has '--count: each of them' "$out" 'usdt:usdt:shop:hot +50,?000'

# ---- how long, and how often
run "$rawprof" func usdt::begin..end -- "$usdt" pairs 20 2
is 'a pair: status' "$status" 0
is 'a pair: how often' "$(awk '$1 == "shop:begin..end" { print $2 }' "$out")" 20
run "$rawprof" func usdt::begin..usdt::shop:end --format json -- "$usdt" pairs 20 2
holds 'a pair: no shorter than it sleeps' "$(grep -oE '"(min|least)[a-z_]*": ?[0-9]+' "$out" | head -n 1 | grep -oE '[0-9]+$') >= 2000000"
run "$rawprof" func --count usdt::hot -- "$usdt" hot 20000
is '--count: each of them' "$(awk '$1 == "shop:hot" { print $2 }' "$out" | tr -d ,)" 20000
run "$rawprof" func usdt::begin..ent -- "$usdt"
has 'a pair: what was meant' "$err" 'did you mean end\?'
run "$rawprof" func usdt::hot -- "$usdt"
has 'a single one has no end' "$err" 'usdt:PROGRAM:BEGIN\.\.END'

# ---- semaphores
"$usdt" wait >"$tmp/wait" &
pid=$!
until [ "$(readlink /proc/$pid/exe)" -ef "$usdt" ]; do sleep 0.01; done
run "$rawprof" trace usdt::heard -p $pid --max-events 3 10
is 'a semaphore: status' "$status" 0
is 'a semaphore: somebody is heard' "$(grep -c ' usdt:usdt:shop:heard arg1=5$' "$out")" 3
wait_for() { for _ in {1..500}; do [ "$(tail -n 1 "$tmp/wait")" = "$1" ] && return; sleep 0.01; done; }
wait_for unheard
is 'a semaphore: down again' "$(tr '\n' , <"$tmp/wait")" 'heard,unheard,'
"$rawprof" trace usdt::heard -p $pid >"$tmp/killed" 2>&1 &
killed=$!
wait_for heard
kill -KILL $killed
wait $killed 2>/dev/null
wait_for unheard
is 'a semaphore: down after kill -KILL' "$(tr '\n' , <"$tmp/wait")" 'heard,unheard,heard,unheard,'
kill $pid
finish
