/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the scheduler tells: when a thread leaves a CPU, why, and when it is back.
 *
 *	programs/sched.c	the arguments of sched_switch, on every kernel the same
 *	programs/offcpu.c	time that threads do not run, by where they left
 */
#ifndef RAWPROF_SCHED_H
#define RAWPROF_SCHED_H

#include <rawprof/asm.h>
#include <rawprof/profile.h>

/*
 * As what a thread leaves its CPU: one of these bits. The first seven have the values of the kernel
 * (include/linux/sched.h), which has more than one of them in a state only with flags above 0xff.
 */
enum thread_state {
	THREAD_SLEEPING = 0x01, /* S: can be woken by a signal */
	THREAD_BLOCKED = 0x02,	/* D: cannot; most often by a disk */
	THREAD_STOPPED = 0x04,	/* T: by a signal */
	THREAD_TRACED = 0x08,	/* t: by a debugger */
	THREAD_PARKED = 0x40,	/* P: a thread of the kernel that is put aside */
	THREAD_DEAD = 0x80,	/* its last switch */
	THREAD_IDLE = 0x100,	/* I: a thread of the kernel that has nothing to do */
	THREAD_OTHER =
		0x200, /* a state with flags alone: frozen, waiting for a lock of a real-time kernel */
	THREAD_RUNNABLE = 0x400, /* R: it would run on if it were let */
};
#define THREAD_WAITING                                                                             \
	(THREAD_SLEEPING | THREAD_BLOCKED | THREAD_STOPPED | THREAD_TRACED | THREAD_PARKED |       \
	 THREAD_IDLE | THREAD_OTHER)

/* How a kernel tells the state of who leaves; part of configurations. */
struct sched_kernel {
	uint32_t state_argument; /* in the fourth argument of sched_switch, 5.18 */
	uint32_t state_renamed;	 /* in task_struct.__state, 5.14; before in task_struct.state */
};

/* ---- offcpu: time that threads do not run (programs/offcpu.c) */

struct offcpu_config {
	struct profile_config profile;
	struct sched_kernel kernel;
	/* which intervals */
	uint32_t states; /* enum thread_state */
	uint32_t unused;
	uint64_t min_ns, max_ns; /* 0: any */
};

/* What became of the switches: each begins an interval of who leaves, or is none of our concern. */
struct offcpu_stats {
	struct profile_stats profile;
	uint64_t runnable;     /* filtered: it did not wait, others were let first */
	uint64_t state;	       /* filtered: it waits in another state */
	uint64_t exited;       /* filtered: it will never be back */
	uint64_t shorter;      /* filtered, when it was back: less than min_ns */
	uint64_t longer;       /* filtered: more than max_ns */
	uint64_t threads_full; /* lost: no room in the map threads */
	uint64_t
		unseen; /* kept, but nobody told us that it was back: by the kernel's sum of its run time */
	uint64_t backwards; /* kept as 0 ns: the clock of that CPU was behind */
};

/* Value of the map threads, by thread: the interval that it is in. */
struct offcpu_thread {
	uint64_t hash; /* of the stack where it left, 0: it is running */
	uint64_t since;
	uint64_t pid_tgid;
};

enum { OFFCPU_WEIGHT_COUNT, OFFCPU_WEIGHT_NS, OFFCPU_WEIGHTS };
enum { OFFCPU_MAP_THREADS = STACK_MAPS, OFFCPU_MAP_GATE, OFFCPU_MAPS };
extern const struct asm_map offcpu_maps[OFFCPU_MAPS];
/*
 * On sched_switch, with kernel BTF; the second on the classic tracepoint. Nothing counts before the only element of the
 * map gate is set, a uint64_t, and when it is 0 again.
 */
extern const struct asm_program offcpu_switch_program, offcpu_switch_classic_program;
extern const struct offcpu_config offcpu_usual_config;

#endif
