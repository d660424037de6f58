#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof explain: every program that there is, from the kernel and from saved logs.
. "$(dirname "$0")/lib.sh"

# ---- without any right

run "$rawprof" explain
is 'alone: status' "$status" 0
has 'alone: lists the programs' "$out" '^ *cpu_sample +perf event '
run "$rawprof" help explain
is 'help explain: status' "$status" 0
for o in --bytes --state --xlated --jit --dot --break --flip --lint --kernel-log --format; do
	has "explain --help names $o" "$out" "^ +(-., )?$o\b"
done

# refused NAME MESSAGE ARGS...
refused() {
	run "$rawprof" explain "${@:3}"
	is "$1: status" "$status" 2
	has "$1: says why" "$err" "$2"
	is "$1: no result" "$(wc -c <"$out")" 0
}
refused 'an unknown program' "no program 'nonesuch'" nonesuch
refused 'a beginning that several have' 'several programs' io_
refused 'two programs' 'one program at a time' ksym follow_fork
refused 'an unknown option' 'frobnicate' ksym --frobnicate
lacks 'an unknown option: nothing is near' "$err" 'did you mean'
refused 'a misspelt option' 'no option --xlatd; did you mean --xlated\?' ksym --xlatd
refused 'a misspelt option with its value' 'no option --fromat; did you mean --format\?' ksym --fromat=json
refused 'an unknown short option' 'no option -y$' ksym -y
refused 'an option without its value' '--format wants a value' ksym --format
refused 'a value to an option that takes none' '--jit takes no value' ksym --jit=x
refused 'an unknown format' 'jpeg' ksym --format jpeg
refused '--flip alone' '--break' ksym --flip
refused '--break with a saved log' 'kernel' ksym --break 0 --kernel-log x
refused '--lint of nothing' 'which program' --lint
refused '--lint with a saved log' 'alone' ksym --lint --kernel-log x
refused '--break of nothing' 'which program' --break 0

# ---- what is wrong, without a kernel

run "$rawprof" explain cpu --lint
is '--lint of a good program: status' "$status" 0
has '--lint of a good program: says so' "$out" '^cpu_sample: nothing was found\.'
run "$rawprof" explain 09/wrong_order --lint
is '--lint of a bad program: status' "$status" 1
has '--lint: the line' "$out" '^examples/09-[a-z-]+/bad\.c:[0-9]+: .*get_stackid'
has '--lint: the fault' "$out" '^  error: R1 of .* has to be the context'
is '--lint: nothing else' "$(grep -cvE '^(  (error|warning): |[^ ]+:[0-9]+: )' "$out")" 0

data=$PWD/tests/data
run "$rawprof" explain --kernel-log "$data/nullcheck-6.18.log"
is 'a log alone: status' "$status" 0
has 'a log alone: source' "$out" '^sub\.c:13: MOV_REG\(R6, R1\)$'
has 'a log alone: states' "$out" '^ +9 .*if r7 == 0x0 goto pc\+6 +R7=map_value\(counts\)'
has 'a log alone: joined' "$out" 'joined at 16 from 9 11 13 15; visited 1 time, 3 more'
lacks 'a log alone: no refusal' "$out" 'refused'
# The gallery is many logs: one of them.
awk '/^#####/ { on = $2 == "G9" } on && !/^#####/' "$data/refusals-6.18.log" >"$tmp/g9"
run "$rawprof" explain --kernel-log "$tmp/g9"
has 'a refused log: its own words' "$out" '^  says R1 !read_ok$'
has 'a refused log: why' "$out" 'R1 was destroyed by instruction 0: \(85\) call bpf_ktime_get_ns#5'
run "$rawprof" explain --kernel-log - # of /dev/null
is 'an empty log' "$status" 1
"$rawprof" explain --kernel-log - <"$tmp/g9" >"$out" 2>"$err"
has 'a log on standard input' "$out" '^  says R1 !read_ok$'
run "$rawprof" explain --kernel-log /no/such/file
is 'a log that is not there: status' "$status" 1
has 'a log that is not there: says so' "$err" '/no/such/file.*No such file'
run "$rawprof" explain --kernel-log /etc/passwd
is 'a text that is no log: status' "$status" 1
has 'a text that is no log: says so' "$err" '/etc/passwd is no log of the verifier'
run "$rawprof" explain follow_exit --kernel-log "$data/nullcheck-6.18.log"
is 'the log of another program: status' "$status" 0
has 'the log of another program: says so' "$err" 'another program'
head -c 300000 "$rawprof" >"$tmp/garbage"
run "$rawprof" explain --kernel-log "$tmp/garbage"
holds 'garbage for a log' "$status <= 1"
lacks 'garbage for a log: no crash' "$err" 'Sanitizer|Segmentation'

