#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Bad input: a message that says what is wrong, the right exit status, and no crash.
. "$(dirname "$0")/lib.sh"

# refused NAME STATUS MESSAGE ARGS...
refused() {
	run "$rawprof" "${@:4}"
	is "$1: status" "$status" "$2"
	has "$1: says why" "$err" "$3"
	is "$1: no result" "$(wc -c <"$out")" 0
}
refused 'unknown option' 2 'frobnicate' cpu --frobnicate
refused 'unknown short option' 2 'y' cpu -y
refused 'a misspelt option' 2 'no option --frmat; did you mean --format\?' cpu --frmat svg
refused 'a misspelt option with its value' 2 'no option --fromat; did you mean --format\?' cpu --fromat=svg
refused 'a value to an option that takes none' 2 '--lines takes no value' cpu --lines=3
refused 'a letter among others, behind a long option' 2 'no option -y$' cpu --lines -vyq
refused 'an option of its own, misspelt' 2 'did you mean --faults\?' mem --fautls
refused 'a misspelt command' 2 "did you mean 'offcpu'\?" ofcpu
refused 'a duration given twice' 2 "duration is given twice: 1 s and '2'" cpu -d 1 2
refused 'a word to doctor' 2 "'foo' is not for it" doctor foo
refused 'two durations' 2 "duration is given twice: 1 s and '2'" cpu 1 2
refused 'unknown command' 2 'cpuu' cpuu
refused 'option without its value' 2 '(-p|--pid).* wants a value' cpu -p
refused 'unknown format' 2 'jpeg' cpu --format jpeg
refused 'a format without stacks' 2 'holds figures and no stacks' cpu --format prometheus 1
refused 'a frequency that is none' 2 'often' cpu -F often
refused 'frequency 0' 2 '0' cpu -F 0 -d 1
refused 'a duration that is none' 2 'soon' cpu -d soon
refused 'a negative duration' 2 '-1' cpu -d -1
refused 'a pid that is none' 2 'x12' cpu -p x12 -d 1
refused 'a CPU list that is none' 2 '0-' cpu -C 0- -d 1
refused 'both -F and -c' 2 'either --freq or --count' cpu -F 99 -c 100 1
refused 'both -c and -F of wall' 2 'either --freq or --count' wall -c 100 -F 99 1
refused 'both -U and -K' 2 '-K|kernel' cpu -U -K -d 1

