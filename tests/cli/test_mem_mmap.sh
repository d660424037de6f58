#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem: what programs map themselves, beside what their allocators give them, to the page.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'what is mapped' 'python3 is not installed'
	finish
fi
run "$rawprof" mem -- true
if grep -q 'are not seen, only the allocator' "$err"; then
	skip 'what is mapped' 'this kernel has no BTF'
	finish
fi

# Who has not all the rights is told which one is missing; the allocator's calls are there all the same.
# as CAPABILITIES ARGS...: rawprof as nobody, with these alone.
as() {
	local some=-all$1
	shift
	run setpriv --reuid=65534 --clear-groups "--bounding-set=$some" "--inh-caps=$some" \
		"--ambient-caps=$some" "$rawprof" "$@"
}
few=,+bpf,+perfmon
as $few --version
if [ "$status" -eq 0 ] && ! setpriv --reuid=65534 --clear-groups test -x /sys/kernel/tracing; then
	as $few mem -- "$work/mem_exact"
	is 'without tracefs: status' "$status" 0
	is 'without tracefs: what is missing, once' "$(grep -c 'tracefs' "$err")" 1
	has 'without tracefs: what is missing' "$err" \
		'only the allocator: tracefs .*cannot be read: run as root, or with CAP_DAC_READ_SEARCH'
	has 'without tracefs: the allocator' "$out" 'alloc_objects in'
	as $few mem --growth -- true
	is 'without tracefs, --growth: status' "$status" 1
	is 'without tracefs, --growth: one line' "$(wc -l <"$err")" 1
	has 'without tracefs, --growth: what is missing' "$err" '--growth .*tracefs .*CAP_DAC_READ_SEARCH'
	as $few doctor
	has 'without tracefs, doctor: mem' "$out" '^  yes  mem  .*only the allocator: tracefs'
	has 'without tracefs, doctor: mem --growth' "$out" '^  no   mem --growth .*tracefs'
	as $few,+dac_read_search mem -- true
	lacks 'with CAP_DAC_READ_SEARCH: all of it' "$err" 'are not seen'
	as '' mem -- true
	is 'without rights: status' "$status" 1
	has 'without rights: which' "$err" 'CAP_BPF is needed'
	lacks 'without rights: not the kernel' "$err" 'Linux 5.11'
else
	skip 'without tracefs' 'cannot leave rights away, or tracefs is for all'
fi

page=$(getconf PAGESIZE)
sites() { python3 tests/cli/mem_sites.py "$tmp/json" "$1"; }
# line WORD...: a number of the ledger by its name.
line() { python3 tests/cli/mem_sites.py "$tmp/json" --ledger | sed -n "s/^$* \([0-9]*\)\$/\1/p"; }

# exact NAME ARGS... -- PROGRAM: what mem says of each case is what the program says of itself.
exact() {
	local name=$1
	shift
	run "$rawprof" mem --format json -o "$tmp/json" "$@"
	is "$name: status" "$status" 0
	sort "$out" >"$tmp/want"
	compare "$name"
}
compare() {
	local case want
	is "$1: the ledger closes" "$(line closes)" 1
	is "$1: nothing is lost" "$(line lost)" 0
	is "$1: all cases" "$(grep -c '^case_' "$tmp/want")" 20
	sites case_ >"$tmp/got"
	while read -r case want; do
		is "$1: $case" "$(sed -n "s/^$case //p" "$tmp/got")" "$want"
	done <"$tmp/want"
	holds "$1: mappings of files" "$(line 'mappings of files') >= 300"
	# case_moved unmaps where nothing is any more, and so does the program that case_executed turns into
	holds "$1: unmapped what is not known" "$(line 'unmapped what is not known') >= ${2:-201}"
}

leaves_nothing_from_here
exact glibc -- "$work/mem_mmap" 100
cflags=(-std=gnu11 -O1 -g -D_GNU_SOURCE -pthread -fno-omit-frame-pointer -fno-optimize-sibling-calls)
if gcc "${cflags[@]}" -static -o "$tmp/static" tests/workloads/mem_mmap.c 2>/dev/null; then
	exact static -- "$tmp/static" 100
