/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations in user space: what programs/mem/user*.c and cli/mem/ share.
 *
 * A call of the allocator is followed from its entry to its return in what its thread is doing
 * (struct mem_thread), so that calls within calls are told apart. At the return the block that came
 * back is written down under its address (struct mem_block) with the hash of the stack, whose
 * weights go up; when it is freed they go down again.
 */
#ifndef RAWPROF_MEM_H
#define RAWPROF_MEM_H

#include "programs/shared/stack.h"

/* The weights of a stack. */
enum {
	MEM_ALLOC_OBJECTS,
	MEM_ALLOC_SPACE,
	/* Freed, or not followed; with config.temporary: before the thread's next allocation. */
	MEM_GONE_OBJECTS,
	MEM_GONE_SPACE,
	MEM_WEIGHTS
};

/* What the functions of an allocator take and give. */
enum mem_call {
	MEM_MALLOC = 1,	  /* (size) */
	MEM_CALLOC,	  /* (n, size) */
	MEM_REALLOC,	  /* (block, size) */
	MEM_REALLOCARRAY, /* (block, n, size) */
	MEM_ALIGNED,	  /* (alignment, size) */
	/* (where the block goes, alignment, size), which returns 0 or an error */
	MEM_POSIX_MEMALIGN,
	MEM_NEW,    /* (size), and may throw */
	MEM_FREE,   /* (block) */
	MEM_DELETE, /* (block), and may call free itself */
	MEM_CALLS
};

/* System calls that map memory and give it back. */
enum mem_map_call {
	MEM_MMAP = 1,  /* of memory that belongs to no file */
	MEM_MMAP_FILE, /* of a file */
	MEM_MUNMAP,
	MEM_MREMAP,
	MEM_BRK
};

/*
 * A probe's cookie: an enum mem_call, and a number for the name of the function, which is of no
 * interest to the programs. LD_COOKIE destroys R0-R5.
 */
