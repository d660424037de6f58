#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof wall: all time of threads, which adds up, in the states that it is known to have been spent in.
. "$(dirname "$0")/lib.sh"

run "$rawprof" wall --include-idle 1
is '--include-idle: status' "$status" 2
need_profile

# wall ARGS...: time as folded stacks in $out, in microseconds; what the program prints in $said.
wall() {
	run "$rawprof" wall --format folded -o "$tmp/folded" "$@"
	mv "$out" "$said"
	mv "$tmp/folded" "$out"
	[ $status -eq 0 ] || fail "rawprof wall $*" "status $status"
}
us() { RE=$2 awk '$0 ~ ENVIRON["RE"] { n += $NF } END { print n + 0 }' "$1"; }
within() { near "$1" "$2" "$3" "$(awk "BEGIN { print $3 * $4 / 100 }")"; }
# adds_up NAME: what the report says of itself.
adds_up() {
	local percent
	percent=$(cat "$err" "$out" | sed -n 's/.* of which [0-9.]* s are here (\([0-9.]*\) %).*/\1/p' | head -n 1)
	near "$1: the report says that it adds up" "$percent" 100 1
}

# ---- each state, within 2 %

leaves_nothing_from_here
wall -F 499 -- "$work/waits" 2
ledger_closes 'waits'
is 'waits: nothing is lost' "$(ledger LOST)" 0
adds_up 'waits'
while read -r name _ waited burnt _; do
	case $name in
	nap) state="sleep" ;;
	read) state=pipe ;;
	futex | poll) state=$name ;;
	vfork) state=child ;;
	burn)
		within 'burn: on the CPU' "$(us "$out" '^burn;.*\[on CPU\] ')" "$burnt" 2
		holds 'burn: where it burns' "$(us "$out" '^burn;.*;run;burn;.*\[on CPU\] ') > 0.95 * $burnt"
		within 'burn: all its time' "$(us "$out" '^burn;')" "$waited" 2
		continue
		;;
	esac
	# What its own clocks say includes what it waited for a CPU.
	queued=$(us "$out" "^$name;.*;wait_$name;$([ "$name" = vfork ] && echo __vfork\;).*\[runnable\] ")
	within "$name: $state" "$(us "$out" "^$name;.*;wait_$name;.*;(schedule|schedule_[a-z_]*);.*\[$state\] ")" \
		"$(awk "BEGIN { print $waited - $burnt - $queued }")" 2
	[ "$name" = vfork ] || within "$name: all its time" "$(us "$out" "^$name;")" "$waited" 2
done <"$said"
# But for samples that hit what we do on the CPU, which takes time.
grep -v '\[on CPU\] ' "$out" >"$tmp/waiting"
lacks 'no frame of ours' "$tmp/waiting" 'bpf_prog_|bpf_trace_run|__traceiter'

# ---- the head

run "$rawprof" wall -F 99 -- "$work/waits" 1
# Six threads, each at most 99 times a second; their switches are thousands.
samples=$(sed -n 's/,//g; s/^\([0-9]*\) samples of .* at 99 Hz .*/\1/p' "$out")
holds 'the head counts samples, not switches' "${samples:-0} > 10 && ${samples:-0} < 600"
holds 'there were more switches' "$(ledger KEPT) > ${samples:-0}"

# ---- threads times time

