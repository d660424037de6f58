#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh [LESSON...]: runs every lesson, and holds what it printed against what is written about it.
#
# EXPECT, lines of
#	good: REGEX		a line of the output matches the extended regular expression
#	bad: TEXT		a line has this in it, as it stands; may be followed by [kernel>=6.12]
#				or [kernel<6.2], or both, which limit it to such kernels
#	with: COMMAND		runs again and again beside the lesson, for it to see
#
# README.md: what stands in fenced blocks marked "verifier" or "output" must be in the output, line
# after line; a line "..." stands for any number of them. Addresses of the kernel are all alike, in
# "output" numbers too. The texts are those of Linux 6.18; on older kernels they are not checked. What
# the page says to give to `rawprof explain` is given to it, and the block "explain" below that is held
# against what comes. The question has its answer in one line.
#
# solution.md, whose N-th block "diff" changes the lesson as the exercise says: the changed lesson runs,
# and prints what is quoted behind the change.
#
# Ends with a line "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
written_on=6018 # the kernel that the READMEs quote

jobs=3 # at a time: most of them wait
passed=0 failed=0 skipped=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
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

# run_lesson LESSON PROGRAM
run_lesson() {
	local with background=''
	with=$(sed -n 's/^with: //p' "examples/$1/EXPECT")
	if [ -n "$with" ]; then
		(while sleep 0.3; do sh -c "$with"; done) >/dev/null 2>&1 &
		background=$!
	fi
	timeout -k 5 120 "$2" >"$log" 2>&1
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

# quotes FILE KINDS [PART]: prints "ok N" or "fail N" and the first line that was not found, for each
# quoted block, which begins at line N; of a part of the file only, those behind its PART-th change.
quotes() {
	awk -v kinds="$2" -v part="${3:-0}" '
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
	/^```diff$/ { change++ }
	/^```/ && !inside && $0 ~ "^```(" kinds ")$" && (!part || change == part) {
		inside = 1
		n = 0
		first = FNR
		numbers = /output/
		next
	}
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

# check_quotes LESSON FILE KINDS [PART]
check_quotes() {
	local result line text any=''
	while read -r result line text; do
		any=1
		outcome "$result" "$1: $2:$line${text:+: not in the output: $text}"
	done < <(quotes "examples/$1/$2" "${@:3}")
	[ -n "$any" ] || outcome fail "$1: $2 quotes nothing${4:+ behind its change $4}"
}

# All that the page gives to explain, one behind the other.
check_explained() {
	local page=examples/$1/README.md arguments
	: >"$log"
	while read -r arguments; do
		eval "timeout 60 ./rawprof explain $arguments" >>"$log" 2>&1
		status=$? # 1: it is about a program that is refused
		[ $status -le 1 ] || outcome fail "$1: rawprof explain $arguments: status $status"
	done < <(sed -n 's/^    \$ sudo rawprof explain //p' "$page")
	[ $kernel -lt $written_on ] || check_quotes "$1" README.md explain
}

check_answer() {
	grep -q '^\*\*Answer\.\*\* ' "examples/$1/README.md" && found=ok || found=fail
	outcome "$found" "$1: the question is answered"
}

check_solution() { # LESSON N
	run_lesson "$1" "build/solutions/$1.$2/run"
	if [ $status -gt 1 ]; then # 1: something does not load, which may be what the exercise is about
		outcome fail "$1: solution $2 ended with status $status"
		tail -n 50 "$log"
	elif [ $kernel -ge $written_on ]; then
		local before=$failed
		check_quotes "$1" solution.md 'verifier|output' "$2"
		[ $failed -eq $before ] || tail -n 50 "$log"
	else
		outcome ok "$1: solution $2 ran"
	fi
}

check_lesson() {
	run_lesson "$1" "build/examples/$1/run"
	if [ $status -eq 77 ]; then
		outcome skip "$1: $(grep '^skip' "$log")"
		return
	fi
	if [ $status -ne 0 ]; then
		outcome fail "$1: ended with status $status"
		cat "$log"
		return
	fi
	outcome ok "$1: it ran"
	local before=$failed
	check_expectations "$1"
	if [ $kernel -ge $written_on ]; then
		check_quotes "$1" README.md 'verifier|output'
	else
		outcome skip "$1: its README quotes a newer kernel"
	fi
	[ $failed -eq $before ] || tail -n 100 "$log"
	check_answer "$1"
	check_explained "$1"
}

# What is no lesson and no change of one is said, and nothing else is run in its place.
check_solution_names() {
	local given expected said
	while IFS='|' read -r given expected; do
		# shellcheck disable=SC2086 # two words
		said=$(examples/solution $given 2>&1)
		if [ $? -eq 2 ] && [[ $said == *"$expected"* ]]; then
			outcome ok "examples/solution $given"
		else
			outcome fail "examples/solution $given: $said"
		fi
	done <<-'END'
		|usage
		99|usage
		2 9|02-registers/solution.md has 1 changes, and no number 9
		1 x|no number x
		14|14-the-seeds-profiler/solution.md has 0 changes
	END
}

# start NAME COMMAND...: in the background, with a log of its own; what it says to a file.
parts=()
start() {
	while [ "$(jobs -rp | wc -l)" -ge $jobs ]; do wait -n; done
	parts+=("$tmp/$1.said")
	(
		log=$tmp/$1.log
		"${@:2}"
		echo "sums $passed $failed $skipped"
	) >"$tmp/$1.said" 2>&1 &
}

# shellcheck source=scripts/can-profile
. scripts/can-profile
[ $# -gt 0 ] || {
	set -- examples/[0-9]*/
	check_solution_names
}
for lesson; do
	lesson=$(basename "$lesson")
	if ! can_profile; then
		outcome skip "$lesson: $why_not"
		continue
	fi
	start "$lesson" check_lesson "$lesson"
	for n in $(grep -n '^```diff$' "examples/$lesson/solution.md" | cat -n | cut -f 1); do
		start "$lesson.$n" check_solution "$lesson" "$n"
	done
done
wait
for part in "${parts[@]}"; do
	grep -v '^sums ' "$part"
	read -r p f s < <(sed -n 's/^sums //p' "$part")
	passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0}))
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
