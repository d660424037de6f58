#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh [LESSON...]: runs every lesson and holds what it printed against two things.
#
# EXPECT, lines of
#	good: REGEX		a line of the output matches the extended regular expression
#	bad: TEXT		a line has this in it, as it stands; may be followed by [kernel>=6.12]
#				or [kernel<6.2], or both, which limit it to such kernels
#	with: COMMAND		runs again and again beside the lesson, for it to see
#
# README.md: what stands in fenced blocks marked "verifier" or "output" must be in the output, line
# after line; a line "..." stands for any number of them. Addresses of the kernel are all alike, in
# "output" numbers too. The texts are those of Linux 6.18; on older kernels they are not checked.
#
# Ends with a line "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
written_on=6018 # the kernel that the READMEs quote

passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
IFS=.- read -r major minor _ < <(uname -r)
kernel=$((major * 1000 + minor))

outcome() { # ok|fail|skip WHAT
	printf '%-4s %s\n' "$1" "$2"
	case $1 in
	ok) passed=$((passed + 1)) ;;
	fail) failed=$((failed + 1)) ;;
	skip) skipped=$((skipped + 1)) ;;
	esac
}

# version 6.12: as a number
version() {
	echo $((${1%%.*} * 1000 + ${1#*.}))
}

# applies TEXT: do the limits in brackets let this kernel in?
applies() {
	local limit
	for limit in $(grep -oE '\[kernel(>=|<)[0-9]+\.[0-9]+\]' <<<"$1" | tr -d '[]'); do
		case $limit in
		*'>='*) [ $kernel -ge "$(version "${limit#*>=}")" ] || return 1 ;;
		*'<'*) [ $kernel -lt "$(version "${limit#*<}")" ] || return 1 ;;
		esac
	done
}

run_lesson() {
	local with background=''
	with=$(sed -n 's/^with: //p' "examples/$1/EXPECT")
	if [ -n "$with" ]; then
		(while sleep 0.3; do sh -c "$with"; done) >/dev/null 2>&1 &
		background=$!
	fi
	timeout -k 5 120 "build/examples/$1/run" >"$log" 2>&1
	status=$?
	[ -z "$background" ] || { kill "$background"; wait "$background" 2>/dev/null; }
}

check_expectations() {
	local kind text found
	while IFS= read -r line; do
		kind=${line%%: *} text=${line#*: }
		case $kind in
		good) grep -qE -- "$text" "$log" && found=ok || found=fail ;;
		bad)
			applies "$text" || continue
			text=${text%% \[kernel*}
			grep -qF -- "$text" "$log" && found=ok || found=fail
			;;
		*) continue ;;
		esac
		outcome "$found" "$1: $kind: $text"
	done <"examples/$1/EXPECT"
}

# Prints "ok N" or "fail N" and the first line that was not found, for each quoted block, which
# begins at line N.
quotes() {
	awk '
	function plain(s, numbers) {
		gsub(/0xffff[0-9a-f]+/, "ADDRESS", s)
		if (numbers)
			gsub(/[0-9]+(\.[0-9]+)?/, "N", s)
		gsub(/[ \t]+/, " ", s)
		sub(/ $/, "", s)
		return s
	}
	# Is the block found from line `at` of the log on? Backs up at every "...".
	function found(i, at,    j) {
		if (i > n)
			return 1
		if (i > reached)
			reached = i
		if (block[i] == "...") {
			for (j = at; j <= nlog + 1; j++)
				if (found(i + 1, j))
					return 1
			return 0
		}
		return at <= nlog && plain(log_line[at], numbers) == plain(block[i], numbers) &&
		       found(i + 1, at + 1)
	}
	FILENAME == ARGV[1] { log_line[++nlog] = $0; next }
	/^```(verifier|output)$/ { inside = 1; n = 0; first = FNR; numbers = /output/; next }
	/^```/ && inside {
		inside = 0
		reached = 1
		ok = 0
		for (at = 1; at <= nlog && !ok; at++)
			ok = found(1, at)
		print (ok ? "ok" : "fail"), first, (ok ? "" : block[reached])
		next
	}
	inside { block[++n] = $0 }' "$log" "$1"
}

check_quotes() {
	local result line text any=''
	while read -r result line text; do
		any=1
		outcome "$result" "$1: README.md:$line${text:+: not in the output: $text}"
	done < <(quotes "examples/$1/README.md")
	[ -n "$any" ] || outcome fail "$1: README.md quotes nothing"
}

# shellcheck source=scripts/can-profile
. scripts/can-profile
[ $# -gt 0 ] || set -- examples/[0-9]*/
for lesson; do
	lesson=$(basename "$lesson")
	if ! can_profile; then
		outcome skip "$lesson: $why_not"
		continue
	fi
	run_lesson "$lesson"
	if [ $status -ne 0 ]; then
		outcome fail "$lesson: ended with status $status"
		cat "$log"
		continue
	fi
	outcome ok "$lesson: it ran"
	before=$failed
	check_expectations "$lesson"
	if [ $kernel -ge $written_on ]; then
		check_quotes "$lesson"
	else
		outcome skip "$lesson: its README quotes a newer kernel"
	fi
	[ $failed -eq $before ] || cat "$log"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
