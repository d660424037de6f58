/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of stacks, copied once and never moved, so that pointers to them stay good. */
#ifndef RECORD_STACK_BLOCKS_H
#define RECORD_STACK_BLOCKS_H

#include <stddef.h>

#include "programs/shared/stack.h"

struct stack_block; /* the newest; NULL: there is none */

static inline size_t record_bytes(const struct stack_record *r)
{
	return sizeof(*r) + (size_t)r->user_bytes + r->kernel_bytes + r->managed_bytes;
}

/* A copy; NULL: out of memory. */
const struct stack_record *record_blocks_keep(struct stack_block **blocks,
					      const struct stack_record *record);
void record_blocks_free(struct stack_block *blocks);

#endif
