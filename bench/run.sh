#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench`: rawprof beside the tools that people use today, measured in turn on this machine;
# writes bench/results.md. Root; about 20 minutes. ROUNDS=5 for each pair, ONLY=start,session,bpf,stacks,report,symbols,uprobes,mem.
# Tools that are not installed are left out. libbpf-tools' profile is not in every distribution's
# package: LIBBPF_PROFILE names one that you built.
set -u
cd "$(dirname "$0")/.." || exit 1
rounds=${ROUNDS:-5}
only=,${ONLY:-start,session,bpf,stacks,report,symbols,uprobes,mem},
measure=build/bench/measure
work=build/workloads
tmp=$(mktemp -d)
results=$tmp/results.md
background=()
idle() {
	[ ${#background[@]} -eq 0 ] || kill "${background[@]}" 2>/dev/null
	wait 2>/dev/null
	background=()
}
trap 'idle; rm -rf "$tmp"' EXIT
busy() {
	local i
	for ((i = $(nproc); i > 0; i--)); do
		"$@" >/dev/null &
		background+=($!)
	done
	sleep 0.5
}

profile=${LIBBPF_PROFILE:-}
have_perf() { command -v perf >/dev/null; }
have_bpftrace() { command -v bpftrace >/dev/null; }

wanted() { [[ $only == *,$1,* ]]; }
say() { printf '%s\n' "$@" >>"$results"; }
# table TITLE OPTIONS... :: COMMANDS: appends what measure prints.
table() {
	echo "  BENCH   $1" >&2
	say "" "### $1" ""
	shift
	if ! "$measure" -n "$rounds" "$@" >"$tmp/table"; then
		say "(failed: see the output of make bench)"
		return
	fi
	cat "$tmp/table" >>"$results"
}

# sessions SECONDS HZ: the commands of a whole recording, in the array $commands.
sessions() {
	local s=$1 hz=$2
	commands=(:: rawprof ./rawprof cpu -q --format folded -F "$hz" -d "$s"
		:: 'rawprof --call-graph fp' ./rawprof cpu -q --call-graph fp --format folded -F "$hz" -d "$s")
	[ -z "$profile" ] || commands+=(:: 'libbpf-tools profile' "$profile" -f -F "$hz" "$s")
	! have_bpftrace || commands+=(:: bpftrace bpftrace -e "profile:hz:$hz { @[comm, ustack, kstack] = count(); }
		interval:s:$s { exit(); }")
	! have_perf || commands+=(:: 'perf record + script' sh -c "perf record -q -a -g -F $hz -o $tmp/perf.data -- sleep $s &&
		perf script --no-inline -i $tmp/perf.data")
}

say '# Measurements' '' \
	"By \`make bench\`, $(date -u +%Y-%m-%d), Linux $(uname -r), $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)." \
	"Medians of $rounds runs, the smallest and the largest in brackets, then the ratio to the first" \
	"line. The commands of a table took turns. What each column means: bench/measure.c." '' \
	"Versions: $(./rawprof --version | head -n 1)$(have_perf && echo ", $(perf --version)")$(have_bpftrace && echo ", $(bpftrace --version)")."

if wanted start; then
	say '' '## From start to finish'
	busy "$work/split" 100000
	sessions 1 99
	table 'A session of 1 s, whole machine, 99 Hz, folded; both CPUs busy' -d 1 -t "${commands[@]}"
	idle
fi

if wanted session; then
	say '' '## What a session of 10 s costs' '' 'Whole machine, 99 Hz, folded, names included.'
	sessions 10 99
	busy "$work/split" 100000
	table 'Busy machine' -d 10 "${commands[@]}"
	idle
	table 'Idle machine' -d 10 "${commands[@]}"
fi

if wanted bpf; then
	say '' '## BPF run time per sample' '' 'User and kernel stack, counted by stack and name; by frame pointers if not said otherwise. "Stack ids" makes the calls that' \
		"libbpf-tools' profile makes, with its maps; it throws stacks away when its table is full."
	for what in "split 100000" "deep 100000"; do
		for hz in 99 999 4999; do
			commands=(:: 'rawprof --call-graph fp' ./rawprof cpu -q --call-graph fp --format folded -F "$hz" -d 5
				:: 'rawprof, by unwind tables' ./rawprof cpu -q --format folded -F "$hz" -d 5
				:: 'stack ids (bench/stackid.c)' build/bench/stackid "$hz" 5)
			[ -z "$profile" ] || commands+=(:: 'libbpf-tools profile' "$profile" -f -F "$hz" 5)
			! have_bpftrace || commands+=(:: bpftrace bpftrace -e "profile:hz:$hz { @[comm, ustack, kstack] = count(); }
				interval:s:5 { exit(); }")
			# shellcheck disable=SC2086 # a command and its argument
			busy $work/$what
			table "${what% *}, $hz Hz" -d 5 -b "${commands[@]}"
			idle
		done
	done
fi

if wanted stacks; then
	say '' '## 20,000 distinct stacks, 4,999 Hz, 10 s' '' 'tests/workloads/deep.c. How long until the result is printed, at what cost.'
	busy sleep 100000
	"$work/deep" 100000 >/dev/null &
	background+=($!)
	sessions 10 4999
	rounds=1 table 'Until printed' -d 10 -t "${commands[@]}"
	./rawprof cpu --format folded -F 4999 -d 10 >"$tmp/deep.folded" 2>"$tmp/err"
	say '' "bench/stackid.c: $(build/bench/stackid 4999 10)." '' "rawprof: $(grep -c ';leaf ' "$tmp/deep.folded") distinct stacks that end in leaf. $(grep 'ledger:' "$tmp/err" | head -n 1)"
	idle
fi

if wanted report && [ -x build/bench/report_speed ]; then
	echo "  BENCH   report_speed" >&2
	say '' '## Writing a report' '' '```'
	build/bench/report_speed >>"$results" 2>&1
	say '```'
fi

if wanted symbols; then
	echo "  BENCH   symbols" >&2
	say '' '## Naming addresses' '' 'Each file in a process of its own. What the columns mean: bench/symbols.c.' ''
	make -s bench-symbols ROUNDS="$rounds" >>"$results" 2>&1
fi

if wanted uprobes && [ -x build/bench/uprobe_cost ]; then
	echo "  BENCH   uprobe_cost" >&2
	say '' '## What a probe on a function costs' '' 'By the instruction under it. What the columns mean: bench/uprobe_cost.c.' ''
	build/bench/uprobe_cost >>"$results" 2>&1
fi

if wanted mem && [ -x build/workloads/mem_pairs ]; then
	echo "  BENCH   mem" >&2
	say '' '## What following allocations costs' '' 'CPU time of a malloc and a free of 64 bytes, 15 functions deep: bench/mem.sh.' ''
	ROUNDS=$rounds bench/mem.sh >>"$results" 2>&1
fi

cp "$results" bench/results.md
echo "bench/results.md is written"
