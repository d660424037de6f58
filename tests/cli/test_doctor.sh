#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What doctor says is held against what is found out in other ways, with all capabilities and with one after
# the other taken away.
. "$(dirname "$0")/lib.sh"
need_profile

# says NAME: "yes" or "no", of a right, a mechanism, a job or a command. why NAME: the rest of the line.
named='{ found = substr($0, 8, 16); sub(/ *$/, "", found) }'
says() { awk -v name="$1" "$named"' found == name && ($1 == "yes" || $1 == "no") { print $1 }' "$out"; }
why() { awk -v name="$1" "$named"' found == name { print substr($0, 31) }' "$out"; }
answer() { if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi; }

mount_tracefs # who has lost the right to mount it finds it there, as on most machines

run "$rawprof" doctor
is 'doctor: status' $status 0
is 'doctor: nothing but the diagnosis' "$(cat "$err")" ''
has 'doctor: which kernel' "$out" "^rawprof [0-9.]+ on Linux $(uname -r | sed 's/[+.]/[&]/g') \\($(uname -m)\\)"
cp "$out" "$tmp/all"
# What works for root in a machine of its own may be forbidden in a container: those lines are not tested there.
own_machine() { [ "$(answer "$work/without-caps" sys_ptrace true)" = yes ]; }

lacks 'doctor: every line can be read alone' "$out" '^ +(yes|no) .*\b[Tt]he same\b'

# ---- the same by other means
is 'kernel_btf' "$(says kernel_btf)" "$(answer test -r /sys/kernel/btf/vmlinux)"
pmu=/sys/bus/event_source/devices
if [ ! -e $pmu/kprobe/type ]; then is 'kprobe: there is no such PMU' "$(says kprobe)" no; fi
if [ ! -e $pmu/uprobe/type ]; then is 'uprobe: there is no such PMU' "$(says uprobe)" no; fi
is 'kallsyms' "$(says kallsyms)" "$(answer grep -qm 1 '^0*[1-9a-f][0-9a-f]* [tT] ' /proc/kallsyms)"
if command -v bpftool >/dev/null; then
	bpftool feature probe kernel >"$tmp/features" 2>/dev/null
	is 'ringbuf: as bpftool finds' "$(says ringbuf)" \
		"$(answer grep -q 'eBPF map_type ringbuf is available' "$tmp/features")"
	is 'syscall_prog: as bpftool finds' "$(says syscall_prog)" \
		"$(answer grep -q 'eBPF program_type syscall is available' "$tmp/features")"
	is 'bpf_loop: as bpftool finds' "$(says bpf_loop)" "$(answer grep -q '^[[:space:]]*- bpf_loop$' "$tmp/features")"
else
	skip 'as bpftool finds' 'bpftool is not installed'
fi
# The languages are those of the tables: all versions of Python between the first and the last, each of V8.
versions() { sed -n 's/^\t{ [.AT(]*version)* = 0x\(..\)\(..\),$/\1 \2/p' "$1" | while read -r a b; do echo $((16#$a)).$((16#$b)); done; }
versions record/python_layouts.c >"$tmp/versions"
first=$(sed -n 1p "$tmp/versions") last=$(sed -n '$p' "$tmp/versions")
is 'Python: no version between is missing' "$(wc -l <"$tmp/versions")" $((${last#3.} - ${first#3.} + 1))
has 'doctor: versions of Python' "$out" "^  (yes|no) +Python .*CPython $first to $last,"
has 'doctor: versions of V8' "$out" "^  (yes|no) +JavaScript .*V8 $(versions record/v8_layouts.c | paste -sd, | sed 's/,/, /g') "
has 'doctor: versions of Java' "$out" '^  (yes|no) +Java .*HotSpot 17, 21, 25, 26$'
# What cpu does is what doctor said it would.
cpu_says=$(why cpu)
event=${cpu_says#samples by }
event=${event%%[,;]*}
run "$rawprof" cpu -F 99 0.2
has 'cpu: samples by what doctor said' "$out" "samples? of $event( |$)"

# Each command does what doctor said, by mechanisms that it said are there.
sed -n '/^Commands$/,$p' "$tmp/all" | sed 1d | cut -c 8-23 | sed 's/ *$//' >"$tmp/commands"
for command in cpu offcpu wall mem io lock func trace; do
	has "doctor has the command $command" "$tmp/commands" "^$command$"
done
while IFS= read -r command; do
	cp "$tmp/all" "$out"
	answer=$(says "$command")
	ways=$(why "$command" | sed 's/;.*//; s/^counts by \([^:]*\):.*/\1/; s/^samples by [^,]*,* *//; s/, / /g')
	for way in $ways; do
		[ "$answer" = no ] || [ "$way" = perf_event ] || is "$command: $way is there" "$(says "$way")" yes
	done
	set -- 0.1
	case $command in mem | gpu | 'lock --hold') set -- -- true ;; trace) set -- sched:sched_switch 0.1 ;; func) set -- libc:malloc 0.1 ;; esac
	case $command in agent) set -- --dir "$tmp/agent" -d 1 ;; top) set -- -i 0.1 -d 0.1 ;; *) set -- -o /dev/null "$@" ;; esac
	# shellcheck disable=SC2086 # the command and its option
	run "$rawprof" $command "$@"
	is "$command: works, as doctor said" "$([ "$status" = 0 ] && echo yes || echo no)" "$answer"
done <"$tmp/commands"

# ---- as JSON
run "$rawprof" doctor --format json
is 'json: status' $status 0
if command -v python3 >/dev/null; then
	python3 - "$out" >"$tmp/json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for group in "rights", "mechanisms", "ways", "languages", "commands":
    for f in d[group]:
        assert f["works"] == (f["errno"] == 0), f
        print("  %-3s  %-16s %-5s %s" % ("yes" if f["works"] else "no", f["name"], f["since"], f["text"]))
PY
	is 'json: the same as the text' "$(cat "$tmp/json")" "$(grep -E '^  (yes|no) ' "$tmp/all")"
else
	skip 'json' 'python3 is not installed'
fi

# ---- without capabilities
# without CAPS: doctor's diagnosis in $out, and only these lines in $changed.
without() {
	run "$work/without-caps" "$1" "$rawprof" doctor
	changed=$(grep -E '^  (yes|no) ' "$out" | grep -vxFf "$tmp/all" | awk '{ print $1, $2 }' | tr '\n' ' ')
}
# Doctor's status; behind it, if it should have been $1, the commands that do not work.
status_and_why() {
	if [ "$status" = "$1" ]; then
		echo "$status"
	else
		echo "$status: $(sed -n '/^Commands/,$p' "$out" | grep '^  no')"
	fi
}
# only NAME LINES...: of those changed none but these, each of which must be there if it was "yes" before.
only() {
	local name=$1 line
	shift
	for line; do
		if grep -q "^  yes  ${line#no } " "$tmp/all"; then
			case " $changed" in
			*" $line "*) changed=" $changed" && changed=${changed/ $line / } ;;
			*) fail "$name: $line" "is not among: $changed"; return ;;
			esac
		fi
	done
	is "$name: nothing else is missing" "${changed// /}" ''
}

