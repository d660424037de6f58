#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every format, read back by a tool that is not ours where there is one, with the ledger's total.
. "$(dirname "$0")/lib.sh"
need_profile

profile() {
	run "$rawprof" cpu -F 999 "$@" -- "$work/split" 1
	is "$*: status" "$status" 0
	kept=$(ledger KEPT)
}

profile --format table
has 'table: work_60' "$out" 'work_60'
has 'table: work_30' "$out" 'work_30'
ledger_closes 'table'
has 'table: says its own cost' <(cat "$out" "$err") 'own cost: .*CPU .*memory '
lacks 'table: no escape codes in a file' "$out" $'\033'

profile -f
is 'folded: all that was kept' "$(total "$out")" "$kept"
is 'folded: every line is a stack and a count' "$(grep -cvE '^[^;]+(;[^;]+)* [0-9]+$' "$out")" 0

profile --format pprof -o "$tmp/p.pb.gz"
if command -v go >/dev/null; then
	export PPROF_TMPDIR=$tmp HOME=${HOME:-$tmp}
	pprof -raw "$tmp/p.pb.gz"
	is 'pprof: go tool pprof reads it' "$status" 0
	raw=$(awk '/^Samples:/ { s = 1; next } /^Locations/ { s = 0 } s && /^ +[0-9]+ +[0-9]+:/ { n += $1 } END { print n + 0 }' "$out")
	is 'pprof: all that was kept' "$raw" "$kept"
	has 'pprof: samples/count and cpu/nanoseconds' "$out" 'samples/count.*cpu/nanoseconds'
	pprof -top -sample_index=samples "$tmp/p.pb.gz"
	near 'pprof: share of work_60 in -top' \
		"$(awk '$NF == "work_60" { sub(/%/, "", $2); sub(/%/, "", $5); print $5 }' "$out")" 60 5
	pprof -traces "$tmp/p.pb.gz"
	has 'pprof: stacks' "$out" 'main'
else
	skip 'pprof' 'go is not installed'
fi

# The main program, pprof's first mapping, by the name of its file: whoever named it otherwise.
mkdir "$tmp/bin"
ln -s "$work/split" "$tmp/bin/known-as"
# main_of NAME ARGS...: of rawprof cpu, which profile split.
main_of() {
	run "$rawprof" cpu -F 999 --format json -o "$tmp/main.json" "${@:2}"
	is "$1: status" "$status" 0
	has "$1: the main program" "$tmp/main.json" "\"main_module\":\"$(realpath "$work/split")\""
	command -v go >/dev/null || return
	run "$rawprof" cpu -F 999 --format pprof -o "$tmp/p.pb.gz" "${@:2}"
	pprof -raw "$tmp/p.pb.gz"
	has "$1: the first mapping" "$out" "^1: 0x[0-9a-f/x]+ $(realpath "$work/split") "
}
main_of 'a symbolic link' -- "$tmp/bin/known-as" 0.2
PATH=$tmp/bin:$PATH main_of 'found in PATH' -- known-as 0.2
"$work/split" 60 >"$said" &
main_of '--pid' -p $! 0.2
main_of '--tid' -t $! 0.2
kill $!
wait $! 2>/dev/null

profile --format json
cp "$out" "$tmp/p.json"
if have_python; then
	sum=$(python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))
assert p["ledger"]["closes"] is True and p["ledger"]["gap"] == 0
total = sum(s["values"][0] for s in p["samples"])
assert total == p["totals"][0] == p["ledger"]["kept"] > 500
assert all(f < len(p["frames"]) for s in p["stacks"] for f in s)
print("closes")' "$tmp/p.json" 2>>"$err")
	is 'json: valid, and its ledger closes on its samples' "$sum" closes
	profile --format speedscope
	sum=$(python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))
assert p["$schema"] == "https://www.speedscope.app/file-format-schema.json"
total = 0
for q in p["profiles"]:
    assert q["type"] == "sampled" and len(q["samples"]) == len(q["weights"])
    assert all(f < len(p["shared"]["frames"]) for s in q["samples"] for f in s)
    total += sum(q["weights"]) if q["unit"] == "none" else 0
print(total)' "$out" 2>>"$err")
	is 'speedscope: all that was kept' "$sum" "$kept"
else
	skip 'json, speedscope' 'python3 is not installed'
fi

for f in svg html; do
	profile --format $f -o "$tmp/p.$f"
	has "$f: work_60" "$tmp/p.$f" 'work_60'
done
if command -v xmllint >/dev/null; then
	run xmllint --noout "$tmp/p.svg"
	is 'svg: well-formed' "$status" 0
else
	skip 'svg: well-formed' 'xmllint is not installed'
fi

# The text of perf script: a header per sample, tab-led frames, an empty line.
profile --format perf
is 'perf: as many samples' \
	"$(awk '/^[^\t ].*:.*:$/ { sub(/^.*: +/, ""); n += $1 } END { print n + 0 }' "$out")" "$kept"
is 'perf: frames look as perf writes them' \
	"$(grep -cvE '^$|^[^[:space:]].* +[0-9]+(/[0-9]+)? .*:$|^[[:space:]]+[0-9a-f]+ .+ \(.+\)$' "$out")" 0

is 'perf: in the order of time' "$(awk '/^[^\t ].*:.*:$/ { match($0, / [0-9]+\.[0-9]+:/)
	now = substr($0, RSTART + 1, RLENGTH - 2) + 0; if (now < last) bad++; last = now; n += now > 0 }
	END { print bad + 0, (n > 0) }' "$out")" '0 1'

# By the file's ending, and overwritten by name.
run "$rawprof" cpu -F 999 -o "$tmp/by-ending.svg" -- "$work/split" 0.2
has 'the format follows the ending' "$tmp/by-ending.svg" '<svg'
run "$rawprof" cpu -F 999 --format folded -o "$tmp/named.svg" -- "$work/split" 0.2
has 'unless it is named' "$tmp/named.svg" ';main;work_60.* [0-9]+$'

run "$rawprof" cpu -F 999 --samples -- "$work/split" 0.5
has '--samples: frames' "$out" 'work_60'
folded_lines=$(wc -l <"$out")
holds '--samples: something came' "$folded_lines > 100"
run "$rawprof" cpu -F 999 -E -- "$work/split" 0.5
is '-E: every line is one sample' "$(grep -cvE '^[^ ]+ .+ [0-9]+ [0-9]+ [0-9]+ [^ ]+;?.* [0-9]+$' "$out")" 0
is '-E: all that was kept' "$(total "$out")" "$(ledger KEPT)"
finish
