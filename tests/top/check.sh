#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof top in tmux, beside the commands whose tables it shows, and beside bpftool with programs of bpftrace's.
. "$(dirname "$0")/../cli/lib.sh"
need_profile
socket=rawprof-$$
tm() { tmux -L "$socket" "$@"; }
top_cleanup() {
	tm kill-server 2>/dev/null
	cleanup
}
trap top_cleanup EXIT

# ---- a terminal of tmux's: screens, keys, ends

screen() { tm capture-pane -p -t "$pane"; }
# sees NAME REGEX: the screen shows it, sooner or later.
sees() {
	local i
	for ((i = 0; i < 300; i++)); do
		if screen | grep -qE -- "$2"; then
			ok "$1"
			return
		fi
		sleep 0.1
	done
	screen >"$out"
	fail "$1" "no /$2/ on the screen"
}
keys() { tm send-keys -t "$pane" "$@"; }
# value FORMAT: what tmux knows of the pane.
value() { tm display-message -p -t "$pane" "$1"; }
# become NAME FORMAT VALUE: waits until tmux says so.
become() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ "$(value "$2")" = "$3" ] && break
		sleep 0.1
	done
	is "$1" "$(value "$2")" "$3"
}
ended() { ! kill -0 "$1" 2>/dev/null; }
# waits_for_end NAME PID
waits_for_end() {
	local i
	for ((i = 0; i < 200; i++)); do
		ended "$2" && break
		sleep 0.1
	done
	if ended "$2"; then ok "$1"; else fail "$1" "process $2 is there"; fi
}
# begin COLUMNS ROWS: a shell in a terminal, its settings in $tmp/before, and top in it; its process is $top.
begin() {
	pane=t$((${pane#t} + 1))
	last_command="top in tmux, $1x$2"
	rm -f "$tmp/before"
	tm -f /dev/null new-session -d -s "$pane" -x "$1" -y "$2" -c "$tmp" 'env PS1="shell> " bash --norc --noprofile'
	shell=$(value '#{pane_pid}')
	sees "$1x$2: a shell" 'shell>'
	keys "stty -a >$tmp/before; $rawprof top -F 199; echo status \$?; stty -a >$tmp/after" Enter
	sees "$1x$2: the first window" 'load [0-9]'
	top=$(pgrep -P "$shell")
}
# as_before NAME STATUS
as_before() {
	sees "$1: status" "^status $2"
	become "$1: the screen of before" '#{alternate_on}' 0
	is "$1: the cursor is there" "$(value '#{cursor_flag}')" 1
	for ((i = 0; i < 100; i++)); do [ -s "$tmp/after" ] && break || sleep 0.1; done
	is "$1: stty -a" "$(cat "$tmp/after")" "$(cat "$tmp/before")"
	rm -f "$tmp/after"
	keys "exit" Enter
}

in_tmux() {
	pane=t0
	"$work/split" 200 >/dev/null &
	local busy=$! size
	for size in '80 24' '200 50'; do
		# shellcheck disable=SC2086 # two words
		begin $size
		become "$size: a second screen" '#{alternate_on}' 1
		is "$size: no cursor" "$(value '#{cursor_flag}')" 0
		sees "$size: who" "$busy split"
		is "$size: no line is cut" "$(screen | sed -n '2,5p' | grep -c '~')" 0
		keys '?' && sees "$size: ?" '^rawprof top: keys' && keys '?'
		keys c && sees "$size: c" 'work_60' && keys n && sees "$size: n" "TID .*COMMAND"
		keys w && sees "$size: w" '^REASON' && keys l && sees "$size: l" 'locks waited for'
		keys d && sees "$size: d" '^DISK' && keys s && sees "$size: s" '^CALL' && keys t && sees "$size: t" 'run queue'
		keys m && sees "$size: m" 'BYTES/s' && keys b && sees "$size: b" 'cpu_sample'
		keys x && sees "$size: x" 'stopped|all the time' && keys o && sees "$size: o" 'REASON'
		keys Tab && sees "$size: Tab" '^processes' && keys '<' && sees "$size: <" 'sorted by' && keys '>' && keys r
		keys / && sees "$size: /" 'only rows with' && keys -l "$busy" && keys Enter && sees "$size: only" "only $busy"
		sees "$size: the filter's rows" "$busy split" && keys Enter && sees "$size: a process" "process $busy"
		keys c && sees "$size: its functions" 'of this process' && keys Escape && sleep 0.3 && keys Escape && sleep 0.3 && keys Escape
		keys p && keys Down && keys Up && keys End && keys Home && keys Space && sees "$size: Space" 'PAUSED, 0 of'
		keys Left && sees "$size: Left" 'PAUSED, [1-9][0-9]* of' && keys Right && keys Space
		tm resize-window -t "$pane" -x 132 -y 43 && become "$size: resized" '#{pane_width}' 132 && sees "$size: wider" 'MOSTLY IN'
		keys f && sees "$size: f" 'flame graph of' && keys -l 10 && keys Enter && sees "$size: a file" 'svg: [1-9][0-9]* samples'
		keys h && sees "$size: h" 'HTML page of' && keys Enter && sees "$size: a page" 'html: [1-9][0-9]* samples'
		# shellcheck disable=SC2086
		set -- $size
		tm resize-window -t "$pane" -x "$1" -y "$2" && become "$size: as wide as before" '#{pane_width}' "$1"
		# The pane's terminal gets its size a moment after tmux has it.
		for ((i = 0; i < 100; i++)); do [ "$(stty -F "$(value '#{pane_tty}')" size)" = "$2 $1" ] && break || sleep 0.1; done
		keys q
		as_before "$size: q" 0
	done
	local svg
	for svg in "$tmp"/*.svg; do
		holds 'an SVG that is XML, with the hot function' \
			"$(python3 -c "import xml.etree.ElementTree as x; x.parse('$svg'); print(open('$svg').read().count('work_60'))") > 0"
	done
	holds 'pages that end' "$(grep -l '</html>' "$tmp"/*.html | wc -l) >= 2"
	for signal in TERM HUP; do
		begin 80 24
		kill -$signal "$top"
		as_before "SIG$signal" $((128 + $(kill -l $signal)))
	done
	begin 80 24
	tm kill-pane -t "$pane"
	waits_for_end 'the terminal is closed: it ends' "$top"
	begin 80 24
	kill -9 "$shell"
	waits_for_end 'its shell is killed: it ends' "$top"
	kill "$busy"
	wait "$busy" 2>/dev/null
}
if command -v tmux >/dev/null && have_python; then in_tmux; else skip 'top in a terminal' 'no tmux, or no python3'; fi

# ---- beside the commands, all of them over the same time

# of EXPRESSION: of the lines of JSON that top printed (d), and of what the command did (c).
of() { python3 -c "import json; d = [json.loads(l) for l in open('$tmp/top')]; c = json.load(open('$tmp/one'))
def rows(table): return [r for w in d for r in w[table] or []]
def column(name): return [dict(zip([k['key'] for k in c['columns']], r)) if isinstance(r, list) else r for r in c['rows']]
print($1)" 2>"$err"; }
# beside COMM COMMAND... -- PROGRAM...: top and the command look at PROGRAM from before its beginning to behind its end.
beside() {
	local comm=$1 command=() a b
	shift
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	last_command="top beside ${command[*]}"
	"$rawprof" top --always --comm "$comm" -F 499 -n 4096 --format json -v >"$tmp/top" 2>"$tmp/top.err" &
	a=$!
	recording "${command[@]}" --comm "$comm" --format json -o "$tmp/one" -v
	b=$recorder
	for ((i = 0; i < 600; i++)); do [ "$(wc -l <"$tmp/top")" -gt 1 ] && break || sleep 0.1; done
	"$@" >"$tmp/said"
	sleep 1
	kill -INT "$a" "$b"
	wait "$a" "$b"
}
if have_python; then
	beside syscaller trace --syscalls -- "$work/syscaller" 20000
	is 'system calls: all of them' "$(of "sum(r['calls'] for r in rows('syscalls') if r['syscall'] == 'getppid')")" 40000
	is 'as trace --syscalls has them' "$(of "sum(r['calls'] for r in rows('syscalls') if r['syscall'] == 'openat')")" \
		"$(of "sum(r['calls'] for r in column('calls') if r['syscall'] == 'openat')")"
	beside split cpu -F 499 -- "$work/split" 4
	holds 'CPU time, s' "$(of "sum(r['cpu_ns'] for r in rows('processes')) / 1e9") > 3.7"
	near 'as cpu has it' "$(of "sum(r['cpu_ns'] for r in rows('processes')) / 1e9")" \
		"$(of "sum(s['values'][1] for s in c['samples']) / 1e9")" 0.3
	beside naps offcpu -K -- "$work/naps" 4 3
	near 'waits, s' "$(of "sum(r['wait_ns'] for r in rows('waits')) / 1e9")" "$(of "sum(s['values'][1] for s in c['samples']) / 1e9")" 0.3
	beside asker lock -- "$work/lockpair" mutex 40 20
	near 'locks, s' "$(of "sum(r['wait_ns'] for r in rows('locks') if r['type'] in ('mutex', 'umutex')) / 1e9")" \
		"$(awk '{ print $1 / 1e6 }' "$tmp/said")" 0.1
	beside mem_many mem --faults -- "$work/mem_many" 1000000
	near 'memory that becomes resident, pages' "$(of "sum(r['bytes'] for r in rows('memory')) // 4096")" \
		"$(of "sum(s['values'][1] for s in c['samples']) // 4096")" 300
else
	skip 'top beside the commands' 'no python3'
fi

# ---- BPF programs of others, as bpftool has them

if ! command -v bpftool >/dev/null || ! command -v bpftrace >/dev/null || ! have_python; then
	skip 'BPF programs beside bpftool' 'no bpftool, bpftrace or python3'
	finish
fi
probes=(sched:sched_switch sched:sched_wakeup sched:sched_process_fork sched:sched_process_exit raw_syscalls:sys_enter
	raw_syscalls:sys_exit syscalls:sys_enter_openat syscalls:sys_enter_close syscalls:sys_enter_read timer:timer_start)
text=$(for p in "${probes[@]}"; do echo "tracepoint:$p { @n[\"$p\"] = count(); }"; done)
bpftool -j prog show | python3 -c "import json, sys; print(*[p['id'] for p in json.load(sys.stdin)], sep='\n')" | sort >"$tmp/there"
bpftrace -e "$text" >"$tmp/trace" 2>&1 &
tracer=$!
for ((i = 0; i < 600; i++)); do grep -q 'Attaching' "$tmp/trace" && break || sleep 0.1; done
# programs: id run_cnt run_time_ns of those that came since and are named as the probes are.
programs() {
	bpftool -j prog show | python3 -c "import json, sys
old = set(open('$tmp/there').read().split())
names = [p.split(':')[1][:15] for p in '${probes[*]}'.split()]
for p in json.load(sys.stdin):
    if str(p['id']) not in old and p['type'] == 'tracepoint' and p.get('name') in names:
        print(p['id'], p.get('run_cnt', 0), p.get('run_time_ns', 0))"
}
for ((i = 0; i < 600; i++)); do [ "$(programs | wc -l)" -ge 10 ] && break || sleep 0.1; done
last_command='top --bpf beside bpftool, ten programs of bpftrace'
"$rawprof" top --bpf -i 0.5 -n 4096 --format json >"$out" 2>"$err" &
top=$!
for ((i = 0; i < 600; i++)); do [ "$(wc -l <"$out")" -gt 2 ] && break || sleep 0.1; done
# bpftool looks before and behind a window: what the window shows is between.
# wait_lines N: until top has printed so many.
wait_lines() { for ((i = 0; i < 600; i++)); do [ "$(wc -l <"$out")" -ge "$1" ] && break || sleep 0.1; done; }
lines=$(wc -l <"$out")
programs >"$tmp/first"
lines="$lines $(wc -l <"$out")"
wait_lines $((${lines#* } + 4))
second=$(wc -l <"$out")
programs >"$tmp/second"
second="$second $(wc -l <"$out")"
wait_lines $((${second#* } + 1))
kill -INT "$top"
wait "$top"
kill -INT "$tracer"
wait "$tracer" 2>/dev/null
is 'ten programs' "$(wc -l <"$tmp/first")" 10
python3 - "$out" "$tmp/first" "$tmp/second" "$lines" "$second" >"$tmp/verdict" <<'P'
import json, sys
d = [json.loads(l) for l in open(sys.argv[1])]
table = lambda f: {int(l.split()[0]): [int(x) for x in l.split()[1:]] for l in open(f)}
first, second = table(sys.argv[2]), table(sys.argv[3])
lines, end = ([int(n) for n in a.split()] for a in sys.argv[4:6])
at = lambda w: {r["id"]: (r["run_cnt"], r["run_time_ns"]) for r in d[w]["bpf"]}
# the last line before a look of bpftool's, and the first behind it
before, after, later, last = at(lines[0] - 1), at(lines[1]), at(end[0] - 1), at(end[1])
for i in first:
    for n, what in enumerate(("run_cnt", "run_time_ns")):
        # each of bpftool's looks lies between two windows of top's
        print("ok" if before[i][n] <= first[i][n] <= after[i][n] and later[i][n] <= second[i][n] <= last[i][n] else "BAD",
              i, what, before[i][n], first[i][n], after[i][n], later[i][n], second[i][n], last[i][n])
        grown = sum(r["runs" if not n else "run_ns"] for w in d[1:] for r in w["bpf"] if r["id"] == i)
        print("ok" if grown == at(len(d) - 1)[i][n] - at(0)[i][n] else "BAD", i, what, "sum of the windows", grown)
P
holds 'run_cnt and run_time_ns, of each program at both ends, and their windows' "$(grep -c ^ok "$tmp/verdict") == 40"
grep BAD "$tmp/verdict"
finish