if ! own_machine; then
	skip 'capabilities one at a time' 'this process may not give up any'
	finish
fi
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)

for right in sys_ptrace sys_resource; do
	without $right
	is "without $right: status" "$(status_and_why 0)" 0
	only "without $right" "no CAP_${right^^}"
done

# CAP_SYS_ADMIN stands for these two.
for right in bpf perfmon; do
	without $right
	is "without $right, with sys_admin: status" "$(status_and_why 0)" 0
	only "without $right, with sys_admin"
done

without syslog
is 'without syslog: status' "$(status_and_why 0)" 0
is 'without syslog: kallsyms as it is' "$(says kallsyms)" \
	"$(answer "$work/without-caps" syslog grep -qm 1 '^0*[1-9a-f][0-9a-f]* [tT] ' /proc/kallsyms)"
if [ "$(says kallsyms)" = no ]; then
	is 'without syslog: says so' "$(why kallsyms)" 'needs CAP_SYSLOG'
	is 'without syslog: names come from the kernel' "$(why 'kernel symbols')" "$(
		[ "$(says kernel_names)" = yes ] && echo kernel_names || echo 'bare addresses, instead of kernel_names, kallsyms')"
fi

without sys_admin
if [ "$paranoid" -gt 2 ] && [ "$(says cpu_clock)" = no ]; then
	skip 'without sys_admin' 'kernel.perf_event_paranoid is above 2, and this kernel asks for it then'
	finish
fi
# Before Linux 6.6 `mem` takes a probe of the kind that asks for it.
needs_admin=$([ "$(says uprobe_multi)" = yes ] && echo 0 || echo 1)
is 'without sys_admin: status' "$(status_and_why "$needs_admin")" "$needs_admin"
is 'without sys_admin: mem' "$(says mem)" "$([ "$needs_admin" = 0 ] && echo yes || echo no)"
is 'without sys_admin: run_stats' "$(says run_stats): $(why run_stats)" 'no: needs CAP_SYS_ADMIN'
is 'without sys_admin: own cost' "$(why 'own cost')" 'CPU time of rawprof alone, instead of run_stats'
is 'without sys_admin: cpu' "$(says cpu)" yes
[ -e $pmu/uprobe/type ] && is 'without sys_admin: uprobe' "$(why uprobe)" 'needs CAP_SYS_ADMIN'

without bpf,sys_admin
if [ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" != 0 ]; then
	is 'without bpf: status' $status 1
	for m in bpf ringbuf map_batch raw_tp tp_btf syscall_prog kernel_names; do
		is "without bpf: $m" "$(says $m): $(why $m)" 'no: needs CAP_BPF'
	done
	is 'without bpf: cpu_clock stays' "$(says cpu_clock)" "$(grep -q 'yes  cpu_clock' "$tmp/all" && echo yes)"
	is 'without bpf: cpu' "$(says cpu)" no
	has 'without bpf: cpu says why' "$out" '^  no   cpu .*CAP_BPF is needed'
else
	skip 'without bpf' 'kernel.unprivileged_bpf_disabled is 0'
fi

without perfmon,sys_admin
if [ "$paranoid" -gt 0 ]; then
	is 'without perfmon: status' $status 1
	is 'without perfmon: bpf stays' "$(says bpf)" yes
	is 'without perfmon: ringbuf stays' "$(says ringbuf)" yes
	is 'without perfmon: cpu_clock' "$(says cpu_clock): $(why cpu_clock)" 'no: needs CAP_PERFMON'
	is 'without perfmon: tp_btf' "$(says tp_btf): $(why tp_btf)" 'no: needs CAP_PERFMON'
	has 'without perfmon: cpu says why' "$out" '^  no   cpu .*CAP_PERFMON is needed'
else
	skip 'without perfmon' "kernel.perf_event_paranoid is $paranoid"
fi

without '!bpf,perfmon,syslog,sys_ptrace'
is 'with what setcap would give: status' "$(status_and_why "$needs_admin")" "$needs_admin"
is 'with what setcap would give: cpu' "$(says cpu): $(why cpu)" "yes: $cpu_says"

finish
