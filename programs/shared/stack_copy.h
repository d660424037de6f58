/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks that could not be walked yet travel as they are: programs/shared/stack_copy.c. */
#ifndef PROGRAMS_SHARED_STACK_COPY_H
#define PROGRAMS_SHARED_STACK_COPY_H

#include <rawprof/asm.h>
#include "base/machine.h"
#include "config.h"

#define STACK_COPIES 64 /* elements of the map copies, at most: a power of two */
/*
 * What is copied of a stack: all; or of one that is larger than both together its inner end and its
 * outer one. Some have a frame of half a megabyte between them.
 */
#define STACK_COPY_INNER (96u << 10)
#define STACK_COPY_OUTER (56u << 10)
#define STACK_COPY_BYTES (STACK_COPY_INNER + STACK_COPY_OUTER)
#define STACK_COPY_PAGE 4096
/* What its walk lacked: a table of the file, or a rule, which may be computed from the code yet. */
enum { STACK_COPY_TABLE, STACK_COPY_RULE, STACK_COPY_LACKS };

/*
 * The map copies has an element for each CPU, or for several. What a walk would need of a thread is
 * gathered there: its registers, and what its stack holds. Both travel, this first.
 */
struct stack_copy {
	uint64_t tag;	       /* STACK_COPY_TAG, where a record has its hash */
	uint64_t of;	       /* hash of the record */
	uint64_t sp, base;     /* bytes are those from sp on, */
	uint32_t inner, outer; /* inner of them, and behind these the last outer before base */
	uint32_t busy;	       /* how many want to write here */
	uint32_t unused;
	uint32_t left[STACK_COPY_LACKS]; /* so many more may be made here, as user space says */
	uint64_t regs[UNWIND_REGS_BYTES / 8]; /* as the kernel saved them, struct user_pt_regs */
	uint8_t bytes[];
};
#define STACK_COPY_TAG 0x736b6361746370ull
/* Pages are read whole, the last one too. */
#define STACK_COPY_VALUE_BYTES                                                                     \
	((uint32_t)sizeof(struct stack_copy) + STACK_COPY_BYTES + STACK_COPY_PAGE)

/*
 * With config.copies, which needs eh and identity:
 *
 *	stack_copy(R1 = record whose walk ended early, R2 = what it lacked)
 *		R0 = 0: what the thread's stack holds has been sent, the record may follow
 */
extern const struct asm_part rp_stack_copy_part;

#endif
