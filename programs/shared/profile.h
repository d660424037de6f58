/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all profilers have in common, in the kernel and above it: whom they look at, and stacks that are counted
 * exactly.
 *
 *	programs/shared/target.c	is the task at hand one that was asked for?
 *	programs/shared/stack.c	who is it, where is it,
 *	programs/shared/stack_value.c	and has that been seen before?
 *	programs/shared/unwind.c	user stacks by unwind tables
 *	programs/shared/follow.c	the children of who was asked for
 *	record/stacks.c	the user side: makes the maps, and puts together what comes back
 *
 * A profiler INCLUDEs the parts behind its own program, has their maps (STACK_MAP_LIST), and begins its
 * configuration with struct program_config and its counters with struct program_stats.
 */
#ifndef RAWPROF_PROFILE_H
#define RAWPROF_PROFILE_H

#include <rawprof/asm.h>
#include <rawprof/macros.h>
#include <rawprof/unwind.h>

#include "base/machine.h"

/* 2^64 divided by the golden ratio, made odd: multiplying by it spreads every bit upwards. */
#define GOLDEN_RATIO_64 0x9e3779b97f4a7c15

/* ---- unwind: whole user stacks without frame pointers (programs/shared/unwind.c) */

#define UNWIND_FRAMES 1024	   /* of one stack */
#define UNWIND_BOUNDED_FRAMES 64   /* of one stack, where the verifier has to walk it too */
#define UNWIND_MAPPINGS (1u << 16) /* of all processes */
#define UNWIND_PAGES (1u << 18)	   /* of text of all files: 256 MB */
#define UNWIND_RULES (1u << 17)	   /* of all files */
#define UNWIND_SHARDS 64	   /* arrays of UNWIND_PART_ROWS rows, made as they are needed */
#define UNWIND_CACHE_SHIFT 11
#define UNWIND_CACHED (2u << UNWIND_CACHE_SHIFT) /* rules that were looked up, for the next time */
#define UNWIND_PREFETCH 32			 /* frames whose rules are fetched together */
#define UNWIND_WINDOW 1024			 /* bytes of user stack that are read at once, */
#define UNWIND_WINDOW_BELOW                                                                        \
	56 /*   so many of them below the return address, where a frame pointer may be saved */
#define UNWIND_NO_WINDOW INT32_MIN /*   sign-extended, far from any address of a process */
#define UNWIND_BLOCK 512	   /* bytes of code that share a pair of these */
#define UNWIND_MAPPING_STEPS 11	   /* halvings: a process has fewer than 1 << 11 ranges */

/*
 * On to the label out if the current thread is in a system call of 32-bit programs: the tracepoints sys_enter and
 * sys_exit give it a number too, of another table. room: 8 bytes at a frame offset. R0 to R5
 * are lost.
 */
#ifndef COMPAT_MEMBER
#define LEAVE_COMPAT_CALL(room, out) SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), END
#else
#define LEAVE_COMPAT_CALL(room, out)                                                               \
	SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), CALL(get_current_task),                   \
		READ_FIELD(room, R0, "task_struct", COMPAT_MEMBER), LDX(W, R1, R10, room),         \
		JSET(R1, COMPAT_BIT, out), END
#endif

