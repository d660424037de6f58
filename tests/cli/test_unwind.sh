#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# User stacks by unwind tables, of programs that live for a moment: their mappings are known before much of them was
# sampled.
. "$(dirname "$0")/lib.sh"
need_profile

# Samples of leaf() with all of its callers, in percent of those of the program.
whole_share() {
	awk '/^leaf;/ { n += $NF } /^leaf;.*;main;calls_leaf;leaf / { m += $NF } END { print n ? 100 * m / n : 0 }' "$1"
}
swarm='n=0; while [ $n -lt 50 ]; do n=$((n + 1)); '$work'/leaf 0.04; done'

folded -F 999 -U -- sh -c "$swarm"
ledger_closes 'children'
holds 'children: samples' "$(grep -c '^leaf;' "$out") > 0 && $(total "$out") > 1000"
holds 'children: whole stacks' "$(whole_share "$out") > 90"
has 'children: that is said' "$err" 'user stacks: (9[0-9]|100)\.[0-9] % whole'

sh -c "$swarm" &
folded -F 999 -U -d 2 --comm leaf
wait
ledger_closes 'whole machine'
holds 'whole machine: samples' "$(total "$out") > 500"
holds 'whole machine: whole stacks' "$(whole_share "$out") > 85"

sleep 100 &
run "$rawprof" cpu -p $! -d 0.2
kill $!
has 'no stack: that is said' "$out" 'Nothing was recorded'
lacks 'no stack: none of them is called whole' "$out" 'user stacks'

finish
