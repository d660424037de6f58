#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kernel.perf_event_paranoid = 3: kernels of Debian and Ubuntu then ask for CAP_SYS_ADMIN. Changes a setting of
# the whole machine, so it is for machines of its own.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile
if [ -z "${VM_KERNEL:-}" ]; then
	skip 'perf_event_paranoid' 'this is no machine of our own'
	finish
fi

paranoid=/proc/sys/kernel/perf_event_paranoid

echo 3 >$paranoid
run "$rawprof" doctor
is '3, with all rights: status' "$status" 0
run "$work/without-caps" sys_admin "$rawprof" doctor
is '3, without sys_admin: status' "$status" 1
has '3, without sys_admin: cpu_clock' "$out" '^  no   cpu_clock .*kernel.perf_event_paranoid above 2 asks for CAP_SYS_ADMIN'
has '3, without sys_admin: cpu says what to do' "$out" '^  no   cpu .*sysctl kernel.perf_event_paranoid=2'
echo 2 >$paranoid
run "$work/without-caps" sys_admin "$rawprof" doctor
# `mem` takes no other probes there than those that ask for it, before Linux 6.6.
is '2, without sys_admin: status' "$status" "$(grep -q '^  yes  uprobe_multi ' "$out" && echo 0 || echo 1)"
has '2, without sys_admin: cpu_clock' "$out" '^  yes  cpu_clock '

finish
