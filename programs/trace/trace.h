/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events one by one: what `trace` loads, and what both sides share.
 *
 *	programs/trace/event.c	a tracepoint: its record as the kernel made it, into the ring
 *	programs/trace/tally.c	events that are counted, not sent
 *	programs/trace/usdt.c	a USDT probe and its arguments
 *	programs/trace/func.c	functions, when they begin or return
 *	programs/trace/call.c	system calls, from where they begin to their end
 *
 * The kernel writes the record of a classic tracepoint for every event, by its format file. It is
 * copied as it is, with the data of variable length behind it, and read in user space.
 */
#ifndef RAWPROF_TRACE_H
#define RAWPROF_TRACE_H

#include "programs/shared/probe.h"
#include "programs/shared/stack.h"
#include "tally.h"

/* Bytes of a record at most: what the kernel itself has room for (PERF_MAX_TRACE_SIZE). */
#define TRACE_BYTES 8192
/* Fields of one event whose data have no fixed place. */
#define TRACE_LOCS 8

struct trace_config {
	struct program_config common;
	uint32_t own[2];     /* processes of rawprof itself, whose events are left out */
	uint32_t by_cpu;     /* only CPUs that are in the map cpus */
	uint32_t stacks;     /* where it happened */
	uint32_t filter;     /* only events that an expression keeps: event_filter.h */
	uint32_t event;	     /* its number */
	uint32_t bytes;	     /* of its record, without data of variable length */
	uint32_t reserve;    /* bytes, and what stands before them in the ring */
	uint32_t wake_bytes; /* in the ring that are worth waking user space */
	/* Data of variable length: where words are that say where they lie; 0: no more of them. */
	uint32_t loc[TRACE_LOCS];
	uint32_t loc_base[TRACE_LOCS]; /* what such a word counts from: 0, or its own end */
	/* USDT probes */
	uint32_t usdt_by_cookie;  /* the upper half of the cookie says which arguments; else */
	uint32_t usdt_args;	  /*   these are the only ones */
	uint32_t usdt_bytes;	  /* of struct trace_usdt, with its values */
	struct trace_tally tally; /* they are counted, not sent */
	/* system calls */
	uint32_t classic;    /* the context is the record of raw_syscalls:sys_enter, sys_exit */
	uint32_t texts[3];   /* calls have a first, second, third text */
	uint32_t text_bytes; /* of each at most, with a NUL */
	uint32_t call_bytes; /* of all of them */
	uint32_t only_call;  /* with filter: the number of the one call that it is about */
	uint32_t of_result;  /* the filter or the tally is about what a call has returned */
	uint32_t any_end;    /* the end of rt_sigreturn may have any number */
	uint32_t execve[2];  /* of a 64-bit program, of a 32-bit one: see TRACE_CALL_ANY_END */
	/* functions: event is that of the first */
	struct probe_config probe;
	uint32_t of_kernel;
};

struct trace_stats {
	struct program_stats common;
	uint64_t own;	     /* filtered: rawprof's own */
	uint64_t left_out;   /* filtered: by the expression */
	uint64_t stack_lost; /* events that were kept, but not their stack */
	uint64_t map_full;   /* lost: more calls under way than there is room for */
	uint64_t keys_full;  /* lost: no room in the map tallies */
	uint64_t below;	     /* filtered: values below 0 are in no histogram */
	uint64_t no_end;     /* lost: the thread began another call, and the end was not seen */
	uint64_t ended;	     /* filtered: with of_result, their thread ended inside */
};

/* An event as it comes through the ring. */
struct trace_record {
	uint64_t time;	   /* CLOCK_MONOTONIC, ns */
	uint64_t pid_tgid; /* process << 32 | thread */
	uint64_t stack;	   /* hash; 0: none */
	char comm[16];
	uint32_t cpu;
	uint32_t event; /* its number: trace_config.event */
	uint32_t bytes; /* of data */
	uint32_t unused;
	unsigned char data[];
};

/* The data of a USDT probe's record; behind them its strings, TRACE_USDT_TEXT bytes each. */
#define TRACE_USDT_TEXT 256
struct trace_usdt {
	uint32_t failed; /* struct rp_usdt_reader of uprobe.h */
	uint32_t args;	 /* which of record_usdt.args */
	uint64_t value[];
};
/* The same where the program puts it together: so far below R10. */
#define TRACE_USDT_VALUES 12
struct trace_usdt_data {
	struct trace_usdt_head {
		uint32_t failed, args;
	} head;
	uint64_t value[TRACE_USDT_VALUES];
};
#define TRACE_USDT_AT (-(int)sizeof(struct trace_usdt_data))
/* Reads the arguments from pt_regs at R6 to there; R0: trace_usdt.args. */
extern const struct asm_part rp_trace_usdt_part;
/* Adds strings to the record at R8, which has the values. */
extern const struct asm_part rp_trace_usdt_texts_part;

