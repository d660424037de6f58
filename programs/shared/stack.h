/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks that are counted exactly, in the kernel: what a profiler shares with user space.
 *
 *	programs/shared/target.c	is the task at hand one that was asked for?
 *	programs/shared/stack.c	which task is it, where is it,
 *	programs/shared/stack_value.c	and has that been seen before?
 *	programs/shared/unwind.c	user stacks by unwind tables
 *	programs/shared/stack_deep.c	those that are too deep for a record
 *	programs/shared/stack_copy.c	those that no table is known for
 *	programs/shared/python.c	frames of Python
 *	programs/shared/published.c	labels that programs publish
 *	programs/shared/follow.c	the children of processes that were asked for
 *	record/stacks.c	the user side: makes the maps, and puts together what comes back
 *
 * A profiler INCLUDEs the parts behind its own program, has their maps (STACK_MAP_LIST), and begins
 * its configuration with struct program_config and its counters with struct program_stats.
 */
#ifndef PROGRAMS_SHARED_STACK_H
#define PROGRAMS_SHARED_STACK_H

#include "config.h"
#include "during.h"
#include "stack_copy.h"
#include "stack_deep.h"
#include "target.h"
#include "unwind.h"

#define STACK_VALUES 4 /* weights of a stack, at most */
#define STACK_SLOTS 4  /* records that one CPU works on at the same time */

/*
 * A stack with who it belongs to, as it comes through the ring when it is seen for the first time.
 * frames holds first the kernel stack, then the user stack, each leaf first, and then what
 * managed.h says.
 */
struct stack_record {
	uint64_t hash; /* of all that follows tag, and itself the key of the map counts */
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t value[STACK_VALUES]; /* what this record itself stands for */
	uint32_t cpu;
	uint32_t kernel_bytes;
	uint32_t busy;	    /* in the kernel: how many want to work on it; */
	uint32_t sent;	    /*   how many have been sent from here */
	uint64_t kernel_of; /* hash of a record that has the better kernel stack; 0: this one has */
	uint64_t published; /* hash of its labels (published.h), with which hash begins */
	/* From here on everything is part of the hash. */
	uint64_t tag;	   /* the profiler's own: a state, a lock */
	uint64_t pid_tgid; /* process << 32 | thread */
	uint32_t user_bytes;
	uint32_t user_end;   /* enum unwind_stop; STACK_BY_FP, STACK_NO_TABLE */
	uint64_t start_time; /* of the process, ns; 0 without kernel BTF */
	uint64_t exec_id;    /* how many times it has executed a program */
	char comm[16];
	uint32_t managed_bytes;
	uint32_t fresh; /* STACK_KIND: STACK_FRESH, or 0; or WALL_HOLDER, see wall.h; more beside */
	uint64_t frames[];
};
#define STACK_FRESH 1 /* walked by what the kernel says, before user space knew the process */
#define STACK_KIND 3
#define STACK_DEEP 4   /* a bit: user frames are the outermost, see stack_deep.h */
#define STACK_COPIED 8 /* a bit: before it came what it may be walked by, see stack_copy.h */
/*
 * From here on: the first user frame that there was no rule for in its file's table, 1 for the
 * innermost one, 0: all had one. It was left by the frame pointer.
 */
#define STACK_LACKED_SHIFT 16
/*
 * What a CPU writes on while it takes a stack: an element of the map scratch, which has room for
 * both_bytes of frames. The record is complete where it lies and travels as it is. What a look-up
 * in a map has said the last time is kept here too, as mostly the same process runs as at the last
 * sample.
 */
struct stack_scratch {
	struct unwind_state walk;
	/* pid << 32 | changes of who was found in the map pids; of the first element only */
	uint64_t asked;
	uint64_t last_seen; /* the key that was found in the map seen */
	struct stack_record record;
};
#define STACK_SLACK 24 /* see unwind_step, stack_end */
#define STACK_SCRATCH_BYTES(frame_bytes)                                                           \
	((uint32_t)sizeof(struct stack_scratch) + (frame_bytes) + STACK_SLACK)
