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

sh -c "$swarm; $swarm" &
folded -F 999 -U -d 4 --comm leaf
wait
ledger_closes 'whole machine'
holds 'whole machine: samples' "$(total "$out") > 100"
holds 'whole machine: whole stacks' "$(whole_share "$out") > 85"

# A program whose files nobody has seen, half over before their tables are made: what is known of their functions is
# megabytes, of frames that are large and of one that is mostly left as it was.
# Each sample is a copy of 150 KB until then: at a low rate a busy machine has room for them, too.
if command -v "${CC:-gcc}" >/dev/null; then
	cat >"$tmp/unseen.c" <<'EOF'
#include <time.h>
#ifndef NO_TABLES
asm(".text\n.rept 150000\n.cfi_startproc\nnop\n.cfi_adjust_cfa_offset 16\nnop\n.cfi_adjust_cfa_offset -16\nnop\n"
    ".balign 16\n.cfi_endproc\n.endr\n");
#endif
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
static volatile unsigned long sum;
__attribute__((noinline)) void unseen_leaf(double seconds)
{
	double end = now() + seconds;
	while (now() < end)
		for (int i = 0; i < 20000; i++)
			sum = sum * 7 + i;
	sum++;
}
__attribute__((noinline)) void unseen_huge(double seconds)
{
	volatile char left[300000];
	left[0] = left[sizeof(left) - 1] = 1;
	unseen_leaf(seconds);
	sum += left[0];
}
__attribute__((noinline)) void unseen_down(int n, double seconds)
{
	volatile char some[500];
	some[0] = n;
	if (n)
		unseen_down(n - 1, seconds);
	else
		unseen_huge(seconds);
	sum += some[0];
}
EOF
	cat >"$tmp/begins.c" <<'EOF'
void unseen_down(int, double);
int main(void)
{
	volatile char mark[26];
	for (int i = 0; i < 26; i++)
		mark[i] = 'a' + i * 7 % 26;
	unseen_down(84, 0.3); /* deeper than the loader has been */
	return mark[0] != 'a';
}
EOF
	"${CC:-gcc}" -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fasynchronous-unwind-tables -shared -fPIC \
		-o "$tmp/libunseen.so" "$tmp/unseen.c" &&
		"${CC:-gcc}" -O2 -o "$tmp/begins" "$tmp/begins.c" "$tmp/libunseen.so" -Wl,-rpath,"$tmp"
	mkdir "$tmp/nothing"
	XDG_CACHE_HOME=$tmp/nothing folded -F 199 -v -- "$tmp/begins"
	ledger_closes 'files that nobody has seen'
	if [ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -ge 601 ]; then
		has 'files that nobody has seen: stacks were walked later' "$err" '[1-9][0-9]* of them further'
		near 'files that nobody has seen: whole stacks' \
			"$(grep ';unseen_leaf' "$out" | share /dev/stdin ';_start;.*;main;(unseen_down;)+unseen_huge;unseen_leaf')" 100 5
		is 'files that nobody has seen: each sample once' \
			"$(total "$out")" "$(sed -n 's/^ledger: .* = \([0-9,]*\) kept.*/\1/p' "$err" | tr -d ,)"
	fi
	# Wherever in its page the stack ends.
	for pad in 0 512 1024 1536 2048 2560 3072 3584; do
		for ((i = 0; i < 10; i++)); do # the tables may be there at the first sample
			rm -r "$tmp/nothing"
			mkdir "$tmp/nothing"
			PAD=$(printf '%*s' $pad '') XDG_CACHE_HOME=$tmp/nothing folded -F 499 -v -- setarch -R "$tmp/begins"
			if grep -q '[1-9][0-9]* of them further' "$err"; then break; fi
		done
		if [ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -ge 601 ]; then
			has "files that nobody has seen, $pad bytes further: stacks were walked later" "$err" '[1-9][0-9]* of them further'
		fi
		lacks "files that nobody has seen, $pad bytes further: each stack has its callers" "$err" 'return address 0'
	done
	# What is copied of stacks is what functions have there, not what the process was started with.
	cat >"$tmp/scan.py" <<'EOF'
import os, sys
mark, secret = bytes(97 + i * 7 % 26 for i in range(26)), b"hidden-42-from-others"
found = [False, False]
while True:
    try:
        memory = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
        maps = [line.split() for line in open(f"/proc/{sys.argv[1]}/maps")]
        if not maps: # it has ended, and nobody has waited for it
            break
    except OSError:
        break
    for line in maps:
        begin, end = (int(x, 16) for x in line[0].split("-"))
        if "w" in line[1] and (len(line) < 6 or line[5] == "[heap]") and end - begin < 1 << 28:
            try:
                data = os.pread(memory, end - begin, begin)
            except OSError:
                continue
            found = [found[0] or mark in data, found[1] or secret in data]
    os.close(memory)
