#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem --faults and --growth: how a program becomes larger, to the page.
. "$(dirname "$0")/lib.sh"
need_profile

page=$(awk '/^KernelPageSize/ { print $2 * 1024; exit }' /proc/self/smaps)
# recorded NAME ARGS...: stacks in $tmp/NAME, messages in $err.
recorded() {
	run "$rawprof" mem --format folded -o "$tmp/$1" "${@:2}"
	is "$1: status" "$status" 0
	ledger_closes "$1"
	is "$1: nothing is lost" "$(ledger LOST)" 0
}
# of FILE FUNCTION: how much has this function in its stack.
of() { awk -v f=";$2[; ]" '$0 ~ f { n += $NF } END { print n + 0 }' "$tmp/$1"; }

# ---- page faults

# fallbacks: huge pages that were not to be had.
fallbacks() { awk '$1 == "thp_fault_fallback" { print $2 }' /proc/vmstat; }
before=$(fallbacks)
recorded faults --faults --weight faults -- "$work/grow"
is 'touched: faults' "$(of faults touch_pages)" 1000
is 'copied in a child: faults' "$(of faults copy_pages)" 1000
is 'by read(2): faults' "$(of faults 'read_into;[_a-z]*read')" 1000
recorded resident --faults -- "$work/grow"
is 'touched: bytes' "$(of resident touch_pages)" $((1000 * page))
is 'copied in a child: bytes' "$(of resident copy_pages)" $((1000 * page))
is 'by read(2): bytes' "$(of resident read_into)" $((1000 * page))
# One fault for each huge page, or for some of them, and each for all it holds.
is 'huge pages: bytes' "$(of resident touch_huge)" $((16 << 20))
if ! grep -qE '\[(always|madvise)\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
	skip 'huge pages: fewer faults than pages' 'this kernel has none'
elif [ "$(fallbacks)" != "$before" ]; then
	skip 'huge pages: fewer faults than pages' 'memory is too fragmented'
else
	holds 'huge pages: fewer faults than pages' "$(of faults touch_huge) < (16 * 1048576) / $page"
fi
recorded major --faults --weight major_faults -- "$work/grow"
is 'touched: no major faults' "$(of major touch_pages)" 0

run "$rawprof" mem --faults -- "$work/grow"
is 'faults, table: status' "$status" 0
has 'faults, table: head' "$out" 'faults in .*; shown by resident$'
lacks 'faults, table: only user code' "$out" '\[kernel\]'
run "$rawprof" mem --faults --format json -- "$work/grow"
if have_python; then
	is 'faults, json: value types' "$(python3 -c 'import json, sys
print(*[t["type"] + "/" + t["unit"] for t in json.load(open(sys.argv[1]))["value_types"]])' "$out" 2>&1)" \
		'faults/count resident/bytes major_faults/count'
fi

# ---- mappings

recorded calls --growth --weight calls -- "$work/grow"
# map_things() maps, unmaps half; unmaps nothing, replaces, fails: those three change nothing.
is 'mapped: calls that changed something' "$(of calls map_things)" 20
recorded grown --growth -- "$work/grow"
is 'the first of all, and a later one: bytes' "$(of grown 'main;map')" $((2 * 1000 * page))
is 'mapped: bytes' "$(of grown map_things)" $((10 * 1000 * page))
is 'the heap: bytes' "$(of grown grow_heap)" $((1000 * page))
is 'enlarged: bytes' "$(of grown enlarge)" $((1000 * page))
recorded returned --growth --weight returned -- "$work/grow"
is 'unmapped: bytes' "$(of returned map_things)" $((10 * 500 * page))
is 'the heap goes back: bytes' "$(of returned grow_heap)" $((1000 * page))
is 'enlarged: gives nothing back' "$(of returned enlarge)" 0
has 'what failed is in the ledger' "$err" 'failed 1[0-9]'
has 'what changed nothing is in the ledger' "$err" 'changed nothing [0-9]+'

# ---- whom, and what does not go together

(while :; do /bin/true; done) &
shell=$!
for how in --faults --growth; do
	run "$rawprof" mem $how -p $shell --format folded -o "$tmp/shell" 0.3
	is "$how -p: status" "$status" 0
	ledger_closes "$how -p"
	is "$how -p: nobody else" "$(grep -vc "^$(cat /proc/$shell/comm);" "$tmp/shell")" 0
done
run "$rawprof" mem --faults 0.3
kill $shell
is 'the whole machine: status' "$status" 0
ledger_closes 'the whole machine'
holds 'the whole machine: something faults' "$(ledger KEPT) > 0"
for how in --faults --growth; do
	for o in --sizes --trace --processes -K; do
		run "$rawprof" mem $how $o 0.1
		is "$how $o: status" "$status" 2
		has "$how $o: says why" "$err" "$how"
	done
done

command -v comm >/dev/null || finish # busybox has none
leaves_nothing_from_here
run "$rawprof" mem --faults -q 0.2
run "$rawprof" mem --growth -q 0.2
is 'a short look: status' "$status" 0
leaves_nothing
# Beside a profiler that walks stacks at the same faults, and reads what is not there: what a fault has taken stays its own.
if have_python; then
	"$rawprof" top --always -F 499 --format json >"$tmp/top" 2>&1 &
	top=$!
	for ((i = 0; i < 600; i++)); do [ "$(wc -l <"$tmp/top")" -gt 1 ] && break || sleep 0.1; done
	for n in 1 2 3; do
		recording mem --faults --comm mem_many --format json -o "$tmp/beside" -v
		"$work/mem_many" 1000000 >/dev/null
		kill -INT "$recorder"
		wait "$recorder"
		python3 - "$tmp/beside" >"$said" <<'END'
import json, sys
samples = json.load(open(sys.argv[1]))['samples']
print(sum(s['values'][0] for s in samples), sum(s['values'][1] for s in samples))
END
		read -r faults bytes <"$said"
		holds "beside top, $n: pages of faults" "$faults > 10000 && $bytes / $page > $faults - 100"
	done
	kill -INT $top
	wait $top 2>/dev/null
fi

finish