/* One walk. What it finds goes into a record, which lies behind it: struct stack_scratch. */
struct unwind_state {
	uint64_t pc, sp, fp;   /* of the frame at hand */
	uint64_t fp_at;	       /* where its fp was saved, if that has not been read yet; else 0 */
	uint64_t mark;	       /* UNWIND_PC_EXACT for a frame that a signal interrupted */
	uint64_t is_return;    /* 1 if pc is a return address */
	uint32_t n, max;       /* frames in the record so far, and when the walk is over; */
	uint32_t base;	       /*   so many of them are the kernel's */
	uint32_t end;	       /* enum unwind_stop */
	uint32_t first, count; /* the ranges of the process; */
	uint32_t pid, changes; /*   which one it is, and when: struct unwind_mappings */
	uint32_t windowless;   /* 1 once a window could not be read: the stack ends soon */
	uint64_t generation;   /* of its mappings */
	uint64_t cache_at, block; /* where in unwind_cache its rule would be kept, of which block */
	uint64_t prefetch[UNWIND_PREFETCH]; /* cache_at of the frames, of the last walk too */
	uint64_t range, range_start;	    /* the one that was found last, its start; -1: none */
	uint64_t row, nrows;
	struct unwind_rule rule; /* of this frame; */
	uint32_t rule_of;	 /*   of which generation */
	uint64_t words[2];
	uint64_t regs[UNWIND_REGS_BYTES / 8];
	uint64_t window_at; /* user address of what is in window, UNWIND_NO_WINDOW if nothing is */
	uint64_t window[UNWIND_WINDOW / 8];
};

/* A range of a process's addresses; ordered by start, those of one process behind each other. */
struct unwind_mapping {
	uint64_t end;
	uint64_t base; /* process address of the part's start */
	uint32_t
		index; /* where the part's pages are in unwind_index, whose rows count in the shard */
	uint32_t npages;
	uint32_t shard;
	uint32_t rules;	     /* where the table's rules are in unwind_rules */
	uint32_t kind;	     /* enum unwind_mapping_kind */
	uint32_t generation; /* of the process's mappings when this was written */
};
/*
 * The only element of unwind_mappings. changes: how often an entry of unwind_procs was replaced or removed, or one of
 * pids removed; while it is the same, what was found there holds. Never 0 once there is somebody to walk. (It may be
 * seen to change a moment before the entry does, which matters to nobody: after an exec the new ranges are published,
 * and nothing runs any more in a process that has ended.)
 */
struct unwind_mappings {
	uint64_t changes;
	uint64_t start[UNWIND_MAPPINGS];
	struct unwind_mapping range[UNWIND_MAPPINGS];
};
/*
 * Value of unwind_procs, by pid: ranges first to first + count - 1; none if they are not known yet. The same ranges have the same generation, which
 * is never 0 and never used again.
 */
struct unwind_proc {
	uint32_t first, count;
	uint32_t generation, unused;
};

/*
 * One of a pair in unwind_cache: the rule of a block of UNWIND_BLOCK bytes of code, in mappings of a generation, from
 * its byte `from` to the one before `to`. Most code has one rule for long: so what was found for an address serves its
 * neighbours. It is whole if
 * check = address of the block ^ (the first 8 bytes of it + the second) * GOLDEN_RATIO_64 ^ (from | to << 16).
 * A pair is one line of the cache (a map that can be mapped begins at a page): the younger is the first, and of a
 * block two parts may be known.
 */
struct unwind_cache {
	struct unwind_rule rule;
	uint32_t generation;
	uint64_t check;
	uint16_t from, to;
	uint32_t unused; /* 0 */
};

/*
 * Rules in unwind_rules have the offset of a register in pt_regs where those of a table have its DWARF number
 * (UNWIND_REG, UNWIND_RA_REG).
 */
extern const struct asm_map unwind_row_map; /* the inner maps of unwind_rows */
#define UNWIND_MAP_PROCS(n)                                                                        \
	{                                                                                          \
		"unwind_procs", BPF_MAP_TYPE_HASH, 4, sizeof(struct unwind_proc), (n)              \
	}
#define UNWIND_MAP_MAPPINGS                                                                        \
	{                                                                                          \
		"unwind_mappings", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct unwind_mappings), 1,       \
			BPF_F_MMAPABLE                                                             \
	}
#define UNWIND_MAP_CACHE                                                                           \
	{                                                                                          \
		"unwind_cache", BPF_MAP_TYPE_ARRAY, 4,                                             \
			UNWIND_CACHED * sizeof(struct unwind_cache), 1, BPF_F_MMAPABLE             \
	}
