/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole user stacks without frame pointers (programs/shared/unwind.c): maps, and how to call it. */
#ifndef PROGRAMS_SHARED_UNWIND_H
#define PROGRAMS_SHARED_UNWIND_H

#include <rawprof/asm.h>
#include <rawprof/macros.h>
#include <rawprof/unwind.h>
#include "base/machine.h"
#include "config.h"
#include "jvm.h"
#include "published.h"
#include "python.h"
#include "script.h"
#include "v8.h"

#define UNWIND_FRAMES 1024	   /* of one stack */
#define UNWIND_PASSED 8192	   /* of one stack whose middle is left out */
#define UNWIND_BOUNDED_FRAMES 64   /* of one stack, where the verifier has to walk it too */
#define UNWIND_MAPPINGS (1u << 17) /* of all processes */
#define UNWIND_PAGES (1u << 18)	   /* of text of all files: 256 MB */
#define UNWIND_RULES (1u << 17)	   /* of all files */
#define UNWIND_SHARDS 64	   /* arrays of UNWIND_PART_ROWS rows, made as they are needed */
#define UNWIND_CACHE_SHIFT 11
#define UNWIND_CACHED (2u << UNWIND_CACHE_SHIFT) /* rules that were looked up, for the next time */
#define UNWIND_PREFETCH 32			 /* frames whose rules are fetched together */
#define UNWIND_WINDOW 1024			 /* bytes of user stack that are read at once, */
/* So many of them are below the return address, where a frame pointer may be saved. */
#define UNWIND_WINDOW_BELOW 56
#define UNWIND_NO_WINDOW INT32_MIN /*   sign-extended, far from any address of a process */
#define UNWIND_BLOCK 512	   /* bytes of code that share a pair of these */
#define UNWIND_MAPPING_STEPS 11	   /* halvings: a process has fewer than 1 << 11 ranges */
#define UNWIND_FILES 4096	   /* that the kernel is asked about: struct unwind_file */
#define UNWIND_FILE_PARTS 4	   /* of a table, of one that is found that way */
/*
 * With each frame its stack pointer is kept for the walks of languages, behind the room for frames,
 * or with this bit the frame pointer that it was walked by, or with that one it is known to be
 * of generated code.
 */
#define UNWIND_POINTER_FP 1
#define UNWIND_POINTER_GENERATED 2
#define UNWIND_GENERATED_SIZES 6 /* more that a frame of generated code may have */
#define UNWIND_VMA_CALLS 32	 /* so often the kernel is asked in one walk */

/* A range of a process's addresses. */
struct unwind_mapping {
	uint64_t end;
	uint64_t base; /* process address of the part's start */
	/* Where the part's pages are in unwind_index, whose rows count in the shard */
	uint32_t index;
	uint32_t npages;
	uint32_t shard;
	uint32_t rules;	     /* where the table's rules are in unwind_rules */
	uint32_t kind;	     /* enum unwind_mapping_kind */
	uint32_t generation; /* of the process's mappings when this was written */
};

/* A file's executable mapping, as the kernel has it; the key of unwind_files. */
struct unwind_file_key {
	uint64_t inode;
	uint64_t pgoff;	  /* pages */
	uint64_t size;	  /* of the file: not that of another one that has its number by now */
	uint32_t dev;	  /* as the kernel counts: major << 20 | minor */
	uint32_t changed; /* in which second (st_ctime), of which this is the lower half */
};
/*
 * Value of unwind_files: the table of a file, for processes that are not in unwind_procs yet.
 * Nothing of it ever changes but by a new value.
 */
struct unwind_file {
	uint64_t vaddr; /* address in the file that the mapping begins at */
	uint32_t nparts, unused;
	struct unwind_file_part {
		uint64_t start; /* address in the file */
		uint32_t npages, index, shard, rules;
	} part[UNWIND_FILE_PARTS];
};
/* What the kernel is asked: of which address space, and where the mapping begins. */
struct unwind_vma {
	uint64_t level; /* of the tree of mappings */
	uint64_t mm, start;
};

