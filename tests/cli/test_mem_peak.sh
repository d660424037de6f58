#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem --peak, --temporary, --lifetimes, --pinned on programs that count themselves; and --peak beside heaptrack.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'mem, at the moment of highest use' 'python3 is not installed'
	finish
fi
sites() { python3 tests/cli/mem_sites.py "$tmp/json" "$1"; }
line() { python3 tests/cli/mem_sites.py "$tmp/json" --ledger | sed -n "s/^$* \([0-9]*\)\$/\1/p"; }
mem() {
	run "$rawprof" mem --format json -o "$tmp/json" "$@"
	is "$name: status" "$status" 0
	is "$name: the ledger closes" "$(line closes)" 1
	is "$name: nothing is lost" "$(line lost)" 0
}
# note WORDS: it is in the note of the result.
note() { grep -o '"note":"[^"]*"' "$tmp/json" | grep -cE -- "$1"; }
leaves_nothing_from_here

# ---- the highest moment, to the unit

name=peak
mem --peak -- "$work/mem_peak" 20000
is 'peak: each site as the program counted itself' "$(sites site_)" "$(grep ^site_ "$out")"
is 'peak: all sites together are the peak' "$(sites site_ | awk '{ n += $5 } END { print n }')" \
	"$(sed -n 's/^peak //p' "$out")"
is 'peak: its time is said' "$(note 'in use: at most [0-9.]+ KiB at a time, after [0-9]+\.[0-9]{3} s')" 1
is 'peak: the stacks add up to it' "$(note 'differ')" 0
name='peak by frame pointers'
mem --peak --call-graph fp --no-mmap -- "$work/mem_peak" 5000
is "$name: each site as the program counted itself" "$(sites site_)" "$(grep ^site_ "$out")"
run "$rawprof" mem --peak -- "$work/mem_peak" 20000
has 'peak: the head of the table' "$out" '^[0-9.]+ [KM]iB in [0-9]+ blocks in use at most, in .*; shown by inuse_space$'
run "$rawprof" mem --peak --format folded --no-mmap -- "$work/mem_peak" 20000
is 'peak: folded' "$(awk '/;site_2 / { n += $NF } END { print n }' "$out")" \
	"$(awk '$1 == "site_2" { print $5 }' "$out")"
name='peak in an attached process'
mkfifo "$tmp/gate"
"$work/mem_peak" 3000 later >"$tmp/want" <"$tmp/gate" &
pid=$!
exec 7>"$tmp/gate"
until readlink "/proc/$pid/exe" | grep -q '/mem_peak$'; do sleep 0.05; done
recording mem -v --format json -o "$tmp/json" --peak -p $pid 7>&-
echo >&7
wait $pid $recorder
status=$?
exec 7>&-
is "$name: status" "$status" 0
is "$name: the ledger closes" "$(line closes)" 1
is "$name: nothing is lost" "$(line lost)" 0
is "$name: each site as the program counted itself" "$(sites site_)" "$(grep ^site_ "$tmp/want")"

name='peak of threads'
mem --peak -- "$work/mem_peak" 4000 threads
is "$name: to the unit" "$(sites site_ | awk '{ print $1, $4, $5 }')" "site_0 8000 1188000
site_5 8000 11800000"

# What a process has goes with it: two that follow each other have no more than one.
name='peak of one after the other'
mem --peak --no-mmap --call-graph fp -- sh -c "$work/mem_peak 20000 keep; $work/mem_peak 20000 keep"
peak=$(sed -n 's/^peak //p' "$out" | head -n 1)
holds "$name: one of them" "$(sites main | awk '{ print $5 }') >= $peak && $(sites main | awk '{ print $5 }') < $peak + 100000"
# By frame pointers: the first calls behind an exec may come before the tables of the new program, and their stacks are
# others then than those of the same calls later.
read -r objects bytes < <(sites site_2 | awk '{ print $2, $5 }')
read -r one one_bytes < <(awk '$1 == "site_2" { print $2, $5; exit }' "$out")
holds "$name: the other one has none" "$objects <= $one && $objects >= 0.99 * $one"
holds "$name: nor any bytes" "$bytes <= $one_bytes && $bytes >= 0.99 * $one_bytes"
name='peak of two programs of a process'
mem --peak --no-mmap --call-graph fp -- sh -c "exec env -i $work/mem_peak 20000"
# Nor is all there here.
is "$name: none of the programs before, and one in a hundred at most is elsewhere" "$(paste -d ' ' <(sites site_) <(grep ^site_ "$out") |
	awk '{ for (i = 2; i < 6; i++) if ($i > $(i + 5) || $i < 0.99 * $(i + 5)) print }')" ''

# What is mapped has a highest moment of its own.
name='peak of mappings'
mem --peak -- "$work/mem_mmap" 1
is "$name: it is said" "$(note 'and mapped [0-9]+')" 1

# A list that grows, and is freed at the end: nothing of it leaks.
python=$(command -v /usr/bin/python3)
if [ -n "$python" ]; then
	cat >"$tmp/grow.py" <<'END'
