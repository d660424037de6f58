/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks: what `lock` loads, and what both sides share.
 *
 *	programs/lock/lock.c		a wait from its beginning to its end
 *	programs/lock/kernel.c	the kernel's own locks: contention_begin, contention_end
 *	programs/lock/user.c	futexes: the system calls in which a thread waits for one
 *	programs/lock/hold.c	how long pthread mutexes are held, by uprobes
 *
 * A wait begins with the stack of who waits, whose tag is the address of the lock: in the upper
 * half of all addresses a lock of the kernel, else a futex of that process. While it lasts it is in
 * a slot of its thread, or of its CPU if it spins. Whoever wakes the thread meanwhile leaves the
 * hash of its own stack there. At the end the time is added to the pair of both stacks.
 */
#ifndef RAWPROF_LOCK_H
#define RAWPROF_LOCK_H

#include "programs/shared/share.h"
#include "programs/shared/stack.h"

/* Tag of the stack of who wakes a thread that waits; no lock has this address. */
#define LOCK_RELEASER 1

/* What a thread waits for, and how. The first six are those of include/trace/events/lock.h. */
enum lock_how {
	LOCK_SPIN = 1 << 0,
	LOCK_READ = 1 << 1,
	LOCK_WRITE = 1 << 2,
	LOCK_RT = 1 << 3,
	LOCK_PERCPU = 1 << 4,
	LOCK_MUTEX = 1 << 5, /* with SPIN: its owner runs, so it is worth spinning */
	LOCK_KERNEL_FLAGS = 0x3f,
	LOCK_MMAP = 1 << 8,    /* the lock of the mappings of the process that waits */
	LOCK_SIGHAND = 1 << 9, /* of its signal handlers */
	LOCK_FUTEX = 1 << 16,
	LOCK_FUTEX_PI = 1 << 17,  /* lends its priority to the owner: FUTEX_LOCK_PI */
	LOCK_FUTEX_ANY = 1 << 18, /* the first of several: futex_waitv */
	LOCK_GIL = 1 << 19,	  /* of CPython's interpreter lock: the releaser is who has it */
};

/* How a wait ended. */
enum lock_outcome {
	LOCK_GOT,
	LOCK_TIMED_OUT,
	LOCK_CHANGED, /* a futex that had another value by then: no thread slept (EAGAIN) */
	LOCK_INTERRUPTED,
	LOCK_FAILED,
	LOCK_WAITING, /* not yet: the recording ended first */
	LOCK_HELD,    /* it was no wait: a mutex was held */
	LOCK_OUTCOMES
};

enum lock_hist { LOCK_HIST_NONE, LOCK_HIST_TYPE, LOCK_HIST_LOCK };

struct lock_config {
	struct program_config common;
	uint64_t min_ns;    /* shorter waits are left out; 0: none are */
	uint32_t spinning;  /* some of the locks are spun for */
	uint32_t hold;	    /* not waits are measured but how long a mutex is held */
	uint32_t hist;	    /* any, */
	uint32_t hist_lock; /*   one for each lock and not for each type */
	uint32_t cond;	    /* with hold: the functions are those of condition variables */
	uint32_t gil;	    /* some may wait for the interpreter lock of Python */
};

/* What became of the waits: common.fired of them have begun. */
struct lock_stats {
	struct program_stats common;
	uint64_t shorter;      /* filtered: than min_ns */
	uint64_t nested;       /* lost: began inside one of these programs */
	uint64_t threads_full; /* lost: no room for the thread */
	uint64_t too_deep;     /* lost: inside so many other waits */
	uint64_t results_full; /* lost: no room for another pair of stacks, or not for the user */
	uint64_t unended;      /* lost: the thread ended, the end of its wait was not seen */
	uint64_t no_begin;     /* ends of waits that had begun before, or were lost */
	uint64_t waker_lost;   /* releasers whose stack was lost */
	uint64_t hists_full;   /* kept, but not in a histogram: no room for another */
};

/* A wait that goes on. */
struct lock_wait {
	uint64_t lock;	   /* 0: a free slot */
	uint64_t hash;	   /* of the stack of who waits */
	uint64_t since;	   /* CLOCK_MONOTONIC, ns */
	uint64_t releaser; /* hash of the stack that woke it last, or has the lock; 0: none */
	uint32_t how;	   /* enum lock_how */
	uint32_t again;	   /* a mutex that is held: how often its thread has taken it beside */
};

/*
 * Value of the maps threads, by thread, and spinners, of each CPU. A wait may begin inside another
 * one: in an interrupt, or in the kernel on the way to a futex. The one inside takes a slot behind
 * it and ends first.
 */
#define LOCK_DEPTH 4
struct lock_waits {
	struct lock_wait wait[LOCK_DEPTH];
};

/* Key and value of the map results, and how many it has. */
#define LOCK_PAIRS 65536
struct lock_pair {
	uint64_t waiter;   /* hashes of stacks */
	uint64_t releaser; /* or 0 */
	uint32_t how;
	uint32_t outcome; /* enum lock_outcome */
};
/* What a moment's sample is told by, beside the waiter's stack: see struct stack_moment. */
static inline uint64_t lock_moment_with(const struct lock_pair *pair)
{
	return pair->releaser ^ (pair->how | (uint64_t)pair->outcome << 32);
}
struct lock_sum {
	uint64_t count, ns, max_ns;
};

