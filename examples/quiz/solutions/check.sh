#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: does the quiz score as it should? To each exercise NN-name.md has two changes, the first right and the
# second wrong. Each is applied to a copy, and judged. The exercise as it stands must not score either, nor without the
# line that is refused. What a hint says to give to `rawprof explain` is given to it.
# Ends with a line "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../../.." || exit 1
quiz=examples/quiz
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0
written_on=6018 # the kernel that answered the questions
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

# copy NAME N: its file with the N-th change of its solution; 0: as it stands.
copy() {
	cp "$quiz/$1.c" "$tmp"
	[ "$2" -gt 0 ] || return 0
	awk -v n="$2" '/^```diff$/ { k++; inside = 1; next } /^```/ { inside = 0 } inside && k == n' \
		"$quiz/solutions/$1.md" >"$tmp/change"
	[ -s "$tmp/change" ] && patch -s --no-backup-if-mismatch -d "$tmp" -p1 <"$tmp/change"
}

# score NAME N EXPECTED: must be judged "right" or "wrong".
score() {
	local what first
	case $2 in
	0) what='as it stands' ;;
	1) what='the right answer' ;;
	*) what='the wrong answer' ;;
	esac
	if ! copy "$1" "$2"; then
		outcome fail "$1: $what: its change does not apply"
		return
	fi
	said=$("$quiz/check" -d "$tmp" "$1")
	first=${said%%$'\n'*}
	case $first in
	"$3" | "$3: "*)
		if [ "$3" = wrong ] && [[ $first == *compiler* ]]; then
			outcome fail "$1: $what: it is to be judged by what it does: $said"
		else
			outcome ok "$1: $what: $first"
		fi
		;;
	skip*)
		not_here=${first#skip: }
		outcome skip "$1: $what: $not_here"
		;;
	*)
		if [ $kernel -lt $written_on ] && grep -q '\.answer =' "$quiz/$1.c"; then
			not_here='written on a newer kernel, and this one says something else'
			outcome skip "$1: $what: $not_here"
			return
		fi
		outcome fail "$1: $what: should be $3: $said"
		;;
	esac
}

# without_refused NAME: without the line that the verifier refuses it must not score either.
without_refused() {
	local line
	line=$(sed -n "s|^ *at [^ ]*/$1\\.c:\\([0-9]*\\): .*|\\1|p" <<<"$said" | head -n 1)
	[ -n "$line" ] || return 0
	sed "${line}d" "$quiz/$1.c" >"$tmp/$1.c"
	said=$("$quiz/check" -d "$tmp" "$1")
	[[ $said == wrong* ]] && found=ok || found=fail
	outcome $found "$1: without line $line: ${said%%$'\n'*}"
}

# shellcheck source=scripts/can-profile
. scripts/can-profile
if ! can_profile; then
	echo "skip the quiz ($why_not)"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi

judge=build/examples/quiz/judge/judge
while IFS=$'\t' read -r name lesson explain; do
	not_here='' said=''
	score "$name" 0 wrong
	without_refused "$name"
	score "$name" 1 right
	score "$name" 2 wrong
	[ -f "examples/$lesson/README.md" ] && found=ok || found=fail
	outcome $found "$name: its lesson is there"
	# shellcheck disable=SC2086 # a program and options
	timeout 60 ./rawprof explain $explain >"$tmp/shown" 2>&1
	status=$? # 1: it is about a program that is refused
	[ $status -le 1 ] && grep -q "\.c:[0-9]" "$tmp/shown" && found=ok || found=fail
	[ $found = ok ] || [ -z "$not_here" ] || found=skip
	outcome $found "$name: rawprof explain $explain: status $status${not_here:+ ($not_here)}"
done < <("$judge" | sort)
# Each file is judged, and each that is judged has its file.
[ "$(cd $quiz && printf '%s\n' [0-9]*.c)" = "$("$judge" | cut -f 1 | sort | sed 's/$/.c/')" ] && found=ok || found=fail
outcome $found 'the judge knows all exercises, and no others'

# The text of a choice is not its letter.
sed 's/"?"/"12"/' $quiz/02-slots.c >"$tmp/02-slots.c"
said=$($quiz/check -d "$tmp" 02-slots)
[[ $said == 'wrong: "12" is no choice: write "a"'* ]] && found=ok || found=fail
outcome $found "an answer that is no letter: $said"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
