#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof explain: each of its own programs, with the states of this kernel's verifier.
. "$(dirname "$0")/lib.sh"
need_profile

run "$rawprof" explain
programs=$(awk '/^  / && $1 !~ /\// { print $1 }' "$out") # those of the course have a name with /
holds 'alone: lists several' "$(wc -w <<<"$programs") >= 6"

leaves_nothing_from_here
explains_itself() {
	local p=$1 insns lines

	run "$rawprof" explain "$p" --xlated --format json
	if [ $status -ne 0 ]; then
		skip "$p" "$(head -n 1 "$err")"
		return
	fi
	cp "$out" "$tmp/json"
	if have_python; then
		is "$p: states at every instruction" "$(python3 tests/cli/explain.py "$tmp/json" 2>&1)" ''
	else
		skip "$p: states at every instruction" 'python3 is not installed'
	fi
	insns=$(grep -c '^  {"insn"' "$tmp/json")

	run "$rawprof" explain "$p"
	is "$p: status" "$status" 0
	is "$p: plain in a pipe" "$(grep -c $'\033' "$out")" 0
	is "$p: every instruction is listed" "$(grep -cE '^ +[0-9]+ +(x[0-9]+)? +[0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{4} [0-9a-f]{8}  \(' "$out")" "$insns"
	case $p in
	func_* | trace_exit*) # have parts of which they need, as what they pass says, not all
		lacks "$p: states of all that were reached" "$out" 'only in states' ;;
	*) lacks "$p: all of them were reached" "$out" 'never reached|only in states' ;;
	esac
	grep -qE '^  stack +0 bytes of' "$out" || has "$p: the stack is drawn" "$out" '^  ([a-z_]+: )?struct [a-z_]+, [0-9]+ bytes that end at R10$'
	cp "$out" "$tmp/text"

	# A saved log says the same; the kernel takes seconds to write one of some programs.
	run "$rawprof" explain "$p" --format log
	cp "$out" "$tmp/log"
	has "$p: the kernel's log" "$tmp/log" '^processed [0-9]+ insns'
	run "$rawprof" explain "$p" --dot --kernel-log "$tmp/log"
	is "$p: the graph has a box for every arrow" "$(grep -oE "^.n[0-9]+ -> n[0-9]+" "$out" | grep -oE "n[0-9]+" | sort -u | grep -cvxFf <(grep -oE "^.n[0-9]+ \\[" "$out" | grep -oE "n[0-9]+"))" 0
	has "$p: the graph has the lines as written" "$out" "^.n0 .*[^0-9]0: "
	is "$p: the graph's braces" "$(head -c 8 "$out") $(tail -n 1 "$out")" 'digraph  }'

	# To somebody without any right as well.
	chmod 644 "$tmp/log"
	if command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$rawprof" 2>/dev/null; then
		run setpriv --reuid=65534 --regid=65534 --clear-groups "$rawprof" explain "$p" --kernel-log "$tmp/log"
		is "$p from its log: status" "$status" 0
		# Addresses of maps, and what only the kernel knows, aside. Where the fields of a classic tracepoint lie
		# cannot be asked without rights, so lines behind them may be taken for others.
		lines='s/^$//'
		head -n 1 "$tmp/text" | grep -q ' tracepoint program' && lines='s/ ; .*//'
		states() { grep -oE ' \([0-9a-f]{2}\) .*' "$1" | sed -E "s/0x[0-9a-f]{16}/ADDRESS/; s/ <[^ >]*>//; s/map\[name[^ ]*/ADDRESS/; $lines; s/ +/ /g; s/ +\$//"; }
		is "$p from its log: the same states" "$(states "$out")" "$(states "$tmp/text")"
	else
		skip "$p from its log, without rights" 'setpriv cannot'
	fi
}
chmod 711 "$tmp"
# shellcheck disable=SC2086 # names without spaces
at_once explains_itself $programs
leaves_nothing
finish
