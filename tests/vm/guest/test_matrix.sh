#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every line of doctor against tests/vm/matrix, for the kernel that VM_KERNEL names.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile

case ${VM_KERNEL:-$(uname -r)} in
6.18.*-fc-*) VM_KERNEL=microvm-6.18 ;; # this file is also run on such a machine itself
esac
column=$(awk -v kernel="${VM_KERNEL:-}" '$2 == "name" { for (i = 3; i <= NF; i++) if ($i == kernel) print i - 1 }' tests/vm/matrix)
if [ -z "$column" ]; then
	skip 'doctor against the matrix' "there is no column for ${VM_KERNEL:-Linux $(uname -r)}"
	finish
fi
case $(uname -r) in
"${VM_KERNEL#*-}".*) ok "this is Linux ${VM_KERNEL#*-}" ;;
*) fail "this is Linux ${VM_KERNEL#*-}" "it is $(uname -r)" ;;
esac

run "$rawprof" doctor
is 'doctor: status' $status 0

# The lines of doctor in the matrix's words.
in_short() {
	awk '
	$1 != "yes" && $1 != "no" { part = $1; next }
	part == "Mechanisms," {
		word = "?"
		if ($1 == "yes") word = "y"
		else if (/is older/) word = "old"
		else if (/is off/) word = "off"
		else if (/cannot be attached/) word = "attach"
		else if (/policy/) word = "policy"
		else if (/no such counter/) word = "hw"
		else if (/x86-64 only/) word = "x86"
		print $2, word
	}
	part == "What" {
		job = substr($0, 8, 16); sub(/ *$/, "", job); gsub(/ /, "_", job)
		way = substr($0, 31); sub(/,.*/, "", way)
		print job, $1 == "yes" ? way : "-"
	}
	part == "Commands" {
		name = substr($0, 8, 16); sub(/ *$/, "", name); gsub(/ /, "_", name)
		way = substr($0, 31); sub(/;.*/, "", way); sub(/^samples by /, "", way); gsub(/ /, "", way)
		print name, $1 == "yes" ? way : "-"
	}' "$out"
}
in_short >"$tmp/short"
while read -r name is; do
	is "$name" "$is" "$(awk -v name="$name" -v column="$column" '$1 == name { print $column }' tests/vm/matrix)"
done <"$tmp/short"
is 'no line of the matrix is missing' "$(wc -l <"$tmp/short")" "$(grep -cv '^#' tests/vm/matrix)"

finish
