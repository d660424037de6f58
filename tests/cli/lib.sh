# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the end-to-end tests share. A test file sources this, says what it finds with the functions
# below, one line each, and calls `finish` at the end.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=scripts/can-profile
. scripts/can-profile

rawprof=${RAWPROF:-$PWD/rawprof}
# shellcheck disable=SC2034 # the tests use it
work=$PWD/build/workloads
passed=0 failed=0 skipped=0
tmp=$(mktemp -d)
out=$tmp/out err=$tmp/err said=$tmp/said
cleanup() { rm -rf "$tmp"; }
trap cleanup EXIT
# end_pids_too: from now on the processes whose numbers are in $pids end with the test.
end_pids_too() {
	pids=''
	trap end_pids EXIT
}
end_pids() {
	# shellcheck disable=SC2086 # a list of words
	kill -KILL $pids 2>/dev/null
	wait 2>/dev/null
	cleanup
}

ok() { passed=$((passed + 1)); echo "ok   $1"; }
skip() { skipped=$((skipped + 1)); echo "skip $1 ($2)"; }
# fail NAME WHY...: and what the last command said, for whoever has to find out.
fail() {
	failed=$((failed + 1))
	echo "FAIL $1: ${*:2}"
	if [ -n "${last_command:-}" ]; then
		echo "     after: $last_command"
		sed 's/^/     stderr: /' "$err" 2>/dev/null | head -n 12
		sed 's/^/     output: /' "$out" 2>/dev/null | cut -c 1-160 | head -n 12
	fi
}
finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed -eq 0 ]
	exit
}
have_python() { python3 -c 'import json' 2>/dev/null; } # python3-minimal cannot
# A machine that has just started may have none. False: it cannot be.
mount_tracefs() { [ -d /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; }
# For files in which nothing works without the right to profile.
need_profile() {
	can_profile && return
	skip "$(basename "$0")" "$why_not"
	finish
}

# is NAME ACTUAL EXPECTED: the same text.
is() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "is '$2', expected '$3'"; fi; }
# holds NAME EXPRESSION: of numbers, as awk writes it.
holds() { if awk "BEGIN { exit !($2) }" 2>/dev/null; then ok "$1 ($2)"; else fail "$1" "not: $2"; fi; }
# near NAME ACTUAL EXPECTED TOLERANCE
near() {
	if awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { d = a - b; exit !(a != "" && d <= t && -d <= t) }'; then
		ok "$1 ($2, expected $3 within $4)"
	else
		fail "$1" "is '$2', expected $3 within $4"
	fi
}
# has NAME FILE REGEX: a line of the file matches. lacks: none does.
has() { if grep -qE -- "$3" "$2"; then ok "$1"; else fail "$1" "no /$3/ in $(basename "$2")"; fi; }
lacks() {
	if grep -qE -- "$3" "$2"; then
		fail "$1" "unexpected: $(grep -m 1 -E -- "$3" "$2" | cut -c 1-200)"
	else
		ok "$1"
	fi
}

# run COMMAND...: its output in $out, its messages in $err, its end in $status. Never hangs.
run() {
	last_command="$*"
	timeout -k 5 "${RUN_TIMEOUT:-120}" "$@" >"$out" 2>"$err" </dev/null
	status=$?
}
# pprof ARGS...: go tool pprof, which newer versions of Go build when it is first asked for: minutes on a busy machine.
pprof() { RUN_TIMEOUT=500 run go tool pprof "$@"; }
# recording ARGS...: begins `rawprof ARGS` and waits until it records, however busy the machine is; its process is in
# $recorder. ARGS have -v, by which it says so.
recording() {
	local i
	: >"$err" # it is truncated by the one that begins, sooner or later: what the one before said is there until then
	last_command="rawprof $*"
	"$rawprof" "$@" >"$out" 2>"$err" &
	recorder=$!
	for ((i = 0; i < 1200; i++)); do
		if grep -q 'rawprof: recording' "$err" || ! kill -0 $recorder 2>/dev/null; then break; fi
		sleep 0.05
	done
}
# folded ARGS...: a profile as folded stacks in $out, and a test that it came about. What the profiled
# program prints is in $said.
folded() {
	run "$rawprof" cpu --format folded -o "$tmp/folded" "$@"
	mv "$out" "$said"
	mv "$tmp/folded" "$out"
	[ $status -eq 0 ] || fail "rawprof cpu $*" "status $status"
}

