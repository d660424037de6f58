#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof stat: counts that the program knows itself, beside perf's, in each form.
. "$(dirname "$0")/lib.sh"
need_profile

# value FIELD EVENT: of the CSV lines in $out: 1 the count, 4 nanoseconds, 5 percent, 6 the metric, 7 its unit.
value() { awk -F';' -v e="$2" -v n="$1" '$3 == e { print $n; exit }' "$out"; }
# counted ARGS...: the workload's own figures in $faults, $switches, $ns; counts as CSV in $out.
counted() {
	run "$rawprof" stat -x ';' -o "$tmp/csv" -e task-clock,page-faults,minor-faults,context-switches,cpu-migrations -- \
		"$work/counted" "$@"
	read -r faults switches ns <"$out"
	mv "$tmp/csv" "$out"
}

counted 0 0 0
none=$(value 1 page-faults)
counted 5000 300 200
near 'each page that is touched is a fault' "$(($(value 1 page-faults) - none))" 5000 8
holds 'minor faults are most of them' "$(value 1 minor-faults) > 5000 && $(value 1 minor-faults) <= $(value 1 page-faults)"
near 'as many faults as the program counts, and those of its start' "$(value 1 page-faults)" "$((faults + none))" 20
near 'as many switches as the program counts' "$(value 1 context-switches)" "$switches" 30
holds 'each nap is a switch' "$(value 1 context-switches) >= 300"
holds 'CPU time is what the program has used, and its start' \
	"$(value 1 task-clock) > $ns / 1e6 * 0.95 && $(value 1 task-clock) < $ns / 1e6 * 1.05 + 20"
is 'nothing took turns' "$(value 5 page-faults)" 100.00
is 'the unit of a clock' "$(value 2 task-clock) $(value 7 task-clock)" 'msec CPUs utilized'
# shellcheck disable=SC2154 # ns
holds 'events a second of CPU time' "$(value 4 task-clock) > 0 && $(value 1 page-faults) / $(value 1 task-clock) < 1.01 * $(value 6 page-faults)"

if perf stat -x ';' -e page-faults -o "$tmp/perf" true 2>/dev/null; then
	counted 3000 200 100
	cp "$out" "$tmp/ours"
	perf stat -x ';' -o "$tmp/perf" -e task-clock,page-faults,context-switches "$work/counted" 3000 200 100 >"$said"
	theirs() { awk -F';' -v e="$1" '$3 == e { print $1; exit }' "$tmp/perf"; }
	near "perf stat: page faults" "$(value 1 page-faults)" "$(theirs page-faults)" 8
	# Two runs; a busy machine takes the CPU from each as often as it likes, which each counts itself.
	ours=$switches
	read -r _ switches _ <"$said"
	near "perf stat: context switches" "$(value 1 context-switches)" "$(($(theirs context-switches) - switches + ours))" 40
	near "perf stat: task-clock" "$(value 1 task-clock)" "$(theirs task-clock)" 15
	is "perf stat: the fields of a line" "$(awk -F';' '$3 == "page-faults" { print NF }' "$tmp/ours")" \
		"$(awk -F';' '$3 == "page-faults" { print NF }' "$tmp/perf")"
	perf stat -r 2 -x ';' -o "$tmp/perf" -e page-faults true
	run "$rawprof" stat -r 2 -x ';' -e page-faults -- true
	is "perf stat: the fields of repeats" "$(awk -F';' '$3 == "page-faults" { print NF }' "$out")" \
		"$(awk -F';' '$3 == "page-faults" { print NF }' "$tmp/perf")"
else
	skip 'beside perf stat' 'no perf here: apt-get install linux-perf'
fi