if ! can_profile; then
	run "$rawprof" explain follow_exit
	is 'without the right to load: status' "$status" 0
	has 'without the right to load: says what is missing' "$err" 'CAP_(BPF|SYS_ADMIN)'
	skip 'what the verifier says to every program' "$why_not"
	finish
fi

# ---- from this kernel; every program: test_explain_all.sh

leaves_nothing_from_here
# A struct within a frame or a map's value is shown by its own members.
run "$rawprof" explain runq_switch
has 'a struct in a frame: its members' "$out" '^  R10-16\.\.-9 +8  thread\.[a-z_]+ '
has 'a struct in a part'"'"'s frame: its members' "$out" '^  R10-40\.\.-37 +4  ns_ids\.pid$'
has 'a struct in a map: its members' "$out" '^ +8  8 +common\.idle$'
lacks 'a struct in a frame: not as one' "$out" '  thread( |$)'

# The graph as most people ask for it, without a log at hand.
without_addresses() { sed 's/0x[0-9a-f]\{16\}/ADDRESS/g' "$1"; }
for p in cpu_sample follow_exit ksym; do
	"$rawprof" explain $p --format log >"$tmp/log" 2>"$err"
	run "$rawprof" explain $p --dot --kernel-log "$tmp/log"
	is "$p --dot from its log: status" "$status" 0
	mv "$out" "$tmp/dot"
	run "$rawprof" explain $p --dot
	is "$p --dot: the same as from its log" "$(without_addresses "$out")" "$(without_addresses "$tmp/dot")"
done

# ---- what the kernel made of it

run "$rawprof" explain cpu --xlated
has '--xlated: a look-up is inlined' "$out" "^ +[0-9]+' .*r0 <<= 3"
has '--xlated: the kernel names its functions' "$out" "' \(85\) call bpf_get_current_pid_tgid#"
run "$rawprof" explain 06/by_loop --xlated
has 'states that were seen before are part of what holds' "$out" 'returns R0=0\.\.63$'
lacks '--xlated: a comparison that was left as it is' "$out" "' \(a5\) if r0 < "
run "$rawprof" explain ksym --bytes
has '--bytes' "$out" '^ +code 0xb7 = ALU64 \| MOV \| K   dst 8   src 0   off 0   imm 0$'
has '--bytes: a 64-bit constant' "$out" "code 0x18 = LD \| IMM \| DW .*address in a map's value"
run "$rawprof" explain ksym --state
has '--state' "$out" '^ +R1=ctx|R6=map_value\(ksym_io'
if command -v objdump >/dev/null && [ "$(cat /proc/sys/net/core/bpf_jit_enable)" != 0 ]; then
	run "$rawprof" explain ksym --jit
	has '--jit' "$out" '^ +[0-9a-f]+: (push|stp|mov|sd) '
else
	skip '--jit' 'no objdump, or no JIT'
fi

# ---- with an instruction taken out