print(*found)
EOF
	# shellcheck disable=SC2016 # the shell that is run is to do the sum
	printf 'export SECRET="hidden-$((40 + 2))-from-others"\nexec %s\n' "$tmp/begins" >"$tmp/secret.sh"
	if have_python && [ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -ge 601 ]; then
		for pad in 0 1000 2000 3000; do
			for ((i = 0; i < 10; i++)); do
				rm -r "$tmp/nothing"
				mkdir "$tmp/nothing"
				PAD=$(printf '%*s' $pad '') XDG_CACHE_HOME=$tmp/nothing \
					"$rawprof" cpu -F 499 -o "$tmp/folded" -- setarch -R sh "$tmp/secret.sh" 2>"$err" &
				found=$(python3 "$tmp/scan.py" $!)
				wait $!
				if [ "${found#True}" != "$found" ]; then break; fi
			done
			is "copies of stacks, $pad bytes further: what functions have, not the environment" "$found" 'True False'
		done
	fi
	# Nor do they say anything of their functions, so that rules are computed from the code.
	"${CC:-gcc}" -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -DNO_TABLES -shared \
		-fPIC -o "$tmp/libunseen.so" "$tmp/unseen.c"
	XDG_CACHE_HOME=$tmp/nothing folded -F 199 -v -- "$tmp/begins"
	ledger_closes 'code that says nothing'
	if [ "$(uname -m)" = x86_64 ] && [ "$(uname -r | awk -F. '{ print $1 * 100 + $2 }')" -ge 601 ]; then
		has 'code that says nothing: stacks were walked later' "$err" '[1-9][0-9]* of them further'
		near 'code that says nothing: whole stacks' \
			"$(grep ';unseen_leaf' "$out" | share /dev/stdin ';_start;.*;main;(unseen_down;)+unseen_huge;unseen_leaf')" 100 5
	fi
fi

# Hand-written code, which has its old stack pointer in rcx while a helper of its own runs.
if command -v "${CC:-gcc}" >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	cat >"$tmp/by_hand.c" <<'EOF'
#include <time.h>
void by_hand(void);
asm(".text\n.balign 16\nhelper: mov $300000, %eax\n1: dec %eax\njne 1b\nret\n"
    ".balign 16\n.globl by_hand\n.type by_hand, @function\n"
    "by_hand: mov %rsp, %rcx\nand $-32, %rsp\nsub $0x60, %rsp\ncall helper\nsub $0x40, %rsp\ncall helper\n"
    "mov $200000, %eax\n1: dec %eax\njne 1b\nmov %rcx, %rsp\nret\n.size by_hand, . - by_hand\n");
int main(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 2;
	while (clock() < end)
		by_hand();
	return 0;
}
EOF
	"${CC:-gcc}" -O2 -fomit-frame-pointer -o "$tmp/by_hand" "$tmp/by_hand.c"
	folded -F 999 -U -- "$tmp/by_hand"
	folded -F 999 -U -- "$tmp/by_hand" # its rules are there now
	holds 'by hand: samples' "$(grep -c ';helper' "$out") > 0 && $(total "$out") > 100"
	near 'by hand: whole stacks' \
		"$(grep -E ';(by_hand|helper)( |;)' "$out" | share /dev/stdin ';main;by_hand(;helper)? [0-9]+$')" 100 2
fi

# Functions in assembly of programs without frame pointers, and with: by these one came to the end too, but past callers.
for flags in -fomit-frame-pointer -fno-omit-frame-pointer; do
	[ "$(uname -m)" = x86_64 ] && command -v "${CC:-gcc}" >/dev/null || break
	"${CC:-gcc}" -O1 $flags -D_GNU_SOURCE -o "$tmp/assembly" tests/workloads/byhand.c
	folded -F 999 -U -- "$tmp/assembly" 0.3
	folded -F 999 -U -- "$tmp/assembly" 0.5 # its rules are there now
	holds "assembly, $flags: samples" "$(total "$out") > 100"
	grep -E ';(bare|framed|keeping|spins)( |;)' "$out" >"$tmp/assembled"
	near "assembly, $flags: all callers" "$(share "$tmp/assembled" \
		';main;(calls_bare;bare|calls_framed;framed(;spins)?|calls_keeping;keeping(;spins)?) [0-9]+$')" 100 2
done

