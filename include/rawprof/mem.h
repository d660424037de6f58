/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations in user space: what programs/mem_user*.c and whoever runs them share.
 *
 * A call of the allocator is followed from its entry to its return in what its thread is doing (struct mem_thread),
 * so that calls within calls are told apart. At the return the block that came back is written down under its
 * address (struct mem_block) with the hash of the stack, whose weights go up; when it is freed they go down again.
 */
#ifndef RAWPROF_MEM_H
#define RAWPROF_MEM_H

#include <rawprof/profile.h>

/* The weights of a stack. */
enum {
	MEM_ALLOC_OBJECTS,
	MEM_ALLOC_SPACE,
	MEM_INUSE_OBJECTS, /* with config.temporary: of those blocks that the thread's next call freed */
	MEM_INUSE_SPACE,
	MEM_WEIGHTS
};

/* What the functions of an allocator take and give; the low byte of a probe's cookie. */
enum mem_call {
	MEM_MALLOC = 1,	    /* (size) */
	MEM_CALLOC,	    /* (n, size) */
	MEM_REALLOC,	    /* (block, size) */
	MEM_REALLOCARRAY,   /* (block, n, size) */
	MEM_ALIGNED,	    /* (alignment, size) */
	MEM_POSIX_MEMALIGN, /* (where the block goes, alignment, size), which returns 0 or an error */
	MEM_FREE,	    /* (block) */
	MEM_NEW,	    /* (size), and may throw */
	MEM_DELETE,	    /* (block), and may call free itself */
	MEM_CALLS
};

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
 * What a thread is doing, under its id in the map threads. sp says whether it is inside a call: then it is the stack
 * pointer at the entry, which every call from within lies below. A greater one means that the call was left without
 * a return (longjmp).
 */
struct mem_thread {
	uint64_t sp;
	uint64_t ids;	  /* process << 32 | thread, as we number them */
	uint64_t size;	  /* that was asked for */
	uint64_t pointer; /* realloc: the old block; posix_memalign: where the new one goes */
	struct mem_block
		old; /* realloc: what was known of the old block, which is off the map meanwhile */
	uint64_t latest; /* block that the latest call gave or took; 0 */
	uint32_t call;	 /* enum mem_call */
	uint32_t had_old;
};

struct mem_user_config {
	struct profile_config profile;
	uint32_t call;	    /* of the only place that the program is on; 0: the cookie says it */
	uint32_t session;   /* the answer 1 at the entry saves the return */
	uint32_t times;	    /* blocks know when they were allocated */
	uint32_t temporary; /* see MEM_INUSE_OBJECTS */
	uint32_t peak;	    /* how much was in use at most */
	uint32_t unused;
	/*
	 * An exception cannot pass a return probe, it ends the program. What operator new is asked for beyond this many
	 * bytes it may not get, so such a call is let alone.
	 */
	uint64_t largest_new;
};

/* What became of the calls; profile.fired counts them all. */
struct mem_user_stats {
	struct profile_stats profile;
	uint64_t inside;	  /* filtered: calls that the allocator made itself */
	uint64_t nothing;	  /* filtered: free(NULL) */
	uint64_t failed;	  /* filtered: gave no block */
	uint64_t unknown;	  /* filtered: frees of blocks that are not on the map */
	uint64_t freed;		  /* kept: frees of those that are */
	uint64_t crowded;	  /* lost: no room in the map threads */
	uint64_t left;		  /* lost: calls that were left without a return */
	uint64_t untracked;	  /* blocks that found no room in the map blocks; */
	uint64_t untracked_bytes; /*   they count as allocated, and not as in use */
	uint64_t replaced;	  /* blocks that were there twice: a free was not seen */
	uint64_t unsubtracted;	  /* frees that could not be subtracted: no room in the ring */
	uint64_t in_use;	  /* bytes on the map now, */
	uint64_t peak;		  /*   at most */
};

enum { MEM_MAP_THREADS = STACK_MAPS, MEM_MAP_BLOCKS, MEM_USER_MAPS };
extern const struct asm_map mem_user_maps[MEM_USER_MAPS];

/* For places at the entry of functions that allocate, and at their return. */
extern const struct asm_program mem_enter_program, mem_leave_program;
/* Both in one, for session links. */
extern const struct asm_program mem_session_program;
/* For those that free. */
extern const struct asm_program mem_free_program;
/* At a thread's end; with kernel BTF, and without. */
extern const struct asm_program mem_thread_exit_program, mem_thread_exit_classic_program;

extern const struct mem_user_config mem_user_usual_config;

/* ---- what the programs are made of
 *
 *	mem_space()			R0 = a number for the memory that the current task sees
 *	mem_subtract(R1 = size, R2 = hash)	a block of this stack is no longer in use
 *	mem_enter(R1 = context)		R0 = 1 if the return is of no interest
 *	mem_leave(R1 = context)
 */
extern const struct asm_part mem_space_part, mem_subtract_part, mem_enter_part, mem_leave_part;

#endif
