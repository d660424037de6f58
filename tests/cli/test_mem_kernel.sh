#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof mem -k: the kernel's memory by cache and process, to the unit. What starting a program takes differs from
# run to run; what kmem takes for each file and each page does not, so two runs are compared.
. "$(dirname "$0")/lib.sh"
need_profile

# The kernel skips a program that interrupts itself. What is lost so is an interrupt's, never what kmem asked for.
recorded() {
	run "$rawprof" mem -k --format folded -o "$tmp/$1" "${@:2}"
	is "$1: status" "$status" 0
	ledger_closes "$1"
	lacks "$1: nothing else is lost" "$err" 'lost \((.*, )?(ring full|busy|no room for blocks|map busy)'
}
# of FILE CACHE [FRAME]: how much of kmem's lies in that cache, all of it or what comes through a function.
of() { awk -v end=";[[]$2[]] " -v frame="${3:-;}" '
	index($0, "kmem;") == 1 && $0 ~ end && $0 ~ frame { n += $NF } END { print n + 0 }' "$tmp/$1"; }
# difference CACHE [FRAME]
difference() { echo $(($(of many "$@") - $(of few "$@"))); }

# ---- what was allocated

recorded few -K --weight alloc_objects -- "$work/kmem" 1 1
recorded many -K --weight alloc_objects -- "$work/kmem" 10001 256
is '10,000 more files: filp' "$(difference filp)" 10000
is '10,000 more files: names_cache' "$(difference names_cache)" 10000
is 'a pipe of 255 more pages' "$(difference pages pipe_write)" 255
is 'the first page too' "$(of few pages pipe_write)" 1
recorded few -K --weight alloc_space -- "$work/kmem" 1 1
recorded many -K --weight alloc_space -- "$work/kmem" 10001 256
is 'bytes: names_cache' "$(difference names_cache)" $((10000 * 4096)) # PATH_MAX
is 'bytes: pages' "$(difference pages pipe_write)" $((255 * $(awk '/^KernelPageSize/ { print $2 * 1024; exit }' /proc/self/smaps)))
size=$(awk '$1 == "filp" { print $4 }' /proc/slabinfo)
[ -z "$size" ] || is 'bytes: filp' "$(difference filp)" $((10000 * size))

# ---- what is outstanding

# What its files were is freed a moment after it has ended.
recorded ended -K --leaks --weight inuse_objects -- sh -c "'$work/kmem' 10000 256; sleep 1"
has 'after the end: what the others have' "$tmp/ended" '^(sh|sleep);'
for cache in filp names_cache; do
	is "after the end: $cache" "$(of ended $cache)" 0
done
is 'after the end: the pages of the pipe' "$(of ended pages pipe_write)" 0

# Files that are mapped are held too: by both of these alike.
recorded few -K --leaks --weight inuse_objects -d 1 -- "$work/kmem" 1 1 hold
recorded many -K --leaks --weight inuse_objects -d 2 -- "$work/kmem" 10001 256 hold
is 'held: 10,000 more files: filp' "$(difference filp)" 10000
is 'held: names_cache' "$(of many names_cache)" 0
is 'held: pages' "$(of many pages pipe_write)" 256
# The pipe's ring is larger than kmalloc's caches: the kernel takes pages for it, and tells of it twice.
is 'held: a large kmalloc' "$(of many 'kmalloc-[0-9]+k' pipe_resize_ring)" 1
is 'held: a large kmalloc is not counted as pages' "$(of many pages pipe_resize_ring)" 0
recorded many -K --older 500 --weight inuse_objects -d 3 -- "$work/kmem" 100 16 hold
is 'held for half a second: pages' "$(of many pages pipe_write)" 16
recorded young -K --older 60000 --weight inuse_objects -d 2 -- "$work/kmem" 10000 256 hold
is 'held for a minute: nothing' "$(total "$tmp/young")" 0

# ---- whom

(while :; do : </dev/null; done) &
shell=$! comm=$(cat /proc/$!/comm)
run "$rawprof" mem -k -p $shell --format folded -o "$tmp/shell" 0.5
kill $shell
is 'of a process: status' "$status" 0
ledger_closes 'of a process'
holds 'of a process: its files' "$(grep -c '\[filp\]' "$tmp/shell") > 0"
is 'of a process: nobody else' "$(grep -vc "^$comm;" "$tmp/shell")" 0
holds 'of a process: its side of the stacks' "$(share "$tmp/shell" ';(entry_SYSCALL|el0t?_)') > 50"
holds 'of a process: user stacks' "$(share "$tmp/shell" '^[^;]*;.*;(entry_SYSCALL|el0t?_)') > 20"

# ---- interrupts

if "$work/unheard" 1 2>/dev/null; then
	recorded unheard -K --weight alloc_objects -- "$work/unheard" 1000
	is 'of a program: nothing of its interrupts' "$(grep -c 'icmp_send' "$tmp/unheard")" 0
	holds 'of a program: they are in the ledger' "$(sed -n 's/,//g; s/.*in interrupts \([0-9]*\).*/\1/p' "$err") >= 1000"
	"$work/unheard" 1000000 &
	sender=$!
	run "$rawprof" mem -k -K --format folded -o "$tmp/machine" 0.5
	kill $sender
	holds 'of all: in interrupts' "$(grep -cE '^\[interrupt\];.*icmp_send' "$tmp/machine") > 0"
	is 'of all: not of who was interrupted' "$(grep -E 'icmp_send' "$tmp/machine" | grep -vc '^\[interrupt\];')" 0
else
	skip 'interrupts' 'no loopback interface'
fi

# ---- pages that are freed in parts

# shellcheck disable=SC2016 # for the other shell
sem='echo "210000 1000000 500 10" >/proc/sys/kernel/sem && ipcmk -S 200000 >/dev/null && ipcrm -a && sleep 0.1'
if unshare --ipc sh -c "$sem" 2>/dev/null; then
	# 200,000 semaphores are more than the page allocator has in one piece: vmalloc takes pieces, and may split them.
	pages() { awk '/;newary;.*;[[]pages[]] / { n += $NF } END { print n + 0 }' "$tmp/$1"; }
	recorded pieces -K --weight alloc_space -- unshare --ipc sh -c "$sem"
	holds 'large pieces: bytes' "$(pages pieces) >= 200000 * 64"
	recorded pieces -K --weight inuse_space -- unshare --ipc sh -c "$sem"
	is 'large pieces, freed page by page: nothing is left' "$(pages pieces)" 0
	lacks 'large pieces: none is torn' "$err" 'freed in parts'
else
	skip 'large pieces' 'no semaphores in a namespace'
fi

# ---- views

run "$rawprof" mem -k -- "$work/kmem" 10000 256
is 'table: status' "$status" 0
has 'table: by cache' "$out" '^ +[0-9.]+% [0-9.]+ [KM]iB +filp$'
has 'table: stacks' "$out" '^ +kmem_cache_alloc[a-z_]* < getname.* < '
run "$rawprof" mem -k --processes --format json -- "$work/kmem" 10000 256
is '--processes: status' "$status" 0
if have_python; then
	is '--processes: kmem' "$(python3 - "$out" <<-'EOF'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1]))["rows"] if r["comm"] == "kmem"]
		r = rows[0]
		print(len(rows), r["allocations"] > 30000, r["bytes"] > 10000 * 4096, r["outstanding"] < 1000)
	EOF
	)" '1 True True True'
