/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of functions, from entry to return: what `func` loads, and what both sides share.
 *
 *	programs/func/calls.c	the calls that a thread is in: its stack of calls
 *	programs/func/func.c	a call from its beginning to its end, and what is kept of it
 *	programs/func/send.c	calls as they begin and end, one by one
 *	programs/func/probes.c	the programs at functions
 *	programs/func/kernel.c	those of the kernel, system calls and tracepoints
 *	programs/func/threads.c	threads that end, or execute another program
 *
 * A thread is in some calls at a time, one inside the other: they are in an array of its own, the
 * innermost one last. A return belongs to the call that has its function and its stack pointer, so
 * that recursion is told apart. What lies above that one on the way has been left without a return
 * (longjmp, an exception, a return probe that was missed): it is dropped, and counted.
 *
 * A call is taken for left only if its stack pointer lies below that of a later event, which it
 * cannot while it goes on, on the same stack. A thread may have more than one: a signal handler's
 * (sigaltstack), which the kernel knows of, or a coroutine's, which it does not. So what lies
 * further away than FUNC_STACK_NEAR is taken to be of another stack and stays.
 *
 * Of the kernel's functions, system calls and tracepoints the stack pointer is not compared: there
 * is no longjmp, so a return belongs to the innermost call of its function.
 */
#ifndef RAWPROF_FUNC_H
#define RAWPROF_FUNC_H

#include "programs/shared/probe.h"
#include "programs/shared/share.h"
#include "programs/shared/stack.h"

#define FUNC_STACK_NEAR (8u << 20) /* bytes: what a thread's stack has by default */

/* What rows are by, beside the function. */
enum func_by { FUNC_BY_FUNCTION, FUNC_BY_THREAD, FUNC_BY_PROCESS, FUNC_BY_COMM };

struct func_config {
	struct program_config common;
	struct probe_config probe;
	uint64_t slower_ns;   /* shorter calls are left out; 0: none are */
	uint32_t slot_bytes;  /* sizeof(struct func_call), or FUNC_SHORT_CALL without arguments */
	uint32_t most_depth;  /* of calls inside each other, at most FUNC_DEPTH */
	uint32_t most_pages;  /* places of the map calls */
	uint32_t bounded;     /* before Linux 5.17: no bpf_loop */
	uint32_t kernel;      /* its functions, system calls, tracepoints: no stack pointers */
	uint32_t at_returns;  /* the program for returns is on the return instructions */
	uint32_t knows_task;  /* BTF tells of the task's signal stack, and of its return probes */
	uint32_t sums;	      /* what all calls come to is kept; with it */
	uint32_t by_function; /*   by nothing else: the map sums is an array; or */
	uint32_t asks_who;    /* what counts entries alone does, if not all are counted as one */
	uint32_t by_thread, by_process, by_comm;
	uint32_t most_sums;  /* places of the map sums */
	uint32_t values;     /* what was returned, how often */
	uint32_t args;	     /* arguments are kept while a call goes on */
	uint32_t log;	     /* each call goes through the ring calls when it returns; */
	uint32_t graph;	     /*   and when it begins */
	uint32_t send;	     /* either of the two; */
	uint32_t wake_bytes; /* in the ring that are worth waking user space */
	uint32_t stacks;     /* who called; only with returns */
	uint32_t outer;	     /*   of calls that are inside no other */
};

/* What became of the calls: common.fired of them have begun. */
struct func_stats {
	struct program_stats common;
	uint64_t returned;     /* kept, if nothing below says otherwise; of entries the sums tell */
	uint64_t shorter;      /* filtered: than slower_ns */
	uint64_t left;	       /* without a return: longjmp, an exception, a missed return */
	uint64_t thread_ended; /* inside */
	uint64_t threads_full; /* lost: no room for the thread, or for one more call of it */
	uint64_t too_deep;     /* lost: inside so many others */
	uint64_t too_nested;   /* lost: the kernel takes no more return probes of a thread */
	uint64_t sums_full;    /* lost: no room for another sum */
	uint64_t values_full;  /* kept, but what it returned is not */
	uint64_t calls_full;   /* lost: no room in the ring calls */
	uint64_t events_full;  /* beginnings that found none */
	uint64_t no_entry;     /* returns of calls that had begun before, or were lost */
	uint64_t stacks_lost;  /* lost: no room for the stack, or this CPU was busy */
	uint64_t inside;       /* filtered: inside another call, with outer */
};

