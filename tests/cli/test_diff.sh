#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof diff: what it reads, writes and refuses, on files whose answer is known; of programs, one of them slower.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/a.folded" <<'END'
app;main;parse;scan 3000
app;main;parse;hash 2500
app;main;render;draw 2000
app;main;render;blend 1500
app;main;store;pack 900
app;main;store;old thing(int, char) 400
END
sed 's/draw 2000/draw 2400/; s/old thing(int, char)/new_thing/' "$tmp/a.folded" >"$tmp/b.folded"

# diffed ARGS...: of the two.
diffed() { run "$rawprof" diff "$@" "$tmp/a.folded" "$tmp/b.folded"; }
diffed
is 'status' $status 0
has 'what grew' "$out" '^  \+3\.88    \+20%   \+3\.88    \+20% +>?9[0-9.]+%  draw '
has 'its caller' "$out" '  render '
has 'what is new' "$out" '^  \+3\.88     new   \+3\.88     new  >99\.999%  new_thing'
has 'what is gone' "$out" '^  -3\.88    gone   -3\.88    gone  >99\.999%  old thing\(int, char\)'
lacks 'what stayed the same' "$out" ' (scan|hash|blend|pack|parse) '
diffed --all
has '--all: what stayed the same' "$out" '^  \+0\.00     \+0% .* scan '
diffed --min 4
lacks '--min' "$out" 'new_thing'
diffed --normalize total
has '--normalize total: shares' "$out" 'both are 100 %'
diffed --normalize time
is '--normalize time, of files without one: status' $status 1
has '--normalize time, of files without one: says so' "$err" 'do not say how long'

# A part of both.
diffed --normalize none --filter 'symbol=render'
has '--filter: what grew in it' "$out" ' draw '
lacks '--filter: nothing else' "$out" 'new_thing|old thing'
# ... which is normalised as the whole is: of "render" alone nothing would have stayed the same.
awk '{ n = 2 * $NF; sub(/ [0-9]+$/, ""); print $0, n }' "$tmp/b.folded" >"$tmp/b2.folded"
run "$rawprof" diff --filter 'leaf=draw' "$tmp/a.folded" "$tmp/b2.folded"
has '--filter: scale and points are those of the whole' "$out" '^  \+3\.88    \+20%   \+3\.88    \+20% .* draw '
has '--filter: says so' "$out" "which take 2\.000 times as much in B; points are percent of A's whole total"
diffed --filter 'symbol=nobody'
is '--filter that nothing fits: status' "$status" 2
has '--filter that nothing fits: of which file' "$err" "a.folded: --filter 'symbol=nobody': "
is '--filter that nothing fits: no result' "$(wc -c <"$out")" 0

# For CI: one line that names the function.
diffed --fail-above 3.8 -o "$tmp/x.json"
is '--fail-above: status' $status 1
is '--fail-above: one line' "$(wc -l <"$err")" 1
has '--fail-above: names it' "$err" '^rawprof diff: (draw|new_thing) grew by 3\.88 % of the total \((\+20 %|new)\)$'
diffed --fail-above 4 -o "$tmp/x.json"
is '--fail-above, above all: status' "$status $(cat "$err")" '0 '
run "$rawprof" diff --fail-above 0 "$tmp/b.folded" "$tmp/b.folded"
is '--fail-above, the same twice: status' $status 0

diffed -f 2>/dev/null
diffed --format folded
is 'folded: two columns' "$(sed 's/^.* \([0-9]* [0-9]*\)$/\1/' "$out" | sort -n | tr '\n' ,)" \
	'0 400,400 0,900 900,1500 1500,2000 2400,2500 2500,3000 3000,'
diffed --format json
if command -v python3 >/dev/null; then
	is 'json: totals and verdicts' "$(python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
v = {f["name"]: f["verdict"] for f in d["functions"]}
print(d["a"]["total"], d["b"]["total"], d["scale"]["by"], *sorted(n for n in v if v[n] == "self"), v["render"], v["scan"])
END
)" '10300 10700 stable draw new_thing old thing(int, char) carried same'
else
	skip 'json' 'there is no python3'
