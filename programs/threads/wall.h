/* SPDX-License-Identifier: BSD-2-Clause */
/* wall: all time of threads (programs/threads/wall.c, wall_exec.c). */
#ifndef PROGRAMS_WALL_H
#define PROGRAMS_WALL_H

#include "programs/shared/sched.h"

/*
 * A stack where a thread left has four weights: how often it waited there and for how long, how
 * often it was only waiting for a CPU and for how long, which it also does after each wait. One
 * where it was sampled has its samples for the first.
 */
enum {
	WALL_WEIGHT_COUNT,
	WALL_WEIGHT_WAITING,
	WALL_WEIGHT_PREEMPTED,
	WALL_WEIGHT_QUEUED,
	WALL_WEIGHTS
};
/*
 * Tags of records besides enum thread_state. Those of WALL_ENDED are threads that have ended, whose
 * weights are, in this order, the members queued, on_cpu and lost of struct sched_thread, and the
 * time from born on.
 */
enum { WALL_SAMPLE = 0, WALL_ENDED = THREAD_DEAD };
/*
 * struct stack_record.fresh: who had the interpreter lock when a thread began to wait for it. The
 * record has the frames of Python of the holder; its tag is the hash of the waiter's, and its
 * weights are those of these waits.
 */
#define WALL_HOLDER 2
/* struct stack_moment.with: what the thread did until then. 0: it was sampled. */
enum { WALL_MOMENT_WAITING = 1, WALL_MOMENT_QUEUED };
/*
 * Of a kernel without BTF: when a CPU was switched last, and when threads were born that have not
 * left one yet.
 */
enum { WALL_MAP_SWITCHED = SCHED_MAPS, WALL_MAP_BIRTHS, WALL_MAPS };
extern const struct asm_map rp_wall_maps[WALL_MAPS];
/* Function wall_ended, of programs/threads/wall_exec.c: see there. */
extern const struct asm_part rp_wall_ended_part;
/* For kernels with BTF, and without. */
enum wall_role {
	WALL_SWITCH = 1 << 0,  /* on sched_switch */
	WALL_WAKEUP = 1 << 1,  /* on sched_wakeup */
	WALL_NEW = 1 << 2,     /* on sched_wakeup_new, without BTF */
	WALL_SAMPLES = 1 << 3, /* for samples of a perf event */
	WALL_EXEC = 1 << 4, /* on sched_process_exec; of rp_wall_exec_programs, needs no stacks */
};
/* To show them with. */
extern const struct sched_config rp_wall_usual_config, rp_wall_classic_usual_config;

/* Behind wall_leave, WHEN gil: programs/threads/wall_holder.c. */
extern const struct asm_part rp_wall_holder_part;

#endif
