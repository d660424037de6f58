/* SPDX-License-Identifier: BSD-2-Clause */
/* runq: how long threads wait for a CPU (programs/threads/runq.c). */
#ifndef PROGRAMS_RUNQ_H
#define PROGRAMS_RUNQ_H

#include "programs/shared/sched.h"

/* What became of the times that a thread came to a CPU. */
struct runq_stats {
	struct program_stats common;
	uint64_t unknown;    /* filtered: it was queued before we looked */
	uint64_t hists_full; /* lost: no room in the map hists */
	/* Lost: none in the map threads, so when it was queued is not known */
	uint64_t threads_full;
	uint64_t backwards; /* kept as 0 ns: the clock of that CPU was behind */
};
/* Key and value of the map hists; what they are not told apart by is 0. */
struct runq_key {
	uint32_t cpu, process;
};
#define RUNQ_HIST_BITS 5
#define RUNQ_HIST_SLOTS ((40 - RUNQ_HIST_BITS + 1) << RUNQ_HIST_BITS) /* to 2^40 ns, 18 minutes */
struct runq_hist {
	uint64_t sum, not_least, greatest; /* as struct asm_hist */
	uint64_t slots[RUNQ_HIST_SLOTS];
	char comm[16];	/* of the process */
	uint32_t payer; /* who pays for its place, by process: programs/shared/share.h */
	uint32_t unused;
};
/* Value of the map threads. */
struct runq_thread {
	uint64_t since;	   /* when it was queued, 0: it is not */
	uint64_t pid_tgid; /* of the same numbers as processes in hists */
	/* Without BTF: ns, until it leaves and tells whose they are; 0: none, else one more */
	uint64_t waited;
};
enum {
	RUNQ_MAP_THREADS = STACK_MAPS,
	RUNQ_MAP_GATE,
	RUNQ_MAP_HISTS,
	RUNQ_MAP_EMPTY,
	RUNQ_MAP_SHARES, /* of hists, by process */
	RUNQ_MAPS
};
extern const struct asm_map rp_runq_maps[RUNQ_MAPS];
/* For kernels with BTF, and without. */
enum runq_role {
	RUNQ_WAKEUP = 1 << 0, /* on sched_wakeup */
	RUNQ_NEW = 1 << 1,    /* on sched_wakeup_new */
	RUNQ_SWITCH = 1 << 2, /* on sched_switch */
};

#endif