run "$rawprof" stat -- sh -c "$work/counted 1000 0 0; exit 7"
is 'the status of the program' "$status" 7
has 'children are counted' "$out" '^ +1,[0-9]{3} +page-faults +[0-9.]+ [KM]?/sec$'
has 'the time it took' "$out" '^ +0\.[0-9]{6} s +user$'
if [ ! -e /sys/bus/event_source/devices/cpu ] && [ ! -e /sys/bus/event_source/devices/armv8_pmuv3 ]; then
	is 'no hardware counters: said once' "$(grep -c 'no hardware counters here' "$err")" 1
	lacks 'no hardware counters: not shown' "$out" 'cycles|branches'
	run "$rawprof" stat -e cycles,page-faults -- true
	has 'an event that was asked for, and is not here' "$out" '^ +<not supported> +cycles$'
	is 'and the others are counted: status' "$status" 0
fi
run "$rawprof" stat -x ';' -e page-faults -e context-switches,cpu-clock -- true
is 'a list that goes on' "$(cut -d ';' -f 3 "$out" | xargs)" 'page-faults context-switches cpu-clock'

# Of n rounds: the mean, and its standard error.
run "$rawprof" stat -r 4 --format json -e page-faults,task-clock -- sh -c "n=\$(cat $tmp/n 2>/dev/null || echo 0);
	echo \$((n + 1)) >$tmp/n; $work/counted \$((1000 * n)) 0 0"
grep -v '^[0-9 ]*$' "$out" >"$tmp/json" # 0, 1000, 2000, 3000 pages more: standard error 645.5
if have_python; then
	python3 - "$tmp/json" >"$said" <<-'EOF'
		import json, sys
		d = json.load(open(sys.argv[1]))
		e = {x['event']: x for x in d['events']}['page-faults']
		print(d['runs'], d['exit_status'], e['status'], e['unit'], round(e['spread'] * e['value']))
		print(round(e['value']))
	EOF
	near '--repeat: the standard error of the mean' "$(sed -n '1s/.* //p' "$said")" 645 4
	is '--repeat: what else it says' "$(sed -n '1s/ [0-9]*$//p' "$said")" '4 0 counted count'
	run "$rawprof" stat -i 0.1 --format json -a -e cpu-clock 0.35
	python3 - "$out" >"$said" <<-'EOF'
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		print(len(lines), all(l['events'][0]['value'] > 0 for l in lines), lines[-1]['time_s'] >= 0.35)
	EOF
	is '-i: an object in each line' "$(cat "$said")" '4 True True'
else
	skip '--repeat: the standard error, and JSON' 'no python3 with json'
fi

run "$rawprof" stat -x ';' -I 100 -e page-faults -o "$tmp/csv" -- "$work/counted" 2000 2000 0
is '-I: the parts add up' "$(awk -F';' '{ n += $2 } END { print (n > 2000 && n < 2200) }' "$tmp/csv")" 1
holds '-I: there are some' "$(wc -l <"$tmp/csv") >= 3"

run "$rawprof" stat -x ';' -A -e cpu-clock,context-switches 0.3
is '--per-cpu: a line for each' "$(grep -c cpu-clock "$out")" "$(nproc)"
near '--per-cpu: each for the whole time' "$(awk -F';' '$4 == "cpu-clock" { print $7 }' "$out" | sort -n | head -n 1)" 1 0.02
run "$rawprof" stat -x ';' -A -e task-clock -o "$tmp/csv" -- taskset -c 0 "$work/counted" 0 0 50
holds '--per-cpu of a program: where it ran' "$(awk -F';' '$1 == "CPU0" { print $2 }' "$tmp/csv") > 49"

"$work/counted" 0 100000 0 2 >"$said" &
pid=$!
sleep 0.1
run "$rawprof" stat --per-thread -p $pid -x ';' -e context-switches 0.3
is '--per-thread: a line for each' "$(grep -c "^counted-" "$out")" "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)"
holds '--per-thread: one of them naps' "$(awk -F';' '{ n += $2 } END { print n }' "$out") > 50"
run "$rawprof" stat -p $pid -x ';' -e context-switches,sched:sched_switch 0.3
near 'a tracepoint: as the counter' "$(value 1 context-switches)" "$(value 1 sched:sched_switch)" 4
run "$rawprof" stat --comm 'count*' -x ';' -e context-switches 0.2
holds '--comm' "$(value 1 context-switches) > 20"
kill $pid
cp "$work/counted" "$tmp/x\",y"
"$tmp/x\",y" 0 100000 0 2 >"$said" &
pid=$!
sleep 0.1
run "$rawprof" stat --per-thread -p $pid -x , -e context-switches 0.2
has '--per-thread: a quote in a name, and the separator' "$out" "^\"x\"\",y-$pid\",[0-9]+,,context-switches,"
kill $pid
wait $pid 2>/dev/null

