#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `rawprof trace`: the fields of tracepoints, each event, and what becomes of those that find no room.
. "$(dirname "$0")/lib.sh"
need_profile
if [ ! -r /sys/kernel/tracing/events/sched/sched_switch/format ]; then
	skip "$(basename "$0")" 'tracefs cannot be read'
	finish
fi

# ledger FIELD: fired, kept, filtered or lost, of the last command.
ledger() {
	sed -n 's/,//g; s/^ledger: \([0-9]*\) events\{0,1\} fired = \([0-9]*\) kept + \([0-9]*\) filtered.* + \([0-9]*\) lost.*/\1 \2 \3 \4/p' "$err" |
		awk -v f="$1" '{ print $(f == "fired" ? 1 : f == "kept" ? 2 : f == "filtered" ? 3 : 4) }'
}

# ---- which events
run "$rawprof" trace --list sched_switch
is 'a name that is unique: status' "$status" 0
is 'a name that is unique' "$(head -n 1 "$out")" 'sched:sched_switch'
has 'it has its fields' "$out" '^    prev_comm +char\[16\]$'
run "$rawprof" trace --list 'sched:sched_process_[ef]*'
is 'a glob' "$(grep -c '^sched:sched_process_\(exec\|exit\|fork\)$' "$out")" 3
run "$rawprof" trace sched_swich
is 'a name that is not there: status' "$status" 1
has 'what was meant' "$err" 'did you mean sched:sched_switch\?'
run "$rawprof" trace sched:sched_swich
has 'what was meant, with its group' "$err" 'did you mean sched:sched_switch\?'
run "$rawprof" trace 'sched:like*'
has 'a glob that matches nothing' "$err" "no event matches 'sched:like\*'"
run "$rawprof" trace 5
is 'no event: status' "$status" 2

# ---- fields
run "$rawprof" trace sched_switch --max-events 300 10
is 'sched_switch: status' "$status" 0
is '--max-events: so many lines' "$(wc -l <"$out")" 301
has 'strings and numbers' "$out" '^ +[0-9.]+ .* sched:sched_switch prev_comm=".*" prev_pid=[0-9]+ prev_prio='
has 'flags have names' "$out" ' prev_state=[SDITR|+]+ next_comm='
is 'in the order of their times' "$(sed 1d "$out" | awk '$1 < last { n++ } { last = $1 } END { print n + 0 }')" 0
is 'the ledger has the lines' "$(ledger kept)" 300
run "$rawprof" trace sched:sched_process_exec --format json -- sh -c "exec /bin/true"
is 'json: status' "$status" 0
has 'a string of variable length' "$out" '"filename":"/bin/sh"|"filename":"/usr/bin/sh"'
has 'a field with a name that is taken' "$out" '"field_pid":[0-9]+'
is 'two programs were executed' "$(wc -l <"$out")" 2

# ---- each of them
run "$rawprof" trace sched:sched_process_fork sched:sched_process_exit --format json -- "$work/tracee" forks 200
is 'a program and its children: status' "$status" 0
is 'each fork' "$(grep -c '"event":"sched:sched_process_fork"' "$out")" 200
is 'each exit, of the children and of the program' "$(grep -c '"event":"sched:sched_process_exit"' "$out")" 201
is 'the ledger: kept is what was printed' "$(ledger kept)" 401
holds 'the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
if have_python; then
	run python3 -c 'import json, sys
for line in open(sys.argv[1]):
    assert json.loads(line)["event"].startswith("sched:")' "$out"
	is 'json: each line is an object' "$status" 0
else
	skip 'json: each line is an object' 'no python3'
fi
run "$rawprof" trace raw_syscalls:sys_enter -C 0 --max-events 50 --format json 20
lacks '--cpu: no other' "$out" '"cpu":[^0]'
run "$rawprof" trace sched:sched_process_exit --stacks -- "$work/tracee" forks 1
has '--stacks: where it happened' "$out" '^        do_exit'
has '--stacks: in the program too' "$out" '^        .*\((libc|tracee|ld-linux).*\)$'

# ---- system calls
run "$rawprof" trace --list syscall:openat
is 'a system call has arguments' "$(sed -n 's/^    \([a-z]*\) .*/\1/p' "$out" | paste -sd' ')" \
	'dfd filename flags mode ret duration'