#define UNWIND_MAP_INDEX                                                                           \
	{                                                                                          \
		"unwind_index", BPF_MAP_TYPE_ARRAY, 4, (UNWIND_PAGES + 1) * 4, 1, BPF_F_MMAPABLE   \
	}
#define UNWIND_MAP_RULES                                                                           \
	{                                                                                          \
		"unwind_rules", BPF_MAP_TYPE_ARRAY, 4, UNWIND_RULES * sizeof(struct unwind_rule),  \
			1, BPF_F_MMAPABLE                                                          \
	}
#define UNWIND_MAP_ROWS                                                                            \
	{                                                                                          \
		"unwind_rows", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, UNWIND_SHARDS, 0, &unwind_row_map \
	}

/*
 * The functions, to be INCLUDEd behind a program that has the maps above:
 *
 *	unwind_user(R1 = a struct stack_scratch; R2 = most frames; R3 = pid; R4 = the program's context; R5 = frames of
 *	the kernel that its record has already)
 *
 * walks the user stack of the current task into the record, behind these; R0 = how many frames. Which way it takes is
 * up to eh, bounded and own_regs of struct program_config, which the program's configuration begins with; both_bytes
 * is the room in the record.
 */
extern const struct asm_part unwind_part;

/* What others have found in unwind_procs, or in pids, holds no longer. R1 and R2 are lost. */
#define PROCS_CHANGED                                                                              \
	LD_MAP_VALUE(R1, unwind_mappings, offsetof(struct unwind_mappings, changes)), MOV(R2, 1),  \
		ATOMIC_ADD(DW, R1, 0, R2)

/*
 * Programs that keep unwind_procs true (programs/shared/unwind_follow.c); need kernel BTF. The second is told the
 * profiler's struct program_config.
 */
extern const struct asm_program unwind_fork_program, unwind_exec_program, unwind_exit_program;

/* ---- what a profiler is told, and what it counts */

/* Load-time parameters; 0 is off. */
struct program_config {
	/* stacks, see stack_take */
	uint32_t user_bytes;   /* room for the user stack: 8 times the most frames wanted */
	uint32_t fp_bytes;     /* of which the kernel's frame-pointer walk can use so much */
	uint32_t user_frames;  /* user_bytes / 8 */
	uint32_t kernel_bytes; /* room for the kernel stack */
	uint32_t both_bytes;   /* user_bytes + kernel_bytes */
	uint32_t eh; /* user stacks by unwind tables; by frame pointers where there are none */
	uint32_t
		bounded; /* before Linux 5.17: no bpf_loop, and at most UNWIND_BOUNDED_FRAMES by tables */
	uint32_t own_regs; /* before 5.15: registers from the context, which is a perf event's */
	uint32_t
		of_task; /* of a sleeping task, which takes the place of the context; needs eh, identity */
	uint32_t some_kernel_only; /* tags with STACK_KERNEL_ONLY in them are in use */
	uint32_t
		user_code; /* the context is a perf event's, which may have hit user code: no kernel stack, registers at hand */
	uint32_t probe;	   /* the context is the registers of user code at a probe */
	uint32_t each; /* every record goes through the ring, nothing is counted in the kernel */
	uint32_t identity;  /* the kernel has BTF: tell apart who had the same pid before */
	uint32_t table;	    /* the map counts is a table of struct stack_count */
	uint32_t ring_mark; /* bytes waiting in the ring that are worth waking user space */
	/* whom, see target_ids */
	uint32_t filtering; /* any of these is set */
	uint32_t by_pid;    /* only processes in the map pids */
	uint32_t by_tid;    /* only threads in the map tids */
	uint32_t cgroup_level;
	uint64_t ns_device, ns_inode; /* of the pid namespace to count in; 0: the machine's own */
	uint64_t cgroup_id;
	struct asm_comm_filter comm;
};

