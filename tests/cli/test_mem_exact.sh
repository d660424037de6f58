#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem: what each function of an allocator means, counted to the unit, on every allocator there is.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'mem, to the unit' 'python3 is not installed'
	finish
fi

sites() { python3 tests/cli/mem_sites.py "$tmp/json" "$1"; }
# line WORD...: a number of the ledger by its name.
line() { python3 tests/cli/mem_sites.py "$tmp/json" --ledger | sed -n "s/^$* \([0-9]*\)\$/\1/p"; }

# exact NAME ARGS... -- PROGRAM: what mem says of each case is what the program says of itself.
exact() {
	local name=$1 want got
	shift
	run "$rawprof" mem --format json -o "$tmp/json" "$@"
	is "$name: status" "$status" 0
	sort "$out" >"$tmp/want"
	if ! compare "$name"; then return; fi
}
compare() {
	local case want got books all
	books=$(python3 tests/cli/mem_sites.py "$tmp/json" --ledger)
	is "$1: the ledger closes" "$(sed -n 's/^closes //p' <<<"$books")" 1
	is "$1: nothing is lost" "$(sed -n 's/^lost //p' <<<"$books")" 0
	# shellcheck disable=SC2046 # names of functions
	all=$(python3 tests/cli/mem_sites.py "$tmp/json" --each $(awk '{ print $1 }' "$tmp/want"))
	while read -r case want; do
		got=$(sed -n "s/^$case //p" <<<"$all")
		case $want in
		'0 0 0 0') got=${got:-$want} ;;
		*-*) got=$(echo "$got" | awk '{ print "- -", $3, "-" }') ;;
		esac
		case $1$case in
		# nor is the C library built with frame pointers
		frame*case_strdup | frame*case_getline) continue ;;
		# and what env executes may be faster than its unwind tables are read
		*another*case_strdup | *another*case_getline) continue ;;
		# musl is built without unwind tables: who called one of its functions is not to be seen
		*musl*case_strdup) got=$(sites strdup | sed 's/^[^ ]* //') ;;
		*musl*case_getline) got=$(sites get | sed 's/^[^ ]* //' | awk '{ print "- -", $3, "-" }') ;;
		esac
		is "$1: $case" "$got" "$want"
	done <"$tmp/want"
}

leaves_nothing_from_here
exact glibc -- "$work/mem_exact" 100
is 'glibc: free(NULL) is nothing' "$(sites case_free_null)" ''
holds 'glibc: and counted' "$(line 'free(NULL)') >= 100"
# and the dynamic linker has some, from before there was a malloc
holds 'glibc: a child frees its copies' "$(line 'frees of unknown blocks') >= 100 && $(line 'frees of unknown blocks') <= 120"
holds 'glibc: failed calls' "$(line failed) == 300"
exact 'frame pointers' --call-graph fp -- "$work/mem_exact" 100
exact 'children in the memory of their parent' -- "$work/mem_vfork" 100

cflags=(-std=gnu11 -O1 -g -D_GNU_SOURCE -pthread -fno-omit-frame-pointer -fno-optimize-sibling-calls)
if gcc "${cflags[@]}" -static -o "$tmp/static" tests/workloads/mem_exact.c 2>/dev/null; then
	exact static -- "$tmp/static" 100
else
	skip static 'no static libc to link with'
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc "${cflags[@]}" -o "$tmp/musl" tests/workloads/mem_exact.c &&
		exact musl -- "$tmp/musl" 100
	musl-gcc "${cflags[@]}" -static -o "$tmp/musl-static" tests/workloads/mem_exact.c &&
		exact 'static musl' -- "$tmp/musl-static" 100
else
	skip musl 'musl-gcc is not installed'