"$work/waits" 60 >"$said.waits" &
pid=$!
sleep 0.4
wall -p $pid -d 2
within 'by process: 7 threads times 2 s' "$(total "$out")" 14000000 8
adds_up 'by process'
ledger_closes 'by process'
tid=$(grep -l '^nap$' /proc/$pid/task/*/comm | head -n 1 | cut -d/ -f5)
wall -t "$tid" -d 1
within 'by thread: one times 1 s' "$(total "$out")" 1000000 10
is 'by thread: nobody else' "$(cut -d';' -f1 "$out" | sort -u)" nap
wall --comm 'poll' -d 0.5
within 'by name: one times 0.5 s' "$(us "$out" '^poll;')" 500000 20
kill $pid
wait $pid 2>/dev/null

"$work/sleeper" 20 &
pid=$!
sleep 0.2
wall -p $pid -d 1
within 'asleep all the time: a second' "$(us "$out" '^sleeper;.*;main;usleep;.*\[sleep\] ')" 1000000 10
is 'asleep all the time: nothing else' "$(wc -l <"$out")" 1
adds_up 'asleep all the time'
kill $pid
wait $pid 2>/dev/null

wall -- "$work/family" 1
adds_up 'children'
holds 'children: on the CPU, each in its function' \
	"$(us "$out" ';work_of_parent;.*\[on CPU\] ') > 250000 && $(us "$out" ';work_of_forked;.*\[on CPU\] ') > 250000 && $(us "$out" ';work_of_execed;.*\[on CPU\] ') > 250000"

# exec_of_threads NAME COMMAND...: a thread that is not the first of its process executes a program, and has the id of
# the first from then on. What the shell waited for is what they all lived.
exec_of_threads() {
	local name=$1
	shift
	run "$@" "$rawprof" wall --format folded -o "$tmp/folded" -- \
		sh -c "for i in 1 2 3 4 5; do $work/renewed 0.2; done; sleep 0.5"
	mv "$tmp/folded" "$out"
	within "$name: they live as long as one waits for them" "$(us "$out" '^(renewed|sleep);')" \
		"$(us "$out" '^sh;.*\[child\] ')" 8
	holds "$name: they sleep" "$(us "$out" '^renewed;.*\[(sleep|other)\] ') > 900000"
	holds "$name: and do not run meanwhile" "$(us "$out" '^renewed;.*\[on CPU\] ') < 200000"
	adds_up "$name"
	ledger_closes "$name"
}
exec_of_threads 'exec of a thread' env

# One CPU for two that burn: half of the time each is runnable.
cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*: \([0-9]*\).*/\1/')
if [ -n "$cpu" ]; then
	wall -- taskset -c "$cpu" sh -c "$work/split 0.7 & $work/split 0.7 & wait"
	adds_up 'two on one CPU'
	near 'two on one CPU: as long on it as said' "$(us "$out" '^split;.*\[on CPU\] ')" 1400000 60000
	holds 'two on one CPU: as long runnable' "$(us "$out" '^split;.*\[runnable\] ') > 500000"
else
	skip 'two on one CPU' 'taskset is not installed'
fi

# Two threads that switch as fast as they can: the kernel counts their switches too.
wall -F 1 -- "$work/pingpong" 2
switches=$(sed -n 's/^\([0-9]*\) switches.*/\1/p' "$said")
ledger_closes 'as fast as they can'
near 'as fast as they can: every switch is seen' $(($(ledger KEPT) + $(ledger LOST))) "$switches" $((switches / 50))
is 'as fast as they can: nothing is lost' "$(ledger LOST)" 0
adds_up 'as fast as they can'

# They come and go: there were no fewer than before or after, and no more. Process 1 of a sandbox may be kept from
# tracers, so its threads may be missing.
count_threads() { find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 -not -path '/proc/1/*' 2>/dev/null | wc -l; }
before=$(count_threads)
wall -d 1
after=$(count_threads)
adds_up 'whole machine'
ledger_closes 'whole machine'
fewest=$((before < after ? before : after))
most=$(((before > after ? before : after) + $(find /proc/1/task -mindepth 1 -maxdepth 1 | wc -l)))
holds 'whole machine: every thread that there is' "$(total "$out") > 0.9 * 1000000 * $fewest && $(total "$out") < 1.3 * 1000000 * $most"

# ---- a kernel without BTF

if unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf' 2>/dev/null; then
	run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' \
		"$rawprof" wall -F 499 --format folded -o "$tmp/folded" -- "$work/waits" 1
	mv "$out" "$said"
	mv "$tmp/folded" "$out"
	ledger_closes 'no BTF'
	adds_up 'no BTF'
	has 'no BTF: says so' "$err" 'no BTF tracepoints: classic ones|by frame pointers'
	while read -r name _ waited burnt _; do
		case $name in
		nap) state="sleep" ;;
		read) state=pipe ;;
		futex | poll) state=$name ;;
		vfork) continue ;;
		burn)
			within 'no BTF: burn: on the CPU' "$(us "$out" '^burn;.*\[on CPU\] ')" "$burnt" 5
			state=
			;;
		esac
		within "no BTF: $name: all its time" "$(us "$out" "^$name;")" "$waited" 3
		[ -z "$state" ] || within "no BTF: $name: $state and runnable" \
			"$(us "$out" "^$name;.*\[($state|runnable)\] ")" $((waited - burnt)) 3
	done <"$said"
	"$work/waits" 60 >"$said.waits" &
	pid=$!
	sleep 0.4
	run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"' \
		"$rawprof" wall --format folded -o "$tmp/folded" -p $pid -d 2
	mv "$tmp/folded" "$out"
	# Each was first seen within a round of 40 ms; not the child that is about to end.
	within 'no BTF: by process: 7 threads times 2 s' "$(total "$out")" 14000000 8
	adds_up 'no BTF: by process'
	kill $pid
	wait $pid 2>/dev/null
	exec_of_threads 'no BTF: exec of a thread' \
		unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf; exec "$0" "$@"'
else
	skip 'no BTF' 'cannot have a mount of my own'
fi

# ---- formats

run "$rawprof" wall --format json -o "$tmp/as.json" -- "$work/waits" 0.4
if have_python; then
	is 'json: types and states' "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(*[t["type"] + "/" + t["unit"] for t in d["value_types"]], "state" in json.dumps(d["samples"][0]))' "$tmp/as.json" 2>&1)" 'samples/count wall/nanoseconds True'
else
	skip 'json: types and states' 'python3 is not installed'
fi
for f in svg pprof perf speedscope; do
	run "$rawprof" wall --format $f -o "$tmp/as.$f" -- "$work/waits" 0.3
	is "$f: status" "$status" 0
	holds "$f: is written" "$(wc -c <"$tmp/as.$f") > 500"
done
run "$rawprof" wall -- "$work/waits" 0.4
has 'table: time by state' "$out" '^ +[0-9.]+% +[0-9.]+ m?s +sleep$'
adds_up 'table'
forgets_execs threads wall --format folded
leaves_nothing
finish
