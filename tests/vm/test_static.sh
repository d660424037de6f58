#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The static files: below 3 MB each, with nothing to load, and the one for this machine works in a file system that
# holds only itself, /proc and /sys.
. "$(dirname "$0")/../cli/lib.sh"

mine=${BUILD:-build}/static/rawprof
for file in "$mine" "${BUILD:-build}"/*-linux-gnu/static/rawprof; do
	if [ ! -e "$file" ]; then
		skip "$file" 'not built'
		continue
	fi
	holds "$file: below 3.5 MB" "$(stat -c %s "$file") < 3500000"
	readelf -lW "$file" >"$tmp/headers" 2>/dev/null
	has "$file: is an ELF file" "$tmp/headers" '^  LOAD '
	lacks "$file: needs no loader and no libraries" "$tmp/headers" '^  (INTERP|DYNAMIC) '
done

need_profile
mkdir "$tmp/root" "$tmp/root/proc" "$tmp/root/sys"
cp "$mine" "$tmp/root/" || finish
# in_root ARGS: in a mount namespace of its own, so that nothing stays mounted.
in_root() {
	run unshare -m sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && root=$0 &&
		exec chroot "$root" /rawprof "$@"' "$tmp/root" "$@"
}
in_root doctor
is 'alone: doctor' "$status" 0
in_root explain
is 'alone: explain' "$status" 0
has 'alone: explain has the profilers' "$out" '^  cpu_sample '
has 'alone: explain says that the course is elsewhere' "$out" '^The programs of the course are not in this file'
while :; do :; done &
busy=$!
in_root cpu -F 199 --format folded 1
kill $busy
is 'alone: cpu' "$status" 0
# On a busy machine it gets little of two CPUs.
holds 'alone: cpu finds who is busy' "$(share "$out" '^test_static.sh;') > 1"
ledger_closes 'alone: cpu'

finish