fi
for name in jemalloc tcmalloc_minimal mimalloc; do
	lib=$(ldconfig -p | sed -n "s/.*lib$name\.so\.[^ ]* .*=> //p" | head -n 1)
	if [ -n "$lib" ]; then
		LD_PRELOAD=$lib exact $name -- "$work/mem_exact" 100
		exact "$name of another program" --obj "$lib" -- env LD_PRELOAD="$lib" "$work/mem_exact" 100
	else
		skip $name 'not installed'
	fi
done
if command -v g++ >/dev/null; then
	g++ -std=c++17 -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/new" tests/workloads/mem_new.cpp
	exact 'operator new' -- "$tmp/new" 100
	g++ -std=c++17 -O1 -g -static -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/new-static" \
		tests/workloads/mem_new.cpp && exact 'operator new, static' -- "$tmp/new-static" 100
	lib=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.[^ ]* .*=> //p' | head -n 1)
	[ -z "$lib" ] || LD_PRELOAD=$lib exact "jemalloc's operator new" -- "$tmp/new" 100
	# an exception that meets a probe ends the program
	for name in jemalloc tcmalloc_minimal; do # mimalloc ends the program by itself
		lib=$(ldconfig -p | sed -n "s/.*lib$name\.so\.[^ ]* .*=> //p" | head -n 1)
		[ -n "$lib" ] || continue
		LD_PRELOAD=$lib run "$rawprof" mem --no-mmap --format json -o "$tmp/json" -- "$tmp/new" 100 limited
		is "$name in need: status" "$status" 0
		is "$name in need: it goes on" "$(tail -n 1 "$out")" in_need
		holds "$name in need: what may throw is let alone" "$(line 'may throw, let alone') >= 100"
		is "$name in need: the ledger closes" "$(line closes)" 1
	done
else
	skip 'operator new' 'g++ is not installed'
fi

# ---- a process that runs already

# It waits until no process has this FIFO open for writing: none but this shell has.
mkfifo "$tmp/gate"
exec 7<>"$tmp/gate"
# attached PID PROGRAM: counts what the process does behind the gate. It is that program soon, and then at the gate.
attached() {
	local i
	for ((i = 0; i < 1200; i++)); do
		if readlink "/proc/$1/exe" | grep -qF "$2" && readlink "/proc/$1"/fd/* | grep -qxF "$tmp/gate"; then break; fi
		kill -0 "$1" || break
		sleep 0.05
	done
	recording mem -v --format json -o "$tmp/json" -p "$1" 7<&-
	exec 7<&-
	timeout 60 tail --pid=$recorder -f /dev/null || kill -9 $recorder
	wait $recorder
	status=$?
}
"$work/mem_exact" 100 "$tmp/gate" >"$tmp/want.raw" 7<&- &
attached $! /mem_exact
wait
is 'attached: status' "$status" 0
sort "$tmp/want.raw" >"$tmp/want"
compare attached
holds 'attached: blocks from before are freed' "$(line 'frees of unknown blocks') >= 100 && $(line 'frees of unknown blocks') <= 115"

# ---- in namespaces of its own, from a file that nobody else can see

mkdir "$tmp/mount"
cat >"$tmp/inside" <<EOF
mount -t tmpfs none "$tmp/mount" && cp "$work/mem_exact" "$tmp/mount/prog" && exec "$tmp/mount/prog" 100 "$tmp/gate"
EOF
exec 7<>"$tmp/gate"
unshare -m -p --fork sh "$tmp/inside" >"$tmp/want.raw" 2>/dev/null 7<&- &
shell=$!
until pid=$(pgrep -f "^$tmp/mount/prog") || ! kill -0 $shell 2>/dev/null; do sleep 0.05; done
if [ -n "$pid" ]; then
	attached "$pid" /prog
	is 'namespaces: status' "$status" 0
	wait
	sort "$tmp/want.raw" >"$tmp/want"
	compare namespaces
else
	wait
	skip namespaces 'unshare cannot'
fi
forgets_execs threads mem --obj "$(ldd "$work/execs" | awk '/libc\.so/ { print $3 }')" --format folded
leaves_nothing
finish
