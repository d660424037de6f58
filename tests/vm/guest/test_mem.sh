#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem on another kernel: by whichever probes it has, what an allocator's functions mean, what is mapped, and the
# kernel's own memory are the same to the unit. The programs are static; tests/cli/test_mem_*.sh have the rest.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile

page=$(awk '/^KernelPageSize/ { print $2 * 1024; exit }' /proc/self/smaps)
# recorded ARGS...: stacks in $tmp/stacks, messages in $err.
recorded() {
	run "$rawprof" mem --format folded -o "$tmp/stacks" "$@"
	is "$name: status" "$status" 0
	ledger_closes "$name"
}
# of FUNCTION [FRAME]: how much comes through it.
of() { awk -v f=";$1[; ]" -v g="${2:-;}" '$0 ~ f && $0 ~ g { n += $NF } END { print n + 0 }' "$tmp/stacks"; }

# Two of the four columns, a run for each: emulated machines are slow.
exact() {
	local weight column=2 case want
	for weight in alloc_objects inuse_space; do
		name="$1, $weight"
		recorded --weight $weight -- "$work/$1" 20
		is "$name: nothing is lost" "$(ledger LOST)" 0
		while read -r case want; do
			if [ "$want" != - ]; then is "$name: $case" "$(of "$case")" "$want"; fi
		done < <(awk -v c=$column '/^case_/ { print $1, $c }' "$out")
		column=5
	done
}

exact mem_exact
name=mappings
recorded -- "$work/mem_mmap" 1
if grep -q 'only the allocator' "$err"; then
	skip 'mappings' 'this kernel has no BTF'
else
	exact mem_mmap
	exact mem_vfork
fi

# The moment of highest use: BTF, and atomics that fetch.
name=peak
run "$rawprof" mem --peak --no-mmap --format folded -o "$tmp/stacks" -- "$work/mem_peak" 2000
if grep -q -- '--peak needs' "$err"; then
	skip 'peak' "$(grep -m 1 -- '--peak needs' "$err")"
else
	is 'peak: status' "$status" 0
	while read -r case want; do
		is "peak: $case" "$(of "$case")" "$want"
	done < <(awk '/^site_/ { print $1, $5 }' "$out")
fi
name=pinned
recorded --pinned --weight pinned_pages -- "$work/mem_pinned" 2000 5
is 'pinned: one block in each page' "$(of sparse_a)" "$(awk '$1 == "sparse_a" { print $2 }' "$out")"
name=lifetimes
run "$rawprof" mem --lifetimes -- "$work/mem_short" 20
is 'lifetimes: status' "$status" 0
has 'lifetimes: of the larger blocks' "$out" '^ +20 blocks '

# Fewer sizes than that many samples would make exact, and a mean of one byte makes a sample of all but nothing.
name=samples
recorded --sample-bytes 1 --weight alloc_objects -- "$work/mem_exact" 20
is 'samples: of each byte' "$(of case_calloc)" 20
mkfifo "$tmp/gate"
"$work/mem_exact" 20 "$tmp/gate" >"$tmp/want" &
pid=$!
exec 9>"$tmp/gate" # it has come so far
sleep 10 >&9 9>&- &  # it goes on then
exec 9>&-
name=attached
recorded -p $pid --weight alloc_space
is 'attached: the program goes on' "$(wait $pid && grep -c '^case_' "$tmp/want")" 17
is 'attached: bytes' "$(of case_calloc)" $((20 * 77))

# ---- the kernel's: two runs are compared, for starting a program takes some too

# difference CACHE [FRAME]
difference() { awk -v end=";[[]$1[]] " -v frame="${2:-;}" 'index($0, "kmem;") == 1 && $0 ~ end && $0 ~ frame {
	n += FILENAME ~ /many/ ? $NF : -$NF } END { print n + 0 }' "$tmp/few" "$tmp/many"; }
kernel() {
	name="kernel, $1: few"
	recorded -k -K "${@:2}" -- "$work/kmem" 1 1
	mv "$tmp/stacks" "$tmp/few"
	name="kernel, $1: many"
	recorded -k -K "${@:2}" -- "$work/kmem" 1001 16
	mv "$tmp/stacks" "$tmp/many"
}
kernel allocated --weight alloc_objects
is 'kernel: 1,000 more files: filp' "$(difference filp)" 1000
is 'kernel: 1,000 more files: names_cache' "$(difference names_cache)" 1000
is 'kernel: a pipe of 15 more pages' "$(difference pages pipe_write)" 15
kernel bytes --weight alloc_space
is 'kernel: bytes of names' "$(difference names_cache)" $((1000 * 4096)) # PATH_MAX
is 'kernel: bytes of pages' "$(difference pages pipe_write)" $((15 * page))
kernel ended --leaks --weight inuse_objects
is 'kernel: after the end: filp' "$(difference filp)" 0
is 'kernel: after the end: pages' "$(difference pages pipe_write)" 0

finish
