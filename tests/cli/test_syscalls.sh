#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `rawprof trace --syscalls`: how many calls, how many errors, as the program made them and as strace counts them.
. "$(dirname "$0")/lib.sh"
need_profile
prog=$work/syscaller

# of COLUMN CALL: the figure of a row of the table, without commas.
of() { awk -v c="$1" -v s="$2" '/^SYSCALL/ { for (i = 1; i <= NF; i++) if ($i == c) at = i } $1 == s { gsub(",", "", $at); print $at }' "$out"; }
# ledger FIELD: fired, kept, filtered or lost, of the last command.
ledger() {
	sed -n 's/,//g; s/^ledger: \([0-9]*\) calls\{0,1\} fired = \([0-9]*\) kept + \([0-9]*\) filtered.* + \([0-9]*\) lost.*/\1 \2 \3 \4/p' "$out" |
		awk -v f="$1" '{ print $(f == "fired" ? 1 : f == "kept" ? 2 : f == "filtered" ? 3 : 4) }'
}

# ---- a program and its children
run "$rawprof" trace --syscalls --top 100 -- "$prog" 1000
is 'a program: status' "$status" 0
is 'calls of it and its children: getppid' "$(of CALLS getppid) $(of ERRORS getppid)" '2000 0'
holds 'calls that fail: close' "$(of CALLS close) >= 2000 && $(of ERRORS close) == 2000"
is 'calls that fail: openat' "$(of ERRORS openat)" 200
is 'execve returns to another program' "$(of CALLS execve)" 1
is 'a child does not return from what it has not called' "$(($(of CALLS clone)0 + $(of CALLS clone3)0))" 20
holds 'the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
is 'nothing is lost' "$(ledger lost)" 0
has 'calls that never return' "$out" 'exit, which never returns 3'
is 'kept is the sum of the rows' "$(awk '/^SYSCALL/ { on = 1; next } /^$/ { on = 0 } on { gsub(",", "", $2); n += $2 } END { print n }' "$out")" "$(ledger kept)"
rows() { awk '/^SYSCALL/ { on = 1; next } /^$/ { on = 0 } on { gsub(",", ""); print $1, $2, $3 }' "$out" | sort; }
rows >"$tmp/ours"
# A program that is looked for: only the attempt that finds it is made.
PATH="/nowhere:/usr/games:$PATH" run "$rawprof" trace --syscalls --format json -o "$tmp/json" -- true
has 'a program by its name: one execve' "$tmp/json" '"syscall": *"execve", *"calls": *1, *"errors": *0'
PATH="/nowhere:/usr/games:$PATH" run "$rawprof" trace --syscalls --top 100 -- true
rows >"$tmp/by-name"
run "$rawprof" trace --syscalls --top 100 -- "$(type -P true)"
is 'a program by its name: the calls that it makes by its path' "$(rows | diff "$tmp/by-name" -)" ''
if command -v strace >/dev/null; then
	last_command="strace -f -c $prog 1000"
	strace -f -c -o "$tmp/strace" "$prog" 1000 >"$out" 2>"$err"
	awk '$NF != "total" && $1 ~ /^[0-9.]+$/ { print $NF, $4, NF == 6 ? $5 : 0 }' "$tmp/strace" | sort >"$tmp/theirs"
	is 'as strace -f -c counts them: calls and errors of each' "$(diff "$tmp/ours" "$tmp/theirs")" ''
	holds 'of so many system calls' "$(wc -l <"$tmp/theirs") > 10"
else
	skip 'as strace -f -c counts them' 'no strace'
fi