run "$rawprof" trace syscall:opnat
has 'a system call that is not there' "$err" 'did you mean syscall:openat\?'
run "$rawprof" trace openat
has 'without its group' "$err" 'did you mean syscall:openat\?'
run "$rawprof" trace syscall:openat syscall:write -- "$work/tracee" opens 1
grep /nowhere "$out" | sed 's/.* dfd=/dfd=/; s/ <[0-9.]*>$//' >"$tmp/opens"
is 'a name in quotes, a mode that counts' "$(sed -n 1p "$tmp/opens")" \
	'dfd=AT_FDCWD filename="/nowhere/\"quoted\\\"\n\x1b\xff" flags=O_RDWR|O_CREAT|O_TRUNC mode=0640 = -1 ENOENT'
has 'a long name is cut, and it is said' "$tmp/opens" 'filename="/nowhere/x{246}"\.\.\. flags=O_WRONLY|O_APPEND = -1'
has 'a name in memory that nobody has touched' "$tmp/opens" 'filename="/nowhere/untouched" flags=O_RDONLY'
has 'no name' "$out" 'filename=NULL flags=O_RDONLY = -1 EFAULT'
has 'a name that cannot be read' "$out" 'filename=0x8\(unreadable\) flags=O_RDONLY\|O_DIRECTORY = -1 EFAULT'
has 'bytes that are written' "$out" 'syscall:write +fd=-1 buf="a\\x00b\\n" count=4 = -1 EBADF'
run "$rawprof" trace syscalls:sys_enter_openat --string-bytes 2048 --format json -- "$work/tracee" opens 3
is 'the beginning alone: each' "$(grep -c '"filename":"/nowhere/x\{590\}",' "$out")" 3
is 'memory that nobody has touched: each' "$(grep -c '"filename":"/nowhere/untouched"' "$out")" 3
lacks 'the beginning alone has no result' "$out" '"ret"|"duration_ns"'
run "$rawprof" trace syscalls:sys_exit_openat -- "$work/tracee" opens 1
has 'the end alone' "$out" 'syscalls:sys_exit_openat = -1 ENOENT$'
run "$rawprof" trace syscall:getppid --format json -- "$work/tracee" calls 5000
is 'each call' "$(grep -c '"event":"syscall:getppid".*"ret":[0-9]*,"duration_ns":[0-9]*}$' "$out")" 5000
holds 'calls: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
sleep 3 &
sleeper=$!
run "$rawprof" trace syscall:wait4 syscall:clock_nanosleep syscall:read -d 0.3 -t $sleeper
kill $sleeper
is 'a call that had begun before is none' "$(sed 1d "$out" | wc -l)" 0
printf 'for i in %s; do /bin/true; done\n' "$(seq -s ' ' 100)" >"$tmp/ends.sh"
run "$rawprof" trace syscall:exit_group -- sh "$tmp/ends.sh"
is 'calls that never return: each' "$(grep -c ' syscall:exit_group error_code=0 = ?$' "$out")" 101
holds 'calls that never return: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
run "$rawprof" trace syscall:exit_group --count event --format json -- sh "$tmp/ends.sh"
has 'calls that never return: are counted' "$out" '"event":"syscall:exit_group","count":101[,}]'
run "$rawprof" trace syscall:exit_group --filter 'ret == 0' -- sh "$tmp/ends.sh"
has 'calls that never return: have no result that a filter finds' "$err" '= 0 kept \+ .*their thread ended inside 101\)'
run "$rawprof" trace syscall:exit_group --hist duration -- sh "$tmp/ends.sh"
has 'calls that never return: are in no histogram' "$out" '= 0 kept \+ .*their thread ended inside 101\)'
echo 'sleep 50 & until grep -q "(sleep) S" /proc/$!/stat; do :; done; kill -KILL $!; wait' >"$tmp/killed.sh"
run "$rawprof" trace syscall:clock_nanosleep -- sh "$tmp/killed.sh"
is 'a call that its thread was killed in' \
	"$(grep -c 'syscall:clock_nanosleep.* = -1 ERESTART_RESTARTBLOCK <' "$out") $(ledger lost)" '1 0'
# rt_sigreturn ends with the number that was interrupted.
cat >"$tmp/signals.sh" <<'EOF'
trap : USR1
for i in $(seq 100); do
	sh -c 'trap : USR1; kill -USR1 $$; exit 0'