run "$rawprof" explain cpu --break 'MOV_REG(R6, R1)'
is '--break: status' "$status" 0
has '--break: what was taken out' "$out" '^programs/cpu\.c:[0-9]+: MOV_REG\(R6, R1\)$'
has '--break: the verifier' "$out" '^  says R6 !read_ok$'
has '--break: where' "$out" '^  at   programs/cpu\.c:[0-9]+: .*R6'
has '--break: the history' "$out" 'nothing has written R6 on this path since the program began'
has '--break: names the line' "$out" '^  cut  programs/cpu\.c:[0-9]+: MOV_REG\(R6, R1\): this is what wrote R6$'
line=$(sed -n '1s/^programs\/\(cpu.c:[0-9]*\): .*/\1/p' "$out")
run "$rawprof" explain cpu --break 0
has '--break by number' "$out" '^  says R6 !read_ok$'
run "$rawprof" explain cpu --break "$line"
has '--break by file and line' "$out" '^  says R6 !read_ok$'
run "$rawprof" explain follow_fork --break 'JEQ(R0, 0, out)' --flip
has '--break --flip' "$out" 'now \(55\) if r0 != 0x0'
run "$rawprof" explain follow_fork --break 'MOV_REG(R2, R10)'
has '--break within a macro' "$out" '^  at   programs/shared/follow\.c:[0-9]+: FILTER_SET\(pids, PARENT, out\): CALL\(map_lookup_elem\)$'
run "$rawprof" explain cpu --break 'ST(W, R8, USER_END, STACK_BY_FP)'
has '--break of what the verifier does not need' "$out" '^accepted: .*What it computes is another matter'
run "$rawprof" explain cpu --break 99999
is '--break of nothing: status' "$status" 1
has '--break of nothing: says so' "$err" "no instruction '99999'"
run "$rawprof" explain ksym --break 'MOV(R0, 0)' --flip
is '--flip of no condition: status' "$status" 1
has '--flip of no condition: says so' "$err" 'only a condition'
run "$rawprof" explain cpu --break 0 --format json
if have_python; then
	is '--break as JSON' "$(python3 -c 'import json, sys; j = json.load(sys.stdin); print(j["broken"]["accepted"], j["refusal"]["message"], "R6" in j["refusal"]["history"])' <"$out" 2>&1)" 'False R6 !read_ok True'
fi

# ---- a terminal, and a reader who leaves

if command -v script >/dev/null; then
	last_command='explain on a terminal'
	TERM=xterm PAGER=cat script -qec "$rawprof explain ksym" /dev/null >"$out" 2>"$err" </dev/null
	has 'a terminal gets colour' "$out" $'\033\\[36m'
	TERM=xterm PAGER='sed s/^/paged:/' script -qec "$rawprof explain ksym" /dev/null >"$out" 2>"$err" </dev/null
	has 'a terminal gets the pager' "$out" '^paged:'
	TERM=xterm PAGER='sed s/^/paged:/' script -qec "$rawprof explain ksym --no-pager --no-color" /dev/null >"$out" 2>"$err" </dev/null
	lacks '--no-pager --no-color' "$out" $'paged:|\033'
	TERM=xterm PAGER='head -n 1' script -qec "$rawprof explain cpu; echo status \$?" /dev/null >"$out" 2>"$err" </dev/null
	has 'a pager that is left early' "$out" '^status 0'
else
	skip 'a terminal' 'script is not installed'
fi
last_command='explain | head'
"$rawprof" explain cpu --bytes --state --xlated 2>"$err" | head -n 1 >"$out"
is 'a reader that went away' "${PIPESTATUS[0]} $(wc -l <"$out")" '141 1'
last_command='explain >/dev/full'
"$rawprof" explain cpu >/dev/full 2>"$err"
is 'a full disk: status' $? 1
has 'a full disk: says why' "$err" 'No space left'

leaves_nothing
# Every program of the course as well; some mean a member, or a function, that no kernel has.
course=0 unexplained=
while read -r name; do
	course=$((course + 1))
	"$rawprof" explain "$name" >"$out" 2>"$err" || [[ $name == */misspelt ]] || unexplained+=" $name"
done < <("$rawprof" explain | awk '$1 ~ /\// { print $1 }')
holds 'the course: its programs are listed' "$course >= 60"
is 'the course: all of them are explained' "$unexplained" ''
run "$rawprof" explain 09/wrong_order
has 'the course: a refused one with its reason' "$out" 'why  bpf_get_stackid wants the context as argument 1'

finish
