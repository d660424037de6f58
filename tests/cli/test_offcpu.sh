#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof offcpu: programs of which it is known where they wait, and for how long.
. "$(dirname "$0")/lib.sh"

# ---- without any right

run "$rawprof" offcpu --state Q 1
is '--state of nothing: status' "$status" 2
has '--state of nothing: says what there is' "$err" 'S D T t P I R'
run "$rawprof" offcpu --min-block 5 --max-block 1 1
is '--max-block below --min-block: status' "$status" 2
run "$rawprof" offcpu --runq --wakers 1
is '--runq and --wakers: status' "$status" 2
run "$rawprof" offcpu --by cpu 1
is '--by without --runq: status' "$status" 2
run "$rawprof" offcpu --runq --by moon 1
has '--by something else: says what there is' "$err" 'cpu or process'
run "$rawprof" offcpu --min-block -1 1
is 'a negative --min-block: status' "$status" 2
need_profile

# off ARGS...: waits as folded stacks in $out, in microseconds; what the program prints in $said.
off() {
	run "$rawprof" offcpu --format folded -o "$tmp/folded" "$@"
	mv "$out" "$said"
	mv "$tmp/folded" "$out"
	[ $status -eq 0 ] || fail "rawprof offcpu $*" "status $status"
}
# us FILE REGEX: microseconds in stacks that match.
us() { RE=$2 awk '$0 ~ ENVIRON["RE"] { n += $NF } END { print n + 0 }' "$1"; }
# within NAME ACTUAL EXPECTED PERCENT: of the expected.
within() { near "$1" "$2" "$3" "$(awk "BEGIN { print $3 * $4 / 100 }")"; }

# ---- each wait by its stack and thread, within 2 %

leaves_nothing_from_here
off -- "$work/waits" 2
ledger_closes 'waits'
is 'waits: nothing is lost' "$(ledger LOST)" 0
while read -r name _ waited burnt _; do
	if [ "$name" = burn ]; then
		holds "burn: what is burnt is no wait" "$(us "$out" '^burn;') < 0.1 * $waited"
		continue
	fi
	expected=$((waited - burnt))
	[ "$name" = vfork ] || within "$name: its thread" "$(us "$out" "^$name;")" "$expected" 2
	within "$name: in its function" "$(us "$out" "^$name;.*;start_thread;run;wait_$name;.*;schedule;__schedule ")" \
		"$([ "$name" = vfork ] && us "$out" '^vfork;' || echo $expected)" 2
done <"$said"
waited=$(awk '$1 == "vfork" { print $3 }' "$said")
within 'vfork: until the child ends' "$(us "$out" ';__vfork;.*;kernel_clone;')" "$waited" 2
near 'vfork: the child, by its own process' "$(us "$out" ';wait_vfork;usleep;')" "$waited" $((waited / 4))
has 'nap: named in the kernel' "$out" '^nap;.*;wait_nap;.*;hrtimer_nanosleep;'
has 'read: named in the kernel' "$out" '^read;.*;wait_read;.*;ksys_read;'
has 'futex: named in the kernel' "$out" '^futex;.*;wait_futex;.*;futex_wait;'
has 'poll: named in the kernel' "$out" '^poll;.*;wait_poll;.*;do_sys_poll;'
lacks 'no frame of ours' "$out" 'bpf_prog_|bpf_trace_run|__traceiter'
has 'user stacks are whole' "$err" 'user stacks: (9[0-9]|100)\.[0-9] % whole'

# ---- which waits

