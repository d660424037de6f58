#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench`: rawprof beside the tools that people use today, measured in turn on this machine. Writes bench/results.md: one
# table of what matters first, all that was measured below it. Root; about 50 minutes. ROUNDS=5 for each pair.
# ONLY=start,io measures those parts alone, and writes build/bench.md (RESULTS). OLD=PATH: another rawprof, which is measured too.
# Tools that are not installed are left out. libbpf-tools' profile is not in every distribution's package:
# LIBBPF_PROFILE names one that you built. A new part is a block below, and a line of `short` for each row of the table.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5}
all=start,session,bpf,times,stacks,switches,locks,io,mem,uprobes,functions,usdt,trace,syscalls,symbols,report,unwind
only=,${ONLY:-$all},
measure=build/bench/measure
work=build/workloads
tmp=$(mktemp -d)
details=$tmp/details.md
touch "$details" "$tmp/short.md"
background=()
idle() {
	[ ${#background[@]} -eq 0 ] || kill "${background[@]}" 2>/dev/null
	[ ${#background[@]} -eq 0 ] || wait "${background[@]}" 2>/dev/null
	background=()
}
trap 'idle; kill $watch 2>/dev/null; rm -rf "$tmp"' EXIT
busy() {
	local i
	for ((i = $(nproc); i > 0; i--)); do
		"$@" >/dev/null &
		background+=($!)
	done
	sleep 0.5
}

# What else the machine does falls on all alike, but the reader is to know how much it was: stolen time, in per cent.
while sleep 5; do awk '/^cpu / { print $9, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat; done >"$tmp/steal" &
watch=$!
load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)

profile=${LIBBPF_PROFILE:-}
have_perf() { command -v perf >/dev/null; }
have_bpftrace() { command -v bpftrace >/dev/null; }

wanted() { [[ $only == *,$1,* ]]; }
say() { printf '%s\n' "$@" >>"$details"; }
# table TITLE OPTIONS... :: COMMANDS: appends what measure prints.
table() {
	echo "  BENCH   $1" >&2
	say "" "### $1" ""
	shift
	if ! "$measure" -n "$rounds" "$@" >"$tmp/table"; then
		say "(failed: see the output of make bench)"
		return
	fi
	cat "$tmp/table" >>"$details"
}
# short WHAT COLUMN [ROW OF OURS [FILE]]: a row of the table of what matters, by that column of the last table measured:
# our first row, or the one whose name matches; each peer's, which its name tells.
short() {
	awk -F ' *[|] *' -v what="$1" -v column="$2" -v ours="${3:-.}" '
		$2 == "" || $2 == "what" || $2 == "beside" { for (i = 3; i < NF; i++) if ($i == column) c = i; next }
		!c || /^[|]-/ { next }
		{ cell = $c; sub(/ x[0-9.e+]*$/, "", cell) }
		cell == "" || cell == "-" || cell ~ /failed/ { next }
		$2 ~ /^OLD/ { if (!old) old = cell; next }
		$2 ~ /perf/ && $2 !~ /^rawprof/ { if (!perf) perf = cell; next }
		$2 ~ /bpftrace/ { if (!bpftrace) bpftrace = cell; next }
		$2 ~ /libbpf|offcputime|biolatency|stack ids/ { if (!tools) tools = cell; next }
		$2 ~ ours && !us { us = cell }
		END { printf "| %s, %s | %s | %s | %s | %s | %s |\n", what, column, us, old, perf, bpftrace, tools }
	' "${4:-$tmp/table}" >>"$tmp/short.md"
}
# part NAME SCRIPT: what a script of its own measures, which writes $OUTPUT.
part() {
	echo "  BENCH   $1" >&2
	# Without ONLY: to some parts it names programs of theirs.
	if OUTPUT=$tmp/table ROUNDS=$rounds env -u ONLY "$2" >&2; then
		say ''
		sed 's/^#/##/' "$tmp/table" >>"$details"
	else
		say '' "## $1" '' '(failed: see the output of make bench)'
		: >"$tmp/table"
	fi
}

# sessions SECONDS HZ: the commands of a whole recording, in the array $commands.
sessions() {
	local s=$1 hz=$2
	commands=(:: rawprof ./rawprof cpu -q --format folded -F "$hz" -d "$s"
		:: 'rawprof --call-graph fp' ./rawprof cpu -q --call-graph fp --format folded -F "$hz" -d "$s")
	[ -z "${OLD:-}" ] || commands+=(:: 'OLD' "$OLD" cpu -q --format folded -F "$hz" -d "$s")
	[ -z "$profile" ] || commands+=(:: 'libbpf-tools profile' "$profile" -f -F "$hz" "$s")
	! have_bpftrace || commands+=(:: bpftrace bpftrace -e "profile:hz:$hz { @[comm, ustack, kstack] = count(); }
		interval:s:$s { exit(); }")
	! have_perf || commands+=(:: 'perf record + script' sh -c "perf record -q -a -g -F $hz -o $tmp/perf.data -- sleep $s &&
		perf script --no-inline -i $tmp/perf.data")
}

if wanted start; then
	say '' '## From start to finish'
	busy "$work/split" 100000
	sessions 1 99
	rounds=$((4 * rounds)) table 'A session of 1 s, whole machine, 99 Hz, folded; both CPUs busy' -d 1 -t "${commands[@]}"
	short 'Session of 1 s, whole machine' 'exec to attached, ms'
	short 'Session of 1 s, whole machine' 'end of recording to end, ms'
	idle
fi

if wanted session; then
	say '' '## What a session of 10 s costs' '' 'Whole machine, 99 Hz, folded, names included.'
	sessions 10 99
	busy "$work/split" 100000
	table 'Busy machine' -d 10 "${commands[@]}"
	short 'Session of 10 s at 99 Hz, busy machine' 'CPU, ms'
	short 'Session of 10 s at 99 Hz, busy machine' 'peak RSS, MB'
	idle
	table 'Idle machine' -d 10 "${commands[@]}"
	short 'Session of 10 s at 99 Hz, idle machine' 'CPU, ms'
fi

if wanted bpf; then
	say '' '## BPF run time per sample' '' 'User and kernel stack, counted by stack and name; by frame pointers if not said otherwise. "Stack ids" makes the calls that' \
		"libbpf-tools' profile makes, with its maps; it throws stacks away when its table is full."
	for what in "split 100000" "deep 100000"; do
		for hz in 99 999 4999; do
			commands=(:: 'rawprof --call-graph fp' ./rawprof cpu -q --call-graph fp --format folded -F "$hz" -d 5
				:: 'rawprof, by unwind tables' ./rawprof cpu -q --format folded -F "$hz" -d 5
				:: 'rawprof, with times' ./rawprof cpu -q --format rawprof -F "$hz" -d 5
				:: 'stack ids (bench/stackid.c)' build/bench/stackid "$hz" 5)
			[ -z "$profile" ] || commands+=(:: 'libbpf-tools profile' "$profile" -f -F "$hz" 5)
			! have_bpftrace || commands+=(:: bpftrace bpftrace -e "profile:hz:$hz { @[comm, ustack, kstack] = count(); }
				interval:s:5 { exit(); }")
			# shellcheck disable=SC2086 # a command and its argument
			busy $work/$what
			table "${what% *}, $hz Hz" -d 5 -b "${commands[@]}"
			[ "$hz" != 99 ] || short "A sample, by frame pointers, ${what% *}, $hz Hz" 'BPF run, ns'
			[ "$hz" != 99 ] || short "A sample, by unwind tables, ${what% *}, $hz Hz" 'BPF run, ns' 'unwind tables'
			[ "$hz" != 99 ] || short "A sample and its time, ${what% *}, $hz Hz" 'BPF run, ns' 'with times'
			idle
		done
	done
fi

# What writing down the time of each sample adds: a few per cent at most, which takes many short runs to see.
if wanted times; then
	say '' '## What times cost' '' 'BPF run time of a sample whose time is kept beside one that is only counted.'
	for what in "split 100000" "deep 100000"; do
		# shellcheck disable=SC2086 # a command and its argument
		busy $work/$what
		rounds=$((4 * rounds)) table "${what% *}, 999 Hz, with and without times" -d 2 -b \
			:: 'only counted' ./rawprof cpu -q --format folded -F 999 -d 2 \
			:: 'with times' ./rawprof cpu -q --format rawprof -F 999 -d 2
		awk -F ' *[|] *' -v what="${what% *}" '$2 == "with times" && sub(/.* x/, "", $5) {
			printf "| BPF run of a sample with its time, times one without, %s, 999 Hz | %s | | | | |\n", what, $5 }' \
			"$tmp/table" >>"$tmp/short.md"
		idle
	done
fi

if wanted stacks; then
	say '' '## 20,000 distinct stacks, 4,999 Hz, 10 s' '' 'tests/workloads/deep.c. How long until the result is printed, at what cost.'
	busy sleep 100000
	"$work/deep" 100000 >/dev/null &
	background+=($!)
	sessions 10 4999
	rounds=1 table 'Until printed' -d 10 -t "${commands[@]}"
	short '20,000 stacks' 'end of recording to end, ms'
	short '20,000 stacks' 'peak RSS, MB'
	./rawprof cpu --format folded -F 4999 -d 10 >"$tmp/deep.folded" 2>"$tmp/err"
	say '' "bench/stackid.c: $(build/bench/stackid 4999 10)." '' "rawprof: $(grep -c ';leaf ' "$tmp/deep.folded") distinct stacks that end in leaf. $(grep 'ledger:' "$tmp/err" | head -n 1)"
	idle
fi

if wanted report && [ -x build/bench/report_speed ]; then
	echo "  BENCH   report_speed" >&2
	say '' '## Writing a report' '' '```'
	build/bench/report_speed >>"$details" 2>&1
	say '```'
fi

if wanted symbols; then
	echo "  BENCH   symbols" >&2
	say '' '## Naming addresses' '' 'Each file in a process of its own. What the columns mean: bench/symbols.c.' ''
	make -s bench-symbols ROUNDS="$rounds" >>"$details" 2>&1
fi

if wanted uprobes && [ -x build/bench/uprobe_cost ]; then
	echo "  BENCH   uprobe_cost" >&2
	say '' '## What a probe on a function costs' '' 'By the instruction under it. What the columns mean: bench/uprobe_cost.c.' ''
	build/bench/uprobe_cost >>"$details" 2>&1
fi

if wanted functions; then
	part 'functions' bench/func.sh
	short 'A call of a function, measured' 'entry and return, ns' rawprof
	short 'A call of a function, measured' 'a count, ns' rawprof
fi
if wanted usdt; then
	part 'USDT probes' bench/usdt.sh
	short 'A hit of a USDT probe' 'each with its arguments, ns' rawprof
	short 'A hit of a USDT probe' 'a count, ns' rawprof
fi

if wanted trace; then
	part 'events' bench/trace.sh
	short 'An event that is printed, raw_syscalls:sys_enter' 'a call, ns' raw_syscalls
fi

if wanted syscalls; then
	part 'system calls' bench/syscalls.sh
	short 'A system call, all counted and timed' 'ns a call' rawprof
fi

if wanted mem; then
	part 'memory' bench/mem.sh
	short 'A pair of malloc and free' 'added' 'whole stacks'
fi
if wanted switches; then
	part 'switches' bench/offcpu.sh
	short 'Two threads that wake each other, offcpu' 'CPU, ms'
	short 'Two threads that wake each other, offcpu' 'BPF run, ns'
fi
if wanted locks; then
	part 'locks' bench/lock.sh
	short 'Two threads at a barrier, each meeting' 'more, for each meeting' 'rawprof lock$'
fi
if wanted io; then
	part 'I/O' bench/io.sh
	awk -F ' *[|] *' '$2 == "latency" && $3 == "none" { printf "| A request to a disk, BPF time | %s | | | | %s |\n", $4, $5 }' \
		"$tmp/table" >>"$tmp/short.md"
fi
if wanted unwind; then
	part 'whole stacks' bench/unwind/run.sh
	awk -F ' *[|] *' '$2 ~ /^(python3|node|git|sqlite3)$/ { printf "| Whole user stacks of %s, %% | %s | | %s | | |\n", $2, $4, $5 }' \
		"$tmp/table" >>"$tmp/short.md"
fi

# ---- the document

kill $watch 2>/dev/null
steal=$(awk 'NR == 1 { s = $1; t = $2 } END { if (NR > 1 && $2 > t) printf "%.1f", 100 * ($1 - s) / ($2 - t); else print "0" }' "$tmp/steal")
results=bench/results.md
[ -z "${ONLY:-}" ] || results=${RESULTS:-build/bench.md}
{
	printf '# Measurements\n\n'
	printf 'By `make bench`, %s, Linux %s, %s x %s.\n' "$(date -u +%Y-%m-%d)" "$(uname -r)" "$(nproc)" \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
	printf 'Medians of %s runs, the smallest and the largest in brackets; the commands of a table took turns.\n' "$rounds"
	[ -z "${ONLY:-}" ] || printf 'Of its parts, these: %s.\n' "${ONLY//,/, }"
	printf 'Load of the machine when it began: %s; stolen by its host meanwhile: %s %%.\n\n' "$load_before" "$steal"
	printf 'Versions: %s.\n\n' "$(./rawprof --version | head -n 1)$(have_perf && echo ", $(perf --version)")$(have_bpftrace && echo ", $(bpftrace --version)")$(
		command -v offcputime >/dev/null && echo ", libbpf-tools $(dpkg-query -W -f '${Version}' libbpf-tools 2>/dev/null)")"
	printf '| | rawprof | before | perf | bpftrace | libbpf-tools |\n|---|---|---|---|---|---|\n'
	cat "$tmp/short.md"
	printf '\nWhat each column means: bench/measure.c. The rest is in detail, with ratios to the first line.\n'
	cat "$details"
} >"$results"
echo "$results is written"
