#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What this kernel makes of a program: each call has the name of what is called. On arm64 since Linux 6.10 the number
# of a helper that the JIT compiler writes out itself is not that of an address.
. "$(dirname "$0")/../../cli/lib.sh"
need_profile

run "$rawprof" explain cpu --xlated
is 'cpu: status' $status 0
has 'cpu: calls are named' "$out" '\(85\) call bpf_get_current_pid_tgid#'
lacks 'cpu: nothing is called that is no function' "$out" '\(85\) call (__bpf_call_base|0x|unknown)'
if [ "$(uname -m)" = aarch64 ]; then
	has 'cpu: which processor it is' "$out" '\(85\) call bpf_get_smp_processor_id#'
fi
finish