/* What became of the events, for the ledger; how the only element of the map stats begins. */
struct program_stats {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t ring_full; /* lost: no room in the ring */
	uint64_t busy;	    /* lost: this CPU was at work on too many stacks at once */
	uint64_t
		uncounted; /* kept, but the map counts had no room: their records go through the ring each time */
	uint64_t unfollowed; /* children that found no room in the map pids */
};

/* ---- target: whom (programs/shared/target.c)
 *
 *	target_ids()	R0 = process << 32 | thread of the current task, as we number them; -1 if it was not asked for
 */
extern const struct asm_part rp_target_part;

/* ---- stack: who and where (programs/shared/stack.c, stack_value.c) */

#define STACK_VALUES 4 /* weights of a stack, at most */
#define STACK_SLOTS 4  /* records that one CPU works on at the same time */

/*
 * A stack with who it belongs to, as it comes through the ring when it is seen for the first time. frames holds
 * first the kernel stack, then the user stack, each leaf first.
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
	/* From here on everything is part of the hash. */
	uint64_t tag;	   /* the profiler's own: a state, a lock */
	uint64_t pid_tgid; /* process << 32 | thread */
	uint32_t user_bytes;
	uint32_t user_end;   /* enum unwind_stop; STACK_BY_FP, STACK_NO_TABLE */
	uint64_t start_time; /* of the process, ns; 0 without kernel BTF */
	uint64_t exec_id;    /* how many times it has executed a program */
	char comm[16];
	uint64_t frames[];
};
/*
 * What a CPU writes on while it takes a stack: an element of the map scratch, which has room for both_bytes of frames.
 * The record is complete where it lies and travels as it is. What a look-up in a map has said the last time is kept
 * here too, as mostly the same process runs as at the last sample.
 */
struct stack_scratch {
	struct unwind_state walk;
	uint64_t
		asked; /* pid << 32 | changes of who was found in the map pids; of the first element only */
	uint64_t told; /* the key of who was found in the map seen */
	struct stack_record record;
};
#define STACK_SCRATCH_BYTES(frame_bytes)                                                           \
	((uint32_t)sizeof(struct stack_scratch) + (frame_bytes) +                                  \
	 8) /* 8: see unwind_step, stack_end */

/*
 * The map counts, where stacks have their weights by hash: a hash map, or where only stack_value looks for them a table
 * of our own, struct stack_table. It has buckets of STACK_WAYS places; the first empty one ends the search, and what
 * finds its bucket full goes through the ring every time.
 */
#define STACK_BUCKETS_SHIFT 13
#define STACK_WAYS 8
#define STACK_PLACES (STACK_WAYS << STACK_BUCKETS_SHIFT)
#define STACK_TABLE_VALUES 2 /* weights of a stack there */
struct stack_count {
	uint64_t hash;	 /* 0: nobody is here */
	uint32_t owners; /* how many want to be it: the one who finds himself alone is, for ever */
	uint32_t unused;
	uint64_t value[STACK_TABLE_VALUES];
};
/*
 * The only element of the table. Most stacks are seen once: only when one comes again it gets a place; before that it
 * has its bit in once, which is found in a few lines of memory where the places take two megabytes. Two CPUs may set
 * bits of one word, and one of them be lost: then that stack goes through the ring once more.
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

/* In a tag: what runs is not the doing of the current task, whose own stack is left out. */
#define STACK_KERNEL_ONLY (1ull << 63)
/* user_end of a stack that was walked by frame pointers: from the start, or as the first pc had no table. */
#define STACK_BY_FP UINT32_MAX
#define STACK_NO_TABLE (UINT32_MAX - 1)