# ---- other tables
run "$rawprof" trace --syscalls --errors -- "$prog" 1000
has 'by error: close' "$out" '^close +EBADF +2,000$'
has 'by error: openat' "$out" '^openat +ENOENT +200$'
run "$rawprof" trace --syscalls --by process --top 100 -- "$prog" 1000
is 'by process: three made them' "$(awk '$1 == "getppid" { print $2, $4 }' "$out" | sort | uniq -c | sed 's/^ *//' | tr '\n' ' ')" '1 syscaller 1,000 2 syscaller 500 '
run "$rawprof" trace --syscalls --format json -- "$prog" 100
has 'json' "$out" '"syscall":"getppid","calls":200,"errors":0,"total":[0-9]+,"share":'
"$work/syscalls" 5 & # on a machine that may do nothing else
busy=$!
run "$rawprof" trace --syscalls -i 0.2 0.5
kill "$busy"
wait "$busy" 2>/dev/null
is 'a series, and all of it' "$(grep -c '^SYSCALL' "$out")" 3
holds 'the whole machine: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"
run "$rawprof" trace --syscalls --comm 'syscall*r' -- "$prog" 1000
is 'a name that is a pattern' "$(of CALLS getppid)" 2000
holds 'a name that is a pattern: the ledger closes' "$(ledger fired) == $(ledger kept) + $(ledger filtered) + $(ledger lost)"

forgets_execs started trace --syscalls --format json
has 'a thread that executes a program: each is counted' "$tmp/execs" '"syscall": *"execve", *"calls": *51, *"errors": *0'

# ---- what makes no sense
run "$rawprof" trace --syscalls sched:sched_switch
is 'it takes no event' "$status" 2
run "$rawprof" trace sched:sched_switch --errors
is '--errors is for the table' "$status" 2

# ---- one user has not all of the sums

# names.py NUMBER...: calls by so many names, and by so many numbers from 1000 on.
cat >"$tmp/names.py" <<'EOF'
import ctypes, sys
libc = ctypes.CDLL(None)
for i in range(int(sys.argv[1])):
    libc.prctl(15, b'one_%d' % i, 0, 0, 0)
    libc.syscall(int(sys.argv[3]))
for i in range(int(sys.argv[2])):
    libc.syscall(int(sys.argv[3]) + i)
EOF
# fails.py NAMES: by so many names one call that fails in three ways: EFAULT, EINVAL, EPERM.
cat >"$tmp/fails.py" <<'EOF'
import ctypes, sys
libc = ctypes.CDLL(None)
for i in range(int(sys.argv[1])):
    libc.prctl(15, b'one_%d' % i, 0, 0, 0)
    libc.prctl(15, 1, 0, 0, 0)
    libc.prctl(999, 0, 0, 0, 0)
    libc.prctl(24, 0, 0, 0, 0)
EOF
chmod 755 "$tmp"
# as USER ARGS...
as() { setpriv "--reuid=$1" "--regid=$1" --clear-groups /usr/bin/python3 "${@:2}"; }
# beside NUMBER NUMBER ARGS...: one user calls that much, and then another by three names, or three numbers; with
# --errors the first fails by so many names.
beside() {
	local names=$1 numbers=$2 by_one=("$tmp/names.py" "$1" "$2" 1000)
	shift 2
	[[ "$*" != *--errors* ]] || by_one=("$tmp/fails.py" "$names")
	recording trace "$@" --format json -o "$tmp/json" -v 60
	as 65534 "${by_one[@]}"
	as 65533 "$tmp/names.py" $((names ? 3 : 0)) $((numbers ? 3 : 0)) 9000
	sleep 0.2
	kill -INT $recorder
	wait $recorder
}
# calls: of number 9000.
calls() {
	python3 -c 'import json, sys
print(sum(r["calls"] for r in json.load(open(sys.argv[1]))["rows"] if r["syscall"].endswith("9000")))' "$tmp/json"
}
if have_python && as 65533 -c ''; then
	beside 0 2000 --syscalls
	is 'one user calls any number: those of another are there' \
		"$(grep -oE '"syscall": ?"[^"]*900[0-2]"' "$tmp/json" | sort -u | wc -l)" 3
	beside 10000 0 --syscalls --by process
	is 'one user has any name: those of another are there' "$(calls)" 3
	beside 6500 0 --syscalls --errors --by process
	is 'one user fails in many ways: the errors of another are there' "$(calls)" 3
	has 'one user fails in many ways: there was no room for all' "$err" 'no room to keep how'
else
	skip 'one user calls any number' 'cannot be another user here'
fi
finish