/* A call that goes on. */
#define FUNC_ARGS 6
struct func_call {
	uint64_t sp;	   /* at the entry; all ones of the kernel's */
	uint64_t start;	   /* CLOCK_MONOTONIC, ns */
	uint64_t inner_ns; /* of calls inside, which have returned */
	uint32_t function; /* its number; FUNC_NONE: it has ended, and others above have not */
	uint32_t link;	   /* with at_returns: lower half of its return address */
	uint64_t args[FUNC_ARGS];
};
#define FUNC_NONE UINT32_MAX
#define FUNC_SHORT_CALL offsetof(struct func_call, args)

/*
 * Value of the map calls: some of the calls of a thread, those inside them in the next one. Its
 * first has the depth of all.
 */
#define FUNC_PAGE_SHIFT 4
#define FUNC_PAGE_CALLS (1 << FUNC_PAGE_SHIFT)
struct func_page_key {
	uint64_t thread;
	uint32_t number, unused;
};
struct func_page {
	uint64_t thread;
	uint64_t ids; /* process << 32 | thread, as we number them */
	uint64_t now; /* of the return that is at hand; CLOCK_MONOTONIC, ns */
	uint32_t depth;
	uint32_t pages; /* that there are of this thread */
	uint32_t payer; /* of all of them: programs/shared/share.h */
	uint32_t unused;
	uint64_t at, left; /* of a walk through them: programs/func/unwind.c */
	char call[];	   /* FUNC_PAGE_CALLS times slot_bytes */
};
#define FUNC_PAGE_BYTES(slot_bytes)                                                                \
	((uint32_t)sizeof(struct func_page) + FUNC_PAGE_CALLS * (uint32_t)(slot_bytes))
#define FUNC_PAGES 256
#define FUNC_PLACES 32768 /* of the map calls, at least */
#define FUNC_DEPTH (FUNC_PAGES * FUNC_PAGE_CALLS)

/* Key of the map sums: an array has the function alone; without by_comm it ends before it. */
struct func_key {
	uint32_t function;
	uint32_t who; /* thread or process; 0 */
	char comm[16];
};
#define FUNC_SHORT_KEY offsetof(struct func_key, comm)
#define FUNC_ARRAY_KEY offsetof(struct func_key, who)
#define FUNC_HIST_BITS 4
#define FUNC_HIST_SLOTS 560 /* up to 2^38 ns, 274 s */
/* Its value, of each CPU; where entries alone are counted, the first member alone. */
struct func_sum {
	uint64_t entered;  /* where entries alone are counted */
	uint64_t left;	   /* calls that ended without a return */
	uint64_t untimed;  /* that were too nested to see their return */
	uint64_t inner_ns; /* of the time that is in hist: in calls of other functions measured */
	struct {
		uint64_t sum, not_least, greatest; /* struct asm_hist */
		uint64_t slots[FUNC_HIST_SLOTS];
	} hist;
};

/*
 * Key and value of the map values. Small numbers and error codes as they are, of others the power
 * of two that they are not below: value is its logarithm, with FUNC_VALUE_POWER. What a function
 * of type int returns is told from an unsigned number by its size: -1 there is 2^32 - 1.
 */
#define FUNC_VALUE_POWER (1u << 31)
#define FUNC_VALUE_EXACT 256
#define FUNC_VALUES 16384 /* so many of them */
struct func_value_key {
	uint32_t function;
	uint32_t value; /* int32_t; or FUNC_VALUE_POWER | logarithm, if wide */
	uint32_t wide, unused;
};
struct func_value {
	uint64_t count, ns;
};

