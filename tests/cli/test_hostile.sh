#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs whose files tell nothing, or lies: the profile is poorer, and it comes all the same.
. "$(dirname "$0")/lib.sh"
need_profile

# What is running is whole; what lies on disk under its name by the time of the report is not.
replaced() {
	local name=$1 dir=$tmp/$1
	mkdir "$dir"
	cp "$work/split" "$dir/prog"
	"$dir/prog" 20 &
	local pid=$!
	sleep 0.2
	shift
	"$@" "$dir/prog"
	run "$rawprof" cpu -F 999 --format folded -p $pid -d 1
	kill $pid
	wait $pid 2>/dev/null
	is "$name: status" "$status" 0
	holds "$name: samples are there" "$(total "$out") > 50"
	near "$name: under the program's name" "$(share "$out" '^prog;')" 100 0.1
	lacks "$name: no crash" "$err" 'Segmentation|Sanitizer|Abort|assert'
	ledger_closes "$name"
}
# A file that runs cannot be written, but it can be taken away and replaced.
truncated() { head -c 700 "$1" >"$1.new" && mv "$1.new" "$1"; }
garbage() { { printf '\177ELF\2\1\1'; head -c 20000 /dev/urandom; } >"$1.new" && mv "$1.new" "$1"; }
unreadable() { cp "$1" "$1.new" && chmod 0 "$1.new" && mv "$1.new" "$1"; }
other() { cp "$work/deep" "$1.new" && mv "$1.new" "$1"; }
empty() { : >"$1.new" && mv "$1.new" "$1"; }
fifo() { rm "$1" && mkfifo "$1"; }
for what in truncated garbage unreadable other empty fifo rm; do
	replaced "$what" "$what"
done
# The one that now lies there is another program: none of its names may be used for this one.
replaced 'replaced by another program' other
lacks 'replaced by another program: none of its names' "$out" ';(leaf|visit|walk)( |;)'

# What is begun is called rawprof until it is that program: on a busy machine that takes more than one sample.
# A section header table that points beyond the file, on the very file that runs.
cp "$work/split" "$tmp/broken"
printf '\377\377\377\377\377\377\377\177' | dd of="$tmp/broken" bs=1 seek=40 conv=notrunc status=none
folded -F 999 -- "$tmp/broken" 1
near 'section headers beyond the end' "$(share "$out" '^(broken|rawprof);')" 100 0.1

# Debug data that is asked for with --lines: a split unit in a pipe that nobody writes to, a section of 3 GB.
if gcc -g -gsplit-dwarf -O1 -o "$tmp/pipe" tests/workloads/split.c 2>/dev/null && chown 65534 "$tmp/pipe"; then
	find . "$tmp" -maxdepth 1 -name '*split.dwo' -exec rm {} +
	mkfifo "$tmp/pipe-split.dwo"
	RUN_TIMEOUT=60 folded -F 999 --lines -- "$tmp/pipe" 1
	near 'a split unit that is a pipe: samples' "$(share "$out" '^(pipe|rawprof);')" 100 0.1
else
	skip 'a split unit that is a pipe' 'gcc cannot'
fi
# Debug data that is shared among files: its place is a pipe too.
if gcc -g -gdwarf-4 -O1 -S -o "$tmp/alt.s" tests/workloads/split.c 2>/dev/null; then
	awk '/\.debug_abbrev/ { abbrev = 1 } last ~ /0x1b$/ && abbrev && !done { $0 = ".uleb128 0x1f21"; done = 1 } { print; last = $0 }
		END { print ".section .gnu_debugaltlink,\"\",@progbits\n.asciz \"'"$tmp/elsewhere"'\"\n.fill 20,1,85" }' \
		"$tmp/alt.s" >"$tmp/alt2.s"
	gcc -o "$tmp/alt" "$tmp/alt2.s" -lm -pthread && chown 65534 "$tmp/alt" && mkfifo "$tmp/elsewhere"
	readelf --debug-dump=abbrev "$tmp/alt" >"$tmp/abbrev" 2>/dev/null
	has 'debug data elsewhere: the file asks for it' "$tmp/abbrev" 'DW_AT_comp_dir +DW_FORM_GNU_strp_alt'
	RUN_TIMEOUT=60 folded -F 999 --lines -- "$tmp/alt" 1
	near 'debug data elsewhere, a pipe: samples' "$(share "$out" '^(alt|rawprof);')" 100 0.1
	has 'debug data elsewhere: lines are there' "$out" ';work_60 [^;]*:[0-9]+'
else
	skip 'debug data elsewhere' 'gcc cannot'
