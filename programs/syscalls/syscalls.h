/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All system calls, how often they are made, how long they take, how they fail: what
 * `trace --syscalls` loads, and what both sides share.
 *
 * A thread is in one call at a time, from sys_enter to sys_exit; it has an entry in the map started
 * for as long as it lives.
 */
#ifndef RAWPROF_SYSCALLS_H
#define RAWPROF_SYSCALLS_H

#include "programs/shared/stack.h"

struct syscalls_config {
	struct program_config common;
	uint32_t own[2];     /* processes of rawprof itself, whose calls are left out */
	uint32_t by_cpu;     /* only calls that begin on CPUs in the map cpus */
	uint32_t by_process; /* sums for each process, */
	uint32_t by_comm;    /*   and command */
	uint32_t most_sums;  /* places of the map sums */
	uint32_t errors;     /* how often each error comes */
	uint32_t classic;    /* the context is the record of raw_syscalls:sys_enter, sys_exit */
	uint32_t exit, exit_group; /* numbers of the calls that never return */
};

/* What became of the calls: common.fired of them have begun. */
struct syscalls_stats {
	struct program_stats common;
	uint64_t own;	       /* filtered: rawprof's own */
	uint64_t exits;	       /* filtered: exit and exit_group, which never return */
	uint64_t thread_ended; /* filtered: the thread was killed inside */
	uint64_t unended;      /* lost: the thread began another call, the end was not seen */
	uint64_t threads_full; /* lost: no room for the thread */
	uint64_t sums_full;    /* lost: no room for another sum */
	uint64_t errors_full;  /* kept, but which error it was is not */
};

/* Value of the map started, by the address of the struct task_struct. */
struct syscalls_call {
	uint64_t start; /* CLOCK_MONOTONIC, ns; 0: it is in none */
	uint32_t number;
	uint32_t process; /* as we number them */
};

/* Key of the maps sums and errors; in sums error is 0. */
struct syscalls_key {
	uint32_t number;
	uint32_t process; /* 0 unless by_process */
	uint32_t error;	  /* errno; also those that only the kernel sees, from 512 */
	uint32_t unused;
	char comm[16];
};
#define SYSCALLS_ERRORS 16384 /* places of errors: a sum may have failed in several ways */
#define SYSCALLS_HIST_BITS 3
#define SYSCALLS_HIST_SLOTS 304 /* up to 2^40 ns, 18 minutes */
/* Value of sums: of each CPU; by process, of which there are many more, of all together. */
struct syscalls_sum {
	struct {
		uint64_t sum, not_least, greatest; /* struct asm_hist */
		uint64_t slots[SYSCALLS_HIST_SLOTS];
	} hist;
	uint64_t errors;
};

enum {
	SYSCALLS_MAP_STARTED = STACK_MAPS,
	SYSCALLS_MAP_SUMS,
	SYSCALLS_MAP_ERRORS, /* uint64_t by key, of each CPU */
	SYSCALLS_MAP_CPUS,
	SYSCALLS_MAP_NO_SUM, /* a struct syscalls_sum that stays as it is */
	SYSCALLS_MAP_SHARES, /* of sums, of errors */
	SYSCALLS_MAPS
};
extern const struct asm_map rp_syscalls_maps[SYSCALLS_MAPS];

enum { SYSCALLS_ENTERS = 1 << 0, SYSCALLS_EXITS = 1 << 1, SYSCALLS_THREAD_ENDS = 1 << 2 };

#endif