#define MEM_COOKIE(call, function) ((uint32_t)(call) | (uint32_t)(function) << 16)
#define LD_COOKIE(dst, ctx)                                                                        \
	SCOPE("LD_COOKIE(" #dst ", " #ctx ")"), UNLESS(struct mem_user_config, cookie),            \
		MOV_REG(R1, ctx), CALL(get_attach_cookie), MOV_REG(dst, R0), END,                  \
		WHEN(struct mem_user_config, cookie),                                              \
		LD_PARAM(dst, struct mem_user_config, cookie), END, END

/* A block that is in use: under its space and address in the map blocks. */
struct mem_block_key {
	uint64_t space; /* of which process, and which program of it */
	uint64_t address;
};
struct mem_block {
	uint64_t size;
	uint64_t hash; /* of the stack that it was allocated by */
	uint64_t time; /* when, CLOCK_MONOTONIC, ns; 0 unless config.times */
};

/*
 * What is in use of a stack, with config.peak_sites: under its hash in the map sites. And of a
 * memory, under its number (mem_space). programs/mem/user_peak.c says what the members are for.
 */
struct mem_site {
	uint64_t objects, bytes; /* now */
	uint64_t peak;		 /* which highest moment these two are of: how much was in use */
	uint64_t peak_objects, peak_bytes;
	uint64_t space; /* that it belongs to */
	/* Of a memory: 1 + the highest moment before its process ended; 0: it goes on. */
	uint64_t ended;
};

/* Classes of sizes, with config.lifetimes: up to 1 KiB, 16 KiB, 256 KiB, 4 MiB, and more. */
#define MEM_LIFETIME_CLASSES 5
#define MEM_LIFETIME_FIRST 1024
#define MEM_LIFETIME_STEP 16

/*
 * What a thread is doing, under its id in the map threads. sp says whether it is inside a call:
 * then it is the stack pointer at the entry, which every call from within lies below. A greater one
 * means that the call was left without a return (longjmp).
 */
struct mem_thread {
	uint64_t sp;
	uint64_t ids;	  /* process << 32 | thread, as we number them */
	uint64_t size;	  /* that was asked for */
	uint64_t pointer; /* realloc: the old block; posix_memalign: where the new one goes */
	/* realloc: what was known of the old block, which is off the map meanwhile */
	struct mem_block old;
	uint64_t result; /* the block that came back; 0 */
	uint64_t space,
		hash;	   /* with config.plain: of its record in the map counts, of this memory */
	uint64_t latest;   /* block that the latest call gave or took; 0 */
	uint64_t newest;   /* block that the latest allocation gave, until it is freed; 0 */
	uint16_t call;	   /* enum mem_call */
	uint16_t function; /* as the cookie says */
	uint16_t had_old;
	uint16_t passed;	       /* it was not chosen as a sample */
	uint32_t map_call;	       /* enum mem_map_call: the system call that it is in; 0 */
	uint32_t map_announced;	       /* that it takes something away has been told */
	uint64_t map_start, map_bytes; /* what it is to map, as far as that is known before */
};

/* A call, with config.trace; in the ring trace. */
struct mem_event {
	uint64_t time; /* CLOCK_MONOTONIC, ns: of the return, but of a free the entry */
	uint64_t ids;
	uint64_t size;	  /* that was asked for; 0 of a free */
	uint64_t pointer; /* that was handed over: an old block, one to be freed; 0 */
	uint64_t result;  /* the block that came back; 0 */
	uint64_t caller;  /* return address */
	uint16_t call, function;
	uint32_t unused;
	char comm[16];
};

/*
 * Of the map sizes: by mem_call, with config.sizes, the last slot begins at 1 TiB; by class of
 * sizes, with config.lifetimes, at 18 minutes.
 */
#define MEM_HIST_BITS 5
#define MEM_HIST_SLOTS (((40 - MEM_HIST_BITS + 1) << MEM_HIST_BITS) + 1)
struct mem_sizes {
	uint64_t sum, not_least, greatest; /* as struct asm_hist */
	uint64_t slots[MEM_HIST_SLOTS];
};

/*
 * Samples, with config.sample. Bytes are counted down as they are allocated, on each CPU for itself
 * (the element of the map left), and what is being allocated when the count arrives at 0 is a
 * sample. Then it begins anew at a number out of the map draws, which user space has filled so that
 * they are distributed exponentially. What is left to go says nothing then of what has gone before,
 * so each byte has the same chance, whatever its block: one of S bytes is a sample with a chance of
 * 1 - exp(-S / R), R being their mean.
 */
#define MEM_DRAWS 4096 /* a power of two */

/*
 * What a system call does to a range of addresses; in the ring ranges, in order: a range goes
 * before the kernel takes it, so before another can have it, and comes when the call returns.
 * cli/mem/ranges.h keeps the ledger of them, and of all that is counted of mappings: in the kernel
 * their stacks weigh nothing.
 */
enum mem_range_what {
	MEM_RANGE_GOES = 1, /* a call begins that takes this range away */
	MEM_RANGE_GOES_TOO, /* this one too: mremap with MREMAP_FIXED takes two */
	MEM_RANGE_STAYS,    /* the call has failed: what it took away is still there */
	MEM_RANGE_COMES,    /* a call returns that has mapped this range */
	MEM_RANGE_ENDS	    /* with config.mapped_ends: of this memory nothing is left */
};
struct mem_range_event {
	uint64_t time;	/* CLOCK_MONOTONIC, ns */
	uint64_t space; /* as in struct mem_block_key */
	uint64_t hash;	/* MEM_RANGE_COMES: of the stack; 0: of a file */
	uint64_t start, bytes;
	uint32_t thread; /* as the machine numbers it */
	uint16_t what, call;
};

struct mem_user_config {
	struct program_config common;
	uint32_t cookie;      /* of the only place that the program is on; 0: the place has it */
	uint32_t follow;      /* blocks until they are freed, and stacks; else one of these: */
	uint32_t sizes;	      /*   nothing but sizes is counted */
	uint32_t trace;	      /*   every call goes through the ring trace, nothing is counted */
	uint32_t times;	      /* blocks know when they were allocated */
	uint32_t plain;	      /* without stacks: all that a thread allocates has one record */
	uint32_t temporary;   /* see MEM_GONE_OBJECTS */
	uint32_t peak;	      /* how much was in use at most; or */
	uint32_t peak_sites;  /*   that, and of which stacks; needs common.identity; 5.15 */
	uint32_t mapped_ends; /*   with it: processes that end are in the ring ranges too */
	uint32_t lifetimes;   /* of what is freed, in the map sizes by class; needs times */
	uint32_t sample; /* with follow: samples alone, and the tag of a stack is the size; 5.12 */
	/*
	 * An exception cannot pass a return probe, it ends the program. What operator new is asked
	 * for beyond this many bytes it may not get, so such a call is let alone; and so is every
	 * one while the process has a limit on its memory, or nearly so many mappings as it may
	 * have.
	 */
	uint64_t largest_new;
	uint32_t most_mappings;
	/* The kernel knows who owns a memory (CONFIG_MEMCG); needs common.identity */
	uint32_t by_owner;
	uint32_t page_bytes; /* of the programs for mappings, */
	uint32_t huge_bytes; /* and of those with MAP_HUGETLB that do not say */
};

/* What became of the calls; common.fired counts them all. */
struct mem_user_stats {
	struct program_stats common;
	uint64_t inside;	  /* filtered: calls that the allocator made itself */
	uint64_t nothing;	  /* filtered: free(NULL) */
	uint64_t failed;	  /* filtered: gave no block */
	uint64_t passed;	  /* filtered: not chosen as samples, and their frees */
	uint64_t unknown;	  /* filtered: frees of blocks that are not on the map */
	uint64_t freed;		  /* kept: frees of those that are */
	uint64_t traced;	  /* kept, with config.trace */
	uint64_t threads_full;	  /* lost: no room in the map threads */
	uint64_t left;		  /* lost: calls that were left without a return */
	uint64_t untracked;	  /* blocks that found no room in the map blocks; */
	uint64_t untracked_bytes; /*   they count as allocated, and not as in use */
	uint64_t replaced;	  /* blocks that were there twice: a free was not seen */
	uint64_t unsubtracted;	  /* frees that could not be subtracted: no room in the ring */
	uint64_t throwing;	  /* filtered: operator new that was let alone */
	uint64_t unchanged;	  /* filtered: brk that only asked */
	uint64_t restore_lost;	  /* mappings that did not go away after all: no room to say so */
	uint64_t in_use;	  /* bytes on the map now, */
	uint64_t peak;		  /*   at most, */
	uint64_t peak_time;	  /*   and when: CLOCK_MONOTONIC, ns, with config.peak_sites */
	uint64_t no_site;	  /* changes of stacks that found no room in the map sites */
};

enum {
	MEM_MAP_THREADS = STACK_MAPS,
	MEM_MAP_BLOCKS,
	MEM_MAP_SIZES,
	MEM_MAP_TRACE,
	MEM_MAP_LEFT,
	MEM_MAP_DRAWS,
	MEM_MAP_RANGES,
	MEM_MAP_SITES,
	MEM_USER_MAPS
};
extern const struct asm_map rp_mem_user_maps[MEM_USER_MAPS];

enum mem_user_role {
	MEM_CALLED = 1 << 0,  /* for session links: entry and return of functions that allocate */
	MEM_ENTERED = 1 << 1, /* their entry, */
	MEM_LEFT = 1 << 2,    /*   and their return */
	MEM_IDLES = 1 << 3,   /* does nothing, to measure what a probe costs */
	MEM_THREAD_ENDS = 1 << 4, /* of a thread nothing is left in the maps */
	/* As the first and the third, with config.peak_sites */
	MEM_PEAK_CALLED = 1 << 5,
	MEM_PEAK_LEFT = 1 << 6,
	MEM_THREAD_FREED = 1 << 7, /* as MEM_THREAD_ENDS, if it has not been seen under this id */
};
enum mem_peak_role {
	MEM_PEAK_EXIT = 1 << 0,
	MEM_PEAK_EXEC = 1 << 1,
};
enum mem_free_role {
	MEM_FREES = 1 << 0,	   /* for functions that free */
	MEM_TRACES_FREES = 1 << 1, /* with config.trace */
	MEM_PEAK_FREES = 1 << 2,   /* as the first, with config.peak_sites */
	MEM_LIFE_FREES = 1 << 3,   /*   or with config.lifetimes */
};

/* To show them with. */
extern const struct mem_user_config rp_mem_user_usual_config, rp_mem_peak_config;

/* ---- what the programs are made of
 *
 *	mem_space()			R0 = a number for the memory that the current task sees
 *	mem_subtract(R1 = size, R2 = hash, R3 = time)	a block of this stack, allocated then, is
 *					no longer in use; time 0: it is not known how long it was
 *	mem_use(R1 = hash, R2 = space, R3 = objects, R4 = bytes)	so much more is in use
 *	mem_lived(R1 = size, R2 = time)	a block that was allocated then is freed
 *	mem_hist(R1 = number, R2 = value)	a value for this histogram of the map sizes
 *	mem_enter(R1 = context)		R0 = 1 if the return is of no interest
 *	mem_returned(R1 = context)	R0 = what the thread was doing, when an outermost call
 *					returns; else 0
 *	mem_leave(R1 = context)		as mem_returned, and writes down what has come back: one of
 *					rp_mem_leave_part, rp_mem_sizes_part, rp_mem_trace_part
 *	mem_draw(R1 = size)		R0 = 1 if a block of this size is to be a sample
 *	mem_emit(R1 = event)		fills in time and comm, and sends it
 */
extern const struct asm_part rp_mem_space_part, rp_mem_subtract_part, rp_mem_enter_part,
	rp_mem_returned_part, rp_mem_leave_part, rp_mem_sizes_part, rp_mem_trace_part,
	rp_mem_draw_part, rp_mem_emit_part, rp_mem_use_part, rp_mem_site_part, rp_mem_lived_part,
	rp_mem_hist_part;

/*
 * The most that was in use: raised to the number in the register now, and then R0 is less than it.
 * On the way other CPUs may raise it too; the one that finds that it has changed tries again, some
 * times. Destroys R1, R2, R3.
 */
/* clang-format off */
#define RAISE_PEAK(now)										\
	SCOPE("RAISE_PEAK(" #now ")"),								\
		LD_MAP_VALUE(R1, stats, offsetof(struct mem_user_stats, peak)),			\
		MOV(R3, 0),									\
	LABEL(.again),										\
		LDX(DW, R0, R1, 0),								\
		JSGE_REG(R0, now, .done),							\
		MOV_REG(R2, R0),								\
		ATOMIC_CMPXCHG(DW, R1, 0, now),							\
		JEQ_REG(R0, R2, .done),								\
		ADD(R3, 1),									\
		JLT(R3, 8, .again),								\
	LABEL(.done),										\
	END
/* clang-format on */

#endif
