/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs of rawprof, and the C structs that they share with user space.
 *
 * Each file of programs/ holds one profiler's maps and bytecode. Whoever runs one copies its maps,
 * sizes them, creates them, fills the configuration, loads the programs and drains the maps; cli/
 * does that.
 */
#ifndef RAWPROF_PROGRAMS_H
#define RAWPROF_PROGRAMS_H

#include <rawprof/asm.h>
#include <rawprof/unwind.h>

/* ---- unwind: whole user stacks without frame pointers (programs/unwind.c) */

#define UNWIND_FRAMES 1024	 /* of one stack */
#define UNWIND_RANGES (1u << 14) /* of all processes */
#define UNWIND_PAGES (1u << 18)	 /* of text of all files: 256 MB */
#define UNWIND_RULES (1u << 16)	 /* of all files */
#define UNWIND_SHARDS 64	 /* arrays of UNWIND_PART_ROWS rows, made as they are needed */
#define UNWIND_RANGE_STEPS 11	 /* halvings: a process has fewer than 1 << 11 ranges */

/*
 * The registers that the kernel saved when it was entered (struct user_pt_regs), how many bytes of them, and how
 * they tell that it was entered from 64-bit user code.
 */
#if defined(__aarch64__)
#define UNWIND_REGS_BYTES 272
#define UNWIND_MODE_REG 264 /* pstate */
#define UNWIND_MODE_MASK 0x1f
#define UNWIND_MODE_USER64 0
#define UNWIND_RA_MASK 0xffffffffffff
#else
#define UNWIND_REGS_BYTES 168
#define UNWIND_MODE_REG 136 /* cs */
#define UNWIND_MODE_MASK 0xffff
#define UNWIND_MODE_USER64 0x33
#endif

/* One walk; the only element of the per-CPU map unwind. */
struct unwind_state {
	uint64_t pc, sp, fp;   /* of the frame at hand */
	uint64_t fp_at;	       /* where its fp was saved, if that has not been read yet; else 0 */
	uint64_t mark;	       /* UNWIND_PC_EXACT for a frame that a signal interrupted */
	uint64_t is_return;    /* 1 if pc is a return address */
	uint32_t n, max;       /* frames so far, frames wanted */
	uint32_t end;	       /* enum unwind_end */
	uint32_t first, count; /* the ranges of the process */
	uint32_t unused;
	uint64_t row, nrows;
	uint64_t words[2];
	uint64_t regs[UNWIND_REGS_BYTES / 8];
	uint64_t pcs[UNWIND_FRAMES];
};

/* A range of a process's addresses; ordered by start, those of one process behind each other. */
struct unwind_range {
	uint64_t end;
	uint64_t base; /* process address of the part's start */
	uint32_t
		index; /* where the part's pages are in unwind_index, whose rows count in the shard */
	uint32_t npages;
	uint32_t shard;
	uint32_t rules; /* where the table's rules are in unwind_rules */
	uint32_t kind;	/* enum unwind_segment_kind */
	uint32_t unused;
};
/* The only element of unwind_ranges. */
struct unwind_ranges {
	uint64_t start[UNWIND_RANGES];
	struct unwind_range range[UNWIND_RANGES];
};
/* Value of unwind_procs, by pid: ranges first to first + count - 1. */
struct unwind_proc {
	uint32_t first, count;
};

/*
 * Rules in unwind_rules have the offset of a register in pt_regs where those of a table have its DWARF number
 * (UNWIND_REG, UNWIND_RA_REG).
 */
extern const struct asm_map unwind_row_map; /* the inner maps of unwind_rows */
#define UNWIND_MAP_STATE(n)                                                                        \
	{                                                                                          \
		"unwind", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct unwind_state), (n)           \
	}
#define UNWIND_MAP_PROCS(n)                                                                        \
	{                                                                                          \
		"unwind_procs", BPF_MAP_TYPE_HASH, 4, sizeof(struct unwind_proc), (n)              \
	}