else
	skip '--processes: kmem' 'python3 is not installed'
fi
run "$rawprof" mem -k --processes --sort nonesuch 0.1
is '--processes: an unknown column' "$status" 2
has '--processes: the columns there are' "$err" 'outstanding_bytes'
run "$rawprof" mem -k --sizes -- "$work/kmem" 10000 256
is '--sizes: status' "$status" 0
ledger_closes '--sizes'
for kind in kmalloc pages slab; do
	has "--sizes: $kind" "$out" "^kind=$kind$"
done
run "$rawprof" mem -k --ages --older 500 -d 3 -- "$work/kmem" 100 16 hold
is '--ages: status' "$status" 0
ledger_closes '--ages'
blocks=$(awk '$1 == "kind=pages" { getline; sub(",", "", $1); print $1 }' "$out")
holds '--ages: the pages' "$blocks >= 16 && $blocks < 200"
run "$rawprof" mem -k --ages --older 60000 -d 1 -- "$work/kmem" 100 16 hold
lacks '--ages: nothing is a minute old' "$out" '^kind='
run "$rawprof" mem -k -U -f -o "$tmp/user" -- "$work/kmem" 10000 256
is '-U: status' "$status" 0
is '-U: no frames of the kernel' "$(grep -c do_syscall_64 "$tmp/user")" 0
holds '-U: the caches of user code' "$(grep -cE ';open_files;.*open.*;[[]filp[]] ' "$tmp/user") > 0"
run "$rawprof" mem -k --sizes --format svg -o "$tmp/x.svg" 0.1
is '--sizes have no flame graph' "$status" 2
for o in --trace --temporary '--obj x' '--symbols-prefix je_'; do
	# shellcheck disable=SC2086 # two words
	run "$rawprof" mem -k $o 0.1
	is "$o is of programs: status" "$status" 2
	has "$o is of programs: says so" "$err" "${o%% *} .*programs"
