/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows processes from their birth to their end. */
#ifndef PROGRAMS_FOLLOW_H
#define PROGRAMS_FOLLOW_H

#include "programs/registry.h"

/* The map pids: children of processes that are in it (programs/shared/follow.c). */
enum follow_role {
	FOLLOW_FORK = 1 << 0, /* a child is added when it is born */
	FOLLOW_EXIT = 1 << 1, /* it is removed when its last thread is gone; with kernel BTF */
};

/*
 * The map unwind_procs (programs/shared/unwind_follow.c); with kernel BTF. The configuration is a
 * struct program_config.
 */
enum unwind_follow_role {
	UNWIND_FOLLOW_FORK = 1 << 0,
	UNWIND_FOLLOW_EXEC = 1 << 1,
	UNWIND_FOLLOW_EXIT = 1 << 2,
};

#endif