run "$rawprof"
is 'no command: status' "$status" 2
run "$rawprof" --version
is '--version: status' "$status" 0
has '--version: a number' "$out" '[0-9]+\.[0-9]+'
run "$rawprof" help
is 'help: status' "$status" 0
has 'help: lists cpu' "$out" '^ *cpu '
run "$rawprof" help cpu
is 'help cpu: status' "$status" 0
cp "$out" "$tmp/help"
run "$rawprof" cpu --help
is 'cpu --help is the same' "$(cat "$out")" "$(cat "$tmp/help")"
# The man page has every command, and the lists of options that the program has (`make man` writes them).
commands=$("$rawprof" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
for c in $commands; do
	has "the man page knows $c" docs/rawprof.1 "^\.B rawprof $c\$"
done
run diff <(RAWPROF=$rawprof scripts/man) docs/rawprof.1
is 'the options of the man page are those of the program' "$status $(cat "$out")" '0 '
for o in $(grep -oE -- '--[a-z][a-z-]+' "$tmp/help" | sort -u); do
	has "the man page knows $o" <(sed 's/\\-/-/g' docs/rawprof.1) "$o([^a-z-]|\$)"
done
run "$rawprof" agent --help
has 'the longest list of words is all there' "$out" 'goroutine, trace, none$'
# Help of each command: groups that are known, lines that fit, and each option is taken.
for c in $commands; do
	"$rawprof" help "$c" >"$tmp/help_$c"
	is "help $c: titles" "$(grep -E '^[A-Z][a-z]*$' "$tmp/help_$c" | grep -vxE 'View|Target|Sampling|Output|Examples')" ''
	is "help $c: the longest line" "$(awk 'length($0) > 100' "$tmp/help_$c")" ''
	for o in $(sed -nE 's/^  (-., )*( {4})?--([a-z-]+).*/\3/p' "$tmp/help_$c"); do
		"$rawprof" "$c" "--$o" 2 --frobnicate >"$out" 2>"$err" # 2: its value, or a word
		lacks "$c takes --$o" "$err" "no option --$o|of no use"
	done
done
for o in --pid --tid --cpu --cgroup --comm --freq --count --event --user --kernel --duration --format --output; do
	has "cpu --help names $o" "$tmp/help" "(^|[ ,])$o\b"
done

if ! can_profile; then
	run "$rawprof" cpu -d 0.1
	is 'without the right to profile: status' "$status" 1
	has 'without the right to profile: names it' "$err" 'CAP_(BPF|PERFMON|SYS_ADMIN)'
	skip 'bad input to a profile that runs' "$why_not"
	finish
fi

leaves_nothing_from_here
absent=$(($(cat /proc/sys/kernel/pid_max) - 1))
refused 'a pid that does not exist' 1 "$absent" cpu -p $absent -d 1
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
refused 'a frequency above the limit' 1 "$max|perf_event_max_sample_rate" cpu -F $((max + 1)) -d 1
refused 'a CPU that is not there' 1 "there is no CPU 4000: online are $(cat /sys/devices/system/cpu/online)\$" cpu -C 4000 -d 1
run "$rawprof" cpu -C 0,4000 -d 0.1
is 'a CPU that is not there, and one that is: status' "$status" 0
has 'a CPU that is not there, and one that is: says so' "$err" 'there is no CPU 4000: skipped$'
has 'a CPU that is not there, and one that is: the head counts those that are' "$out" ' on 1 CPU$'
# To rawprof, in a place where CPU 1 is not in the list.
echo 0,2-3,7 >"$tmp/online"
as_online='mount --bind "$1" /sys/devices/system/cpu/online && shift && exec "$@"'
if [ "$(cat /sys/devices/system/cpu/possible)" = 0 ]; then
	skip 'a CPU that is offline' 'there is but one CPU'
elif ! unshare -m sh -c "$as_online" sh "$tmp/online" true 2>/dev/null; then
	skip 'a CPU that is offline' 'unshare or mount cannot'
else
	run unshare -m sh -c "$as_online" sh "$tmp/online" "$rawprof" cpu -C 1 -d 0.1
	is 'a CPU that is offline: status' "$status" 1
	has 'a CPU that is offline: says which are not' "$err" 'CPU 1 is not online: online are 0,2-3,7$'
fi
refused 'a cgroup that is not there' 1 '/no/such/cgroup' cpu --cgroup /no/such/cgroup -d 1
refused 'an event that is not there' 1 'no-such-event' cpu -e no-such-event -d 1
lacks 'nor is one near' "$err" 'did you mean'
lacks 'no tracepoint is offered' "$err" 'tp:'
refused 'a tracepoint that is not there' 1 'did you mean sched:sched_switch' cpu -e sched:sched_swich -d 1
if "$rawprof" doctor | grep -q '^  yes  hw_cycles '; then
	skip 'a counter that the machine lacks' 'it has counters'
else
	refused 'a counter that the machine lacks' 1 'cache-misses.*this machine cannot measure that' cpu -e cache-misses 1
fi
refused 'a weight that cpu has not' 2 "no weight 'foo': there are samples, cpu" cpu --weight foo
refused 'a weight that mem has not' 2 "no weight 'foo': there are .*inuse_space" mem -k --weight foo
refused 'a program that is not there' 1 '/no/such/program' cpu -- /no/such/program
refused 'a directory that is not there' 1 '/no/such/dir' cpu -d 0.1 -o /no/such/dir/x.svg
refused 'a full disk' 1 'No space left' cpu -F 999 -o /dev/full --format folded -- "$work/split" 0.2

# Which way user stacks are walked: only unwind tables have a share of whole ones.
for way in eh fp; do
	run "$rawprof" cpu -F 999 --call-graph $way --format folded -o "$tmp/$way" -- "$work/split" 0.3
	cp "$err" "$tmp/err_$way"
done
run "$rawprof" cpu -F 999 --format folded -o "$tmp/best" -- "$work/split" 0.3
is '--call-graph eh: as without it' "$(grep -c 'user stacks:' "$tmp/err_eh")" "$(grep -c 'user stacks:' "$err")"
lacks '--call-graph fp: no unwind tables' "$tmp/err_fp" 'user stacks:'

# Not even as root may one write below /proc.
refused 'a directory that is read-only' 1 '/proc/x.svg' cpu -d 0.1 -o /proc/x.svg

# Standard output that is full, or that nobody reads any more.
last_command='cpu to a full standard output'
"$rawprof" cpu -F 999 --format folded -- "$work/split" 0.2 >/dev/full 2>"$err"
is 'standard output full: status' $? 1
has 'standard output full: says why' "$err" 'No space left'
# full STATUS ARGS...: as the one above; what a person is told is told once.
full() {
	last_command="$* to a full standard output"
	"$rawprof" "${@:2}" >/dev/full 2>"$err"
	is "full: ${*:2}: status" $? "$1"
	is "full: ${*:2}: says why, once" "$(grep -c 'cannot write .*: No space left on device$' "$err") $(
		grep -c 'No space\|put/output' "$err")" '1 1'
}
full 1 help
full 1 help cpu
full 1 cpu --help
full 1 --version
full 1 explain
full 1 doctor
full 1 io -i 0.2 0.5
full 1 io 0.2
full 1 offcpu --runq -i 0.2 0.5
full 1 lock -p $$ -i 0.2 0.5
full 1 lock 0.2
full 1 lock -p $$ --hist type -i 0.2 0.5
full 1 mem --processes -i 0.2 -- "$work/split" 0.5
full 1 mem --trace -- bash -c :
full 1 cpu --samples -F 999 -- "$work/split" 0.2
full 1 io --log 0.3
last_command='cpu | head'
"$rawprof" cpu -F 4999 --samples -- "$work/split" 2 2>"$err" | head -n 1 >"$out"
is 'a reader that went away' "${PIPESTATUS[0]} $(wc -l <"$out")" "141 1"
lacks 'a reader that went away: no crash' "$err" 'Segmentation|Sanitizer|Abort'

