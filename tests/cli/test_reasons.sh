#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is lacking is named, and what to do about it: by each command, with status 1, and by doctor.
. "$(dirname "$0")/lib.sh"
need_profile
RUN_TIMEOUT=60
commands=('cpu 0.1' 'mem -- true' 'io 0.1' 'lock 0.1' 'wall 0.1')

# each NAME REGEX PREFIX...: every command, run behind PREFIX, fails for this reason, which is its first word.
each() {
	local name=$1 regex=$2 command
	shift 2
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # the words of the command
		run "$@" "$rawprof" $command
		is "$name: $command: status" "$status" 1
		has "$name: $command: says so" <(head -n 1 "$err") "^rawprof: .*($regex)"
	done
	run "$@" "$rawprof" doctor
	is "$name: doctor: status" "$status" 1
	has "$name: doctor: says so" "$out" "^  no   cpu .*($regex)"
}

# ---- a filter of system calls, as of containers
filter='a filter of system calls .seccomp. refuses it'
if "$work/forbid" EPERM bpf true; then
	for error in EPERM ENOSYS; do
		for call in bpf perf_event_open; do
			each "$call: $error" "$filter" "$work/forbid" $error $call
		done
		run "$work/forbid" $error bpf "$rawprof" doctor
		has "bpf: $error: doctor, of the mechanism" "$out" "^  no   bpf .*$filter"
		run "$work/forbid" $error pidfd_open "$rawprof" cpu -- sleep 20
		is "pidfd_open: $error: status" "$status" 1
		has "pidfd_open: $error: says so" "$err" "cannot see sleep end: pidfd_open: .*$filter"
		run "$work/forbid" $error pidfd_open "$rawprof" cpu -p $$ 0.1
		is "pidfd_open: $error: of a process: status" "$status" 0
		has "pidfd_open: $error: of a process: says so" "$err" "cannot see process $$ end: pidfd_open"
	done
else
	skip 'a filter of system calls' 'none can be made here'
fi

# ---- file systems that are not mounted
# without_mount DIR COMMAND...: with nothing in it.
without_mount=$tmp/without_mount
cat >"$without_mount" <<'SH'
#!/bin/sh
[ -n "$HIDDEN" ] || HIDDEN=1 exec unshare -m "$0" "$@"
mount --make-rprivate / && mount -t tmpfs none "$1" && shift && exec "$@"
SH
# limited LETTER NUMBER COMMAND...
limited=$tmp/limited
cat >"$limited" <<'SH'
#!/bin/bash
ulimit "-$1" "$2" && shift 2 && exec "$@"
SH
chmod +x "$without_mount" "$limited"
if "$without_mount" /proc true 2>/dev/null; then
	each 'no procfs' 'there is no /proc.*mount -t proc proc /proc' "$without_mount" /proc
	run "$without_mount" /proc "$rawprof" doctor
	has 'no procfs: doctor, of the mechanism' "$out" '^  no   kallsyms .*/proc is not mounted'
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086
		run "$without_mount" /sys "$rawprof" $command
		is "no sysfs: $command: works" "$status" 0
		has "no sysfs: $command: what is lacking" "$err" \
			'there is no /sys,.*mount -t sysfs sysfs /sys'
	done
	run "$without_mount" /sys "$rawprof" doctor
	has 'no sysfs: doctor' "$out" '^  no   kernel_btf .*/sys is not mounted'
	lacks 'no sysfs: doctor blames no configuration' "$out" 'CONFIG_(DEBUG_INFO_BTF|[KU]PROBE_EVENTS) is off'
	# Without tracefs: rawprof mounts one for itself alone.
	run "$without_mount" /sys/kernel "$rawprof" mem --growth -- true
	is 'no /sys/kernel/tracing and no BTF: status' "$status" 1
	has 'no /sys/kernel/tracing and no BTF: says so' "$err" 'needs mmap, .*BTF'
else
	skip 'file systems that are not mounted' 'mount is not allowed here'
fi

# ---- limits
for number in 5 8 12 16 20 26; do
	each "$number descriptors" 'raise `ulimit -n`' "$limited" n $number
done
# Of any number of descriptors: enough, or this is the reason, and no other one follows from it.
for number in {27..42}; do
	for command in "${commands[@]}" 'mem --faults 0.1' 'mem --growth 0.1'; do
		# shellcheck disable=SC2086
		run "$limited" n $number "$rawprof" $command
		[ "$status" -eq 0 ] || has "$number descriptors: $command" "$err" 'raise .ulimit -n'
		lacks "$number descriptors: $command: no wrong reason" "$err" 'CONFIG_|refused by the verifier|Linux 5'
	done
done
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	run "$limited" v 9000 "$rawprof" $command
	if [ "$status" -eq 127 ]; then
		skip "little address space: $command" 'too little to load its libraries'
		continue
	fi
	is "little address space: $command: status" "$status" 1
	has "little address space: $command: says so" "$err" 'raise .ulimit -v'
	run "$limited" l 0 "$rawprof" cpu 0.1
	[ "$status" -eq 0 ] || has 'no locked memory' "$err" 'ulimit -l'
done

# Memory that just suffices to start: a list of many processes is then none that makes no sense.
ids=$(seq -s , 100000 112000)
least=0
for ((step = 1 << 15; step; step /= 2)); do
	run "$limited" v $((least + step)) "$rawprof" --version "$ids"
	[ "$status" -eq 0 ] || least=$((least + step))
done
listed=0
for more in 8 24 48 72 96 120 160 240; do
	run "$limited" v $((least + more)) "$rawprof" cpu -p "$ids" 0.1
	last_command="rawprof cpu -p LIST with $more KB"
	is "no memory for a list: $more KB: status" "$status" 1
	# Where the C library has no locale to load, it is the message that finds no room.
	if grep -qE 'cpu failed: Cannot allocate memory|out of memory' "$err"; then listed=1; fi
done
is 'no memory for a list: says so' $listed 1

# ---- capabilities, one after the other
if "$work/without-caps" sys_ptrace true 2>/dev/null; then
	for pair in bpf:CAP_BPF perfmon:CAP_PERFMON; do
		if [ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled)" = 0 ]; then
			skip "without ${pair#*:}" 'kernel.unprivileged_bpf_disabled is 0'
			continue
		fi
		for command in "${commands[@]}"; do
			# shellcheck disable=SC2086
			run "$work/without-caps" "${pair%:*},sys_admin" "$rawprof" $command
			is "without ${pair#*:}: $command: status" "$status" 1
			has "without ${pair#*:}: $command: says so" "$err" "${pair#*:} is needed to .*setcap"
		done
	done
	# CAP_SYS_ADMIN stands for both, to the end of the recording.
	for right in bpf perfmon; do
		for command in "${commands[@]}"; do
			# shellcheck disable=SC2086
			run "$work/without-caps" $right "$rawprof" $command
			is "CAP_SYS_ADMIN for $right: $command: status" "$status" 0
			lacks "CAP_SYS_ADMIN for $right: $command: nothing fails later" "$err" 'CAP_|refused by'
		done
	done
	for right in sys_ptrace syslog sys_resource; do
		run "$work/without-caps" $right "$rawprof" cpu -- true
		is "without $right: cpu" "$status" 0
	done
else
	skip 'capabilities' 'this process may not give up any'
fi
finish
