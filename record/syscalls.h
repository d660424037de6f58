/* SPDX-License-Identifier: BSD-2-Clause */
/* A seccomp filter: the system calls of a process that reads, and writes to what is open. */
#ifndef RECORD_SYSCALLS_H
#define RECORD_SYSCALLS_H

#include "confine.h"

/*
 * All others return -EPERM from now on: none executes a program, makes a process (but for what
 * reads in one of its own: @what) or a socket that leads anywhere, opens a file for writing, moves
 * or deletes one. Signals go to this process and to the child. No program
 * of BPF is loaded and no event of a single process opened, unless the recording does so later.
 * 0; -ENOSYS: the kernel has no filters; else a negative errno. The process must have given up to
 * gain privileges, or have CAP_SYS_ADMIN.
 */
int record_filter_syscalls(const struct record_confine *what);

/*
 * The same for a process that speaks to servers: it has sockets of the internet, of netlink and of
 * the machine, and nothing of BPF, of events or of signals to anyone but itself.
 */
int record_filter_sender(void);

#endif
