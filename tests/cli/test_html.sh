#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pages and the SVG in chromium, used with mouse and keys: tests/html/check.py, of walks tests/html/walk.py.
# `make check-html` installs it.
. "$(dirname "$0")/lib.sh"

pages=$PWD/build/html/pages
chromium=$(command -v chromium || command -v chromium-browser)
if [ -z "$chromium" ] || ! have_python; then
	skip 'pages in a browser' "${chromium:+python3}${chromium:-chromium} is not installed: make check-html"
	finish
fi

for kind in burst deep many wall lines empty; do
	run "$pages" $kind
	is "$kind: is written" "$status" 0
	mv "$out" "$tmp/$kind.html"
done
for kind in burst deep; do
	"$pages" $kind svg >"$tmp/$kind.svg"
done
"$pages" many | cmp -s - "$tmp/many.html"
is 'many: the same input, the same page' $? 0
holds 'many: size' "$(stat -c %s "$tmp/many.html") < 12000000"

kept=''
if can_profile; then
	run "$rawprof" cpu -F 499 --format html -o "$tmp/recorded.html" -- "$work/split" 0.5
	is 'a recording: status' "$status" 0
	kept=$(ledger KEPT)
fi

# Walks: of a log that was refused, and of this kernel's.
mkdir "$tmp/walks"
awk '/^#####/ { on = $2 == "G9" } on && !/^#####/' "$PWD/tests/data/refusals-6.18.log" >"$tmp/g9"
"$rawprof" explain --kernel-log "$tmp/g9" --step --html >"$tmp/walks/refused.html"
is 'the walk of a log: status' $? 0
if can_profile; then
	for program in cpu_sample 01/no_result 06/by_loop; do
		"$rawprof" explain $program --step --html >"$tmp/walks/${program#*/}.html"
		is "the walk of $program: status" $? 0
	done
fi

# use SCRIPT FOLDER: what it looked at
use() {
	RUN_TIMEOUT=300 run python3 "tests/html/$1" "$chromium" "$2"
	is "$1: status" "$status" 0
	while IFS=$'\t' read -r name actual expected; do
		case $name in
		note:*) echo "$name" ;;
		total:*) is 'a recording: all that was kept' "${name#*: }" "$kept" ;;
		*) is "$name" "$actual" "$expected" ;;
		esac
	done <"$out"
}
use check.py "$tmp"
use walk.py "$tmp/walks"
finish