if command -v setpriv >/dev/null; then
	run setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$rawprof" cpu -d 0.1
	is 'without capabilities: status' "$status" 1
	has 'without capabilities: names one' "$err" 'CAP_(BPF|PERFMON|SYS_ADMIN)'
	has 'without capabilities: says what to give' "$err" 'setcap cap_bpf,cap_perfmon[a-z_,]*\+ep'
	keep=-all,+bpf,+perfmon,+syslog,+sys_ptrace,+dac_read_search
	if setpriv --bounding-set=$keep true 2>/dev/null; then
		run setpriv --bounding-set=$keep --inh-caps=-all "$rawprof" cpu -F 999 --format folded -- "$work/split" 1
		is 'with the capabilities it needs and no other: status' "$status" 0
		near 'with the capabilities it needs and no other' "$(share "$out" ';work_60( |;)')" 60 8
		# A program that may be executed, but not opened.
		cp "$work/split" "$tmp/closed"
		"$tmp/closed" 60 >"$said" &
		until [ "$(readlink /proc/$!/exe)" = "$tmp/closed" ]; do sleep 0.1; done
		chmod 0 "$tmp/closed"
		for command in 'mem' 'lock --hold'; do
			if ! "$rawprof" doctor | grep -q '^  yes  uprobe '; then
				skip "$command: a program that cannot be opened" 'no uprobes'
				continue
			fi
			# shellcheck disable=SC2086 # a command and its option
			run setpriv --bounding-set=-all,+bpf,+perfmon,+syslog,+sys_ptrace --inh-caps=-all \
				"$rawprof" $command -p $! 0.1
			is "$command: a program that cannot be opened: status" "$status" 0
			has "$command: a program that cannot be opened: what follows" "$err" \
				"process $!: 1 file with code of it cannot be opened: .* there are not .*; run rawprof as root"
		done
		kill $!
		wait $! 2>/dev/null
	else
		skip 'with the capabilities it needs and no other' 'setpriv does not know them'
	fi
