#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem on 50 sites and 4 threads that say what they do: every call, samples, views; limits; what stays behind.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'mem, by sites' 'python3 is not installed'
	finish
fi
sites() { python3 tests/cli/mem_sites.py "$tmp/json" "$1"; }
line() { python3 tests/cli/mem_sites.py "$tmp/json" --ledger | sed -n "s/^$* \([0-9]*\)\$/\1/p"; }
mem() { run "$rawprof" mem --format json -o "$tmp/json" "$@"; }
leaves_nothing_from_here

# ---- to the unit

for way in eh fp; do
	mem --call-graph $way -- "$work/mem_sites" 500
	is "$way: status" "$status" 0
	is "$way: 50 sites, to the unit" "$(sites site_ | md5sum)" "$(sort "$out" | md5sum)"
	is "$way: the ledger closes" "$(line closes)" 1
	is "$way: nothing is lost" "$(line lost)" 0
done
mem --leaks -- "$work/mem_sites" 500
is '--leaks: to the unit' "$(sites site_ | awk '{ print $1, $4, $5 }' | md5sum)" \
	"$(sort "$out" | awk '{ print $1, $4, $5 }' | md5sum)"
is '--leaks: the ledger closes' "$(line closes)" 1
leaked=$(awk '{ n += $5 } END { print n }' "$out")
holds '--leaks: the total' "$(sites site_ | awk '{ n += $5 } END { print n }') == $leaked"

# ---- a million blocks at a time, and fewer than there are

mem -- "$work/mem_many" 1000000
is 'a million blocks: status' "$status" 0
is 'a million blocks: to the unit' "$(sites make)" 'make 1000000 32000000 100000 3200000'
is 'a million blocks: the ledger closes' "$(line closes)" 1
mem --blocks 100000 -- "$work/mem_many" 1000000
has 'too many blocks: says so' "$err" '^rawprof: 9[0-9]{5} blocks of [0-9]+ bytes found no room'
is 'too many blocks: what was allocated' "$(sites make | cut -d ' ' -f 1-3)" 'make 1000000 32000000'
is 'too many blocks: a tenth of those that were followed' "$(sites make | cut -d ' ' -f 4-5)" '10000 320000'
is 'too many blocks: the ledger closes' "$(line closes)" 1
near 'too many blocks: frees of the others' "$(line 'frees of unknown blocks')" 810000 50

# ---- it may cost so much

"$work/mem_pairs" 100000000 10 1 >/dev/null &
pid=$!
run "$rawprof" mem --max-overhead 20 -p $pid 4
is '--max-overhead: status' "$status" 0
has '--max-overhead: samples' "$err" 'the probes cost [0-9]+ % .limit 20 %.: a sample every 512 KiB from now on'
has '--max-overhead: nothing' "$err" 'the probes cost [0-9]+ % .limit 20 %.: they are taken off'
has '--max-overhead: what was seen is shown' "$out" 'pairs +mem_pairs$'
ledger_closes '--max-overhead'
kill $pid
wait $pid 2>/dev/null
"$work/mem_pairs" 100 10 2 >/dev/null &
pid=$!
run "$rawprof" mem --max-overhead 20 -p $pid
lacks '--max-overhead: not reached' "$err" 'the probes cost'
wait $pid

# ---- samples: within 5 %, of each site

# 20,000 blocks a site; the smallest are 1/4 of the mean, so 4,400 samples of them: 5 % are more than three sigmas
mem --sample-bytes 1024 -- "$work/mem_sites" 5000
is 'samples: status' "$status" 0
is 'samples: the ledger closes' "$(line closes)" 1
worst=$(sites site_ | paste -d ' ' - <(sort "$out") |
	awk '{ d = $3 / $8 - 1; if (d < 0) d = -d; if (d > worst) worst = d } END { print worst }')