group=$(for d in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ "$(stat -fc %T $d 2>/dev/null)" = cgroup2fs ] && mkdir $d/rawprof-test-$$ 2>/dev/null && echo $d/rawprof-test-$$ && break
done)
if [ -n "$group" ]; then
	run "$rawprof" stat --cgroup "$group" -x ';' -e context-switches,page-faults -o "$tmp/csv" -- \
		sh -c "echo \$\$ >$group/cgroup.procs; exec $work/counted 1000 100 0"
	cp "$tmp/csv" "$out"
	holds '--cgroup: what runs in it' "$(value 1 page-faults) >= 1000 && $(value 1 page-faults) < 1300 && $(value 1 context-switches) >= 100"
	run "$rawprof" stat --cgroup "$group" -x ';' -e page-faults -o "$tmp/csv" -- "$work/counted" 1000 0 0
	cp "$tmp/csv" "$out"
	holds '--cgroup: and nothing else' "$(value 1 page-faults) < 100"
	rmdir "$group"
else
	skip '--cgroup' 'no version 2 hierarchy to make a group in'
fi

"$rawprof" stat -- sleep 20 >"$out" 2>"$err" &
pid=$!
sleep 0.4
kill -INT $pid
wait $pid
is 'Ctrl-C: status' "$?" 0
has 'Ctrl-C: prints' "$out" 'task-clock'

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] && [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$tmp"
	cp "$rawprof" "$work/counted" "$tmp"
	run setpriv --reuid 65534 --clear-groups --bounding-set=-all "$tmp/rawprof" stat -x ';' -e page-faults,context-switches -- \
		"$tmp/counted" 1000 0 0
	sed -i 1d "$out"
	holds 'without rights: user mode is counted' "$(value 1 page-faults) >= 1000"
	is 'without rights: what is not' "$(value 1 context-switches)" '<not permitted>'
	has 'without rights: what to set' "$err" 'sysctl kernel.perf_event_paranoid=1'
	run setpriv --reuid 65534 --clear-groups --bounding-set=-all "$tmp/rawprof" stat -a 0.1
	is 'without rights, the whole machine: status' "$status" 1
	has 'without rights, the whole machine: what to do' "$err" 'perf_event_paranoid is 2.*CAP_PERFMON'
else
	skip 'without rights' 'not root, or kernel.perf_event_paranoid is not 2'
fi

# refused NAME STATUS MESSAGE ARGS...
refused() {
	run "$rawprof" stat "${@:4}"
	is "$1: status" "$status" "$2"
	has "$1: says why" "$err" "$3"
}
refused 'an event misspelt' 1 'did you mean cycles\?' -e cylces -- true
refused 'a tracepoint misspelt' 1 'did you mean sched:sched_switch\?' -e sched:sched_swich -- true
refused 'a PMU that is not there' 1 "no PMU .cpuu'" -e cpuu/event=1/ -- true
refused 'a modifier that is none' 1 "'?z' are no modifiers" -e cycles:z -- true
refused 'a group that does not end' 1 'written \{a,b\}' -e '{cs,faults' -- true
refused 'no tracepoint of a glob' 1 'no tracepoint' -e 'sched:nope*' -- true
refused '--repeat without a program' 2 'wants one behind --' -r 3 1
refused '--per-thread of what is not there yet' 2 'threads that there are' --per-thread -- true
refused 'another format' 2 'formats table and json' --format svg -- true
refused 'a group of nothing' 1 'control group /nowhere' --cgroup /nowhere 1
finish
