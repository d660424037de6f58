#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a switch costs while `rawprof offcpu` and `wall` watch, beside offcputime of libbpf-tools on the same run. Root.
# `make bench ONLY=switches`. ROUNDS=5, SECONDS_EACH=3, BUILD=build.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build} rounds=${ROUNDS:-5} each=${SECONDS_EACH:-3}
measure=$build/bench/measure
make -s rawprof "$measure" "$build/workloads/pingpong" "$build/workloads/sleeper" || exit 1
tmp=$(mktemp -d)
trap 'kill "${busy[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
busy=()
work() {
	"$build/workloads/$1" 100000 >/dev/null &
	busy+=($!)
	sleep 0.5
}

have_theirs() { command -v offcputime >/dev/null; }
# table TITLE COMMANDS...: appends a table.
table() {
	echo "  BENCH   $1" >&2
	{
		printf '\n## %s\n\n' "$1"
		"$measure" -n "$rounds" -d "$each" -b "${@:2}"
	} >>"$tmp/results.md"
}

work pingpong
work sleeper
pingpong=${busy[0]} sleeper=${busy[1]}
{
	printf '# What a switch costs\n\n'
	printf 'By bench/offcpu.sh, Linux %s, %s CPUs. Two threads wake each other through pipes as fast as they can. ' "$(uname -r)" "$(nproc)"
	printf 'Medians of %s runs, in turn, with a load of %s from other work; BPF time is of the busiest program, that on sched_switch but for now and then in wall and --wakers.\n' "$rounds" "$(cut -d ' ' -f 1 /proc/loadavg)"
	printf 'offcputime takes a stack at every switch; rawprof at those that are waits, or at all with R in --state.\n'
} >"$tmp/results.md"

rawprof=(./rawprof offcpu -q -f -d "$each")
all=(--state SDTtPIR)
theirs=()
! have_theirs || theirs=(:: offcputime offcputime "$each")
table 'The whole machine' :: 'rawprof offcpu' "${rawprof[@]}" :: 'by frame pointers' "${rawprof[@]}" --call-graph fp \
	:: 'every switch, by frame pointers' "${rawprof[@]}" "${all[@]}" --call-graph fp \
	:: 'every switch' "${rawprof[@]}" "${all[@]}" :: 'rawprof offcpu --wakers' "${rawprof[@]}" --wakers \
	:: 'rawprof wall' ./rawprof wall -q -f -d "$each" :: 'rawprof offcpu --runq' ./rawprof offcpu --runq -q -d "$each" "${theirs[@]}"
table 'Like with like: a stack by frame pointers at every switch' \
	:: 'rawprof offcpu' "${rawprof[@]}" "${all[@]}" --call-graph fp "${theirs[@]}"
! have_theirs || theirs=(:: offcputime offcputime -p "$pingpong" "$each")
table 'By process, the one that switches' :: 'rawprof offcpu' "${rawprof[@]}" -p "$pingpong" \
	:: 'every switch' "${rawprof[@]}" "${all[@]}" -p "$pingpong" "${theirs[@]}"
! have_theirs || theirs=(:: offcputime offcputime -p "$sleeper" "$each")
table 'By process, another one' :: 'rawprof offcpu' "${rawprof[@]}" -p "$sleeper" \
	:: 'every switch' "${rawprof[@]}" "${all[@]}" -p "$sleeper" "${theirs[@]}"
cp "$tmp/results.md" "${OUTPUT:-/dev/stdout}"