import time
kept = []
end = time.time() + 0.5
while time.time() < end or len(kept) < 500:
    kept.append("x" * 5000 + str(len(kept)))
    if len(kept) % 50 == 0:
        time.sleep(0.01)
print(sum(len(s) for s in kept))
END
	name='peak of Python'
	mem --peak -- "$python" "$tmp/grow.py"
	grown=$(cat "$out")
	all=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(sum(s["values"][3] for s in d["samples"]))' "$tmp/json")
	holds "$name: the list is in it" "$all > $grown && $all < $grown * 1.1 + 16000000"
	name='leaks of Python'
	mem --leaks --no-mmap -- "$python" "$tmp/grow.py"
	leaked=$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(sum(s["values"][3] for s in d["samples"]))' "$tmp/json")
	holds "$name: it is not among them" "$leaked < $(cat "$out") / 2"
else
	skip 'peak of Python' 'there is no /usr/bin/python3'
fi

# ---- heaptrack

if command -v heaptrack >/dev/null && command -v heaptrack_print >/dev/null; then
	heaptrack -o "$tmp/heaptrack" "$work/mem_peak" 20000 >"$tmp/heaptrack.out" 2>&1
	data=$(echo "$tmp"/heaptrack.*[zg][sz]*)
	heaptrack_print -F "$tmp/heaptrack.folded" --flamegraph-cost-type peak -f "$data" >/dev/null 2>&1
	mem --peak --no-mmap -- "$work/mem_peak" 20000
	sed -n 's/.*\(site_[0-9]\) .* \([0-9]*\)$/\1 \2/p' "$tmp/heaptrack.folded" |
		awk '{ n[$1] += $2 } END { for (s in n) print s, n[s] }' | sort >"$tmp/theirs"
	is 'heaptrack: all sites are there' "$(wc -l <"$tmp/theirs")" 8
	is 'heaptrack: the same bytes at the peak' "$(sites site_ | awk '{ print $1, $5 }')" "$(cat "$tmp/theirs")"
else
	skip 'heaptrack' 'it is not installed'
fi

# ---- temporary

name='--temporary'
mem --temporary -- "$work/mem_short" 200
is "$name: freed before the next allocation" \
	"$(for s in at_once lasting with_another never; do sites $s; done | awk '{ print $1, $4, $5 }')" "$(cat "$out")"
run "$rawprof" mem --temporary -- "$work/mem_short" 200
has "$name: the head says how many" "$out" '^[0-9]+ of [0-9]+ allocations were temporary, '

# ---- lifetimes

run "$rawprof" mem --lifetimes -- "$work/mem_short" 300
is '--lifetimes: status' "$status" 0
ledger_closes '--lifetimes'
# of more than 64 ms: the clock is the machine's, so no block that lived 100 ms can be among those below
is '--lifetimes: those that lasted' "$(awk '/^size=up to 16 KiB/ { on = 1 } /^size=up to 256/ { on = 0 }
	on && /^ +\[(67.1|134|268|537) ms|^ +\[[1-9.]+ s/ { sub(/.*\)/, ""); n += $1 }
	END { print n }' "$out")" 300
is '--lifetimes: the others' "$(sed -n '/^size=up to 1 KiB/{n;s/^ *\([0-9,]*\) blocks.*/\1/p}' "$out")" 1,199
run "$rawprof" mem --lifetimes --format json -- "$work/mem_short" 300
is '--lifetimes as JSON: status' "$status" 0

# ---- freed, in the head of --leaks

run "$rawprof" mem --leaks --no-mmap -- "$work/mem_short" 100
has '--leaks: the head says what was freed' "$out" \
	'^499 of 50[0-9] allocations were freed, [0-9.]+ KiB of [0-9.]+ KiB, in .*; shown by inuse_space$'

# ---- pages that few blocks hold

name='--pinned'
mem --pinned -- "$work/mem_pinned" 20000 3
is "$name: one block in each page" "$(sites sparse_)" "$(cat "$out")"
holds "$name: full pages are not among them" "0$(sites dense | cut -d ' ' -f 2) <= 2"
is "$name: how many" "$(note 'pinned: [0-9]+ of [0-9]+ resident pages with live blocks')" 1
run "$rawprof" mem --pinned -- "$work/mem_pinned" 2000 1
has "$name: the table" "$out" '^[0-9,]+ pinned_pages in .*; shown by wasted_space$'
run "$rawprof" mem --pinned --format folded --weight pinned_pages -- "$work/mem_pinned" 20000 3
is "$name: --weight pinned_pages" "$(awk '/;sparse_a / { print $NF }' "$out" | tail -n 1)" \
	"$(awk '$1 == "sparse_a" { print $2 }' "$out")"
run "$rawprof" mem --pinned -- /bin/true
is "$name: of a program that is gone at once: status" "$status" 0

# ---- what makes no sense

refused() {
	run "$rawprof" mem "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
}
refused 'peak and leaks' 'about all blocks' --peak --leaks -p $$
refused 'peak and pinned' 'different views' --peak --pinned -p $$
refused 'peak of the kernel' 'allocations of programs' --peak -k
refused 'peak of samples' 'about all blocks' --peak --sample-bytes 4096 -p $$
leaves_nothing
finish
