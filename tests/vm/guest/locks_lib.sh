# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the tests of `rawprof lock -K` share.
. "$(dirname "${BASH_SOURCE[0]}")/../../cli/lib.sh"

# rows ARGS...: as Prometheus text in $out, a figure a line.
rows() {
	run "$rawprof" lock -K --format prometheus "$@"
	[ $status -eq 0 ] || fail "rawprof lock $*" "status $status"
}
# cell FIGURE REGEX: the sum of it in rows whose labels match.
cell() { RE="^rawprof_lock_$1\{.*$2" awk '$0 ~ ENVIRON["RE"] { n += $NF } END { print n + 0 }' "$out"; }
# contended WHAT TYPE CALLER NAME: somebody waits for it, in that function; and by the name that it has.
contended() {
	rows --by caller -- "$work/lockkernel" "$1" 2 "$tmp"
	ledger_closes "$1"
	holds "$1: $2 by $3" "$(cell waits 'type="'"$2"'",caller="[^"]*'"$3") > 0"
	rows -- "$work/lockkernel" "$1" 2 "$tmp"
	holds "$1: it is called $4" "$(cell waits 'type="'"$2"'",lock="'"$4"'"') > 0"
}
