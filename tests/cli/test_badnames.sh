#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Names that anybody chooses (of processes, files, functions, threads) hold any byte. None of them may reach a terminal
# or a file as what a terminal or a format obeys: build/workloads/badnames has each byte in each kind of name.
. "$(dirname "$0")/lib.sh"

# Control characters but for the line break, of ASCII and as C1 in UTF-8, and what turns the direction of writing.
obeyed='[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]'
# clean NAME FILE [TAB]: with TAB the format has tabs of its own.
clean() {
	local bad=$obeyed found
	[ -z "${3:-}" ] || bad=${obeyed/'\x09'/'\x08'}
	found=$(LC_ALL=C grep -naPo -m 1 "$bad" "$2" | head -n 1 | od -An -c)
	is "$1: nothing that a terminal obeys" "$found" ''
	iconv -f UTF-8 -t UTF-8 "$2" >/dev/null 2>&1 && ok "$1: UTF-8" || fail "$1" 'not UTF-8'
}

# ---- what the caller typed, without any right

name=$(printf 'a\033[31m\302\233b\r\tc\377')
for args in "$name" "help $name" "cpu --$name" "cpu --format $name" "cpu -d $name" "cpu $name" "cpu -p $name" \
	"explain $name" "lock --by $name" "cpu --sort $name" "mem --weight $name -k 1" "explain --kernel-log /no/$name" \
	"explain cpu --break $name" "cpu -o /no/$name 1" "cpu -C $name 1"; do
	IFS=' ' read -r -a words <<<"$args"
	run "$rawprof" "${words[@]}"
	shown=${args//"$name"/NAME}
	holds "$shown: refused" "$status > 0"
	has "$shown: quoted" "$err" '\\x1b\[31m'
	cat "$out" >>"$err"
	clean "$shown" "$err"
done
printf '0: (bf) r1 = r10 \033[31m\302\233 ; x\nprocessed 1 insns\n' >"$tmp/log"
run "$rawprof" explain --kernel-log "$tmp/log"
clean 'a log of the verifier' "$out"
need_profile

# ---- what a process is made of

json_lines() {
	python3 -c '
import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
try:
    json.loads(text)
except ValueError:
    for line in text.splitlines():
        json.loads(line)
' "$out" 2>>"$err" && ok "$1: JSON" || fail "$1" 'no JSON'
}
# A varint, and each field of a message: the strings of a profile are UTF-8, and none is obeyed.
pprof_strings() {
	gzip -dc "$out" 2>/dev/null >"$tmp/proto" || { fail "$1" 'no gzip'; return; }
	python3 -c '
import sys
data = open(sys.argv[1], "rb").read()
at = 0
def varint():
    global at
    value = shift = 0
    while True:
        byte = data[at]; at += 1
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: return value
while at < len(data):
    key = varint()
    if key & 7 == 0: varint(); continue
    size = varint()
    if key >> 3 == 6: print(data[at:at + size].decode("utf-8"))
    at += size
' "$tmp/proto" >"$tmp/strings" 2>>"$err" && ok "$1: strings are UTF-8" || fail "$1" 'strings are not UTF-8'
	clean "$1" "$tmp/strings"
	has "$1: names are there" "$tmp/strings" '\\x1b'
}

# shown NAME REGEX ARGS...: runs the workload under a command; REGEX is of its output.
dirs=0
shown() {
	local name=$1 regex=$2 format=
	shift 2
	dirs=$((dirs + 1))
	mkdir "$tmp/dir$dirs"
	run "$rawprof" "$@" -vv -- "$work/badnames" "$tmp/dir$dirs" 0.5
	rm -rf "$tmp/dir$dirs"
	is "$name: status" "$status" 0
	clean "$name: messages" "$err"
	[[ $* =~ --format\ ([a-z]+) ]] && format=${BASH_REMATCH[1]}
	case $format in
	pprof)
		if have_python; then pprof_strings "$name"; else skip "$name" 'no python3'; fi
		return ;;
	perf) clean "$name" "$out" tab ;;
	*) clean "$name" "$out" ;;
	esac
	has "$name: names are there" "$out" "$regex"
	case $format in
	folded)
		is "$name: each line is a stack and a count" "$(grep -cvE '^[^;]+(;[^;]+)* [0-9]+$' "$out")" 0 ;;
	json | speedscope | firefox | chrome)
		if have_python; then json_lines "$name"; else skip "$name" 'no python3'; fi ;;
	svg | html)
		if [ $format = html ] || ! command -v xmllint >/dev/null; then return; fi
		xmllint --noout "$out" 2>>"$err" && ok "$name: well-formed" || fail "$name" 'not well-formed' ;;
	prometheus)
		is "$name: each line is a sample or a comment" \
			"$(grep -cvE '^(#.*|[a-z_0-9]+(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? [0-9.e+-]+|# EOF)$' "$out")" 0 ;;
	perf)
		is "$name: each line is a head, a frame, a place or empty" \
			"$(grep -cvE '^$|^.+ [0-9]+/[0-9]+ .*[0-9]+\.[0-9]{6}: +[0-9]+ [^ ]+:$|^	 *[0-9a-f]+ .+ \([^() ]+\)$|^	 *[0-9a-f]+ .+ \(inlined\)$|^  [^ ]+:[0-9]+$' "$out")" 0 ;;
	esac
}
# As escapes, or as what stands between them.
some='\\x[0-9a-f]|\\u00|[^a]abcdefghij'
for format in table folded svg html pprof perf speedscope json firefox chrome; do
	shown "cpu as $format" "$some" cpu -F 499 --format $format