done
kill -USR1 $$
echo done
exec sleep 50
EOF
forgets 'processes that end' "sh $tmp/signals.sh" started trace syscall:rt_sigreturn syscall:exit_group syscall:execve
is 'ends of signal handlers' "$(awk '/syscall:rt_sigreturn = [-0-9]+[ A-Z]* </ { print $3 }' "$tmp/execs" | sort -u | wc -l)" 101
has 'ends of signal handlers: nothing is lost' "$err" '^ledger: .* 0 lost'
run "$rawprof" trace syscall:execveat --filter 'ret < 0' -- timeout 3 "$work/execs" 5
is 'execveat: by the result' "$(grep -c 'syscall:execveat.* = -1 ' "$out")" 5
# A program of 32 bits, which the end of its execve is said by, beside others that execute.
echo 'void _start(void) { __asm__ volatile("int $0x80" : : "a"(1), "b"(0)); }' >"$tmp/short.c"
if [ "$(uname -m)" = x86_64 ] && "${CC:-gcc}" -m32 -nostdlib -static -fno-pie -no-pie -o "$tmp/short" "$tmp/short.c" 2>/dev/null &&
	"$tmp/short" 2>/dev/null; then
	printf 'for i in %s; do %s; done\n' "$(seq -s ' ' 100)" "$tmp/short" >"$tmp/shorts.sh"
	for ((i = 0; i < 300; i++)); do /bin/true; done &
	run "$rawprof" trace syscall:execve --format json -- sh "$tmp/shorts.sh"
	wait
	is 'execve of 32-bit programs: each has its result' "$(grep -c '"filename":".*/short".*"ret":0,' "$out") $(ledger lost)" '100 0'
else
	skip 'execve of 32-bit programs' 'no 32-bit programs here'
fi
forgets_execs started trace syscall:execve syscall:execveat --format json
is 'a thread that executes a program: each has its result' "$(grep -c '"event":"syscall:execve".*"ret":0,' "$tmp/execs")" 51
is 'what fails when the old program is gone has its result' "$(grep -c '"event":"syscall:execveat".*"ret":-' "$tmp/execs")" 50
if command -v strace >/dev/null; then
	# The same list, flags in one order: path, flags, result.
	strace -f -e trace=openat -o "$tmp/strace" ls -l / /etc >/dev/null 2>&1
	sed -n 's/^[0-9]* *openat(AT_FDCWD, "\(.*\)", \([A-Z_|]*\)\(, 0[0-7]*\)\{0,1\}) = \(-*[0-9]* *[A-Z]*\).*/\1 \2 \4/p' "$tmp/strace" >"$tmp/theirs"
	run "$rawprof" trace syscall:openat -- ls -l / /etc
	sed -n 's/.* filename="\(.*\)" flags=\([A-Z_|]*\)\( mode=[0-7]*\)\{0,1\} = \(-*[0-9]* *[A-Z]*\) <.*/\1 \2 \4/p' "$out" >"$tmp/ours"
	sorted() { while read -r path flags ret; do echo "$path $(tr '|' '\n' <<<"$flags" | sort | paste -sd'|') $ret"; done <"$1"; }
	is 'openat: the list of strace' "$(sorted "$tmp/ours")" "$(sorted "$tmp/theirs")"
	holds 'openat: it has some' "$(wc -l <"$tmp/ours") > 5"
else
	skip 'openat: the list of strace' 'no strace'
fi

run "$rawprof" trace syscall:openat syscall:write --filter 'ret == -EBADF || ret == -ENOENT' --format json -- "$work/tracee" opens 2
is 'filter by the result' "$(grep -c '"error":"\(ENOENT\|EBADF\)"' "$out") $(wc -l <"$out")" "$(wc -l <"$out") 8"
run "$rawprof" trace syscall:getppid syscalls:sys_enter_getppid syscalls:sys_exit_getppid --filter 'pid > 0' -- "$work/tracee" calls 100
is 'filter of a call and its end: each once' \
	"$(grep -c syscall:getppid "$out") $(grep -c sys_exit_getppid "$out") $(grep -c sys_enter "$out") $(ledger lost)" '100 100 0 0'
run "$rawprof" trace syscalls:sys_enter_getppid syscalls:sys_exit_getppid --filter 'pid > 0' -- "$work/tracee" calls 100
is 'filter of the beginning and the end: each once' "$(grep -c sys_exit_getppid "$out") $(grep -c sys_enter_getppid "$out")" '100 100'
if [ -x /usr/bin/python3 ]; then
	bytes='import os
for b in (b"abcdefgh", b"ab", b"", b"abcdefgh", b"", b"ab"): os.write(3, b)'
	written() { run "$rawprof" trace syscall:write --filter "$1" --format json -- taskset -c 0 python3 -c "$bytes" 3>/dev/null; }
	written 'fd == 3 && buf ~ "*cdefgh*"'
	is 'filter by bytes: what was written' "$(grep -c '"buf":"abcdefgh"' "$out") $(wc -l <"$out")" '2 2'
	written 'buf == "ab"'
	is 'filter by bytes: no more than that' "$(grep -c '"buf":"ab"' "$out") $(wc -l <"$out")" '2 2'
	written 'fd == 3 && buf == ""'
	is 'filter by bytes: nothing' "$(grep -c '"count":0' "$out") $(wc -l <"$out")" '2 2'