/*
 * With frames of Python: behind those frames the stack pointers of the native ones, where they are.
 */
#define STACK_MANAGED_SCRATCH_BYTES(all_bytes, both_bytes)                                         \
	(STACK_SCRATCH_BYTES(all_bytes) + (both_bytes) + STACK_SLACK)

/*
 * The map counts, where stacks have their weights by hash: a hash map, or where only stack_value
 * looks for them a table of our own, struct stack_table. It has buckets of STACK_WAYS places; the
 * first empty one ends the search, and what finds its bucket full goes through the ring every time.
 */
#define STACK_BUCKETS_SHIFT 13
#define STACK_WAYS 8
#define STACK_PLACES (STACK_WAYS << STACK_BUCKETS_SHIFT)
#define STACK_TABLE_VALUES 2 /* weights of a stack there */
struct stack_count {
	uint64_t hash;	 /* 0: the place is free */
	uint32_t owners; /* how many want to be it: the one who finds himself alone is, for ever */
	uint32_t unused;
	uint64_t value[STACK_TABLE_VALUES];
};
/*
 * The only element of the table. Most stacks are seen once: only when one comes again it gets a
 * place; before that it has its bit in once, which is found in a few lines of memory where the
 * places take two megabytes. Two CPUs may set bits of one word, and one of them be lost: then that
 * stack goes through the ring once more.
 */
#define STACK_ONCE_SHIFT 16
struct stack_table {
	struct stack_count place[STACK_PLACES];
	uint64_t once[(1 << STACK_ONCE_SHIFT) / 64];
};
#define STACK_COUNTS_MAP(nvalues)                                                                  \
	{                                                                                          \
		"counts", BPF_MAP_TYPE_HASH, 8, 8 * (nvalues), 32768                               \
	}
#define STACK_COUNTS_TABLE                                                                         \
	{                                                                                          \
		"counts", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct stack_table), 1, BPF_F_MMAPABLE     \
	}

/*
 * The map times has an element for each CPU, where with config.times_mask the samples of stacks
 * that are known are written down: a few stores, where the ring takes a third of a microsecond. A
 * row of a power of two places, used in turn. Nobody waits for who reads them: he sees from
 * `written` what is gone.
 *
 * A row has one writer at a time: programs of perf events, which alone use it, do not run while
 * another one of them is at work on that CPU, not even in an NMI (the kernel's bpf_prog_active).
 */
struct stack_time {
	uint64_t hash;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t weight;
};
struct stack_times {
	uint64_t written; /* since the beginning; the next goes to written & times_mask */
	uint64_t unused[7];
	struct stack_time sample[];
};
#define STACK_TIMES_BYTES(places)                                                                  \
	((uint32_t)(sizeof(struct stack_times) + (places) * sizeof(struct stack_time)))

/* In a tag: what runs is not the doing of the current task, whose own stack is left out. */
#define STACK_KERNEL_ONLY (1ull << 63)
/* user_end of a stack walked by frame pointers: from the start, or as the first pc had no table. */
#define STACK_BY_FP UINT32_MAX
#define STACK_NO_TABLE (UINT32_MAX - 1)

/*
 * The functions, to be INCLUDEd behind a program that has the maps below:
 *
 *	stack_take(R1 = context, R2 = process << 32 | thread, R3 = tag)
 *		R0 = a record that holds the stacks of the current task; 0 if this CPU has none to
 *		spare, which is counted as busy. The caller gives it back (STACK_DONE).
 *	stack_value(R1 = record, its value[] set)
 *		R0 = the stack's weights in the map counts, to be added to. 0 the first time, with a
 *		table the second too: then the record itself has gone through the ring, with its
 *		value[], and from now on the stack is known. (If the map has no room it never is,
 *		and all its records go through the ring.) If the ring is full too the record is lost
 *		and counted, and its hash is 0.
 */