fi
for format in svg html; do
	diffed -o "$tmp/x.$format"
	is "$format: status" $status 0
	has "$format: what grew" "$tmp/x.$format" '<title>draw \(\+3\.88 points, \+20\.0%; A 2,000, B 2,400\)'
	has "$format: what is gone is there" "$tmp/x.$format" '<title>old thing\(int, char\) \(-3\.88 points, gone;'
	cp "$tmp/x.$format" "$tmp/again"
	diffed -o "$tmp/x.$format"
	is "$format: the same twice" "$(cmp "$tmp/x.$format" "$tmp/again")" ''
done
if command -v xmllint >/dev/null; then
	run xmllint --noout "$tmp/x.svg"
	is 'svg: is XML' $status 0
fi

# refused NAME STATUS MESSAGE ARGS...
refused() {
	run "$rawprof" diff "${@:4}"
	is "$1: status" $status "$2"
	has "$1: says why" "$err" "$3"
	is "$1: no result" "$(wc -c <"$out")" 0
}
printf 'hello world\n' >"$tmp/text"
printf '\037\213junk' >"$tmp/junk"
: >"$tmp/empty"
refused 'one file' 2 'name both' "$tmp/a.folded"
refused 'three files' 2 'is a third: several runs of a side are a directory, or a pattern in quotes$' "$tmp/a.folded" "$tmp/a.folded" "$tmp/a.folded"
refused 'no such file' 1 'No such file' "$tmp/a.folded" /no/such/file
refused 'a text' 1 'text: line 1 is no folded stack' "$tmp/a.folded" "$tmp/text"
refused 'damaged' 1 'junk: its compressed data are damaged' "$tmp/junk" "$tmp/a.folded"
refused 'empty' 1 'empty: it is empty' "$tmp/empty" "$tmp/a.folded"
refused 'a format without two sides' 2 'it has the formats' --format pprof "$tmp/a.folded" "$tmp/a.folded"
refused 'a percentage that is none' 2 '--fail-above wants a number from 0 to 100' --fail-above x "$tmp/a.folded" "$tmp/a.folded"
refused 'a weight that is not there' 1 "has no weight 'cpu'" --weight cpu "$tmp/a.folded" "$tmp/a.folded"