/*
 * The functions, to be INCLUDEd behind a program that has the maps below:
 *
 *	stack_take(R1 = context, R2 = process << 32 | thread, R3 = tag)
 *		R0 = a record that holds the stacks of the current task; 0 if this CPU has none to spare, which is
 *		counted as busy. The caller gives it back (STACK_DONE).
 *	stack_value(R1 = record, its value[] set)
 *		R0 = the stack's weights in the map counts, to be added to. 0 the first time, with a table the second
 *		too: then the record itself has gone through the ring, with its value[], and from now on the stack is
 *		known. (If the map has no room it never is, and all its records go through the ring.) If the ring is
 *		full too the record is lost and counted, and its hash is 0.
 */
extern const struct asm_part rp_stack_part;
/*
 * stack_take in pieces, for a program that is in a hurry: the kernel finds its way through every function of ours that
 * is between it and its own, each of which takes it as long as two of those. So it asks for the kernel stack itself:
 *
 *	stack_begin(R1 = context, R2 = process << 32 | thread, R3 = tag)	R0 = a record, or 0; as stack_take
 *	rp_stack_kernel_part, R1 = context, R2 = record: no function		R0 = bytes of the kernel stack
 *	stack_end(R1 = record, R2 = context, R3 = these bytes)			R0 = the record
 */
extern const struct asm_part rp_stack_pieces_part, rp_stack_kernel_part;
/*
 * With config.probe, which it includes: stack_fp(R1 = a struct stack_scratch, R2 = context, R3 = frames of the kernel
 * that its record has), R0 = frames (programs/shared/stack_fp.c).
 */
extern const struct asm_part rp_stack_fp_part;