fi
if have_python; then
	cp "$work/split" "$tmp/large"
	python3 - "$tmp/large" <<-'EOF'
		import struct, sys
		with open(sys.argv[1], 'r+b') as f:
		    data = f.read()
		    at, = struct.unpack_from('<Q', data, 40)
		    n, names = struct.unpack_from('<HH', data, 60)
		    text, = struct.unpack_from('<Q', data, at + 64 * names + 24)
		    for i in range(n):
		        name, = struct.unpack_from('<I', data, at + 64 * i)
		        if data[text + name:].startswith(b'.debug_str\0'):
		            f.seek(at + 64 * i + 24)
		            f.write(struct.pack('<QQ', 1 << 20, 3 << 30))
		    f.truncate((1 << 20) + (3 << 30))
	EOF
	run "$rawprof" cpu -F 999 --lines -- "$tmp/large" 1
	is 'strings of 3 GB: status' "$status" 0
	holds 'strings of 3 GB: memory in MiB' \
		"$(sed -n 's/.*own cost: .*memory \([0-9.]*\) \([MG]\)iB$/\1 * (\"\2\" == \"G\" ? 1024 : 1)/p' "$out") < 300"
else
	skip 'strings of 3 GB' 'python3 is not installed'
fi

# JIT maps: whatever a process writes there, and whoever else's it is.
jit_map() {
	"$work/split" 20 &
	local pid=$!
	cat >"/tmp/perf-$pid.map"
	run "$rawprof" cpu -F 999 --format folded -p $pid -d 1
	kill $pid
	wait $pid 2>/dev/null
	rm -f "/tmp/perf-$pid.map"
	is "$1: status" "$status" 0
	near "$1: the file's own names hold" "$(share "$out" ';work_60( |;)')" 60 6
}
head -c 100000 /dev/urandom | jit_map 'JIT map of noise'
printf 'zz 10 a\n\n  \n12\n12 \n12 10\nffffffffffffffff ffffffffffffffff b\n0 0 c\n%s\n' \
	"$(head -c 70000 /dev/zero | tr '\0' 'a')" | jit_map 'JIT map of nonsense'
printf '0 7fffffffffffffff everything\n' | jit_map 'JIT map that claims all memory'

# Files that had a process mapped may be anything by the time that they are opened: opening a FIFO would wait for ever.
cat >"$tmp/swap" <<'END'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	cp /bin/true "$1/mapped.$i" && "$1/mapped.$i" && rm "$1/mapped.$i" && mkfifo "$1/mapped.$i"
done
END
RUN_TIMEOUT=60 run "$rawprof" mem -- bash "$tmp/swap" "$tmp"
is 'mapped files that became FIFOs: status' "$status" 0

# Names with any byte in them must not break a format.
name=$(printf 'we;ird "na<me>\t&\001\377')
cp "$work/split" "$tmp/$name"
folded -F 999 -- "$tmp/$name" 0.5
near 'a weird name: each line is a stack and a count' \
	"$(awk '!/^[^;]+(;[^;]+)* [0-9]+$/ { n++ } END { print n + 0 }' "$out")" 0 0
run "$rawprof" cpu -F 999 --format json -- "$tmp/$name" 0.5
if have_python; then
	python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$out" 2>>"$err" &&
		ok 'a weird name: JSON is valid' || fail 'a weird name' 'JSON is not valid'
fi
run "$rawprof" cpu -F 999 --format svg -- "$tmp/$name" 0.5
if command -v xmllint >/dev/null; then
	xmllint --noout "$out" 2>>"$err" && ok 'a weird name: SVG is well-formed' ||
		fail 'a weird name' 'SVG is not well-formed'
fi
# A file on a user's file system that answers no more, under an overlay of theirs: who looks at it waits for ever.
mknod "$tmp/fuse" c 10 229 2>/dev/null && chmod 666 "$tmp/fuse" && chmod a+x "$tmp"
# stall [locked]
stall() {
	rm -rf "$tmp/stalled" "$tmp/stalls"
	mkdir -m 777 "$tmp/stalls"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/stalls" "$tmp/fuse" "$tmp/stalls" 300 "$@" >"$tmp/stalled" 2>/dev/null &
	stalls=$!
	while [ ! -s "$tmp/stalled" ] && kill -0 $stalls 2>/dev/null; do
		sleep 0.1
	done
}
# they_end NAME COMMAND...: recordings of the machine do, with a result.
they_end() {
	local command
	for command in "${@:2}"; do
		run timeout -s KILL 60 "$rawprof" $command -a -d 1 --format folded
		is "$1: $command ends" "$status" 0
		ledger_closes "$1: $command"
	done
}
stall
if [ -s "$tmp/stalled" ]; then
	they_end 'a file that nobody answers for' cpu wall lock
	folded -F 499 -d 1 -p "$(cat "$tmp/stalled")"
	holds 'a file that nobody answers for: what it ran is seen' "$(share "$out" '^stalled;') > 90"
	has 'a file that nobody answers for: it is said' "$err" 'over/stalled.*: Permission denied'