# at_once FUNCTION ITEM...: calls FUNCTION ITEM for every item, on all CPUs at once, for items that do not care about
# each other nor about how busy the machine is. Each CPU has a shell and a $tmp of its own and takes the next item
# that nobody has taken; what a call sets is lost but for the counts.
at_once() {
	local function=$1 all=$tmp/at_once cpus n p f s counted=0
	shift
	cpus=$(nproc)
	mkdir -m 711 "$all" # others may be asked to read from below
	for ((n = 0; n < cpus; n++)); do
		one_of_all "$n" "$@" >"$all/said.$n" 2>&1 &
	done
	wait
	for ((n = 0; n < cpus; n++)); do
		cat "$all/said.$n"
		read -r p f s 2>/dev/null <"$all/counts.$n" || continue
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) counted=$((counted + 1))
	done
	is "$function: each shell came to its end" "$counted" "$cpus"
	is "$function: each item had its turn" "$(find "$all" -name 'item.*' | wc -l)" $#
	rm -rf "$all"
}
# For at_once alone, whose variables it uses.
one_of_all() {
	local number=$1 i=0 item
	shift
	tmp=$all/tmp.$number out=$tmp/out err=$tmp/err said=$tmp/said
	passed=0 failed=0 skipped=0
	mkdir -m 711 "$tmp"
	for item; do
		i=$((i + 1))
		mkdir "$all/item.$i" 2>/dev/null && "$function" "$item"
	done
	echo "$passed $failed $skipped" >"$all/counts.$number"
}

# total FILE: sum of the counts. share FILE REGEX: percentage of it in stacks that match.
total() { awk '{ n += $NF } END { print n + 0 }' "$1"; }
share() {
	RE=$2 awk '{ n += $NF } $0 ~ ENVIRON["RE"] { m += $NF } END { printf "%.2f\n", n ? 100 * m / n : 0 }' "$1"
}

# ledger FIRED|KEPT|FILTERED|LOST: a number of the ledger line in $err or $out, without commas.
ledger() {
	cat "$err" "$out" | sed -n 's/,\([0-9][0-9][0-9]\)/\1/g; s/^.*ledger: \([0-9].*\)$/\1/p' | head -n 1 |
		awk -v want="$1" '{ for (i = 2; i <= NF; i++) {
			if (want == "FIRED" && $i == "fired") print $1
			if (want == "KEPT" && $i == "kept") print $(i - 1)
			if (want == "FILTERED" && $i == "filtered") print $(i - 1)
			if (want == "LOST" && $i == "lost") print $(i - 1) } }'
}
# ledger_closes NAME: fired = kept + filtered + lost, and nothing says that it does not close.
ledger_closes() {
	holds "$1: the ledger closes" "$(ledger FIRED) == $(ledger KEPT) + $(ledger FILTERED) + $(ledger LOST)"
	if grep -q 'ledger: does not close' "$err" "$out"; then fail "$1" "$(grep -h 'does not close' "$err" "$out")"; fi
}

# forgets_execs MAP COMMAND...: of threads whose ids have ended, as they executed a program, nothing is left in the map
# of the command, which records it.
forgets_execs() { forgets 'threads that execute' "$work/execs 50" "$@"; }
# forgets WHAT PROGRAM MAP COMMAND...: the same of what another program does before it says that it is done and waits.
forgets() {
	local what=$1 program=$2 map=$3 i pid n
	shift 3
	: >"$said"
	: >"$out"
	last_command="rawprof $*"
	# shellcheck disable=SC2086 # a program and its arguments
	"$rawprof" "$@" -o "$tmp/execs" -- $program >"$said" 2>"$err" </dev/null &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		if grep -q "done" "$said" || ! kill -0 $pid 2>/dev/null; then break; fi
		sleep 0.1
	done
	for ((i = 0; i < 20; i++)); do # the kernel frees them a moment after
		n=$("$work/maps" $pid "$map")
		if [ -n "$n" ] && [ "$n" -lt 20 ]; then break; fi
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	has "$*: $what: they have" "$said" "done"
	holds "$*: $what: nothing is left of them" "${n:-1000} < 20"
}

# Call leaves_nothing_from_here, do things, then leaves_nothing: no BPF object may exist that nobody
# holds and that was not there before. The kernel frees them a moment after their last user, and other
# programs may be about to open theirs, so it looks again for some seconds.
leaves_nothing_from_here() { "$work/bpforphans" | sort >"$tmp/orphans"; }
leaves_nothing() {
	local new i
	for ((i = 0; i < 50; i++)); do
		new=$("$work/bpforphans" | sort | comm -13 "$tmp/orphans" -)
		[ -n "$new" ] || break
		sleep 0.1
	done
	is 'nothing is left in the kernel' "$new" ''
}