else
	skip 'without capabilities' 'setpriv is not installed'
fi

# --sort names a column of what will be shown, before anything is recorded.
for words in 'offcpu' 'mem -k' 'io --stacks' 'cpu' 'wall' 'lock --stacks'; do
	# shellcheck disable=SC2086 # a command and its option
	refused "$words: no column" 2 "no column 'foo': there are self, total\$" $words --sort foo 1
done
refused 'trace --syscalls: no column' 2 "'foo': there are syscall, calls," trace --syscalls --sort foo 1
refused 'lock: no column' 2 "'foo': there are type, lock," lock --sort foo 1
refused 'io --processes: no column' 2 "'foo': there are pid, comm," io --processes --sort foo 1
refused 'mem --processes: no column' 2 "'foo': there are pid, comm," mem --processes --sort foo -- "$work/split" 1
refused 'histograms have no columns' 2 'sort is for tables' offcpu --runq --sort total 1
refused 'a field that the event lacks' 2 "no number or string 'bogus'" trace --count bogus sched:sched_switch 1
refused 'func: no column' 2 "'foo': there are function, calls," func --sort foo "$work/split:work_60" -- "$work/split" 1
refused 'func --stacks: no column' 2 "'foo': there are self, total\$" func --stacks --sort foo "$work/split:work_60" -- "$work/split" 1
refused 'func -K: what it leaves out' 1 'is a function of a program, which --kernel leaves out' func -K "$work/split:work_60" 1
refused 'func: short names are not near' 1 "':zzz': no such function .* perhaps it is inlined into others\$" func :zzz -- "$work/split" 1

leaves_nothing
# A saved table too.
"$rawprof" offcpu -q -o "$tmp/wait.rawprof" -- sleep 0.1
refused 'report: no column' 2 "no column 'foo': there are self, total\$" report --sort foo "$tmp/wait.rawprof"
refused 'report --by: no column' 2 "'foo': there are share, " report --by comm --sort foo "$tmp/wait.rawprof"
refused 'record stat' 2 'counts are no profile' record stat -- true
refused 'formats are those of the command' 2 "no format 'x'; there are: table json chrome prometheus\$" trace --format x

# Help has what the command takes, and no more.
is 'help stat: -a once' "$("$rawprof" help stat | grep -c '^ *-a')" 1
for o in --title --reverse --weight --folded; do
	lacks "help trace: no $o" <("$rawprof" help trace) "^.*$o( |$)"
done
has 'help record: all that record' <("$rawprof" help record) 'func\|gpu'
has 'help trace: its own endings' <("$rawprof" help trace) '\.json and \.chrome\.json choose'

# What a command or a view would not use is refused.
for words in 'doctor -d 5' 'doctor -o x' 'doctor --format svg' 'doctor -p 1' 'explain -d 5' 'io --lines' 'io -U' \
	'io --log --max-stack 5' 'offcpu --runq --call-graph fp'; do
	# shellcheck disable=SC2086 # they are words
	run "$rawprof" $words
	is "$words: status" $status 2
	has "$words: says so" "$err" 'of no use|has the formats|are for --stacks|has no stacks|no program|no option'
done
finish