done
for args in --samples -E '--call-graph fp --format json' '--lines --inline' '--addr --annotations'; do
	IFS=' ' read -r -a words <<<"$args"
	shown "cpu $args" "$some" cpu -F 499 "${words[@]}"
done
for args in 'offcpu' 'offcpu --wakers --format folded' 'wall --format folded' 'wall --format svg'; do
	IFS=' ' read -r -a words <<<"$args"
	shown "$args" "$some" "${words[@]}"
done
for args in lock 'lock --format json' 'lock --format prometheus' 'lock --stacks --format folded' 'lock --by caller'; do
	IFS=' ' read -r -a words <<<"$args"
	shown "$args" "$some" "${words[@]}"
done
for args in mem 'mem --trace' 'mem --format json' 'mem --faults' 'mem -k --processes' 'mem -k --processes --format json'; do
	IFS=' ' read -r -a words <<<"$args"
	shown "$args" . "${words[@]}"
done
for args in 'io --log' 'io --log --format json' 'io --stacks --format folded' 'io --top 5' 'io --format prometheus'; do
	IFS=' ' read -r -a words <<<"$args"
	shown "$args" . "${words[@]}"
done
# ---- probes: what the file and its functions are called

bad=$(printf 'a\033[31m\302\233b\342\200\256c\377')
cp "$work/usdt" "$tmp/$bad"
odd='"f\302\233\342\200\256g"'
printf "main: .globl main, $odd\npush %%rbp\ncall $odd\nxor %%eax, %%eax\npop %%rbp\nret
.type $odd, @function\n$odd: mov \$1000000, %%ecx\n1: dec %%ecx\njnz 1b\nret\n.size $odd, . - $odd\n" >"$tmp/f.s"
run "$rawprof" trace --list "usdt::*" -- "$tmp/$bad"
has 'trace --list usdt: the file is there' "$out" 'heard'
clean 'trace --list usdt' "$out"
for format in table json chrome; do
	run "$rawprof" trace "usdt::*" --format $format -- "$tmp/$bad" all 2
	has "trace usdt, $format: events" "$out" 'args'
	clean "trace usdt, $format" "$out"
done
run "$rawprof" trace "usdt::*" --count event -- "$tmp/$bad" all 2
clean 'trace usdt --count' "$out"
if gcc -o "$tmp/p$bad" "$tmp/f.s" 2>/dev/null; then
	for format in table json chrome; do
		run "$rawprof" trace ":f*g" --format $format -- "$tmp/p$bad"
		has "trace of a function, $format: events" "$out" 'arg0'
		clean "trace of a function, $format" "$out"
	done
	for args in "--slower 1" "--graph" "--slower 1 --format json" "" "--format json" "--ret" "--hist" "--count"; do
		run "$rawprof" func ":f*g" $args -- "$tmp/p$bad"
		has "func $args: the function" "$out" 'f\\+'
		clean "func $args" "$out"
	done
	run "$rawprof" func --list ":f*g" -- "$tmp/p$bad"
	clean 'func --list' "$out"
else
	skip 'functions with such names' 'no gcc, or another machine'
fi
finish