#define UNWIND_MAP_RANGES                                                                          \
	{                                                                                          \
		"unwind_ranges", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct unwind_ranges), 1,           \
			BPF_F_MMAPABLE                                                             \
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
 *	unwind_user(R1 = state, the element of the map unwind; R2 = most frames; R3 = pid)
 *
 * walks the user stack of the current task into state->pcs, R0 = how many frames. bpf_loop, Linux 5.17.
 */
extern const struct asm_part unwind_part;

/* ---- cpu: where CPU time goes (programs/cpu.c)
 * ------------------------------------------------------------ */

/* Load-time parameters; 0 is off. */
struct cpu_config {
	uint32_t user_bytes;   /* room for the user stack: 8 times the most frames wanted */
	uint32_t fp_bytes;     /* of which the kernel's frame-pointer walk can use so much */
	uint32_t user_frames;  /* user_bytes / 8 */
	uint32_t kernel_bytes; /* room for the kernel stack */
	uint32_t both_bytes;   /* user_bytes + kernel_bytes */
	uint32_t eh; /* user stacks by unwind tables; by frame pointers where there are none */
	uint32_t filtering; /* any of the filters below is set */
	uint32_t by_pid;    /* only processes in the map pids */
	uint32_t by_tid;    /* only threads in the map tids */
	uint32_t keep_idle; /* the idle task too */
	uint32_t each; /* every sample goes through the ring, nothing is counted in the kernel */
	uint32_t identity;  /* the kernel has BTF: tell apart who had the same pid before */
	uint32_t ring_mark; /* bytes waiting in the ring that are worth waking user space */
	uint32_t cgroup_level;
	uint64_t ns_device, ns_inode; /* of the pid namespace to count in; 0: the machine's own */
	uint64_t cgroup_id;
	struct asm_comm_filter comm;
};

/* What became of the events, for the ledger; the only element of the map stats. */
struct cpu_stats {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t ring_full;  /* lost: no room in the ring */
	uint64_t uncounted;  /* kept, but the map counts was full: all their samples go through the
				ring */
	uint64_t unfollowed; /* children that found no room in the map pids */
};

/* Key and value of the map counts. The key is how a record begins. */
struct cpu_key {
	uint64_t hash; /* of everything in the record that says who and where */
	uint64_t pid_tgid;
};
struct cpu_count {
	uint64_t samples;
	uint64_t period; /* sum of the samples' periods, in the event's unit */
};

/*
 * One sample as it comes through the ring. A stack that is seen for the first time comes so, and
 * stands for one sample; those that follow are counted in the map counts under the same key. frames
 * holds first the kernel stack, then the user stack, each leaf first.
 */
struct cpu_record {
	struct cpu_key key;
	uint64_t time;	 /* CLOCK_MONOTONIC, ns */
	uint64_t period; /* in the event's unit */
	uint32_t cpu;
	uint32_t kernel_bytes;
	/* From here on everything is part of the hash. */
	uint32_t user_bytes;
	uint32_t user_end;   /* enum unwind_end; CPU_BY_FP, CPU_NO_TABLE */
	uint64_t start_time; /* of the process, ns; 0 without kernel BTF */
	uint64_t exec_id;    /* how many times it has executed a program */
	char comm[16];
	uint64_t frames[];
};

enum {
	CPU_MAP_PIDS,
	CPU_MAP_TIDS,
	CPU_MAP_SEEN,
	CPU_MAP_COUNTS,
	CPU_MAP_SCRATCH,
	CPU_MAP_STATS,
	CPU_MAP_EVENTS,
	/* of the unwinder */
	CPU_MAP_UNWIND,
	CPU_MAP_PROCS,
	CPU_MAP_RANGES,
	CPU_MAP_INDEX,
	CPU_MAP_RULES,
	CPU_MAP_ROWS,
	CPU_MAPS
};
/* user_end of a stack that was walked by frame pointers: from the start, or as the first pc had no table. */
#define CPU_BY_FP UINT32_MAX
#define CPU_NO_TABLE (UINT32_MAX - 1)
extern const struct asm_map cpu_maps[CPU_MAPS];
extern const struct asm_program cpu_sample_program;
/* What `rawprof cpu` without options uses, nearly. */
extern const struct cpu_config cpu_usual_config;

