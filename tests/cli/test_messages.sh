#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/messages.md is what this kernel says, if it is of the kernel that the page names.
. "$(dirname "$0")/lib.sh"
need_profile

kernel="Linux $(uname -r | cut -d . -f 1,2) on $(uname -m)"
if ! grep -qF "The refusals of $kernel," docs/messages.md; then
	skip 'docs/messages.md' "it is of another kernel than $kernel"
	finish
fi
tests/bad/messages >"$tmp/messages.md"
is 'docs/messages.md is up to date' "$(diff "$tmp/messages.md" docs/messages.md)" ''
is 'each refusal has a cause, a repair and a lesson' \
	"$(awk '/^## / { r++ } /^\*\*Repair:/ { c++ } /^Lesson: \[[0-9]/ { l++ } END { print r - c, r - l, (r > 40) }' docs/messages.md)" '0 0 1'
finish
