/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording gives up once everything is attached. From then on it reads what other users
 * wrote: their names, their files, their memory. A fault in a parser must not hand them the rights
 * that it took to get there (docs/security.md).
 */
#ifndef RECORD_CONFINE_H
#define RECORD_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct record_confine {
	pid_t child;   /* the one process that may be sent signals; 0: none */
	bool attaches; /* probes are put on what is mapped while it records */
	bool forks;    /* what others wrote is read by processes of their own */
	bool loads;    /* a program is loaded later, for what is attached already */
	/* Servers are asked for debug files: the network and a cache are needed, the user's own. */
	bool network;
};

/*
 * For good, and for the whole process, which must have one thread: another user than root; no
 * capabilities but those to read; no core dumps; no system calls but a reader's (syscalls.h).
 * 0, or a negative errno after a message. What the kernel does not have is left out.
 */
int record_confine(const struct record_confine *what);
/*
 * While a file is opened that the command line names: what its user may not read, capabilities of
 * rawprof's file do not. Root keeps what root may read.
 */
void record_read_as_user(bool as_user);

#endif