# Calls of other files by stubs that no FDE describes, as lld and mold make them.
if command -v "${CC:-gcc}" >/dev/null; then
	# For x86-64 ld does describe them.
	[ "$(uname -m)" != x86_64 ] || undescribed=-Wl,--no-ld-generated-unwind-info
	"${CC:-gcc}" -O1 -D_GNU_SOURCE -fno-builtin -fplt -fomit-frame-pointer ${undescribed:+"$undescribed"} \
		-o "$tmp/plt" tests/workloads/plt.c
	XDG_CACHE_HOME=$tmp/nothing folded -F 999 -U -- "$tmp/plt" 0.5
	holds 'stubs of a PLT: samples' "$(grep -c ';memcpy@plt ' "$out") > 0 && $(total "$out") > 100"
	near 'stubs of a PLT: whole stacks, from the first on' \
		"$(grep ';memcpy@plt ' "$out" | share /dev/stdin ';__libc_start_(call_)?main.*;main;memcpy@plt [0-9]+$')" 100 0
fi

sleep 100 &
run "$rawprof" cpu -p $! -d 0.2
kill $!
has 'no stack: that is said' "$out" 'Nothing was recorded'
lacks 'no stack: none of them is called whole' "$out" 'user stacks'

# ---- stacks of many frames

# dives FILE: of the stacks that end in bottom(), weighed: how many have which frames, a run of dive() as their number.
dives() {
	awk '/;bottom / { weight = $NF; sub(/ [0-9]+$/, ""); n = split($0, frame, ";"); text = ""; run = 0
		for (i = 2; i <= n; i++) {
			if (frame[i] == "dive") run++
			else { if (run) text = text " dive*" run; run = 0; text = text " " frame[i] }
		}
		seen[text] += weight }
		END { for (text in seen) print seen[text] text }' "$1" | sort -rn | head -n 1 | sed 's/^[0-9]* //'
}
rest=$(folded -F 999 -U -- "$work/dive" 1 0.2 >/dev/null; dives "$out") # how a stack begins: _start and the C library's
rest=${rest%% main*}
around=$(($(wc -w <<<"$rest") + 1)) # and main

run "$rawprof" doctor
if grep -qE 'yes +bpf_loop ' "$out"; then
	folded -F 999 -U -- "$work/dive" 1000 0.3
	is 'a thousand frames, without being asked' "$(dives "$out")" "$rest main dive*1000 bottom"
	has 'a thousand frames: they are whole' "$err" 'user stacks: (9[5-9]|100)\.[0-9] % whole'

	folded -F 999 -U -- "$work/dive" 3000 0.3
	is 'three thousand frames, without being asked' "$(dives "$out")" "$rest main dive*3000 bottom"
	has 'three thousand frames: they are whole' "$err" 'user stacks: (9[5-9]|100)\.[0-9] % whole'
	ledger_closes 'three thousand frames'

	# Of the whole machine it begins without, until a stack is cut.
	"$work/dive" 3000 20 &
	diver=$!
	folded -F 999 -U -d 5
	kill $diver
	wait $diver 2>/dev/null
	holds 'whole machine: three thousand frames' \
		"$(awk '/^dive;.*;main;/ && gsub(/;dive/, "") == 3000 { n += $NF } /;bottom / { m += $NF } END { print m ? 100 * n / m : 0 }' "$out") > 70"

	folded -F 999 -U --max-stack 2500 -- "$work/dive" 3000 0.3
	is 'as many frames as were asked for' "$(dives "$out")" 'dive*2499 bottom'

	folded -F 999 -U -- "$work/dive" 5000 0.3
	has 'too deep: what is cut is said' "$err" '[0-9]+ too deep'
	lacks 'too deep: the outermost ones are not there' "$out" ';main;.*;bottom[ ;]'

	folded -F 999 -U --max-stack 100+20 -- "$work/dive" 3000 0.3
	is 'both ends: the frames of each, and a mark' "$(dives "$out")" \
		"$rest main dive*$((20 - around)) [...] dive*99 bottom"
	has 'both ends: that is said' "$err" '[0-9]+ without their middle'
	lacks 'both ends: nothing is too deep' "$err" 'too deep'

	folded -F 999 -U --max-stack 100+20 -- "$work/dive" 100 0.3
	is 'both ends: what fits has no mark' "$(dives "$out")" "$rest main dive*100 bottom"
	has 'both ends: and is whole' "$err" 'user stacks: (9[5-9]|100)\.[0-9] % whole'
	ledger_closes 'both ends'
else
	skip 'stacks of many frames' 'before Linux 5.17 they end after 64'
fi

for wrong in 4097 0 1+1 1000+25 100+0 100+ +5; do
	run "$rawprof" cpu --max-stack "$wrong" -d 0.1
	is "--max-stack $wrong: is none" "$status" 2
done
# The kernel's own walk has a limit of its own, which is said once.
limit=$(cat /proc/sys/kernel/perf_event_max_stack)
if [ "$limit" -lt 1000 ]; then
	run "$rawprof" cpu --max-stack $((limit + 1)) -d 0.1
	is "--max-stack beyond the kernel's walk: said once" "$(grep -c "allows $limit frames" "$err")" 1
fi

finish