holds 'samples: bytes of each site within 5 %' "$worst < 0.05"
ratio() { sites site_ | paste -d ' ' - <(sort "$out") | awk "{ a += \$$1; b += \$$2 } END { print a / b }"; }
near 'samples: bytes of all' "$(ratio 3 8)" 1 0.01
near 'samples: blocks of all' "$(ratio 2 7)" 1 0.02
near 'samples: bytes in use' "$(ratio 5 10)" 1 0.05
holds 'samples: most calls are none' "$(line 'no samples') > 100000"

# ---- views

refused() {
	run "$rawprof" mem "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}

run "$rawprof" mem --sizes -- "$work/mem_exact" 100
has '--sizes: malloc' "$out" '^call=malloc$'
has '--sizes: realloc' "$out" '^call=realloc$'
has '--sizes: calloc(7, 11) is 77 bytes' "$out" '^ +\[64 B, 128 B\) +100 '
ledger_closes '--sizes'
mem --sizes -- "$work/mem_exact" 100
if [ $status -eq 0 ]; then ok '--sizes as JSON'; else fail '--sizes as JSON' "status $status"; fi
run "$rawprof" mem --ages -- "$work/mem_exact" 100
has '--ages' "$out" 'blocks in .*age of what has not been freed'
ledger_closes '--ages'
run "$rawprof" mem --processes -- "$work/mem_exact" 100
has '--processes: columns' "$out" 'PID +COMMAND +ALLOCATIONS +BYTES +RATE +IN USE +BYTES IN USE'
has '--processes: the program' "$out" '^ *[0-9]+ +mem_exact +2,[0-9]{3} '
ledger_closes '--processes'
of_pairs() { awk '$2 == "mem_pairs" { gsub(",", ""); n += $3 } END { print n }' "$out"; }
run "$rawprof" mem --processes -- "$work/mem_pairs" 200000 1 0.5
all=$(of_pairs)
run "$rawprof" mem --processes -i 0.2 -- "$work/mem_pairs" 200000 1 0.5
is '--interval: status' "$status" 0
holds '--interval: more than one' "$(grep -c 'allocations by process' "$out") > 1"
is '--interval: the parts are the whole' "$(of_pairs)" "$all"
ledger_closes '--interval'
refused '--interval of stacks' 'interval is for' -i 1 -p $$
mem --temporary -- "$work/mem_exact" 100
is '--temporary: freed by the next call' "$(sites case_plain | awk '{ print $4, $5 }')" '100 800'
is '--temporary: nothing else is' "$(sites case_freed_elsewhere)" ''
is '--temporary: its weight' "$(grep -o '"temporary_space"' "$tmp/json" | head -n 1)" '"temporary_space"'
is '--temporary: the ledger closes' "$(line closes)" 1
run "$rawprof" mem --trace -- "$work/mem_exact" 10
calls() { grep -cE "  $1  $2\$" "$out"; }
is '--trace: malloc' "$(calls 'malloc\(24\) = 0x[0-9a-f]+' case_plain)" 10
is '--trace: free' "$(calls 'free\(0x[0-9a-f]+\)' case_plain)" 10
is '--trace: free(NULL)' "$(calls 'free\(0\)' case_free_null)" 10
is '--trace: calloc' "$(calls 'calloc\(77\) = 0x[0-9a-f]+' case_calloc)" 10
is '--trace: calloc that fails' "$(calls 'calloc\([0-9]+\) = 0' case_calloc_overflow)" 10
is '--trace: realloc' "$(calls 'realloc\(0x[0-9a-f]+, 500\) = 0x[0-9a-f]+' case_realloc_shrinks)" 10
is '--trace: realloc of nothing' "$(calls 'realloc\(0, 33\) = 0x[0-9a-f]+' case_realloc_null)" 10
is '--trace: realloc that fails' "$(calls 'realloc\(0x[0-9a-f]+, 4611686018427387904\) = 0' case_failed_realloc)" 10
ledger_closes '--trace'
mem --leaks --older 60000 -- "$work/mem_exact" 100
is '--older: nothing is so old' "$(sites case_)" ''
mem --leaks --older 0.001 -- "$work/mem_exact" 100
is '--older: what is' "$(sites case_malloc_zero | awk '{ print $4, $5 }')" '100 0'
run "$rawprof" mem --format pprof -o "$tmp/pprof.pb.gz" -- "$work/mem_exact" 100
for type in alloc_objects alloc_space inuse_objects inuse_space; do
	is "pprof: $type" "$(gzip -dc "$tmp/pprof.pb.gz" | grep -ac $type)" 1
done
run "$rawprof" mem --format folded -- "$work/mem_exact" 100
is 'folded: bytes' "$(sed -n 's/.*;case_strdup;[^;]* \([0-9]*\)$/\1/p' "$out")" 800
run "$rawprof" mem --format folded --weight alloc_objects -- "$work/mem_exact" 100
is 'folded: blocks' "$(sed -n 's/.*;case_strdup;[^;]* \([0-9]*\)$/\1/p' "$out")" 100

# ---- an allocator that comes with a later program, which may have ended before we know

if gcc -O1 -static -o "$tmp/static" tests/workloads/mem_many.c 2>/dev/null; then
	run "$rawprof" mem -- sh -c "$tmp/static 10; sleep 0.5; $tmp/static 100000"
	is 'a later allocator: status' "$status" 0
	has 'a later allocator: says so' "$err" \
		'static: (process [0-9]+, which used it, ended: its calls|[0-9]+ functions are probed from now on)'
	has 'a later allocator: it is seen from then on' "$out" '100,[0-9]{3} alloc_objects'
	ledger_closes 'a later allocator'
	run "$rawprof" mem -- sh -c "for i in 1 2 3; do /bin/true; done; sleep 0.3"
	lacks 'no later allocator: nothing to say' "$err" 'which used it, ended|had ended before'
else
	skip 'a later allocator' 'no static libc to link with'
fi

# ---- what makes no sense

refused 'nobody to look at' 'which process'
refused 'two views' 'different views' --sizes --trace -p $$
refused 'what is not followed' 'do not follow blocks' --sizes --leaks -p $$
refused 'the kernel and faults' 'different things' -k --faults
run "$rawprof" mem --obj /bin/true -p $$ 0.1
is 'an object without malloc: status' "$status" 1
has 'an object without malloc: says so' "$err" 'no malloc'
run "$rawprof" mem --obj /no/such/file -p $$ 0.1
has 'no object' "$err" '/no/such/file: No such file'

# ---- and nothing stays behind, also if we are killed

"$work/mem_exact" 100 3 >"$tmp/want.raw" &
pid=$!
"$rawprof" mem -p $pid >/dev/null 2>&1 &
rp=$!
sleep 1.5
kill -KILL $rp
wait $rp 2>/dev/null
wait $pid
is 'killed: the program goes on' $? 0
is 'killed: all of it' "$(wc -l <"$tmp/want.raw")" "$("$work/mem_exact" 1 | wc -l)"

# nor does the program end with us while its libraries are being loaded: here the dynamic linker waits for one
mkfifo "$tmp/fifo"
let_go() { timeout 10 sh -c ": >'$tmp/fifo'"; }
echo_of() { pgrep -P "$1" -x echo; }
if command -v pgrep >/dev/null; then
	LD_PRELOAD=$tmp/fifo "$rawprof" mem -q -- /bin/echo 'it goes on' >"$out" 2>"$err" &
	rp=$!
	let_go # our own
	for ((i = 0; i < 100; i++)); do
		if child=$(echo_of $rp) && grep -q "^TracerPid:.*[1-9]" "/proc/$child/status"; then break; fi
		sleep 0.1
	done
	kill -KILL $rp
	wait $rp 2>/dev/null
	let_go
	for ((i = 0; i < 100; i++)); do
		if [ -s "$out" ]; then break; fi
		sleep 0.1
	done
	is 'killed at the start: the program goes on' "$(cat "$out")" 'it goes on'
else
	skip 'killed at the start' 'pgrep is not installed'
fi
leaves_nothing
finish