else
	skip static 'no static libc to link with'
fi
# -DRAW: the cases make the system calls themselves, for who called the C library is not to be seen if it is built
# without frame pointers, or as musl is without unwind tables
gcc -DRAW "${cflags[@]}" -o "$tmp/raw" tests/workloads/mem_mmap.c &&
	exact 'frame pointers' --call-graph fp -- "$tmp/raw" 100
if command -v musl-gcc >/dev/null; then
	musl-gcc -DRAW "${cflags[@]}" -o "$tmp/musl" tests/workloads/mem_mmap.c &&
		exact musl -- "$tmp/musl" 100
	musl-gcc -DRAW "${cflags[@]}" -static -o "$tmp/musl-static" tests/workloads/mem_mmap.c &&
		exact 'static musl' -- "$tmp/musl-static" 100
else
	skip musl 'musl-gcc is not installed'
fi
for name in jemalloc tcmalloc_minimal mimalloc; do
	lib=$(ldconfig -p | sed -n "s/.*lib$name\.so\.[^ ]* .*=> //p" | head -n 1)
	if [ -n "$lib" ]; then
		LD_PRELOAD=$lib exact $name -- "$work/mem_mmap" 100
	else
		skip $name 'not installed'
	fi
done

# ---- a process that runs already

"$work/mem_mmap" 100 2 >"$tmp/want.raw" &
pid=$!
sleep 0.5
run "$rawprof" mem --format json -o "$tmp/json" -p $pid
wait $pid
is 'attached: status' "$status" 0
sort "$tmp/want.raw" >"$tmp/want"
compare attached 202 # with the block from before

# ---- huge pages

run "$rawprof" mem --format json -o "$tmp/json" -- "$work/mem_mmap" huge
if grep -q '^case_huge 0 ' "$out"; then
	skip 'huge pages' 'this kernel has none'
else
	is 'huge pages: as much as the kernel maps' "$(sites case_huge)" "$(cat "$out")"
fi

# ---- the views

run "$rawprof" mem --format json -o "$tmp/json" --leaks -- "$work/mem_mmap" 100
is '--leaks: parts' "$(sites case_parts)" "case_parts 100 $((1000 * page)) 100 $((500 * page))"
is '--leaks: what is gone' "$(sites case_all_parts)" ''
run "$rawprof" mem --format json -o "$tmp/json" --older 60000 -- "$work/mem_mmap" 100
is '--older: nothing is so old' "$(sites case_parts)" "case_parts 100 $((1000 * page)) 0 0"
run "$rawprof" mem --format json -o "$tmp/json" --older 0.001 -- "$work/mem_mmap" 100
is '--older: what is' "$(sites case_parts)" "case_parts 100 $((1000 * page)) 100 $((500 * page))"
run "$rawprof" mem --ages -- "$work/mem_mmap" 100
ledger_closes '--ages'
run "$rawprof" mem --processes -- "$work/mem_mmap" 100
ledger_closes '--processes'
holds '--processes: what is mapped too' "$(awk '$2 == "mem_mmap" { gsub(",", ""); n += $3 } END { print n + 0 }' "$out") > 3000"
run "$rawprof" mem --format folded -- "$work/mem_mmap" 100
is 'folded: the call is a frame' "$(grep -cE ';case_shared;(__)?mmap(64)? [0-9]+$' "$out")" 1
run "$rawprof" mem -- "$work/mem_mmap" 100
has 'the most at a time' "$out" 'in use: at most [0-9.]+ [KM]iB at a time, and mapped [0-9.]+ [KM]iB'
for view in --no-mmap --temporary '--sample-bytes 1'; do
	# shellcheck disable=SC2086 # an option and its number
	run "$rawprof" mem $view --format json -o "$tmp/json" -- "$work/mem_mmap" 100
	is "$view: the allocator alone" "$(sites case_ | grep -vE 'case_(allocator|forked)' | wc -l)" 0
	is "$view: the ledger closes" "$(line closes)" 1
done
run "$rawprof" mem --growth --no-mmap 0.1
is '--growth without mmap: status' "$status" 2
leaves_nothing
finish
