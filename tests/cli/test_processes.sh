#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Children, programs that exec, programs that are long gone, code that no file holds.
. "$(dirname "$0")/lib.sh"
need_profile

folded -F 999 -- "$work/family" 3
near 'family: the parent' "$(share "$out" '^family;.*;work_of_parent( |;)')" 33.3 3
near 'family: the forked child' "$(share "$out" '^family;.*;work_of_forked( |;)')" 33.3 3
near 'family: the child that execs' "$(share "$out" '^execed;.*;work_of_execed( |;)')" 33.3 3
ledger_closes 'family'

# The same, when the family is found by looking at the whole machine.
"$work/family" 4 &
folded -F 999 -d 1
wait $!
for f in parent forked execed; do
	has "whole machine: work_of_$f" "$out" "work_of_$f"
done

folded -F 999 -- "$work/jit" 4
near 'JIT: a name with spaces' "$(share "$out" ';run_jitted;jitted[ _]hot[ _]loop')" 75 3
near 'JIT: a name without' "$(share "$out" ';run_jitted;jitted_warm_loop')" 25 3

# A thread of the kernel has no mappings; the idle task, process 0, must not be taken for it.
run "$rawprof" cpu -I -F 999 -p 2 -d 0.5
lacks 'process 2: the idle task is not asked for' "$out" '[1-9][0-9]* kept'
lacks 'process 2: nor shown' "$out" 'swapper'

# 500 programs of 20 ms, all gone when the report is made.
mkdir "$tmp/swarm"
folded -F 999 -- "$work/swarm" 500 20 "$tmp/swarm" # to make and end one costs 2 ms on slow machines
swarm=$(grep -oE '^swarm-[0-9]+;' "$out" | sort -u | wc -l)
is 'swarm: all 500 are there by name' "$swarm" 500
is 'swarm: each with its function' \
	"$(grep -E '^swarm-[0-9]+;.*;swarm_work( |;)' "$out" | cut -d';' -f1 | sort -u | wc -l)" 500
near 'swarm: the time is in swarm_work' "$(share "$out" ';swarm_work( |;)')" 92 8
# The dynamic linker keeps no frame pointers, and while a program is being executed its registers are
# still the old one's; from main on everything must have a name.
is 'swarm: below main nothing is unknown' \
	"$(grep -E '^swarm-[0-9]+;.*;main;' "$out" | grep -cE ';\[(unknown|anon)')" 0
holds 'swarm: and little of the rest' \
	"$(grep -E '^swarm-' "$out" | share /dev/stdin ';\[(unknown|anon)') < 4"
ledger_closes 'swarm'

# A program that is built, run and deleted: its file is gone with it.
cat >"$tmp/fleeting.sh" <<'EOF'
cp "$1" "$2" && "$2" 1 && rm "$2"
EOF
folded -F 999 -- sh "$tmp/fleeting.sh" "$work/split" "$tmp/fleeting"
near 'deleted after it ran: work_60' "$(grep '^fleeting;' "$out" | share /dev/stdin ';work_60( |;)')" 60 5

# A process that was there before.
"$work/split" 30 &
pid=$!
folded -F 999 -p $pid -d 1
near 'by pid: work_60' "$(share "$out" ';work_60( |;)')" 60 5
is 'by pid: nothing else' "$(cut -d';' -f1 "$out" | sort -u)" split
ledger_closes 'by pid'
kill $pid
wait $pid 2>/dev/null

"$work/threads" 6 >"$tmp/tids" &
pid=$!
sleep 0.3
read -r alpha _ <"$tmp/tids"
folded -F 999 -t "$alpha" -d 1
is 'by tid: that thread only' "$(cut -d';' -f1 "$out" | sort -u)" alpha
folded -F 999 --comm 'b?t*' -d 1
is 'by comm: that pattern only' "$(cut -d';' -f1 "$out" | sort -u)" beta
ledger_closes 'by comm'
kill $pid
wait $pid 2>/dev/null

"$work/sleeper" 20 &
pid=$!
run "$rawprof" cpu --format folded -p $pid -d 1
is 'sleeper: no samples is a result' "$status $(total "$out")" '0 0'
run "$rawprof" cpu -p $pid -d 1
is 'sleeper: the table as well' "$status" 0
ledger_closes 'sleeper'
kill $pid
wait $pid 2>/dev/null

rm -f /tmp/perf-[0-9]*.map
finish