extern const struct asm_part rp_stack_part;
/*
 * stack_take in pieces, for a program that is in a hurry: the kernel finds its way through every
 * function of ours that is between it and its own, each of which takes it as long as two of those.
 * So it asks for the kernel stack itself:
 *
 *	stack_begin(R1 = context, R2 = process << 32 | thread, R3 = tag)
 *		R0 = a record, or 0; as stack_take
 *	rp_stack_kernel_part, R1 = context, R2 = record: no function
 *		R0 = bytes of the kernel stack
 *	stack_end(R1 = record, R2 = context, R3 = these bytes)
 *		R0 = the record
 */
extern const struct asm_part rp_stack_pieces_part, rp_stack_kernel_part;
/*
 * With config.probe, which it includes: stack_fp(R1 = a struct stack_scratch, R2 = context, R3 =
 * frames of the kernel that its record has), R0 = frames (programs/shared/stack_fp.c).
 */
extern const struct asm_part rp_stack_fp_part;

/* Gives it back; destroys R1. */
#define STACK_DONE(record)                                                                         \
	SCOPE("STACK_DONE(" #record ")"), MOV(R1, -1),                                             \
		ATOMIC_ADD(W, record, offsetof(struct stack_record, busy), R1), END

/*
 * With config.times_mask a program says itself when its sample was: it takes the time first of all,
 * at a frame offset, and sets it in the record before stack_value. Later, behind the loads of the
 * walk, which the kernel's clock waits for, it takes three times as long.
 */
#define STACK_SAMPLE_TIME(config, at)                                                              \
	WHEN(config, common.times_mask), CALL(ktime_get_ns), STX(DW, R10, at, R0), END
#define STACK_SET_TIME(config, record, at)                                                         \
	WHEN(config, common.times_mask), LDX(DW, R1, R10, at),                                     \
		STX(DW, record, offsetof(struct stack_record, time), R1), END

/* Clears a record without frames: what is reserved in a ring holds what was there before. */
#define STACK_RECORD_CLEAR(record)                                                                 \
	SCOPE("STACK_RECORD_CLEAR(" #record ")"), STACK_CLEAR_4(record, 0),                        \
		STACK_CLEAR_4(record, 32), STACK_CLEAR_4(record, 64), STACK_CLEAR_4(record, 96),   \
		ST(DW, record, 128, 0), ST(DW, record, 136, 0), END
#define STACK_CLEAR_4(record, at)                                                                  \
	ST(DW, record, at, 0), ST(DW, record, (at) + 8, 0), ST(DW, record, (at) + 16, 0),          \
		ST(DW, record, (at) + 24, 0)
_Static_assert(sizeof(struct stack_record) == 18 * 8, "STACK_RECORD_CLEAR() clears all of it");

/* How the maps of a profiler begin; its own follow, from STACK_MAPS on. */
enum {
	STACK_MAP_EVENTS, /* the first: what lacks a ring buffer is too old, which is said */
	STACK_MAP_PIDS,
	STACK_MAP_TIDS,
	STACK_MAP_SEEN,
	STACK_MAP_COUNTS,
	STACK_MAP_SCRATCH,
	STACK_MAP_STATS,
	STACK_MAP_TIMES,
	STACK_MAP_DURING,
	STACK_MAP_DURING_STATS,
	STACK_MAP_DURING_CALLS,
	STACK_MAP_DEEP,
	STACK_MAP_COPIES,
	STACK_MAP_PROCS,
	STACK_MAP_MAPPINGS,
	STACK_MAP_CACHE,
	STACK_MAP_FILES,
	STACK_MAP_INDEX,
	STACK_MAP_RULES,
	STACK_MAP_ROWS,
	STACK_MAP_PYTHON_LAYOUTS,
	STACK_MAP_MANAGED_SEEN,
	STACK_MAP_PYTHON_CODE,
	STACK_MAP_JVM_PROCESSES,
	STACK_MAP_JVM_SEEN,
	STACK_MAP_SCRIPT_LAYOUTS,
	STACK_MAP_SCRIPT_FUNCTION,
	STACK_MAP_PERL_LINES,
	STACK_MAP_PUBLISHED,
	STACK_MAP_PUBLISHED_SEEN,
	STACK_MAPS
};
extern const struct asm_layout rp_stack_scratch_layout, rp_program_stats_layout;
/*
 * counts_map: STACK_COUNTS_MAP(how many weights) or STACK_COUNTS_TABLE; stats_type begins with
 * struct program_stats and has the layout stats_layout. scratch is there as a stack is too large
 * for the 512 bytes that a program has.
 */
#define STACK_MAP_LIST(counts_map, stats_type, stats_layout)                                       \
	[STACK_MAP_PIDS] = { "pids", BPF_MAP_TYPE_HASH, 4, 8, 1 },                                 \
	[STACK_MAP_TIDS] = { "tids", BPF_MAP_TYPE_HASH, 4, 8, 1 },                                 \
	[STACK_MAP_SEEN] = { "seen", BPF_MAP_TYPE_LRU_HASH, 8, 1, 1024 },                          \
	[STACK_MAP_COUNTS] = counts_map,                                                           \
	[STACK_MAP_SCRATCH] = { "scratch",   BPF_MAP_TYPE_PERCPU_ARRAY,                            \
				4,	     STACK_SCRATCH_BYTES(2 * 127 * 8),                     \
				STACK_SLOTS, .value = &rp_stack_scratch_layout },                  \
	[STACK_MAP_STATS] = { "stats", BPF_MAP_TYPE_ARRAY,	4, sizeof(stats_type),             \
			      1,       .value = &(stats_layout) },                                 \
	[STACK_MAP_EVENTS] = { "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20 },                    \
	[STACK_MAP_TIMES] = { "times", BPF_MAP_TYPE_ARRAY, 4, STACK_TIMES_BYTES(16),               \
			      1,       BPF_F_MMAPABLE },                                           \
	[STACK_MAP_DURING] = { "during", BPF_MAP_TYPE_HASH, 4, sizeof(struct during_call), 1 },    \
	[STACK_MAP_DURING_STATS] = { "during_stats", BPF_MAP_TYPE_ARRAY, 4,                        \
				     sizeof(struct during_stats), 1 },                             \
	[STACK_MAP_DURING_CALLS] = { "during_calls", BPF_MAP_TYPE_ARRAY, 4, 4, 1 },                \
	[STACK_MAP_DEEP] = { "deep", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },                                \
	[STACK_MAP_COPIES] = { "copies", BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE },            \
	[STACK_MAP_PROCS] = UNWIND_MAP_PROCS(8192), [STACK_MAP_MAPPINGS] = UNWIND_MAP_MAPPINGS,    \
	[STACK_MAP_CACHE] = UNWIND_MAP_CACHE, [STACK_MAP_FILES] = UNWIND_MAP_FILES,                \
	[STACK_MAP_INDEX] = UNWIND_MAP_INDEX, [STACK_MAP_RULES] = UNWIND_MAP_RULES,                \
	[STACK_MAP_ROWS] = UNWIND_MAP_ROWS, [STACK_MAP_PYTHON_LAYOUTS] = PYTHON_MAP_LAYOUTS,       \
	[STACK_MAP_MANAGED_SEEN] = MANAGED_MAP_SEEN, [STACK_MAP_PYTHON_CODE] = PYTHON_MAP_CODE,    \
	[STACK_MAP_JVM_PROCESSES] = JVM_MAP_PROCESSES, [STACK_MAP_JVM_SEEN] = JVM_MAP_SEEN,        \
	[STACK_MAP_SCRIPT_LAYOUTS] = SCRIPT_MAP_LAYOUTS,                                           \
	[STACK_MAP_SCRIPT_FUNCTION] = SCRIPT_MAP_FUNCTION,                                         \
	[STACK_MAP_PERL_LINES] = PERL_MAP_LINES, [STACK_MAP_PUBLISHED] = PUBLISHED_MAP,            \
	[STACK_MAP_PUBLISHED_SEEN] = PUBLISHED_MAP_SEEN

#endif
