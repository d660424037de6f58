/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads are inside of a call, for profilers that keep what happens in long ones alone
 * (--during).
 *
 *	entry	the map during has the thread: since when, with which stack pointer
 *	return	a call longer than the limit goes through the ring; the thread is taken out
 *
 * Between the two the profiler's programs find the thread there, DURING_OR(), and do their work.
 * What they send is sorted out in user space (record/during.c) by when it was.
 *
 * Only the outermost call of a thread counts. A call of a user function is left without a return by
 * longjmp; that shows at the next call or return of the thread, whose stack pointer is not below.
 * Calls of functions of the kernel are counted in and out, those of system calls and pairs of
 * tracepoints do not nest.
 */
#ifndef PROGRAMS_SHARED_DURING_H
#define PROGRAMS_SHARED_DURING_H

#include "config.h"
#include "probe.h"

struct during_config {
	struct program_config common;
	struct probe_config probe;
	uint64_t limit_ns;
	uint32_t user;	 /* user functions, told apart by the stack pointer */
	uint32_t nested; /* functions of the kernel */
};
/* Value of the map during, by thread. */
struct during_call {
	uint64_t start;	   /* CLOCK_MONOTONIC, ns */
	uint64_t sp;	   /* at the entry; UINT64_MAX where calls do not nest */
	uint64_t pid_tgid; /* as target_ids() gives them */
	uint64_t depth;	   /* nested: so many entries without a return */
};
/* A long call, through the ring events: shorter than a record, and no struct stack_moment. */
struct during_slow {
	uint64_t pid_tgid, begin, end;
	char comm[16];
	uint64_t unused;
};
/* The only element of the map during_stats. */
struct during_stats {
	uint64_t calls;	 /* of the target, outermost */
	uint64_t slow;	 /* of these longer than the limit, and sent; */
	uint64_t fast;	 /*   not longer; */
	uint64_t left;	 /*   without a return; */
	uint64_t unsent; /*   longer, but the ring was full; */
	uint64_t full;	 /*   not seen at all: no room in the map during */
};

/* Elements of the map during: most threads inside of calls at a time. */
#define DURING_THREADS 16384
/* And of during_calls, by number: not 0, it is asked for. */
#define DURING_SYSCALLS 1024

/* On to the label if the thread with the id at the frame offset tid is in no call. */
#define DURING_OR(config, tid, outside)                                                            \
	WHEN(config, common.during), MAP_LOOKUP(during, tid), JEQ(R0, 0, outside), END

/* Roles: a point, and what it is put on. */
enum during_role {
	DURING_ENTRY = 1 << 0, /* registers */
	DURING_RETURN = 1 << 1,
	DURING_ENTRY_ARGS = 1 << 2, /* fentry, fexit */
	DURING_RETURN_ARGS = 1 << 3,
	DURING_ENTRY_CALL = 1 << 4, /* system calls, with BTF */
	DURING_RETURN_CALL = 1 << 5,
	DURING_ENTRY_CALL_TP = 1 << 6, /* and without */
	DURING_RETURN_CALL_TP = 1 << 7,
	DURING_ENTRY_TP = 1 << 8, /* any tracepoint */
	DURING_RETURN_TP = 1 << 9,
	DURING_GONE = 1 << 10, /* the thread ends, or executes another program */
};

#endif