else
	skip 'a file that nobody answers for' 'no FUSE here, or no user namespaces'
fi
kill -KILL $stalls 2>/dev/null

# A process whose mappings and memory stay locked: who reads them waits for ever.
stall locked
if [ -s "$tmp/stalled" ]; then
	they_end 'a process that keeps its lock' cpu wall offcpu
	folded -F 499 -d 1 -p "$(cat "$tmp/stalled")"
	holds 'a process that keeps its lock: what it runs is seen' "$(share "$out" '^stalls;') > 90"
	"$work/deep" 60 &
	deep=$!
	folded -a -F 499 -d 1
	has 'a process that keeps its lock: others have names' "$out" '^deep;.*;visit;'
	kill $deep
else
	skip 'a process that keeps its lock' 'no FUSE here, or no user namespaces'
fi
kill -KILL $stalls 2>/dev/null

# Code, and names of mappings, without end.
for what in code paths; do
	mkdir -m 777 "$tmp/endless"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/endless" $what "$tmp/endless" 300 >"$tmp/runs" 2>/dev/null &
	endless=$!
	while [ ! -s "$tmp/runs" ] && kill -0 $endless 2>/dev/null; do
		sleep 0.1
	done
	if [ -s "$tmp/runs" ]; then
		they_end "endless $what" cpu wall
	else
		skip "endless $what" 'there is no room for so much'
	fi
	kill -KILL $endless 2>/dev/null
	wait $endless 2>/dev/null
	rm -rf "$tmp/endless"
done

# Functions with names of 32 KB in 1,500 stacks of 40 frames each: their texts would be 240 MB, of the first 4 KB.
x=$(printf '%032000d' 0)
{
	echo '.text'
	for i in {0..23}; do
		echo ".type n$i$x, @function; n$i$x: push %rbp; mov %rsp, %rbp; call step; pop %rbp; ret; .size n$i$x, . - n$i$x"
	done
	cat <<-'EOF'
		step: push %rbp
		mov %rsp, %rbp
		test %rdi, %rdi
		jz 1f
		dec %rdi
		mov %rsi, %rax
		xor %edx, %edx
		mov $24, %ecx
		div %rcx
		imul $1103515245, %rax, %rsi
		lea table(%rip), %rax
		call *(%rax, %rdx, 8)
		pop %rbp
		ret
		1: mov $110, %eax
		syscall
		pop %rbp
		ret
		.globl main
		main: push %rbp
		mov %rsp, %rbp
		push %rbx
		push %rbx
		mov $1, %ebx
		2: mov $40, %edi
		imul $40503, %rbx, %rsi
		call step
		mov $35, %eax # nanosleep: who reads stacks keeps up on a busy machine too
		lea pause(%rip), %rdi
		xor %esi, %esi
		syscall
		inc %rbx
		cmp $1500, %rbx
		jbe 2b
		pop %rbx
		pop %rbx
		xor %eax, %eax
		pop %rbp
		ret
		.section .note.GNU-stack, "", %progbits
		.section .data.rel.ro, "aw"
		pause: .quad 0, 1000000
		table:
	EOF
	for i in {0..23}; do echo ".quad n$i$x"; done
} >"$tmp/long.s"
if gcc -o "$tmp/long" "$tmp/long.s" 2>/dev/null; then
	# On a busy machine nobody may read for long: in one of five runs it is read in time.
	for _ in 1 2 3 4 5; do
		run "$rawprof" trace syscalls:sys_enter_getppid --stacks -o "$tmp/lines" -- "$tmp/long"
		grep -q 'without their stack' "$err" || break
	done
	is 'long names in stacks of events: all of them' "$(grep -c getppid "$tmp/lines")" 1500
	holds 'long names in stacks of events: the names' "$(grep -c '^ *n[0-9]*0000000' "$tmp/lines") > 55000"
	holds 'long names in stacks of events: memory in MiB' \
		"$(sed -n 's/.*own cost: .*memory \([0-9.]*\) MiB$/\1/p' "$err") < 150"
	# What finds no room for its stack is an event all the same.
	run "$rawprof" trace syscalls:sys_enter_getppid --stacks -o "$tmp/lines" -- \
		sh -c "kill -STOP \$PPID; '$tmp/long'; kill -CONT \$PPID"
	has 'stacks that are not read in time: said' "$err" '[0-9]+ events are without their stack: there was no room for it'
	ledger_closes 'stacks that are not read in time'
	rm -f "$tmp/lines"
else
	skip 'long names in stacks of events' 'no gcc, or another machine'
fi
finish