/* Gives it back; destroys R1. */
#define STACK_DONE(record)                                                                         \
	SCOPE("STACK_DONE(" #record ")"), MOV(R1, -1),                                             \
		ATOMIC_ADD(W, record, offsetof(struct stack_record, busy), R1), END

/* Clears a record without frames, all 16 words of it: what is reserved in a ring holds what was there before. */
#define STACK_RECORD_CLEAR(record)                                                                 \
	SCOPE("STACK_RECORD_CLEAR(" #record ")"), STACK_CLEAR_4(record, 0),                        \
		STACK_CLEAR_4(record, 32), STACK_CLEAR_4(record, 64), STACK_CLEAR_4(record, 96),   \
		END
#define STACK_CLEAR_4(record, at)                                                                  \
	ST(DW, record, at, 0), ST(DW, record, (at) + 8, 0), ST(DW, record, (at) + 16, 0),          \
		ST(DW, record, (at) + 24, 0)
_Static_assert(sizeof(struct stack_record) == 16 * 8, "STACK_RECORD_CLEAR() clears all of it");

/* How the maps of a profiler begin; its own follow, from STACK_MAPS on. */
enum {
	STACK_MAP_EVENTS, /* the first: what lacks a ring buffer is too old, and is told so */
	STACK_MAP_PIDS,
	STACK_MAP_TIDS,
	STACK_MAP_SEEN,
	STACK_MAP_COUNTS,
	STACK_MAP_SCRATCH,
	STACK_MAP_STATS,
	STACK_MAP_PROCS,
	STACK_MAP_MAPPINGS,
	STACK_MAP_CACHE,
	STACK_MAP_INDEX,
	STACK_MAP_RULES,
	STACK_MAP_ROWS,
	STACK_MAPS
};
extern const struct asm_layout rp_stack_scratch_layout, rp_program_stats_layout;
/*
 * counts_map: STACK_COUNTS_MAP(how many weights) or STACK_COUNTS_TABLE; stats_type begins with struct program_stats and
 * has the layout stats_layout. scratch is there as a stack is too large for the 512 bytes that a program has.
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
	[STACK_MAP_PROCS] = UNWIND_MAP_PROCS(8192), [STACK_MAP_MAPPINGS] = UNWIND_MAP_MAPPINGS,    \
	[STACK_MAP_CACHE] = UNWIND_MAP_CACHE, [STACK_MAP_INDEX] = UNWIND_MAP_INDEX,                \
	[STACK_MAP_RULES] = UNWIND_MAP_RULES, [STACK_MAP_ROWS] = UNWIND_MAP_ROWS

/* What a profiler without options would be told, nearly; to show programs with. */
#define PROGRAM_USUAL_CONFIG PROGRAM_CONFIG_WITH(0)
#define PROGRAM_TABLE_CONFIG PROGRAM_CONFIG_WITH(1) /* and with STACK_COUNTS_TABLE */
#define PROGRAM_CONFIG_WITH(table_)                                                                \
	{                                                                                          \
		.user_bytes = 127 * 8, .fp_bytes = 127 * 8, .user_frames = 127,                    \
		.kernel_bytes = 127 * 8, .both_bytes = 2 * 127 * 8, .eh = 1, .identity = 1,        \
		.table = (table_), .ring_mark = 1 << 18                                            \
	}

/* ---- follow: the children of who is in the map pids (programs/shared/follow.c) */

/* With kernel BTF: a child is added when it is born, and removed when its last thread is gone. */
extern const struct asm_program rp_follow_fork_program, rp_follow_exit_program;
/* Without: a classic tracepoint; nothing is removed. */
extern const struct asm_program rp_follow_fork_classic_program;

/* ---- stacks: the user side (record/stacks.c) */

/* The maps of one recording, and the stacks that came back. */
struct stacks;

struct stacks_options {
	const struct asm_map *maps; /* STACK_MAP_LIST and what the profiler adds */
	size_t nmaps;
	const struct program_config *config;
	uint32_t nids;	     /* room in the maps pids and tids; 0: one each, no filter */
	uint32_t ring_bytes; /* a power of two, at least a page */
};

/* A distinct stack and what it weighs; record->hash tells it from all others. */
struct stack {
	const struct stack_record *record;
	uint64_t value[STACK_VALUES];
};

/* Called for every record as it is drained; the record is gone after the return. 0 or a negative errno. */
typedef int (*stack_record_fn)(void *ctx, const struct stack_record *record);

/* Makes the maps. 0 or what the loader said. */
int record_stacks_open(const struct stacks_options *opt, stack_record_fn on_record, void *ctx,
		       struct stacks **out);
void record_stacks_close(struct stacks *s);

/*
 * Loads a program with these maps. config begins with a struct program_config, of which ring_mark is filled in;
 * NULL: the program has none. Returns a descriptor, the caller's, or what the loader said.
 */
int record_stacks_load(struct stacks *s, const struct asm_program *program, const void *config);
int record_stacks_map(const struct stacks *s, int map); /* its descriptor */
/* The maps as they were made: sizes may differ from the profiler's. */
const struct asm_map *record_stacks_maps(const struct stacks *s);
int record_stacks_add_id(struct stacks *s, int map,
			 uint32_t id); /* STACK_MAP_PIDS or STACK_MAP_TIDS */

/* Takes what is in the ring. -ENOMEM, -EBADMSG (a record that is none), or what on_record returned. */
int record_stacks_drain(struct stacks *s);
/* After the programs were detached: the rest of the ring, and the counts of the kernel. Once. */
int record_stacks_finish(struct stacks *s);
/* Distinct stacks, in no order; NULL begins and ends. Not with config->each, which keeps none. */
const struct stack *record_stacks_next(const struct stacks *s, const struct stack *after);
/* By hash; NULL: there is none. */
const struct stack *record_stacks_find(const struct stacks *s, uint64_t hash);
/* Adds to its weights what the map counts does not know. -ENOENT: there is no such stack. */
int record_stacks_add(struct stacks *s, uint64_t hash, const uint64_t value[STACK_VALUES]);
size_t record_stacks_count(const struct stacks *s);
/* The counters; size bytes of the profiler's own struct, which begins with struct program_stats. */
int record_stacks_stats(const struct stacks *s, void *out);

#endif
