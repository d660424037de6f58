#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests on other kernels as one of the tests of `make check`: what they skip is told with the kernel's name.
# VM=no leaves them out. KERNELS, VM_JOBS, VM_STATIC_*: as tests/vm/check has it.
. "$(dirname "$0")/../cli/lib.sh"

if [ "${VM:-}" = no ]; then
	skip 'tests on other kernels' 'VM=no'
	finish
fi
read -ra kernels <<<"${KERNELS:-x86-6.1 arm64-6.12}"
if ! tests/vm/ready "${kernels[@]}" >"$tmp/ready" 2>&1; then
	skip 'tests on other kernels' "$(tail -n 1 "$tmp/ready")"
	finish
fi

tests/vm/check "${kernels[@]}" >"$tmp/check"
status=$?
# "kernel, which clock: ...", below it "  test  12 passed", below that "    skipped: what".
awk '
	/^[^ ]*, .*: Linux/ { kernel = $1; sub(/,$/, "", kernel) }
	/^  [^ ]/ { test = $1 }
	/^ *skipped: / { sub(/^ *skipped: /, ""); print "skip: " kernel " " test ": " $0; next }
	/^  [^ ]* +skipped: / { sub(/^.*skipped: /, ""); print "skip: " kernel " " test ": " $0; next }
	{ print }' "$tmp/check"
exit $status