else
	skip 'filter by bytes' 'no python3'
fi
run "$rawprof" trace 'syscall:*' --filter 'ret == -ENOENT' -- "$work/tracee" opens 2
is 'filter of all calls: what fails' "$(grep -c 'syscall:openat .*/nowhere/.* = -1 ENOENT' "$out")" "$(grep -c '/nowhere/' "$out")"
has 'filter of all calls: what fails, some' "$out" 'syscall:openat .*/nowhere/.* = -1 ENOENT'
run "$rawprof" trace syscall:openat --filter 'filename ~ "/nowhere/un*" && flags == O_RDONLY' -- "$work/tracee" opens 2
is 'filter by a text that was read late' "$(sed 1d "$out" | grep -c untouched) $(sed 1d "$out" | wc -l)" '2 2'
holds 'filter: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"

if have_python; then
	run "$rawprof" trace syscall:openat sched:sched_process_exit -o "$tmp/a.chrome.json" -- "$work/tracee" opens 2
	run python3 - "$tmp/a.chrome.json" <<'PY'
import json, sys
events = json.load(open(sys.argv[1]))
calls = [e for e in events if e.get("name") == "syscall:openat" and "untouched" in str(e["args"]["filename"])]
assert len(calls) == 2 and all(e["ph"] == "X" and e["dur"] > 0 and e["args"]["error"] == "ENOENT" for e in calls)
assert any(e["ph"] == "i" and e["name"] == "sched:sched_process_exit" for e in events)
assert any(e["ph"] == "M" and e["args"].get("name") == "tracee" or e["args"].get("name") for e in events if e["ph"] == "M")
PY
	is 'chrome: slices and moments' "$status" 0
else
	skip 'chrome: slices and moments' 'no python3'
fi

# ---- counted in the kernel
run "$rawprof" trace 'sched:sched_process_*' --count event -- "$work/tracee" forks 300
is 'count: status' "$status" 0
is 'count: forks' "$(awk '$1 == "sched:sched_process_fork" { print $2 }' "$out")" 300
is 'count: exits' "$(awk '$1 == "sched:sched_process_exit" { print $2 }' "$out")" 301
run "$rawprof" trace syscall:getppid syscall:read --count event,comm,ret --format json -o "$tmp/count" -- "$work/tracee" calls 20000
if have_python; then
	python3 - "$tmp/count" >"$tmp/said" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
rows = [r for r in d["rows"] if r["event"] == "syscall:getppid" and r["comm"] == "tracee"]
print(sum(r["count"] for r in rows), len(rows))
PY
	is 'count of a system call, by its result: exact' "$(head -n 1 "$tmp/said")" '20000 1'
else
	skip 'count of a system call, by its result: exact' 'no python3'
fi
run "$rawprof" trace syscall:write --hist count by comm -- sh -c 'for i in 1 2 3 4 5; do echo 1234567; done'
has 'hist: of a field, by another' "$out" '^comm=sh$'
has 'hist: every value' "$out" '^  5 events .*sum 40.*, mean 8'
run "$rawprof" trace raw_syscalls:sys_enter --count id -- "$work/tracee" calls 10000
has 'count: by a number' "$out" '^[0-9]+ +10,00[0-9]$'
run "$rawprof" trace sched:sched_process_exec --count filename -- sh -c '/bin/true; /bin/true; /bin/false'
has 'count: by a string of variable length' "$out" '^/bin/true +2$'
run "$rawprof" trace sched_switch --count prev_comm,nothing 1
has 'count: a field that is not there' "$err" "sched:sched_switch has no number or string 'nothing'"
run "$rawprof" trace sched_switch --count comm --stacks 1
is 'count: no stacks' "$status" 2

# ---- functions
calls=$work/calls
run "$rawprof" trace "$calls:dives" -- "$calls" recurse 20
is 'a function: as often as it is called, with its arguments' \
	"$(sed -n 's/.* calls:dives  *arg0=\([0-9]*\) arg1=\([0-9]*\) .*/\1 \2/p' "$out" | uniq)" \
	"$(for i in $(seq 20 -1 0); do echo "$i 0"; done)"