/* The user side (programs/cpu_collect.c): one run of the program, and what it has collected. */
struct cpu_collect;

struct cpu_collect_options {
	struct cpu_config config; /* ring_mark is filled in */
	uint32_t nids;		  /* room in the maps pids and tids; 0: one each, no filter */
	uint32_t ring_bytes;	  /* a power of two, at least a page */
};

/* A distinct stack and what it weighs; record->key tells it from all others. */
struct cpu_stack {
	const struct cpu_record *record;
	uint64_t samples;
	uint64_t period;
};

/* Called for every record as it is drained; the record is gone after the return. 0 or a negative
 * errno. */
typedef int (*cpu_record_fn)(void *ctx, const struct cpu_record *record);

/*
 * Makes the maps and loads the program. 0 or what the loader said. Nothing runs until the program
 * (cpu_collect_program) is attached to perf events.
 */
int cpu_collect_open(const struct cpu_collect_options *opt, cpu_record_fn on_record, void *ctx,
		     struct cpu_collect **out);
void cpu_collect_close(struct cpu_collect *c);
int cpu_collect_program(const struct cpu_collect *c);
const int *cpu_collect_fds(const struct cpu_collect *c); /* of cpu_maps, in order */
int cpu_collect_ring_fd(const struct cpu_collect *c);	 /* readable when draining is worth it */
int cpu_collect_add_id(struct cpu_collect *c, int map,
		       uint32_t id); /* CPU_MAP_PIDS or CPU_MAP_TIDS */

/* Takes what is in the ring. -ENOMEM, -EBADMSG (a record that is none), or what on_record returned.
 */
int cpu_collect_drain(struct cpu_collect *c);
/* After the events were disabled: the rest of the ring, and the counts of the kernel. Once. */
int cpu_collect_finish(struct cpu_collect *c);
/* Distinct stacks, in no order; NULL begins and ends. Not with config.each, which keeps none. */
const struct cpu_stack *cpu_collect_next(const struct cpu_collect *c,
					 const struct cpu_stack *after);
size_t cpu_collect_count(const struct cpu_collect *c);
int cpu_collect_stats(const struct cpu_collect *c, struct cpu_stats *out);

/* ---- follow: the children of who is in the map pids (programs/follow.c)
 * ----------------------------------- */

/* With kernel BTF: a child is added when it is born, and removed when its last thread is gone. */
extern const struct asm_program follow_fork_program, follow_exit_program;
/* Without: a classic tracepoint; nothing is removed. */
extern const struct asm_program follow_fork_classic_program;

/* ---- ksym: names of kernel addresses, by the kernel (programs/ksym.c)
 * ------------------------------------- */

/* The only element of the mmapable map ksym_io: addresses in, ended by a 0 when there are fewer;
 * texts out. */
#define KSYM_BATCH 32
#define KSYM_TEXT 640
struct ksym_io {
	uint64_t addr[KSYM_BATCH];
	char text[KSYM_BATCH][KSYM_TEXT];
};

enum { KSYM_MAP_FORMAT, KSYM_MAP_IO, KSYM_MAPS };
extern const struct asm_map ksym_maps[KSYM_MAPS];
#define KSYM_FORMAT "%pS"
/* For BPF_PROG_TEST_RUN; the second for kernels without syscall programs (before 5.14). */
extern const struct asm_program ksym_program, ksym_raw_program;
/* Writes the format to its map and freezes it, without which neither loads. fds: of ksym_maps. 0 or
 * a negative errno. */
int ksym_prepare(const int *fds);

/* ---- all of them
 * ------------------------------------------------------------------------------------------ */

/* A program with its maps, for whoever shows or checks programs rather than running them. */
struct program_entry {
	const struct asm_program *program;
	const struct asm_map *maps;
	size_t nmaps;
	const char *summary;
	const void *config;		/* to show it with; NULL: it has none */
	int (*prepare)(const int *fds); /* what its maps must hold before it loads; NULL: nothing */
};
extern const struct program_entry program_entries[];
extern const size_t program_count;

#endif