off --state D -- "$work/waits" 1
is '--state D: only the uninterruptible' "$(cut -d';' -f1 "$out" | sort -u | grep -v '^waits$')" vfork
holds '--state D: all of it' "$(us "$out" '^vfork;.*;__vfork;') > 800000"
ledger_closes '--state D'
off --state S -- "$work/waits" 1
lacks '--state S: no uninterruptible' "$out" ';__vfork;'
holds '--state S: the others' "$(us "$out" '^poll;') > 800000"
off --state 1 -- "$work/waits" 1
holds '--state 1: the bit of the kernel' "$(us "$out" '^poll;') > 800000 && $(us "$out" ';__vfork;') == 0"
off --state R -- "$work/waits" 1
holds '--state R: nobody waits' "$(us "$out" ';(wait_nap|wait_poll|wait_futex);') < 50000"
off --min-block 900 -- "$work/waits" 1
is '--min-block 900: naps are shorter' "$(us "$out" '^nap;')" 0
holds '--min-block 900: and told of' "$(sed -n 's/.*shorter \([0-9,]*\).*/\1/p' "$err" | tr -d ,) > 50"
ledger_closes '--min-block'
off --max-block 900 -- "$work/waits" 1
within '--max-block 900: naps are' "$(us "$out" '^nap;')" "$(awk '$1 == "nap" { print $3 }' "$said")" 2
off --max-block 1 -- "$work/waits" 1
is '--max-block 1: naps are longer' "$(us "$out" '^nap;.*;wait_nap;.*;hrtimer_nanosleep;')" 0
ledger_closes '--max-block'
off --weight contentions -- "$work/waits" 1
near '--weight contentions: one for each nap' "$(us "$out" '^nap;.*;wait_nap;.*;hrtimer_nanosleep;')" "$(awk '$1 == "nap" { print $5 }' "$said")" 1

# ---- who ends the wait

off --wakers -- "$work/waits" 2
ledger_closes '--wakers'
while read -r name _ waited burnt _; do
	case $name in
	nap | poll) by=';hrtimer_interrupt;.*;\[interrupt\] ' ;;
	read) by=';[a-z_]*pipe_write;.*;write;main;.*;waits ' ;;
	futex) by=';futex_wake;.*;syscall;main;.*;waits ' ;;
	*) continue ;;
	esac
	within "--wakers: $name" "$(us "$out" "^$name;.*;wait_$name;.*;schedule;__schedule;--;.*$by")" \
		$((waited - burnt)) 5
done <"$said"
has '--wakers: vfork by its child' "$out" '^vfork;.*;__vfork;.*;schedule;__schedule;--;.*;do_exit;.*;wait_vfork;.*;vfork '
is '--wakers: of the interrupted nothing' \
	"$(grep -E ';--;.*;asm_(sysvec|common)_' "$out" | grep -vcE ';asm_[a-z_]*;\[interrupt\] [0-9]+$')" 0
lacks '--wakers: no frame of ours' "$out" 'bpf_prog_|bpf_trace_run|__traceiter'
has '--wakers: user stacks are whole' "$err" 'user stacks: (9[0-9]|100)\.[0-9] % whole'

# ---- who sleeps before, after and all the time

"$work/sleeper" 30 &
pid=$!
sleep 0.2
off -p $pid -d 1
near 'asleep all the time: the whole second' "$(us "$out" '^sleeper;')" 1000000 150000
is 'asleep all the time: one stack' "$(wc -l <"$out")" 1
has 'asleep all the time: its whole stack' "$out" ';_start;__libc_start_main(_impl)?;(__libc_start_call_main;)?main;usleep;.*;hrtimer_nanosleep |__libc_start_main.*;main;usleep;.*;hrtimer_nanosleep '
ledger_closes 'asleep all the time'
off --wakers -p $pid -d 0.5
has '--wakers: who sleeps on still waits' "$out" '^sleeper;.*;main;usleep;.*;--;\[still waiting\] '
lacks '--wakers: nobody that ought to be seen' "$out" 'waker not seen'
ledger_closes '--wakers: asleep all the time'
off -t $pid -d 0.5
near 'by thread: half a second' "$(us "$out" '^sleeper;')" 500000 150000
off --comm 'sleep?r' -d 0.5
near 'by pattern: half a second' "$(us "$out" '^sleeper;')" 500000 150000
is 'by pattern: nobody else' "$(cut -d';' -f1 "$out" | sort -u)" sleeper
off --comm sleeper -K -d 0.5
lacks '-K: no user frames' "$out" ';main;'
off --comm sleeper -U -d 0.5
lacks '-U: no kernel frames' "$out" 'hrtimer_nanosleep'
has '-U: user frames' "$out" ';main;usleep;'
off --min-block 2000 -p $pid -d 0.5
is 'asleep for less than --min-block' "$(us "$out" '^sleeper;')" 0
ledger_closes 'asleep for less than --min-block'
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/rawprof-test-$$
if mkdir "$group" "$group/inner" 2>/dev/null && echo $pid >"$group/inner/cgroup.procs" 2>/dev/null; then
	off --cgroup "$group" -d 0.5
	near 'by control group above: half a second' "$(us "$out" '^sleeper;')" 500000 150000
	is 'by control group above: nobody else' "$(cut -d';' -f1 "$out" | sort -u)" sleeper