done

# ---- per-CPU memory

net=$(unshare --net true 2>&1) || net=${net:-cannot unshare}
if [ -z "$net" ]; then
	run "$rawprof" mem -k --percpu --format folded -o "$tmp/percpu" -- unshare --net true
	is '--percpu: status' "$status" 0
	ledger_closes '--percpu'
	holds '--percpu: a network namespace has counters' "$(share "$tmp/percpu" '\[per-CPU\] [0-9]+$') > 0"
else
	skip '--percpu' "$net"
fi
run "$rawprof" mem -k --format folded -o "$tmp/percpu" -- unshare --net true
is 'without --percpu there is none' "$(grep -c 'per-CPU' "$tmp/percpu")" 0

command -v comm >/dev/null || finish # busybox has none
leaves_nothing_from_here
run "$rawprof" mem -k --leaks -q 0.2
is 'a short look: status' "$status" 0
leaves_nothing

# ---- nobody has all the room for blocks

# messages.py NAME QUEUES MESSAGES: makes so many queues, with so many messages each, which stay.
cat >"$tmp/messages.py" <<'EOF'
import ctypes, sys
open('/proc/self/comm', 'w').write(sys.argv[1])
libc = ctypes.CDLL(None)
text = ctypes.c_long(1)
for i in range(int(sys.argv[2])):
    queue = libc.msgget(0, 0o600)
    for j in range(int(sys.argv[3])):
        libc.msgsnd(queue, ctypes.byref(text), 0, 0o4000)
EOF
chmod 755 "$tmp"
as() { setpriv "--reuid=$1" "--regid=$1" --clear-groups /usr/bin/python3 "${@:2}"; }
# shellcheck disable=SC2317 # called
in_turn() {
	as 65534 "$1" one 70 16384
	as 65533 "$1" other 1 1000
	ipcrm --all=msg
	as 65534 "$1" again 10 10000
}
export -f as in_turn
# sent NAME: messages; a new slab has an array of its own, by kmalloc too.
sent() { awk -v c="$1;" 'index($0, c) == 1 && /;do_msgsnd;.*;[[]kmalloc-[^;]*[]] / && !/slab/ { n += $NF } END { print n + 0 }' "$tmp/sent"; }
if have_python && as 65533 -c '' && unshare -i true && type ipcrm >/dev/null 2>&1; then
	run "$rawprof" mem -k -K --weight alloc_objects --format folded -o "$tmp/sent" -- unshare -i bash -c "in_turn '$tmp/messages.py'"
	ledger_closes 'one user takes all the room'
	has 'one user takes all the room that it can' "$err" 'no room for blocks'
	is "one user takes all the room: another's are there" "$(sent other)" 1000
	is 'what is freed is room again' "$(sent again)" 100000
else
	skip 'one user takes all the room' 'cannot be another user here'
fi
finish
