/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the scheduler tells: when a thread leaves a CPU, why, and when it is back.
 *
 *	programs/threads/offcpu.c	time that threads do not run, by where they left
 *	programs/shared/asleep.c	stacks of those that sleep since before
 *	programs/threads/runq.c		how long threads wait for a CPU
 *	programs/threads/wall.c		all time of threads: on a CPU, waiting for one, waiting
 *	programs/threads/wall_exec.c	threads that go on under another id, for wall
 *	programs/threads/freed.c	what is left of threads, for offcpu and runq
 */
#ifndef PROGRAMS_SHARED_SCHED_H
#define PROGRAMS_SHARED_SCHED_H

#include "stack.h"

/* As what a thread leaves its CPU: one of these bits. The low ones have the kernel's values. */
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
 * From a state as task_struct has it (include/linux/sched.h: a bit below 0x100, and flags above;
 * 0x402 is uninterruptible, and yet no load) to one of the above.
 */
#define THREAD_STATE(state, t)                                                                     \
	SCOPE("THREAD_STATE(" #state ", " #t ")"), JEQ(state, 0, .runnable), MOV_REG(t, state),    \
		AND(t, 0x402), JEQ(t, 0x402, .idle), AND(state, 0xff), JNE(state, 0, .known),      \
		MOV(state, THREAD_OTHER), JA(.known), LABEL(.idle), MOV(state, THREAD_IDLE),       \
		JA(.known), LABEL(.runnable), MOV(state, THREAD_RUNNABLE), LABEL(.known), END

struct sched_config {
	struct program_config common;
	/* how this kernel tells the state of who leaves */
	uint32_t state_argument; /* by the fourth argument of sched_switch, 5.18 */
	uint32_t state_renamed;	 /* by task_struct.__state, 5.14; before by task_struct.state */
	/* which intervals */
	uint32_t states;   /* enum thread_state */
	uint32_t everyone; /* who runs has an interval too (wall) */
	uint32_t gil;	   /* who has an interpreter lock, too (wall); needs managed_bytes */
	uint32_t wakers;   /* waits are counted by who ended them, too (offcpu) */
	uint32_t by_cpu, by_process; /* what histograms are told apart by (runq) */
	uint32_t most_hists;	     /* places for them */
	uint32_t classic;	     /* no kernel BTF: what a task_struct says is not to be had */
	uint32_t kept_locks;	 /* a process may keep its lock: no memory is read then (asleep) */
	uint64_t min_ns, max_ns; /* 0: any */
	/* waits shorter than this are counted once in a while (offcpu_odds); 0: all are */
	uint64_t sample_ns;
};
/* dst = the state of a task, src, as the kernel has it. */
#define LD_STATE(dst, src)                                                                         \
	WHEN(struct sched_config, state_renamed), LD_FIELD(dst, src, "task_struct", "__state"),    \
		END, UNLESS(struct sched_config, state_renamed),                                   \
		LD_FIELD(dst, src, "task_struct", "state"), END

/*
 * sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int
 * prev_state); the last one since Linux 5.18, because by then prev may have been woken and
 * changed its state.
 *
 * prev = the task, state = as what it leaves; context holds the arguments. Who is preempted has not
 * left, whatever his state.
 */
#define LD_SWITCH_STATE(state, prev, context, t)                                                   \
	SCOPE("LD_SWITCH_STATE(" #state ", " #prev ", " #context ", " #t ")"),                     \
		LDX(DW, prev, context, 8), LDX(DW, t, context, 0), MOV(state, 0),                  \
		JNE(t, 0, .preempted), WHEN(struct sched_config, state_argument),                  \
		LDX(DW, state, context, 24), END, UNLESS(struct sched_config, state_argument),     \
		LD_STATE(state, prev), END, LABEL(.preempted), THREAD_STATE(state, t), END

/*
 * LD_SWITCH_STATE by the classic tracepoint's record (include/trace/events/sched.h), which has the
 * state in a shorter form: the bits that ps(1) has letters for, 0x80 for I, 0x100 for preempted, X
 * or Z from the end of a thread on.
 */
#define LD_CLASSIC_STATE(state, context)                                                           \
	SCOPE("LD_CLASSIC_STATE(" #state ", " #context ")"),                                       \
		LD_TP(state, context, "sched", "sched_switch", "prev_state"),                      \
		JEQ(state, 0, .runnable), JSET(state, 0x100, .runnable), JEQ(state, 0x80, .idle),  \
		JSET(state, 0x30, .ending), AND(state, THREAD_WAITING), JNE(state, 0, .known),     \
		MOV(state, THREAD_OTHER), JA(.known), LABEL(.ending), MOV(state, THREAD_DEAD),     \
		JA(.known), LABEL(.idle), MOV(state, THREAD_IDLE), JA(.known), LABEL(.runnable),   \
		MOV(state, THREAD_RUNNABLE), LABEL(.known), END

/* What became of the switches: each begins an interval of who leaves, or is none of our concern. */
struct sched_stats {
	struct program_stats common;
	uint64_t asleep;       /* of those fired: no switches, but threads that slept already */
	uint64_t runnable;     /* filtered: it did not wait, others were let first */
	uint64_t state;	       /* filtered: it waits in another state */
	uint64_t exited;       /* filtered: it will never be back */
	uint64_t shorter;      /* filtered, when it was back: less than min_ns */
	uint64_t longer;       /* filtered: more than max_ns */
	uint64_t threads_full; /* lost: no room in the map threads */
	uint64_t pairs_full;   /* kept, but without who ended the wait: no room in the map pairs */
	/* Kept, though its return was not seen: by the kernel's sum of its run time */
	uint64_t unseen;
	uint64_t backwards; /* kept as 0 ns: the clock of that CPU was behind */
	uint64_t not_drawn; /* filtered: others of its kind stand for it, by sample_ns; */
	uint64_t drawn_for; /*   how many so do what was kept stands for, beside itself */
};
extern const struct asm_layout rp_sched_stats_layout;

/* What a thread is at. */
enum thread_phase {
	PHASE_WAITING, /* for something; hash says where */
	/* For a CPU; hash says where it left the last one, 0 if it has not been on one */
	PHASE_QUEUED,
	PHASE_ON_CPU,
};

/* Value of the map threads, by thread: the interval that it is in. offcpu has the first half. */
struct sched_thread {
	uint64_t hash; /* of the stack where it left, 0: it is running, or its stack is lost */
	uint64_t since;
	uint64_t pid_tgid;
	uint32_t user_end; /* how its user stack ended, as in struct stack_record */
	uint32_t phase;	   /* enum thread_phase; offcpu with sample_ns: the odds, see offcpu_odds */
	uint64_t waker;	   /* hash of the stack that woke it last, 0: none has been seen */
	uint64_t woken;	   /* when its wait was over, 0: it is not yet */
	/* When we began to count; of the following the sum is the time since then: */
	uint64_t born;
	uint64_t on_cpu; /* ns on a CPU, */
	uint64_t queued; /* waiting for one with no stack yet, */
	uint64_t lost;	 /* off the CPU with its stack lost, and what its stacks weigh */
	char comm[16];
};
#define SCHED_OFFCPU_BYTES offsetof(struct sched_thread, woken)

/* The maps of a profiler of waits: STACK_MAP_LIST, and these. */
enum { SCHED_MAP_THREADS = STACK_MAPS, SCHED_MAP_GATE, SCHED_MAPS };
extern const struct asm_layout rp_sched_thread_layout, rp_sched_offcpu_layout;
#define SCHED_MAP_LIST(nvalues, thread_bytes, thread_layout)                                       \
	STACK_MAP_LIST(STACK_COUNTS_MAP(nvalues), struct sched_stats, rp_sched_stats_layout),      \
		[SCHED_MAP_THREADS] = { "threads", BPF_MAP_TYPE_HASH,	     4, (thread_bytes),    \
					32768,	   .value = &(thread_layout) },                    \
		[SCHED_MAP_GATE] = { "gate", BPF_MAP_TYPE_ARRAY, 4, 8, 1 }
/*
 * Nothing is counted before the gate is open, what threads do while everything is being set up. Its
 * value is the time at which it was opened, 0: closed.
 */
#define SCHED_GATE(out)                                                                            \
	SCOPE("SCHED_GATE(" #out ")"), LD_MAP_VALUE(R1, gate, 0), LDX(DW, R1, R1, 0),              \
		JEQ(R1, 0, out), END

#endif