/* ---- functions */

enum { TRACE_FUNC_BEGINS = 1 << 0, TRACE_FUNC_ENTERED = 1 << 1, TRACE_FUNC_RETURNED = 1 << 2 };

#define TRACE_FUNC_ARGS 6
/* The data of its record; and the value of the map entered. */
struct trace_func {
	uint64_t args[TRACE_FUNC_ARGS];
	uint64_t ret;	   /* 0 of one that begins; */
	uint64_t duration; /*   ns */
	uint64_t start;	   /* CLOCK_MONOTONIC, ns; 0 of one that begins */
};
struct trace_func_key {
	uint64_t thread, sp, probe;
};

/* ---- system calls */

/* Roles of programs. */
enum { TRACE_ENTERS = 1 << 0, TRACE_EXITS = 1 << 1, TRACE_THREAD_ENDS = 1 << 2 };

#define TRACE_CALLS 1024 /* numbers are below */
#define TRACE_TEXTS 3	 /* arguments of one call that are texts, at most */

/* What of a call is to be seen. */
enum trace_call_part {
	TRACE_CALL_ENTER = 1 << 0, /* its beginning */
	TRACE_CALL_EXIT = 1 << 1,  /* its end */
	TRACE_CALL_WHOLE = 1 << 2, /* both as one, when it ends; not with TRACE_CALL_ENTER */
	TRACE_CALL_BEGINS = TRACE_CALL_ENTER | TRACE_CALL_WHOLE,
	/* Its texts are read again at its end where they could not be read before. */
	TRACE_CALL_AGAIN = 1 << 3,
	/*
	 * It may end without a number, or under that of execve: what a program is executed by, and
	 * rt_sigreturn, which end with the registers of another one.
	 */
	TRACE_CALL_ANY_END = 1 << 4,
};
/* Value of the map calls, by number of the call. */
struct trace_call_spec {
	uint32_t parts;
	uint32_t enter, exit;	      /* numbers of events; enter: of the whole too */
	uint8_t text[TRACE_TEXTS];    /* number of an argument that is a text, from 1; 0: none */
	uint8_t counted[TRACE_TEXTS]; /* it is bytes, the next argument says how many */
	uint8_t unused[2];
};

#define TRACE_TEXT_NONE (-1)	   /* it is none, or there is no room for it */
#define TRACE_TEXT_UNREADABLE (-2) /* at its address nothing could be read */

/* The data of its record; behind them its texts, text_bytes from one to the next. */
struct trace_call {
	uint64_t args[6];
	int64_t ret;
	uint64_t duration; /* ns */
	uint32_t number;
	uint32_t is_over;	   /* ret is there, */
	uint32_t is_timed;	   /*   and duration */
	int32_t text[TRACE_TEXTS]; /* bytes with the NUL, all text_bytes: it may be cut; or above */
};

/*
 * Value of the map assembly: where a CPU puts together what has no fixed length. The first is of
 * tracepoints, which may interrupt a system call that is being read, for which the second is.
 */
struct trace_assembly {
	struct trace_record record;
	unsigned char data[TRACE_BYTES + 8];
};

/* Value of the map started, with so many bytes of texts. */
#define TRACE_STARTED_BYTES(texts)                                                                 \
	((uint32_t)(sizeof(struct trace_record) + sizeof(struct trace_call)) + (texts))

enum {
	TRACE_MAP_RING = STACK_MAPS,
	TRACE_MAP_CPUS,
	TRACE_MAP_ASSEMBLY,
	TRACE_MAP_TALLIES,
	TRACE_MAP_ZERO, /* what a new tally starts with */
	TRACE_MAP_CALLS,
	TRACE_MAP_STARTED, /* by task_struct: struct trace_record of a call that is under way */
	TRACE_MAP_FILTER,
	TRACE_MAP_ENTERED, /* calls of functions that go on */
	TRACE_MAP_SHARES,  /* of tallies */
	TRACE_MAPS
};
extern const struct asm_layout rp_trace_stats_layout;
extern const struct asm_map rp_trace_maps[TRACE_MAPS];

#endif
