#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of which it is known where their CPU time goes: the profile must say the same.
# It runs alone: shares of the time are measured.
. "$(dirname "$0")/lib.sh"
need_profile

split_shares() {
	near "$1: work_60" "$(share "$out" ';work_60( |;)')" 60 3
	near "$1: work_30" "$(share "$out" ';work_30( |;)')" 30 3
	near "$1: work_10" "$(share "$out" ';work_10( |;)')" 10 3
}

folded -F 999 -- "$work/split" 4
split_shares 'split'
# Before it is the program it is a child of rawprof's that has its name; a sample of execve() is rare.
is 'split: the table of comms has one name' "$(grep -v '^rawprof;.*execve' "$out" | cut -d';' -f1 | sort -u)" split
holds 'split: about 999 samples a second' "$(total "$out") > 3400 && $(total "$out") < 4400"
ledger_closes 'split'

folded -F 999 -- "$work/split-static-pie" 4
split_shares 'static PIE'

# Stripped: no function has a name, the three are told apart by where .eh_frame says they begin.
folded -F 999 -- "$work/split-stripped" 4
lacks 'stripped: no invented names' "$out" ';work_[0-9]+'
near 'stripped: time is in the module' "$(share "$out" '\[split-stripped')" 100 5
place_of() { nm "$work/split" | sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p"; }
near 'stripped: the place of work_60' "$(share "$out" ";\[split-stripped\+0x$(place_of work_60)\]")" 60 3
near 'stripped: the place of work_30' "$(share "$out" ";\[split-stripped\+0x$(place_of work_30)\]")" 30 3
near 'stripped: the place of work_10' "$(share "$out" ";\[split-stripped\+0x$(place_of work_10)\]")" 10 3

if [ -x "$work/cxx" ]; then
	folded -F 999 -- "$work/cxx" 4
	near 'C++: Shelf<int>::count' "$(share "$out" ';(_ZN5store5ShelfIiE5countEm|store::Shelf<int>::count\(.*\))')" 66.7 3
	near 'C++: Shelf<double>::count' "$(share "$out" ';(_ZN5store5ShelfIdE5countEm|store::Shelf<double>::count\(.*\))')" 33.3 3
else
	skip 'C++' 'g++ is not installed'
fi

folded -F 999 -- "$work/syscalls" 2
holds 'kernel frames: on top of read_zeros' "$(share "$out" ';main;read_zeros;.*;vfs_read(;| )') > 80"
folded -F 999 -K -- "$work/syscalls" 1
lacks '-K: no user frames' "$out" 'read_zeros'
has '-K: kernel frames' "$out" ';vfs_read(;| )'
folded -F 999 -U -- "$work/syscalls" 1
lacks '-U: no kernel frames' "$out" 'vfs_read'
has '-U: user frames' "$out" ';main;read_zeros '

folded -F 999 -- "$work/threads" 2
near 'threads: alpha' "$(share "$out" '^alpha;')" 50 3
near 'threads: beta' "$(share "$out" '^beta;')" 30 3
near 'threads: gamma (3;x)' "$(share "$out" '^gamma[^;]*;')" 20 3

finish
