#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 20,000 different stacks at 4,999 Hz for 10 s: none lost, none merged, all accounted for; and in
# how much memory.
. "$(dirname "$0")/lib.sh"
need_profile

# Prints on file descriptor 3 the most memory that the command had, in KiB.
peak='import os, resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
os.write(3, b"%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)'
measured=()
have_python && measured=(python3 -c "$peak")

exec 3>"$tmp/peak"
run "${measured[@]}" "$rawprof" cpu -F 4999 --format folded -o "$tmp/deep.folded" -- "$work/deep" 10
is 'deep: ends well' "$status" 0
if have_python; then
	holds 'deep: at most 56 MiB of memory' "$(cat "$tmp/peak") < 56 * 1024"
else
	skip 'deep: at most 56 MiB of memory' 'python3 is not installed'
fi

# A whole stack spells five digits five times over. One that lacks the caller of leaf was caught in
# leaf's first or last instruction, where the frame pointer is the caller's caller's: that is how
# frame pointers work. A stack whose digits do not repeat is two stacks mixed into one.
awk '$0 ~ /;leaf( |;)/ {
	n = $NF; leaf += n
	match($0, /;visit(;f[0-9])+;leaf/)
	digits = substr($0, RSTART + 6, RLENGTH - 11)
	gsub(/;f/, "", digits)
	for (i = 6; i <= length(digits); i++)
		if (substr(digits, i, 1) != substr(digits, i - 5, 1)) { mixed += n; next }
	if (length(digits) == 25) { whole += n; seen[substr(digits, 1, 5)] = 1 }
	else if (length(digits) == 24) edge += n
	else cut += n
} { all += $NF } END {
	for (d in seen) distinct++
	print all + 0, leaf + 0, whole + 0, mixed + 0, edge + 0, cut + 0, distinct + 0
}' "$tmp/deep.folded" >"$tmp/counts"
read -r all leaf whole mixed edge cut distinct <"$tmp/counts"
echo "samples $all, in leaf $leaf, whole $whole, at an edge $edge, distinct $distinct"

holds 'deep: nearly all the time is in leaf' "$leaf > 0.97 * $all"
is 'deep: no two stacks are mixed' "$mixed" 0
is 'deep: no stack is cut short' "$cut" 0
holds 'deep: only samples at the edge of a function lack a frame' "$edge < 0.003 * $leaf"
# What drawing $whole times from 20,000 would find, less five standard deviations of that. On a machine that is so busy
# that not all stacks are visited there are fewer; nearly each visit is sampled.
visits=$(head -n 1 "$out")
holds 'deep: as many distinct stacks as there must be' \
	"$distinct >= 20000 * (1 - exp(-$whole / 20000)) - 5 * sqrt(20000 * exp(-$whole / 20000)) ||
	 $visits < 20000 && $distinct > 0.9 * $visits"
holds 'deep: and not one more' "$distinct <= 20000"
is 'deep: nothing is lost' "$(ledger LOST)" 0
is 'deep: what the ledger kept is in the file' "$(ledger KEPT)" "$all"
ledger_closes 'deep'
finish
