/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks with more frames than a record has room for: programs/shared/stack_deep.c. */
#ifndef PROGRAMS_SHARED_STACK_DEEP_H
#define PROGRAMS_SHARED_STACK_DEEP_H

#include <rawprof/asm.h>
#include "config.h"

#define STACK_DEEPEST 4096 /* frames of a user stack in all */
#define STACK_DEEPS 64	   /* elements of the map deep, at most: a power of two */

/*
 * The map deep has an element for each CPU, or for several. While a stack is walked the record
 * fills, is emptied into the element, and fills again: it has the outermost frames in the end, the
 * element all others. Both travel, this first.
 */
struct stack_deep {
	uint64_t tag;  /* STACK_DEEP_TAG, where a record has its hash */
	uint64_t of;   /* hash of the record */
	uint64_t hash; /* of the frames */
	uint32_t busy; /* how many want to write here */
	uint32_t bytes;
	uint64_t frames[];
};
#define STACK_DEEP_BLOCK_SHIFT 8 /* bytes that are hashed at once */
#define STACK_DEEP_TAG 0x736b636174736465ull
#define STACK_DEEP_VALUE_BYTES(frame_bytes) ((uint32_t)sizeof(struct stack_deep) + (frame_bytes))

/*
 * With config.deep_bytes, which a program has whose records are its own until it has sent them:
 *
 *	unwind_deep(R1 = a struct stack_scratch whose record is full)
 *		R0 = 0: there is room again; else the walk is over
 *	stack_deep_hash(R1 = record with STACK_DEEP)
 *		R0 = hash of the frames that are elsewhere
 *	stack_deep_send(R1 = record with STACK_DEEP)
 *		R0 = 0, or the ring is full
 *	stack_deep_done(R1 = record with STACK_DEEP)
 *		the element may be another's
 */
extern const struct asm_part rp_stack_deep_part;

#endif