/* In the ring calls. */
enum func_event_kind { FUNC_BEGINS, FUNC_RETURNS, FUNC_LEFT };
struct func_event {
	uint64_t time;	/* CLOCK_MONOTONIC, ns */
	uint64_t ids;	/* process << 32 | thread */
	uint64_t ns;	/* how long it was; 0 of FUNC_BEGINS */
	uint64_t value; /* that it returned */
	uint64_t args[FUNC_ARGS];
	uint32_t function;
	uint16_t kind;
	uint16_t depth; /* it is inside so many others */
	uint32_t cpu;
	uint32_t unused;
	char comm[16];
};

enum {
	FUNC_MAP_CALLS = STACK_MAPS,
	FUNC_MAP_SUMS,
	FUNC_MAP_VALUES,
	FUNC_MAP_EVENTS,
	FUNC_MAP_SYSCALLS, /* which function a system call is: its number + 1 */
	FUNC_MAP_GATE,	   /* nothing counts unless its only element is set, a uint64_t */
	FUNC_MAP_NO_PAGE,  /* a struct func_page, and */
	FUNC_MAP_NO_SUM,   /*   a struct func_sum, that stay as they are */
	FUNC_MAP_SHARES,   /* of calls, sums and values */
	FUNC_MAPS
};
enum { FUNC_SHARE_PAGES, FUNC_SHARE_SUMS, FUNC_SHARE_VALUES, FUNC_SHARES };
extern const struct asm_map rp_func_maps[FUNC_MAPS];

/*
 * The functions, to be INCLUDEd behind a program that has the maps above (FUNC_ENTER_PARTS, ...):
 *
 *	func_enter(R1 = context, R2 = stack pointer, R3 = function, R4 = thread)
 *		the current thread begins a call: R0 = a struct func_call with all but its time and
 *		its arguments; 0 if it does not count
 *	func_leave(R1 = context, R2 = stack pointer, R3 = function, R4 = value, R5 = first page)
 *		it ends one, at the time that the page has; the function may have PROBE_ELSEWHERE.
 *		R0 = with at_returns, 1 + the function of a call that has jumped to this one, and so
 *		ends as well; else 0
 *	func_count(R1 = function)	it begins one, and nothing else is asked
 *	func_unwind(R1 = first page, R2 = stack pointer, R3 = calls to leave alone, R4 = how, R5 =
 *		now)	drops calls that were left
 *	func_thread(R1 = thread)	R0 = its first page, or 0
 *	func_send(R1 = call, R2 = kind | number << 16, R3 = time, R4 = value, R5 = first page)
 *		R0 = 1 if there is no room
 */
extern const struct asm_part rp_func_enter_part, rp_func_jumped_part, rp_func_grow_part,
	rp_func_leave_part, rp_func_find_part, rp_func_value_part, rp_func_count_part,
	rp_func_unwind_part, rp_func_calls_part, rp_func_sum_part, rp_func_send_part;

/* clang-format off */
/* What both need comes by itself, FUNC_BOTH_PARTS. */
#define FUNC_ENTER_PARTS                                                                           \
	INCLUDE(&rp_func_enter_part),                                                              \
	INCLUDE(&rp_target_part),                                                                  \
	INCLUDE(&rp_func_grow_part),                                                               \
	UNLESS(struct func_config, kernel),                                                        \
		INCLUDE(&rp_func_jumped_part),                                                     \
	END
#define FUNC_LEAVE_PARTS                                                                           \
	INCLUDE(&rp_func_leave_part),                                                              \
	INCLUDE(&rp_func_find_part),                                                               \
	WHEN(struct func_config, values),                                                          \
		INCLUDE(&rp_func_value_part),                                                      \
	END,                                                                                       \
	WHEN(struct func_config, stacks),                                                          \
		INCLUDE(&rp_stack_part),                                                           \
	END
#define FUNC_BOTH_PARTS                                                                            \
	INCLUDE(&rp_func_calls_part),                                                              \
	INCLUDE(&rp_func_unwind_part),                                                             \
	WHEN(struct func_config, sums),                                                            \
		INCLUDE(&rp_func_sum_part),                                                        \
	END
