#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench ONLY=unwind`: how whole are the user stacks of what a distribution ships, without frame
# pointers, and what does that cost? Root; about ten minutes, most of which
# perf needs to name its stacks. ONLY=python3,node: those programs; ONLY=cost: only the second half.
set -u
cd "$(dirname "$0")/../.." || exit 1
rawprof=${RAWPROF:-./rawprof}
build=${BUILD:-build}
only=${ONLY:+,$ONLY,}
here=bench/unwind
tmp=$(mktemp -d)
results=$tmp/unwind.md
trap 'rm -rf "$tmp"' EXIT

say() { printf '%s\n' "$@" >>"$results"; }
wanted() { [ -z "$only" ] || [[ $only == *,$1,* ]]; }

# What a JIT has made lies in no file: while the program runs, its memory is written down.
dump_code() {
	local pid range n=0
	sleep "$1"
	for pid in $(pgrep -x "$2"); do
		while read -r range _ _ _ inode _; do
			[ "$inode" = 0 ] || continue
			n=$((n + 1))
			dd if="/proc/$pid/mem" of="$tmp/code.$1.$n" bs=4096 iflag=skip_bytes,count_bytes \
				skip=$((16#${range%-*})) count=$((16#${range#*-} - 16#${range%-*})) 2>/dev/null &&
				echo "${range%-*} $tmp/code.$1.$n" >>"$tmp/code"
		done < <(grep -E '^[0-9a-f-]+ ..x' "/proc/$pid/maps")
	done
}

# Both sample the same run: it waits at the gate until perf is there too.
sample_both() {
	local pid
	rm -f "$tmp/go" "$tmp/pid" "$tmp/perf.data"
	mkfifo "$tmp/go"
	"$rawprof" cpu -q -F 499 -o "$tmp/profile.json" -- \
		sh -c "echo \$\$ >$tmp/pid; read -r go <$tmp/go; $1" >/dev/null 2>"$tmp/err" &
	while [ ! -s "$tmp/pid" ]; do sleep 0.1; done
	read -r pid <"$tmp/pid"
	perf record -q -N -e cpu-clock -F 499 --call-graph dwarf -p "$pid" -o "$tmp/perf.data" 2>>"$tmp/err" &
	while [ ! -s "$tmp/perf.data" ]; do sleep 0.1; done
	sleep 0.5
	echo >"$tmp/go"
	wait
	[ -s "$tmp/profile.json" ]
}

# sample_cost OPTIONS NAME COMMAND: beside a rawprof that looks at a process which sleeps: NAME.json and NAME-idle.json.
sample_cost() {
	local idle watch options out=$tmp/$2
	read -ra options <<<"$1"
	shift 2
	sleep 1000 &
	idle=$!
	"$rawprof" cpu -q "${options[@]}" -p $idle -o "$out-idle.json" 2>/dev/null &
	watch=$!
	"$rawprof" cpu -q "${options[@]}" --max-stack 1024 -o "$out.json" -- "$@" >/dev/null 2>&1
	kill -INT $watch
	wait $watch
	kill $idle
	wait $idle 2>/dev/null
}

# program NAME COMMAND: a line of the table. All runs but the first are for rawprof's own cost.
program() {
	local name=$1 dumps=()
	wanted "${name%% *}" || return
	echo "  UNWIND  $name" >&2
	: >"$tmp/code"
	rm -f "$tmp/profile.json"
	if [ "$name" = node ]; then
		for at in 3 4 5; do dump_code "$at" node & done
	fi
	if ! sample_both "$2"; then
		tail -n 5 "$tmp/err" >&2
		say "| $name | failed |"
		return
	fi
	perf script --no-inline -F comm,ip,sym -i "$tmp/perf.data" >"$tmp/perf.txt" 2>/dev/null
	sample_cost "-F 499 --user" user sh -c "$2"
	sample_cost "-F 499" cost sh -c "$2"
	sample_cost "-F 9999" fast sh -c "$2"
	mapfile -t dumps <"$tmp/code"
	/usr/bin/python3 $here/judge.py "$name" "$tmp/profile.json" "$tmp/perf.txt" \
		"$(stat -c %s "$tmp/perf.data")" "$tmp/user.json" "$tmp/user-idle.json" \
		"$tmp/cost.json" "$tmp/cost-idle.json" "$tmp/fast.json" "$tmp/fast-idle.json" "${dumps[@]}" >>"$results"
	rm -f "$tmp"/code.* "$tmp/perf.data"
}

say '# Whole user stacks' '' \
	"By bench/unwind/run.sh, $(date -u +%Y-%m-%d), Linux $(uname -r), $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(sed -n "s/^PRETTY_NAME=\"\(.*\)\"/\1/p" /etc/os-release), $(perf --version)." ''

if [ "$only" != ,cost, ]; then
	say "Programs as the distribution ships them, sampled 499 times a second by \`rawprof cpu\` and, in the same run, by \`perf record" \
		"--call-graph dwarf\` beside it." '' \
		'* **whole**: rawprof: the walk ended at a rule that says so. perf, which cannot tell: one of the three outermost user frames' \
		'  is `_start`, `__libc_start_main`, `__libc_start_call_main`, `main`, `clone` or `start_thread` (with debug symbols of libc).' \
		'* **returns**: return addresses in the stacks, counted as often as sampled; **no call** before how many of them is no' \
		'  call instruction (next to signal frames there need not be one); **unseen**: code of a JIT that was gone when its memory was looked at.' \
		'* **BPF**: run time of all BPF programs by samples kept, hash, map and ring included, at so many frames; in a run of its own.' \
		'  What it takes to pass over samples of other processes is measured by a second rawprof at the same time, and taken off.' \
		'  **user**: user stacks alone (`--user`); **all**: with the stacks of the kernel, which its own unwinder walks: some 10 us' \
		'  for each sample that was taken in the kernel.' \
		'  **499 Hz, 9,999 Hz**: the rarer samples are, the more the processor has forgotten in between, and the more of them are of' \
		'  stacks that were never seen before, which travel to user space: here nine in ten.' \
		'* **JSON**: the profile, all frames named; **packed** by zlib, as pprof has it; and `perf.data`.' '' \
		'| program | user stacks | whole, % | perf, % | frames | returns | no call | unseen | BPF at 499 Hz, user, us | frames | all, us | frames | at 9,999 Hz, all, us | frames | JSON, KB | packed, KB | perf, KB | perf to packed | not whole |' \
		'|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|'
	node=/usr/bin/node
	[ -x $node ] || node=$(command -v nodejs || echo node)
	program python3 "for i in 1 2 3 4; do /usr/bin/python3 $here/work.py 120; done"
	program perl "/usr/bin/perl $here/work.pl 3"
	program node "$node $here/work.js 5"
	program g++ "g++ -std=c++17 -O2 -DWORK_NAME=main -o $tmp/a.out $here/work.cpp"
	program xz "for i in 1 2; do xz -T2 -c /usr/bin/python3; done"
	program gzip "for i in 1 2 3 4 5 6; do gzip -9 -c /usr/bin/python3; done"
	program "sha256 (openssl)" "openssl speed -seconds 5 -bytes 16384 sha256"
	program "rsa2048 (openssl)" "openssl speed -seconds 2 rsa2048"
	program git "for i in 1 2 3; do git -c core.pager=cat log -p --stat -C -C; done"
	program sqlite3 "for i in 1 2; do sqlite3 :memory: <$here/work.sql; done"
	say ''
fi

if wanted cost; then
	echo "  UNWIND  cost" >&2
	say '## Deep stacks' '' 'A function that calls itself, -O2 and no frame pointers, 499 Hz.' '' \
		'| frames | BPF, us a sample |' '|---|---|'
	gcc -O2 -fomit-frame-pointer -o "$tmp/nest" $here/nest.c
	for depth in 24 120 500 1000; do
		sample_cost "-F 499" cost "$tmp/nest" $depth 3
		/usr/bin/python3 $here/judge.py --cost "$tmp/cost.json" "$tmp/cost-idle.json" >>"$results"
	done
	say '' '## Tables and the program' ''
	"$build/bench/unwind_cost" /usr/bin/python3 /usr/bin/perl /usr/bin/node /usr/lib/gcc/*/*/cc1plus /usr/bin/git \
		/usr/bin/sqlite3 /usr/lib/*/libc.so.6 /usr/lib/*/libcrypto.so.3 /usr/lib/*/libgtk-3.so.0 \
		/usr/lib/*/libLLVM-*.so.1 >>"$results"
fi

cp "$results" "${OUTPUT:-/dev/stdout}"
