#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rawprof lock of spinlocks, of which the kernel tells when two wait for one: that takes three CPUs.
. "$(dirname "$0")/locks_lib.sh"
need_profile

if [ "$(nproc)" -gt 2 ]; then
	contended signals spinlock '(sigaction|send_sig)' siglock
else
	skip 'signals' 'there are no three CPUs'
fi

finish