/* Value of the map calls, by thread: a function that takes a mutex, from entry to return. */
struct lock_call {
	uint64_t sp; /* at the entry; 0: none */
	uint64_t mutex;
};

/* Key of the map hists: of a type lock and process are 0, of a lock how is. */
struct lock_hist_key {
	uint64_t lock;
	uint32_t process; /* 0 for the kernel's */
	uint32_t how;
};
#define LOCK_HIST_LOCKS 512 /* so many have one */
#define LOCK_HIST_BITS 3
#define LOCK_HIST_SLOTS 272 /* up to 2^34 ns, 17 s */
#define LOCK_HIST_BYTES (sizeof(struct asm_hist) + LOCK_HIST_SLOTS * 8)

enum {
	LOCK_MAP_THREADS = STACK_MAPS,
	LOCK_MAP_SPINNERS,
	LOCK_MAP_RESULTS,
	LOCK_MAP_HISTS,
	LOCK_MAP_GATE,	  /* nothing counts unless its only element is set, a uint64_t */
	LOCK_MAP_RUNNING, /* how many of these programs are at work on this CPU */
	LOCK_MAP_EMPTY,	  /* a struct lock_waits, and */
	LOCK_MAP_NO_HIST, /*   a struct asm_hist, that stay as they are */
	LOCK_MAP_CALLS,
	LOCK_MAP_SHARES, /* of results and hists */
	LOCK_MAPS
};
enum { LOCK_SHARE_RESULTS, LOCK_SHARE_HISTS, LOCK_SHARES };
extern const struct asm_map rp_lock_maps[LOCK_MAPS];

/*
 * The functions, to be INCLUDEd behind a program that has the maps above:
 *
 *	lock_begin(R1 = context, R2 = lock, R3 = how, R4 = now)	the current task waits
 *	lock_end(R1 = lock, R2 = outcome, R3 = now)		it no longer does
 *	lock_wake(R1 = context, R2 = thread)	it wakes a thread, which may be waiting
 *
 * Between LOCK_ENTER and LOCK_LEAVE no other of these programs does anything on this CPU: what they
 * would see there is their own doing, or holds what they need.
 */
extern const struct asm_part rp_lock_begin_part, rp_lock_end_part, rp_lock_wake_part;

/* Nothing counts before the recording begins, and after its end: then on to the label out. */
#define LOCK_GATE(out)                                                                             \
	SCOPE("LOCK_GATE(" #out ")"), LD_MAP_VALUE(R1, gate, 0), LDX(DW, R1, R1, 0),               \
		JEQ(R1, 0, out), END
/* zero: a frame offset of 4 bytes. */
#define LOCK_ENTER(zero, nested, out)                                                              \
	SCOPE("LOCK_ENTER(" #zero ", " #nested ", " #out ")"), ST(W, R10, zero, 0),                \
		MAP_LOOKUP(running, zero), JEQ(R0, 0, out), LDX(DW, R1, R0, 0),                    \
		JNE(R1, 0, nested), MOV(R1, 1), ATOMIC_ADD(DW, R0, 0, R1), END
#define LOCK_LEAVE(zero, out)                                                                      \
	SCOPE("LOCK_LEAVE(" #zero ", " #out ")"), MAP_LOOKUP(running, zero), JEQ(R0, 0, out),      \
		MOV(R1, -1), ATOMIC_ADD(DW, R0, 0, R1), END

/* ---- programs: for kernels with BTF, and without */

/* Of the kernel's own locks, and what any lock needs (programs/lock/kernel.c). */
enum lock_kernel_role {
	LOCK_BEGINS = 1 << 0,
	LOCK_ENDS = 1 << 1,
	LOCK_WAKES = 1 << 2,	    /* a thread lets go of what another waits for */
	LOCK_THREAD_ENDS = 1 << 3,  /* nothing of it is left in the maps, */
	LOCK_THREAD_FREED = 1 << 4, /*   nor of what it did after that */
};
/* Of futexes (programs/lock/user.c). Without BTF each system call has programs of its own. */
enum lock_user_role {
	LOCK_FUTEX_BEGINS = 1 << 0,
	LOCK_FUTEX_ENDS = 1 << 1,
	LOCK_WAITV_BEGINS = 1 << 2, /* futex_waitv */
	LOCK_WAITV_ENDS = 1 << 3,
	LOCK_FWAIT_BEGINS = 1 << 4, /* futex_wait */
	LOCK_FWAIT_ENDS = 1 << 5,
	LOCK_USER_BEGINS = LOCK_FUTEX_BEGINS | LOCK_WAITV_BEGINS | LOCK_FWAIT_BEGINS,
};
/*
 * At the entry and the return of functions that take a mutex, and at the entry of the one that
 * gives it back (programs/lock/hold.c). Those of condition variables, with config.cond, do both.
 */
enum lock_hold_role { LOCK_TAKES = 1 << 0, LOCK_TAKEN = 1 << 1, LOCK_GIVES = 1 << 2 };

/* To show them with: of the kernel's locks, of futexes. */
extern const struct lock_config rp_lock_usual_config, rp_lock_futex_usual_config;

#endif
