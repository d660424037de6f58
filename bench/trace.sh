#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What tracing costs for each event: a program that makes a system call so many times (HITS), beside tools that print a line
# for each, or count. What the program loses is ns a call more than alone; what the tool itself takes is its CPU time by
# event, from the first to the last. In turn, ROUNDS (5) times; medians. Root. `make bench ONLY=trace`.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5} hits=${HITS:-100000}
program=$PWD/build/workloads/tracee
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 0; }
# beside ROW KIND SETUP: the program's ns a call while SETUP runs, and the CPU time of SETUP.
beside() {
	local tool before hits=$hits
	[[ $3 != *count* ]] || hits=$((hits * 10)) # more than is measured by the kernel as well
	if [ -z "$3" ]; then
		"$program" "$2" "$hits" >>"$tmp/$1.program"
		echo 0 >>"$tmp/$1.tool"
		return
	fi
	case $3 in
	run:*) # it starts the program itself
		${3#run:} "$program" "$2" "$hits" >>"$tmp/$1.program" 2>/dev/null
		return ;;
	esac
	sh -c "exec $3" >/dev/null 2>&1 &
	tool=$!
	sleep 2.5
	before=$(ticks $tool)
	"$program" "$2" "$hits" >>"$tmp/$1.program"
	sleep 0.7
	echo "$(($(ticks $tool) - before)) $hits" | awk '{ print $1 * 1e7 / $2 }' >>"$tmp/$1.tool"
	kill -INT $tool 2>/dev/null
	timeout 10 tail --pid=$tool -f /dev/null || kill -KILL $tool
	wait $tool 2>/dev/null
}
median() { [ -s "$1" ] && sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.0f", v[int((NR + 1) / 2)] }' || printf -- -; }

rows=() # NAME|KIND|SETUP
row() { rows+=("$1|$2|$3"); }
ours='./rawprof trace -q -o /dev/null --comm tracee'
row 'getppid, alone' hot ''
row 'rawprof trace raw_syscalls:sys_enter' hot "$ours raw_syscalls:sys_enter"
row 'rawprof trace --count id' hot "$ours raw_syscalls:sys_enter --count id"
if command -v bpftrace >/dev/null; then
	row 'bpftrace, the same printed' hot "bpftrace -e 'tracepoint:raw_syscalls:sys_enter /comm == \"tracee\"/ { printf(\"%s %d %d %d %d %d\\n\", comm, tid, args->id, args->args[0], args->args[1], args->args[2]); }'"
	row 'bpftrace, the same counted' hot "bpftrace -e 'tracepoint:raw_syscalls:sys_enter /comm == \"tracee\"/ { @[args->id] = count(); }'"
fi
row 'openat, alone' hotopen ''
row 'rawprof trace syscall:openat' hotopen "$ours syscall:openat"
if command -v bpftrace >/dev/null; then
	row 'bpftrace, openat: path, result, time' hotopen "bpftrace -e 'tracepoint:syscalls:sys_enter_openat /comm == \"tracee\"/ { @p[tid] = str(args->filename); @f[tid] = args->flags; @t[tid] = nsecs; } tracepoint:syscalls:sys_exit_openat /@t[tid]/ { printf(\"%s %d %s %d %d %d\\n\", comm, tid, @p[tid], @f[tid], args->ret, nsecs - @t[tid]); delete(@p[tid]); delete(@f[tid]); delete(@t[tid]); }'"
fi
! command -v perf >/dev/null || row 'perf trace -e openat' hotopen 'run:perf trace -e openat -o /dev/null'
! command -v strace >/dev/null || row 'strace -e openat' hotopen 'run:strace -f -e trace=openat -o /dev/null'

for ((round = 0; round < rounds; round++)); do
	for i in "${!rows[@]}"; do
		IFS='|' read -r _ kind setup <<<"${rows[i]}"
		beside "$i" "$kind" "$setup"
	done
done
exec >"${OUTPUT:-/dev/stdout}"
printf '# What an event costs that is traced\n\nMedians of %s runs of %s system calls, ten times as many that are counted: bench/trace.sh. Of the first\ntenth of a second rawprof asks the kernel what its programs cost, and pays for that as well.\n\n' "$rounds" "$hits"
printf '| beside | a call, ns | the tool, ns an event |\n|---|---|---|\n'
for i in "${!rows[@]}"; do
	printf '| %s | %s | %s |\n' "${rows[i]%%|*}" "$(median "$tmp/$i.program")" "$(median "$tmp/$i.tool")"
done