else
	skip 'by control group' 'cannot make one'
fi
kill $pid
wait $pid 2>/dev/null
rmdir "$group/inner" "$group" 2>/dev/null

# Killed asleep: that wait ends with the sleeper, not before who kills it has slept, and before the shell ends.
off -- sh -c "date +%s%N; $work/sleeper 30 & sleep 0.7; kill -9 \$!; wait; date +%s%N"
ns=$(grep -E '^[0-9]{18,}$' "$said" | awk 'NR == 1 { from = $0 } NR == 2 { printf "%d", $0 - from }')
holds 'killed asleep: until then' \
	"$(us "$out" '^sleeper;.*;main;usleep;') >= $(us "$out" '^sleep;.*;hrtimer_nanosleep;') - 150000 && $(us "$out" '^sleeper;.*;main;usleep;') <= $ns / 1000"
ledger_closes 'killed asleep'

# Falls asleep at once: before anybody knows its mappings.
off -- "$work/sleeper" 0.5
near 'asleep as soon as it runs' "$(us "$out" ';main;usleep;')" 500000 100000
off -- sh -c "$work/sleeper 0.3; $work/sleeper 0.3 & wait"
within 'children are followed' "$(us "$out" '^sleeper;.*;main;usleep;')" 600000 20
# With its first thread the kernel frees a task of the same process, which is not the end of it.
off -- sh -c "$work/renewed 0.4 & wait"
within 'and when a thread has executed another program' "$(us "$out" '^renewed;.*;main;usleep;')" 400000 30

# ---- the whole machine; ledger; formats

"$work/waits" 60 >"$said.waits" &
pid=$!
sleep 0.3
off -d 1
near 'whole machine: naps' "$(us "$out" '^nap;')" 1000000 150000
lacks 'whole machine: the idle task is nobody' "$out" '^swapper'
ledger_closes 'whole machine'
kill $pid
wait $pid 2>/dev/null

run "$rawprof" offcpu --format json -o "$tmp/as.json" -- "$work/waits" 0.5
if have_python; then
	is 'json: types' "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*[t["type"] + "/" + t["unit"] for t in d["value_types"]])' "$tmp/as.json" 2>&1)" 'contentions/count delay/nanoseconds'
else
	skip 'json: types' 'python3 is not installed'
fi
for f in svg html pprof perf speedscope; do
	run "$rawprof" offcpu --format $f -o "$tmp/as.$f" -- "$work/waits" 0.3
	is "$f: status" "$status" 0
	holds "$f: is written" "$(wc -c <"$tmp/as.$f") > 500"
done
run "$rawprof" offcpu -- "$work/waits" 0.3
has 'table: by time' "$out" '^contentions|shown by delay|contentions of sched_switch'
has 'table: the ledger' "$out" 'ledger: .* fired = .* kept \+ .* filtered'

# ---- two threads that switch as fast as they can