run "$rawprof" trace "$calls:gives" --ret --format json --filter 'arg0 >= 3 && ret32 != 0 && duration < 10s' -- "$calls" values 9
is '--ret: each call with its result' "$(sed -n 's/.*"arg0":\([0-9]*\).*"duration_ns":[0-9]*}$/\1/p' "$out" | sort -u)" \
	"$(seq 3 8 | while read -r n; do grep -q "\"arg0\":$n," "$out" && echo "$n"; done)"
holds '--ret: the filter leaves out what the ledger says' \
	"$(ledger fired) == 9 && $(ledger kept) == $(wc -l <"$out") && $(ledger kept) > 0 && $(ledger kept) <= 6"
# A function that ends in another, to which it has jumped. In a program with exceptions its returns are probed one by one;
# the handler calls that other one too, from the same place on the stack.
cat >"$tmp/tails.cpp" <<'END'
#define OWN __attribute__((noinline))
volatile int done;
OWN int again(int i) { done = done + 1; if (i < 0) throw i; return -i; }
OWN int adds(int i) { if (i % 4 == 1) throw i; return i % 2 ? i : again(i); }
int main()
{
	for (int i = 0; i < 400; i++)
		try { adds(i); } catch (int) { again(i); }
}
END
if "${CXX:-g++}" -O2 -o "$tmp/tails" "$tmp/tails.cpp" 2>"$tmp/err"; then
	run "$rawprof" trace "$tmp/tails:adds" --ret --format json -- "$tmp/tails"
	is '--ret: tail calls: each with its result' \
		"$(sed -n 's/.*"arg0":\([0-9]*\).*"ret32":\([-0-9]*\),.*/\1 \2/p' "$out" | awk '$2 == ($1 % 2 ? $1 : -$1)' | wc -l)" 300
	holds '--ret: tail calls: the ledger closes' "$(ledger fired) == 400 && $(ledger kept) == 300 && $(ledger kept) + $(ledger filtered) + $(ledger lost) == 400"
else
	skip '--ret: tail calls' 'there is no C++ compiler'
fi
run "$rawprof" trace "$calls:dives" --ret --max-events 30 -- "$calls" recurse 20
is '--ret: the innermost first' "$(sed -n 's/.* arg0=\([0-9]*\) .* = .* <[0-9.]*>$/\1/p' "$out" | head -n 3 | tr '\n' ' ')" '0 1 2 '
run "$rawprof" trace "$calls:leaps" --ret -- "$calls" jump 20
holds '--ret: what longjmp leaves is counted' "$(ledger fired) == 20 && $(ledger kept) == 0"
run "$rawprof" trace "$calls:dives" --count arg0 -- "$calls" recurse 20
is '--count by an argument' "$(grep -cE '^[0-9]+ +1$' "$out")" 21
run "$rawprof" trace "$calls:dives" sched:sched_process_exit -- "$calls" recurse 2
is 'functions beside tracepoints' "$(grep -c calls:dives "$out") $(grep -c sched_process_exit "$out")" '3 1'
run "$rawprof" trace "$calls:dives" --stacks --max-events 1 -- "$calls" recurse 2
has 'a function: where it is called from' "$out" '^        main \(calls\)'
for words in '--ret sched:sched_switch' "$calls:dives --ret --stacks"; do
	# shellcheck disable=SC2086 # words
	run "$rawprof" trace $words 1
	is "trace $words: bad usage" "$status" 2
done

# ---- a burst: three times what the ring has room for, in less time than from one look to the next
# On a busy machine nobody may read for long: in one of five runs it is read in time.
for try in 1 2 3 4 5; do
	RUN_TIMEOUT=60 run "$rawprof" trace raw_syscalls:sys_enter -o "$tmp/lines" -- "$work/tracee" calls 330000
	holds "a burst: the ledger closes ($try)" "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
	[ "$(ledger lost)" != 0 ] || break
done
is 'a burst: nothing is lost that could be read' "$(ledger lost)" 0
is 'a burst: each has its line' "$(($(wc -l <"$tmp/lines") - 1))" "$(ledger kept)"
holds 'a burst: all of it' "$(ledger kept) >= 330000"

# ---- a storm
RUN_TIMEOUT=60 run "$rawprof" trace raw_syscalls:sys_enter -o "$tmp/lines" -- "$work/tracee" calls 1500000
is 'a storm: status' "$status" 0
holds 'a storm: all have fired' "$(ledger fired) >= 1500000"
holds 'a storm: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
is 'a storm: kept is what was printed' "$(($(wc -l <"$tmp/lines") - 1))" "$(ledger kept)"
finish