/* One walk. What it finds goes into a record, which lies behind it: struct stack_scratch. */
struct unwind_state {
	uint64_t pc, sp, fp;   /* of the frame at hand */
	uint64_t fp_at;	       /* where its fp was saved, if that has not been read yet; else 0 */
	uint64_t rbx_at;       /* where its rbx is; 1: in the register, 0: not known */
	uint64_t mark;	       /* UNWIND_PC_EXACT for a frame that a signal interrupted */
	uint64_t is_return;    /* 1 if pc is a return address */
	uint32_t n, max;       /* frames in the record so far, and when the walk is over; */
	uint32_t base;	       /*   so many of them are the kernel's */
	uint32_t end;	       /* enum unwind_stop */
	uint32_t first, count; /* the ranges of the process; */
	uint32_t pid, changes; /*   which one it is, and when: struct unwind_mappings */
	uint32_t windowless;   /* 1 once a window could not be read: the stack ends soon */
	/* Of a stack too deep: behind frame innermost the next skip frames are left out */
	uint32_t innermost, skip;
	uint32_t left_out;	  /* so many in all; */
	uint32_t passing;	  /*   1: this one is one of them */
	uint32_t deep_at;	  /* number + 1 of its element of the map deep; 0: none */
	uint32_t began;		  /* n is one more while the frame at hand is the innermost */
	uint32_t lacked;	  /* the first frame without a rule, 1 the innermost; 0: none */
	uint64_t generation;	  /* of its mappings */
	uint64_t return_instance; /* the kernel's, of the last frame with a return probe; 0: none */
	uint64_t cache_at, block; /* where in unwind_cache its rule would be kept, of which block */
	uint64_t prefetch[UNWIND_PREFETCH]; /* cache_at of the frames, of the last walk too */
	uint64_t range_start;		    /* of the range that was found last; -1: none; */
	struct unwind_mapping segment;	    /*   and what is there */
	struct unwind_vma vma;
	uint64_t vma_calls; /* how often the kernel was asked */
	uint64_t row, nrows;
	struct unwind_rule rule; /* of this frame; */
	uint32_t rule_of;	 /*   of which generation */
	uint64_t words[2];
	uint64_t regs[UNWIND_REGS_BYTES / 8];
	uint64_t seen_lately[MANAGED_SEEN_LATELY]; /* some of managed_seen */
	struct python_walk python;		   /* behind this walk; */
	struct python_process python_process;	   /* of the process known */
	struct v8_walk v8;
	struct v8_process v8_process;
	struct jvm_walk jvm;
	uint32_t jvm_number, unused;  /* of the process known; 0: it has none */
	struct unwind_rule generated; /* of the process known, */
	uint32_t unused_too;
	struct script_walk script;
	struct script_process script_process; /* of the process known */
	struct published_process published;   /* of it, too */
	uint64_t window_at; /* user address of what is in window, UNWIND_NO_WINDOW if nothing is */
	uint64_t window[UNWIND_WINDOW / 8];
};

/*
 * The only element of unwind_mappings. changes: how often an entry of unwind_procs was replaced or
 * removed, or one of pids removed; while it is the same, what was found there holds. Never 0 once
 * there is a process to walk. (It may be seen to change a moment before the entry does, which
 * does no harm: after an exec the new ranges are published, and nothing runs any more in a
 * process that has ended.)
 *
 * Ranges are ordered by start, those of one process behind each other.
 */
struct unwind_mappings {
	uint64_t changes;
	uint64_t fresh; /* walks of processes that were not in unwind_procs */
	uint64_t start[UNWIND_MAPPINGS];
	struct unwind_mapping range[UNWIND_MAPPINGS];
};
/*
 * Value of unwind_procs, by pid: ranges first to first + count - 1; none if they are not known yet.
 * The same ranges have the same generation, which is never 0 and never used again.
 */
struct unwind_proc {
	uint32_t first, count;
	uint32_t generation;
	uint32_t jvm;		      /* number + 1 in jvm_processes; 0: it has none */
	struct python_process python; /* its interpreter */
	struct v8_process v8;
	struct script_process script;
	struct published_process published;
	/*
	 * Of code that it generates: of kind UNWIND_SP, and right where the return address, at
	 * CFA - 8, follows a call; else the CFA may be arg higher, up to ra_off times.
	 * UNWIND_NO_ROW: by the frame pointer.
	 */
	struct unwind_rule generated;
	uint32_t unused;
};

/*
 * One of a pair in unwind_cache: the rule of a block of UNWIND_BLOCK bytes of code, in mappings of
 * a generation, from its byte `from` to the one before `to`. Most code has one rule for long: so
 * what was found for an address serves its neighbours. It is whole if check = address of the block
 * ^ (the first 8 bytes of it + the second) * GOLDEN_RATIO_64 ^ (from | to << 16). A pair is one
 * line of the cache (a map that can be mapped begins at a page): the younger is the first, and of a
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
 * Rules in unwind_rules have the offset of a register in pt_regs where those of a table have its
 * DWARF number (UNWIND_REG, UNWIND_RA_REG).
 */
extern const struct asm_map rp_unwind_row_map; /* the inner maps of unwind_rows */
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
#define UNWIND_MAP_FILES                                                                           \
	{                                                                                          \
		"unwind_files", BPF_MAP_TYPE_HASH, sizeof(struct unwind_file_key),                 \
			sizeof(struct unwind_file), UNWIND_FILES                                   \
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
		"unwind_rows", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, UNWIND_SHARDS, 0,                 \
			&rp_unwind_row_map                                                         \
	}

/*
 * The functions, to be INCLUDEd behind a program that has the maps above:
 *
 *	unwind_user(R1 = a struct stack_scratch; R2 = most frames; R3 = pid; R4 = the program's
 *	context; R5 = frames of the kernel that its record has already)
 *
 * walks the user stack of the current task into the record, behind these; R0 = how many frames.
 * Which way it takes is up to eh, bounded and own_regs of struct program_config, which the
 * program's configuration begins with; both_bytes is the room in the record.
 */
extern const struct asm_part rp_unwind_part;

/* What others have found in unwind_procs, or in pids, holds no longer. R1 and R2 are lost. */
#define PROCS_CHANGED                                                                              \
	LD_MAP_VALUE(R1, unwind_mappings, offsetof(struct unwind_mappings, changes)), MOV(R2, 1),  \
		ATOMIC_ADD(DW, R1, 0, R2)

#endif
