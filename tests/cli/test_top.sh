#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `rawprof top` in a terminal of the test's own, and as lines of JSON beside what the other commands say.
. "$(dirname "$0")/lib.sh"
need_profile
if ! have_python; then
	skip 'top' 'no python3'
	finish
fi
# pty COLUMNS ROWS STEP... -- OPTION...: top in a terminal; see top_pty.py.
pty() {
	local steps=()
	last_command="top $*"
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	(cd "$tmp" && python3 "$OLDPWD/tests/cli/top_pty.py" "${steps[@]}" -- "$rawprof" top "$@") >"$out" 2>"$err"
}
# json FILTER: of the lines of JSON in $out, as python sees them: d is the list.
json() { python3 -c "import json; d = [json.loads(l) for l in open('$out')]; print($1)" 2>"$err"; }
left_as_it_was() {
	lacks "$1: everything came" "$out" '^missing'
	has "$1: the terminal is as it was" "$out" '^modes same'
}

# ---- keys
export TERM=xterm LANG=C.UTF-8 TOP_BYTES=$tmp/bytes
"$work/syscalls" 60 & # something that runs
busy=$!
pty 80 24 '?FUNCTION' '?load [0-9]' '=?' '?top: keys' '= ' '=c' '?functions on a CPU' '=n' '?threads on a CPU' \
	'=w' '?waits' '=l' '?locks waited for' '=d' '?disks' '=t' '?what top itself runs' '=s' '?system calls' \
	'=b' '?BPF programs' '=m' '?memory that becomes' '?BYTES/s' '=x' '?runs all the time' '=x' '?stopped' '=p' '?MOSTLY IN' \
	'=>' '?sorted by' '=/' '?only rows with' "=$busy\r" "?only $busy" '=\r' "?process $busy" '=\x1b' 0.3 '=\x1b' 0.3 \
	'=o' '?q quit' '= ' '?PAUSED, [0-9]+ of' "=$(printf ',%.0s' {1..60})" '?PAUSED, ([0-9]+) of \1 back' '=.' '= ' '@120x40' 1.5 '@80x24' 1.5 \
	'=f' '?flame graph of' '=5\r' '?rawprof-top-.*svg: [0-9]+ samples' '=h' '?HTML page' '=\r' '?html: [0-9]+ samples' '=q' -- -F 199
left_as_it_was 'keys'
has 'q leaves' "$out" '^status 0'
holds 'a flame graph' "$(grep -c '</svg>' "$tmp"/rawprof-top-*.svg) == 1"
holds 'a page' "$(grep -ci '</html>' "$tmp"/rawprof-top-*.html) > 0"
is 'nobody else reads them' "$(stat -c %a "$tmp"/rawprof-top-*.svg)" 600

# ---- the end
for signal in TERM HUP INT; do
	pty 80 24 '?load' "!$signal" -- -i 0.5
	left_as_it_was "SIG$signal"
done
has 'SIGINT is as q' "$out" '^status 0'
pty 80 24 '?load' '!TSTP' 0.5 '!CONT' '?load' 1 '=q' -- -i 0.5
left_as_it_was 'stopped and continued'
pty 80 24 '?load' close -- -i 0.5
lacks 'the terminal goes away: it ends' "$out" '^status None'
TERM=vt100 pty 80 24 '?load' '=q' -- -i 0.5
left_as_it_was 'a serial console'
is 'a VT100 gets no second screen and no colour' "$(grep -caE $'\x1b\\[(\\?1049|[0-9;]*3[0-7]m)' "$tmp/bytes")" 0
TERM=linux pty 200 50 '?load' '=q' -- -i 0.5
left_as_it_was 'a console of 200x50'
TERM=dumb pty 80 24 -- -i 0.5
has 'a dumb terminal: status' "$out" '^status 1'
has 'a dumb terminal: why' "$tmp/bytes" 'cannot place its cursor'
kill "$busy"
wait "$busy" 2>/dev/null