# With all states every switch takes a stack: the most that there is to do.
for states in S SDTtPIR; do
	off --state $states -- "$work/pingpong" 2
	# Without R those are not seen in which one was runnable: of other programs they are not told apart.
	[[ $states == *R* ]] && which=1 || which=2
	switches=$(sed -n "s/^\([0-9]*\) switches, \([0-9]*\) to wait/\\$which/p" "$said")
	ledger_closes "--state $states: as fast as they can"
	# The kernel counts those of the program alone, and so do we; its start and its end are not all of one mind.
	near "--state $states: every switch is seen, and no other ($((switches / 2)) a second)" \
		$(($(ledger KEPT) + $(ledger LOST))) "$switches" $((switches / 50))
	is "--state $states: nothing is lost" "$(ledger LOST)" 0
done

# ---- waits for a CPU

# Two that burn share one CPU: each waits while the other runs.
cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*: \([0-9]*\).*/\1/')
if [ -n "$cpu" ] && have_python; then
	run "$rawprof" offcpu --runq --by process --format json -o "$tmp/runq.json" -- \
		taskset -c "$cpu" sh -c "$work/split 0.7 & $work/split 0.7 & wait"
	read -r n sum lost <<<"$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
of = [h for h in d["histograms"] if h["labels"]["comm"] == "split"]
l = d["ledger"]
print(len(of), sum(h["sum"] for h in of) // 1000, l["fired"] - l["kept"] - sum(x["count"] for x in l["lines"] if x["fate"] == "filtered"))' "$tmp/runq.json" 2>&1)"
	is '--runq: nothing is lost, and the ledger closes' "$lost" 0
	is '--runq --by process: both' "$n" 2
	holds '--runq: each waits while the other runs' "$sum > 500000"
else
	skip '--runq' 'no taskset or no python3'
fi
run "$rawprof" offcpu --runq --by cpu -i 0.3 1
has '--runq -i: a part' "$out" '^[0-9:]+ .* waits of sched_switch in [0-9.]+ m?s'
has '--runq --by cpu: a CPU' "$out" '^cpu=[0-9]+$'
ledger_closes '--runq -i'
# One user has not all the places for processes, and those that end make room in a series. Root has all that there are, so
# of root's processes none is recorded but the shell.
# as USER ARGS...
as() { setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"; }
# shellcheck disable=SC2317 # called
in_turn() {
	as 65534 /usr/bin/python3 -I -S -c 'import os, time
for i in range(9000):
    if not os.fork():
        for j in range(3):
            time.sleep(1e-4)
        os._exit(0)
    os.wait()'
	as 65533 "$1" 0.1
}
export -f as in_turn
# beside ARGS...: one user has 9,000 processes, one after the other, and then another has one.
beside() {
	run "$rawprof" offcpu --runq --by process --format json "$@" -o "$tmp/runq.json" -- bash -c "in_turn '$tmp/other'"
	read -r n places lost gap <<<"$(python3 -c 'import json, sys
parts = [json.loads(line) for line in open(sys.argv[1])]
rows = [h for part in parts for h in part["histograms"]]
l = parts[-1]["ledger"]
print(sum(h["labels"]["comm"] == "other" for h in rows), len(rows), sum(x["count"] for x in l["lines"] if x["name"] == "too many processes"), l["gap"])' "$tmp/runq.json" 2>&1)"
}
cp "$(type -P sleep)" "$tmp/other"
chmod 755 "$tmp" "$tmp/other"
if have_python && as 65533 /usr/bin/python3 -c '' && as 65533 "$tmp/other" 0; then
	beside
	holds "--runq: one user has many processes: another's is there" "$n == 1"
	holds '--runq: one user has many processes: not all have a place' "$lost > 1000 && $places <= 7200 && $gap == 0"
	beside -i 0.5
	is '--runq -i: processes that end make room' "$lost $gap" '0 0'
	holds '--runq -i: processes that end make room: all are there' "$n >= 1 && $places >= 9000"
else
	skip '--runq: one user has many processes' 'cannot be another user here'
fi
run "$rawprof" offcpu --runq --format prometheus 0.3
has '--runq: for Prometheus' "$out" '^rawprof_runq_latency_seconds_count(\{\})? [0-9]+$'

# ---- a kernel without BTF

if unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf' 2>/dev/null; then
	# without_btf ARGS...: as off.
	without_btf() {
		run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' "$rawprof" offcpu "$@"
		[ $status -eq 0 ] || fail "no BTF: rawprof offcpu $*" "status $status"
	}
	without_btf --wakers --format folded -o "$tmp/folded" -- "$work/waits" 1
	mv "$out" "$said"
	mv "$tmp/folded" "$out"
	ledger_closes 'no BTF: --wakers'
	while read -r name _ waited burnt _; do
		case $name in
		nap | poll) by=';hrtimer_interrupt;.*;\[interrupt\] ' ;;
		read) by=';[a-z_]*pipe_write;.*;waits ' ;;
		futex) by=';futex_wake;.*;waits ' ;;
		*) continue ;;
		esac
		within "no BTF: --wakers: $name" "$(us "$out" "^$name;.*;schedule;__schedule;--;.*$by")" $((waited - burnt)) 5
	done <"$said"
	is 'no BTF: --wakers: of the interrupted nothing' \
		"$(grep -E ';--;.*;asm_(sysvec|common)_' "$out" | grep -vcE ';asm_[a-z_]*;\[interrupt\] [0-9]+$')" 0
	lacks 'no BTF: --wakers: no frame of ours' "$out" 'bpf_prog_|bpf_trace_run|__traceiter|perf_trace_|trace_call_bpf'
	run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' "$rawprof" offcpu --wakers -U 1
	is 'no BTF: --wakers -U: status' $status 1
	has 'no BTF: --wakers -U: says why' "$err" 'needs BTF'
	if have_python && [ -n "$cpu" ]; then
		without_btf --runq --by process --format json -o "$tmp/runq.json" -- \
			taskset -c "$cpu" sh -c "$work/split 0.5 & $work/split 0.5 & wait"
		read -r n sum lost <<<"$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
