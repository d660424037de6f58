/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the scheduler tells: when a thread leaves a CPU, why, and when it is back.
 *
 *	programs/offcpu.c	time that threads do not run, by where they left
 *	programs/asleep.c	stacks of those that sleep since before
 */
#ifndef RAWPROF_SCHED_H
#define RAWPROF_SCHED_H

#include <rawprof/asm.h>
#include <rawprof/profile.h>

/* As what a thread leaves its CPU: one of these bits. The low ones have the values of the kernel. */
enum thread_state {
	THREAD_SLEEPING = 0x01,	 /* S: can be woken by a signal */
	THREAD_BLOCKED = 0x02,	 /* D: cannot; most often by a disk */
	THREAD_STOPPED = 0x04,	 /* T: by a signal */
	THREAD_TRACED = 0x08,	 /* t: by a debugger */
	THREAD_PARKED = 0x40,	 /* P: a thread of the kernel that is put aside */
	THREAD_DEAD = 0x80,	 /* its last switch */
	THREAD_IDLE = 0x100,	 /* I: a thread of the kernel that has nothing to do */
	THREAD_OTHER = 0x200,	 /* flags alone: frozen, waiting for a lock of a real-time kernel */
	THREAD_RUNNABLE = 0x400, /* R: it would run on if it were let */
};
#define THREAD_WAITING                                                                             \
	(THREAD_SLEEPING | THREAD_BLOCKED | THREAD_STOPPED | THREAD_TRACED | THREAD_PARKED |       \
	 THREAD_IDLE | THREAD_OTHER)

/*
 * From a state as task_struct has it (include/linux/sched.h: a bit below 0x100, and flags above; 0x402 is
 * uninterruptible, and yet no load) to one of the above.
 */
#define THREAD_STATE(state, t)                                                                     \
	SCOPE("THREAD_STATE(" #state ", " #t ")"), JEQ(state, 0, .runnable), MOV_REG(t, state),    \
		AND(t, 0x402), JEQ(t, 0x402, .idle), AND(state, 0xff), JNE(state, 0, .known),      \
		MOV(state, THREAD_OTHER), JA(.known), LABEL(.idle), MOV(state, THREAD_IDLE),       \
		JA(.known), LABEL(.runnable), MOV(state, THREAD_RUNNABLE), LABEL(.known), END

struct sched_config {
	struct profile_config profile;
	/* how this kernel tells the state of who leaves */
	uint32_t state_argument; /* by the fourth argument of sched_switch, 5.18 */
	uint32_t state_renamed;	 /* by task_struct.__state, 5.14; before by task_struct.state */
	/* which intervals */
	uint32_t states; /* enum thread_state */
	uint32_t unused;
	uint64_t min_ns, max_ns; /* 0: any */
};
/* dst = the state of a task, src, as the kernel has it. */
#define LD_STATE(dst, src)                                                                         \
	WHEN(struct sched_config, state_renamed), LD_FIELD(dst, src, "task_struct", "__state"),    \
		END, UNLESS(struct sched_config, state_renamed),                                   \
		LD_FIELD(dst, src, "task_struct", "state"), END

/* What became of the switches: each begins an interval of who leaves, or is none of our concern. */
struct sched_stats {
	struct profile_stats profile;
	uint64_t asleep;       /* of those fired: no switches, but threads that slept already */
	uint64_t runnable;     /* filtered: it did not wait, others were let first */
	uint64_t state;	       /* filtered: it waits in another state */
	uint64_t exited;       /* filtered: it will never be back */
	uint64_t shorter;      /* filtered, when it was back: less than min_ns */
	uint64_t longer;       /* filtered: more than max_ns */
	uint64_t threads_full; /* lost: no room in the map threads */
	uint64_t
		unseen; /* kept, though nobody told that it was back: by the kernel's sum of its run time */
	uint64_t backwards; /* kept as 0 ns: the clock of that CPU was behind */
};
extern const struct asm_layout sched_stats_layout;

/* Value of the map threads, by thread: the interval that it is in. */
struct sched_thread {
	uint64_t hash; /* of the stack where it left, 0: it is running */
	uint64_t since;
	uint64_t pid_tgid;
	uint32_t user_end; /* how its user stack ended, as in struct stack_record */
	uint32_t unused;
};

/* The maps of a profiler of waits: STACK_MAP_LIST, and these. */
enum { SCHED_MAP_THREADS = STACK_MAPS, SCHED_MAP_GATE, SCHED_MAPS };
extern const struct asm_layout sched_thread_layout;
#define SCHED_MAP_LIST(nvalues)                                                                    \
	STACK_MAP_LIST(nvalues, struct sched_stats, sched_stats_layout),                           \
		[SCHED_MAP_THREADS] = { "threads", BPF_MAP_TYPE_HASH,                              \
					4,	   sizeof(struct sched_thread),                    \
					32768,	   .value = &sched_thread_layout },                \
		[SCHED_MAP_GATE] = { "gate", BPF_MAP_TYPE_ARRAY, 4, 8, 1 }
/*
 * Nothing is counted before the gate is open, what threads do while everything is being set up. Its value is the time at which it
 * was opened, 0: closed.
 */
#define SCHED_GATE(out)                                                                            \
	SCOPE("SCHED_GATE(" #out ")"), LD_MAP_VALUE(R1, gate, 0), LDX(DW, R1, R1, 0),              \
		JEQ(R1, 0, out), END

/* ---- offcpu: time that threads do not run (programs/offcpu.c) */

enum { OFFCPU_WEIGHT_COUNT, OFFCPU_WEIGHT_NS, OFFCPU_WEIGHTS };
extern const struct asm_map offcpu_maps[SCHED_MAPS];
/* On sched_switch, with kernel BTF; the second on the classic tracepoint. */
extern const struct asm_program offcpu_switch_program, offcpu_switch_classic_program;
extern const struct sched_config offcpu_usual_config;

/* ---- asleep: stacks of those that sleep since before (programs/asleep.c) */

/*
 * An iterator; its configuration is that of the profiler with of_task. It makes entries in the map threads for those that sleep
 * since before the gate was opened, and walks those again whose mappings were not known. RP_HAS_TASK_ITER.
 */
extern const struct asm_program asleep_program;
extern const struct sched_config asleep_usual_config;

#endif