# ---- names that would like to be commands to the terminal
cp "$work/leaf" "$tmp/$(printf 'x\033]0;y\007')" 2>/dev/null
"$tmp/$(printf 'x\033]0;y\007')" 20 >/dev/null 2>&1 &
hostile=$!
pty 80 24 '?x.x1b' '=q' -- -i 0.5 -F 199 -p "$hostile"
kill "$hostile" 2>/dev/null
wait "$hostile" 2>/dev/null
is 'no escape of a name arrives' "$(grep -ca $'\x1b]' "$tmp/bytes")" 0

# ---- lines of JSON, against a program that is known
"$work/syscalls" 30 &
known=$!
run "$rawprof" top -p "$known" -F 499 -i 1 -d 4.2
is 'a line for each interval' "$(json 'len(d)')" 5
is 'one process' "$(json 'sorted({p["pid"] for w in d for p in w["processes"]})')" "[$known]"
cpu=$(json 'sum(p["cpu_ns"] for w in d for p in w["processes"])')
wall=$(json 'sum(w["interval_ns"] for w in d)')
run "$rawprof" cpu -p "$known" -F 499 --format json -o "$tmp/cpu.json" 4
samples=$(python3 -c "import json; p = json.load(open('$tmp/cpu.json')); print(sum(s['values'][0] for s in p['samples']))" 2>/dev/null)
holds 'CPU time is never more than the time' "$cpu > 0 && $cpu <= 1.1 * $wall && 0${samples:-0} > 0"

# ---- what is dear is measured in slices
"$work/pingpong" 300 >/dev/null & # switches as fast as they come
dear=$!
# Slices of some 5 ms stand for 200 times as much; on a busy machine pingpong runs in some of them and not in others,
# and one whose host is busy too may stand still for most of the time.
slices="[w for w in d[2:] if w['waits'] and w['machine']['context_switches']]"
for _ in 1 2 3; do
	run "$rawprof" top -i 1 -d 9.2
	[ "$(json "len($slices)")" -gt 2 ] && break
done
has 'waits that are many are measured in slices' "$out" '"source":"waits","state":"runs in slices"'
holds 'and stand for all of them' "$(json "len($slices)") > 2 &&
	$(json "sum(r['waits'] for w in $slices for r in w['waits'])") > 0.02 * $(json "sum(w['machine']['context_switches'] for w in $slices)") &&
	$(json "sum(r['waits'] for w in $slices for r in w['waits'])") < 20 * $(json "sum(w['machine']['context_switches'] for w in $slices)")"
kill "$dear"
wait "$dear" 2>/dev/null

# ---- BPF programs
nice -n -10 "$work/bpfloop" >"$tmp/loop" 2>"$err" &
loop=$!
run "$rawprof" top --bpf -F 499 -i 1 -d 5 -n 4096
id=$(sed -n 1p "$tmp/loop")
has 'the hot line of a program, by its BTF' "$out" "\"id\":$id,\"name\":\"bpfloop\"[^}]*\"line\":\"bpfloop.src:20: HOT line\""
has 'its own programs too' "$out" '"name":"cpu_sample"'
rows="[r for w in d for r in w['bpf'] if r['id'] == $id]"
holds 'runs of the windows are what the total grew by' \
	"$(json "sum(r['runs'] for r in ${rows}[1:])") == $(json "${rows}[-1]['run_cnt'] - ${rows}[0]['run_cnt']")"
kill -USR1 "$loop"
for ((i = 0; i < 100 && $(wc -l <"$tmp/loop") < 2; i++)); do sleep 0.1; done
run "$rawprof" top --bpf -i 0.5 -d 1.2 -n 4096
is 'runs and their time as bpf_prog_info has them' "$(json "'%u %u' % (${rows}[-1]['run_cnt'], ${rows}[-1]['run_time_ns'])")" \
	"$(sed -n 2p "$tmp/loop")"
kill "$loop"
wait "$loop" 2>/dev/null

# ---- what makes no sense
run "$rawprof" top -- true
is 'no program' "$status" 2
run "$rawprof" top -o "$tmp/x.json" -d 1
is 'no file' "$status" 2
finish