of = [h for h in d["histograms"] if h["labels"]["comm"] == "split"]
l = d["ledger"]
print(len(of), sum(h["sum"] for h in of) // 1000, l["fired"] - l["kept"] - sum(x["count"] for x in l["lines"] if x["fate"] == "filtered"))' "$tmp/runq.json" 2>&1)"
		is 'no BTF: --runq: nothing is lost, and the ledger closes' "$lost" 0
		is 'no BTF: --runq --by process: both' "$n" 2
		holds 'no BTF: --runq: each waits while the other runs' "$sum > 350000"
	fi
else
	skip 'no BTF' 'cannot have a mount of my own'
fi

# ---- the tools of others, at the same time

if command -v offcputime >/dev/null; then
	# A shell that waits until both look at it, and then is the program: they see the same, all of it, on a busy machine
	# too. Theirs says nothing before it ends; what it holds is seen in /proc.
	mkfifo "$tmp/go"
	sh -c 'read -r _ <"$0"; exec "$@"' "$tmp/go" "$work/waits" 2 >"$said" &
	pid=$!
	timeout -s INT 60 offcputime -p $pid >"$tmp/theirs" 2>/dev/null &
	theirs=$!
	: >"$err" # what the command before said is there until it is truncated
	"$rawprof" offcpu -v --format folded -o "$out" -p $pid -d 60 >"$tmp/ours" 2>"$err" &
	ours=$!
	last_command="rawprof offcpu -v -p $pid"
	for ((i = 0; i < 100; i++)); do
		# shellcheck disable=SC2046 # words
		grep -q 'recording' "$err" &&
			grep -qs '^link_type' /dev/null $(pgrep -P $theirs | sed 's,.*,/proc/&/fdinfo/*,') && break
		sleep 0.1
	done
	echo >"$tmp/go"
	wait $pid
	kill -INT $ours $theirs
	wait $ours $theirs
	# It prints a stack, a line "- NAME (TID)", and a line of microseconds. The same to 0.1 %; but on a busy machine a
	# switch escapes it now and then, as it does perf below, and with it one wait of 40 of the 2000 ms.
	for name in nap poll; do
		sum=$(awk -v n="$name" '$1 == "-" { who = $2 } /^ +[0-9]+$/ && who == n { s += $1 } END { print s + 0 }' "$tmp/theirs")
		if [ "$sum" -gt 0 ]; then
			within "offcputime agrees: $name" "$(us "$out" "^$name;")" "$sum" 6
		else
			skip "offcputime agrees: $name" 'it shows nothing of that thread'
		fi
	done
else
	skip 'offcputime agrees' 'it is not installed'
fi
if have_python && command -v perf >/dev/null && perf sched record -o "$tmp/perf.data" -- "$work/waits" 0.2 >/dev/null 2>&1; then
	# Now and then a switch escapes perf here, and then two naps are told as one, or one as shorter than the 40 ms that
	# were asked for, which no sleep can be. Of naps that can be true the mean is compared; for us these are all of them.
	perf sched record -o "$tmp/perf.data" -- "$rawprof" offcpu -q --min-block 40 --max-block 80 --format json \
		-o "$tmp/as.json" -- "$work/waits" 2 >"$said" 2>/dev/null
	read -r naps ours < <(python3 -c 'import json, sys
n, ns = map(sum, zip(*[s["values"] for s in json.load(open(sys.argv[1]))["samples"] if s["comm"] == "nap"]))
print(n, ns // n // 1000)' "$tmp/as.json" 2>&1)
	read -r seen theirs < <(perf sched timehist -i "$tmp/perf.data" 2>/dev/null |
		awk '$3 ~ /^nap\[/ && $4 >= 40 && $4 <= 80 { n++; s += $4 } END { print n + 0, n ? int(1000 * s / n) : 0 }')
	if [ "$seen" -ge $((naps / 2)) ]; then
		within "perf sched timehist agrees: the mean of $seen of $naps naps, in us" "$ours" "$theirs" 2
	else
		skip 'perf sched timehist agrees' "it shows $seen of $naps naps"
	fi
else
	skip 'perf sched timehist agrees' 'perf or python3 is not installed, or perf cannot record here'
fi
leaves_nothing
# ---- many threads, whose stacks are all new at once

: >"$said" # what it held before is no sign
"$work/naps" 1000 100 >>"$said" &
naps=$!
for ((i = 0; i < 600; i++)); do
	[ -s "$said" ] && break
	sleep 0.1
done
is 'naps: all threads are there' "$(cat "$said")" '1000 threads'
for profiler in offcpu wall; do
	run "$rawprof" $profiler -p $naps -d 1
	is "$profiler: 1000 threads: status" "$status" 0
	holds "$profiler: 1000 threads: next to nothing is lost" "$(ledger LOST) <= 0.01 * $(ledger FIRED)"
	ledger_closes "$profiler: 1000 threads"
done
kill $naps

forgets_execs threads offcpu --format folded
ledger_closes 'threads that execute'
forgets_execs threads offcpu --runq --format json

# ---- --sample: some for all, and the sums of all

off --sample 5 --weight contentions -- "$work/pingpong" 1
ledger_closes '--sample'
waited=$(($(ledger KEPT) + $(sed -n 's/.*not drawn \([0-9,]*\).*/\1/p' "$err" | tr -d ,)))
holds '--sample: most are not drawn' "$(ledger KEPT) < $waited / 2"
near '--sample: what was drawn stands for all' "$(total "$out")" "$waited" $((waited / 4))
off --sample 5 -- "$work/waits" 1
within '--sample: longer ones are all there' "$(us "$out" '^nap;.*;wait_nap;')" "$(awk '$1 == "nap" { print $3 - $4 }' "$said")" 2

finish