# Several runs of each: "draw" takes a fifth more in B; "blend" half more or less, from run to run of both.
runs_of() { # DIRECTORY DRAW
	mkdir "$tmp/$1"
	for i in 1 2 3 4 5; do
		sed "s/draw 2000/draw $(($2 + 13 * i))/; s/blend 1500/blend $((700 + (i * 7 + $2) % 5 * 350))/
			s/scan 3000/scan $((3000 - 17 * i))/; s/hash 2500/hash $((2500 + (i * 3) % 5 * 11))/" "$tmp/a.folded" >"$tmp/$1/r$i.folded"
	done
}
runs_of before 2000
runs_of after 2400
run "$rawprof" diff "$tmp/before" "$tmp/after"
is 'runs: status' "$status" 0
has 'runs: how many' "$out" '^A: .*/before, 5 runs, 5[0-9],[0-9]* samples$'
has 'runs: what grew' "$out" '^  \+[34]\.[0-9]* +\+(19|20)% .* draw '
has 'runs: its caller' "$out" ' render '
lacks 'runs: not what they differ by themselves' "$out" ' (blend|scan|hash|pack|parse|store|old thing.*) '
has 'runs: how much they differ is said' "$out" '^Runs of one side differ, three of four heavy functions by up to [0-9.]+ %'
lacks 'runs: no advice to record some' "$out" '^Runs of the same program can differ'
cp "$out" "$tmp/by-directory"
run "$rawprof" diff "$tmp/before/r*.folded" "$tmp/after/r[1-5].folded"
is 'runs by a pattern: as by a directory' "$(tail -n +4 "$out")" "$(tail -n +4 "$tmp/by-directory")"
run "$rawprof" diff --filter 'leaf=draw' "$tmp/before" "$tmp/after"
has 'runs and --filter: draw' "$out" '^  \+[34]\.[0-9]* +\+(19|20)% .* draw '
run "$rawprof" diff --fail-above 3 -o "$tmp/x.json" "$tmp/before" "$tmp/after"
is 'runs: --fail-above' "$status $(grep -c '^rawprof diff: draw grew by' "$err")" '1 1'
has 'runs: json says how many' "$tmp/x.json" '"b":\{"name":"[^"]*/after","runs":5,'
# Of one pair of them nobody can tell, and that is said.
run "$rawprof" diff "$tmp/before/r1.folded" "$tmp/before/r2.folded"
has 'a pair: runs may differ by as much' "$out" '^Runs of the same program can differ by as much.* Record each side several times'
mkdir "$tmp/hollow"
: >"$tmp/hollow/.hidden"
mkdir "$tmp/piped"
cp "$tmp/before"/* "$tmp/piped"
mkfifo "$tmp/piped/zz.rawprof"
ln -s /dev/zero "$tmp/piped/zzz"
RUN_TIMEOUT=20 run "$rawprof" diff "$tmp/piped" "$tmp/before"
is 'pipes and devices in a directory are none of its files: status' "$status" 0
refused 'a directory without files' 1 'hollow: it has no files' "$tmp/before" "$tmp/hollow"
refused 'a pattern that nothing fits' 1 'x\*y: no file fits' "$tmp/before" "$tmp/x*y"
cp "$tmp/text" "$tmp/hollow/text"
refused 'a directory with another file' 1 'hollow/text: line 1 is no folded stack' "$tmp/hollow" "$tmp/before"
refused 'runs, of which one has nothing that fits' 2 "r1.folded: --filter 'leaf=nobody'" --filter leaf=nobody "$tmp/before" "$tmp/after"

# How small a change these samples show: of 2,000 events beside as many one in 4.5 deviations, which are those of a test that
# is certain and of nine in ten, is ln(1.15); of ten times the samples, a third of that.
least=()
for n in 500 5000; do
	for ((i = 0; i < 20; i++)); do echo "main;f$i $n"; done >"$tmp/even$n"
	run "$rawprof" diff --noise 0.1 --format json "$tmp/even$n" "$tmp/even$n"
	least[n]=$(grep -o '"least":{"20":[0-9.]*' "$out" | sed 's/.*://')
done
holds 'what can be seen: by chance, of 10,000 samples' "13 < ${least[500]} && ${least[500]} < 17"
holds 'what can be seen: ten times the samples, a third' "3 * ${least[5000]} < ${least[500]} + 1 && 3.4 * ${least[5000]} > ${least[500]} - 1"
run "$rawprof" diff "$tmp/even500" "$tmp/even500"
has 'what can be seen: said' "$out" '^With these samples a function that takes 20 % of the time is found'

if ! can_profile; then
	skip 'profiles of programs' "$why_not"
	finish
fi

# The same profile in three forms is the same.
run "$rawprof" cpu -q -F 2999 -o "$tmp/p.rawprof" -- "$work/stages" 1
for form in folded pb.gz; do
	"$rawprof" report -o "$tmp/p.$form" "$tmp/p.rawprof" 2>/dev/null
	run "$rawprof" diff "$tmp/p.rawprof" "$tmp/p.$form"
	has "saved and $form are the same" "$out" '^Nothing changed beyond chance'
done
run "$rawprof" diff --format folded "$tmp/p.rawprof" "$tmp/p.pb.gz"
is 'saved and pprof: each stack' "$(awk '$NF != $(NF - 1)' "$out")" ''

# A program under another name has the same functions.
cp "$work/stages" "$tmp/stages-v2"
run "$rawprof" cpu -q -F 2999 -o "$tmp/renamed.rawprof" -- "$tmp/stages-v2" 1
run "$rawprof" diff --fail-above 5 "$tmp/p.rawprof" "$tmp/renamed.rawprof"
is 'renamed: none is to blame' "$status" 0
lacks 'renamed: nothing is new' "$out" ' new '

# Units.
run "$rawprof" offcpu -q -o "$tmp/by-time.rawprof" -- "$work/naps" 2
run "$rawprof" mem -q -o "$tmp/bytes.rawprof" -- "$work/mem_short" 50
refused 'bytes and time' 1 'they cannot be compared' "$tmp/by-time.rawprof" "$tmp/bytes.rawprof"
run "$rawprof" diff "$tmp/p.rawprof" "$tmp/bytes.rawprof"
has 'a count and bytes: said' "$err" 'only shares can be compared'

# What is slower, and what calls it, is reported; nothing else, whatever the machine does beside.
run "$rawprof" cpu -q -F 4999 -o "$tmp/slower.rawprof" -- "$work/stages" 1 draw 100
run "$rawprof" diff "$tmp/p.rawprof" "$tmp/slower.rawprof"
has 'twice as slow: it grew' "$out" '^ +\+[0-9.]+ +\+[0-9]+%.* draw '
has 'twice as slow: its caller' "$out" ' render '
lacks 'twice as slow: others did not change' "$out" ' (scan|hash|sort|blend|pack|check|copy|parse|store) '
run "$rawprof" diff --fail-above 5 "$tmp/p.rawprof" "$tmp/slower.rawprof"
is 'twice as slow: --fail-above' "$status $(grep -c '^rawprof diff: draw grew by' "$err")" '1 1'
run "$rawprof" cpu -q -F 2999 -o "$tmp/q.pb.gz" -- "$work/stages" 0.5
run "$rawprof" diff "$tmp/p.rawprof" "$tmp/q.pb.gz"
is 'the same program, as pprof: status' "$status" 0
# Whether they differ by chance alone is tried with samples drawn from one profile: what else a machine does makes some
# functions slower than others indeed.
"$rawprof" report --format folded -o "$tmp/truth.folded" "$tmp/p.rawprof"
draw() { # SEED SAMPLES
	awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed) } { w[NR] = $NF; all += $NF; sub(/ [0-9]+$/, ""); s[NR] = $0 }
		END { while (n--) { x = rand() * all; for (j = 1; (x -= w[j]) > 0 && j < NR; j++); c[j]++ }
		for (j in c) print s[j], c[j] }' "$tmp/truth.folded"
}
wrong=0
for i in {1..20}; do
	draw $i 3000 >"$tmp/one.folded"
	draw $((1000 + i)) 1500 >"$tmp/other.folded"
	run "$rawprof" diff "$tmp/one.folded" "$tmp/other.folded"
	grep -q '^Nothing changed' "$out" || wrong=$((wrong + 1))
done
holds 'the same program: at most one of twenty pairs reports anything' "$wrong <= 1"

# Advice follows from the result, on standard error, in every format.
run "$rawprof" cpu -F 999 -o "$tmp/hot.folded" -- "$work/split" 1
has 'advice: names the function' "$err" '^advice: work_60 itself has [5-7][0-9] % of all samples, called by '
run "$rawprof" cpu --no-advice -F 999 -- "$work/split" 0.5
lacks '--no-advice' "$err" '^advice'
run "$rawprof" cpu -q -F 999 -- "$work/split" 0.5
lacks '-q: no advice' "$err" '^advice'
if [ -r /var/lib/dpkg/info/coreutils.list ] && ! nm /usr/bin/sha256sum 2>/dev/null | grep -q ' T main'; then
	head -c 150000000 /dev/zero >"$tmp/zeroes"
	run "$rawprof" cpu -F 999 -f -- sha256sum "$tmp/zeroes"
	has 'advice: the package with the symbols' "$err" \
		'^advice: functions of (/usr)?/.*sha256sum, which have no names, have [0-9]+ % of all samples: the package coreutils-dbgsym,'
else
	skip 'advice: the package with the symbols' 'no dpkg, or sha256sum has names'
fi
finish