/* Where there are no LEAVE parts. */
#define FUNC_ENTER_BOTH_PARTS                                                                      \
	INCLUDE(&rp_func_calls_part),                                                              \
	UNLESS(struct func_config, kernel),                                                        \
		INCLUDE(&rp_func_unwind_part),                                                     \
		WHEN(struct func_config, sums),                                                    \
			INCLUDE(&rp_func_sum_part),                                                \
		END,                                                                               \
	END,                                                                                       \
	WHEN(struct func_config, graph),                                                           \
		INCLUDE(&rp_func_send_part),                                                       \
	END

/* reg = what the calls of the current thread are under; idle tasks have their CPU's number. */
#define FUNC_THREAD(reg)                                                                           \
	SCOPE("FUNC_THREAD(" #reg ")"),                                                            \
		CALL(get_current_pid_tgid),                                                        \
		MOV32_REG(reg, R0),                                                                \
		JNE(reg, 0, .known),                                                               \
		CALL(get_smp_processor_id),                                                        \
		MOV_REG(reg, R0),                                                                  \
		MOV(R1, 1),                                                                        \
		LSH(R1, 32),                                                                       \
		OR_REG(reg, R1),                                                                   \
		LABEL(.known),                                                                     \
	END

/* The call at the register call, of this thread, begins now: R0 to R5 and R9 are lost. */
#define FUNC_BEGIN(call, thread)                                                                   \
	SCOPE("FUNC_BEGIN(" #call ", " #thread ")"),                                               \
		WHEN(struct func_config, graph),                                                   \
			MOV_REG(R1, thread),                                                       \
			CALL_FUNC(func_thread),                                                    \
			JEQ(R0, 0, .out), /* never */                                              \
			MOV_REG(R9, R0),                                                           \
			CALL(ktime_get_ns),                                                        \
			STX(DW, call, offsetof(struct func_call, start), R0),                      \
			MOV_REG(R3, R0),                                                           \
			LDX(W, R2, R9, offsetof(struct func_page, depth)),                         \
			SUB(R2, 1),                                                                \
			LSH(R2, 16),                                                               \
			MOV_REG(R1, call),                                                         \
			MOV(R4, 0),                                                                \
			MOV_REG(R5, R9),                                                           \
			CALL_FUNC(func_send),                                                      \
			JEQ(R0, 0, .out),                                                          \
			COUNT(stats, struct func_stats, events_full),                              \
			LABEL(.out),                                                               \
		END,                                                                               \
		CALL(ktime_get_ns),                                                                \
		STX(DW, call, offsetof(struct func_call, start), R0),                              \
	END
/* clang-format on */

/* How func_unwind looks at a call. */
enum func_unwind_how {
	FUNC_UNWIND_ENTRY,	 /* a call begins: those below its stack pointer, up to others; */
	FUNC_UNWIND_ENTRY_EQUAL, /*   and those with the same one, which was not jumped from */
	FUNC_UNWIND_RETURN,	 /* a call ended: those not above its stack pointer */
	FUNC_UNWIND_ALL,	 /* those inside a call of the kernel that ended */
	FUNC_UNWIND_EXIT,	 /* all, as their thread has ended; */
	FUNC_UNWIND_FREED,	 /*   and is not the current one */
	FUNC_UNWIND_EXEC,	 /* all of the program that its process had before */
};

/* Nothing counts before the recording begins, and after its end: then on to the label out. */
#define FUNC_GATE(out)                                                                             \
	SCOPE("FUNC_GATE(" #out ")"), LD_MAP_VALUE(R1, gate, 0), LDX(DW, R1, R1, 0),               \
		JEQ(R1, 0, out), END

/* FUNC_CALLED: for session links, both others in one. FUNC_COUNTED: entries alone. */
enum func_role {
	FUNC_CALLED = 1 << 0,
	FUNC_ENTERED = 1 << 1,
	FUNC_RETURNED = 1 << 2,
	FUNC_COUNTED = 1 << 3,
};
enum func_thread_role {
	FUNC_THREAD_ENDS = 1 << 0,
	FUNC_THREAD_EXECS = 1 << 1,
	FUNC_THREAD_FREED = 1 << 2,
};

/* To show them with. */
extern const struct func_config rp_func_usual_config, rp_func_kernel_config;

#endif
