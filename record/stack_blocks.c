/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "stack_blocks.h"

#define BLOCK_BYTES (256 * 1024)

struct stack_block {
	struct stack_block *older;
	size_t used;
	unsigned char bytes[BLOCK_BYTES];
};

const struct stack_record *record_blocks_keep(struct stack_block **blocks,
					      const struct stack_record *record)
{
	const size_t bytes = record_bytes(record);
	struct stack_block *block = *blocks;
	void *copy;

	if (!block || BLOCK_BYTES - block->used < bytes) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->older = *blocks;
		block->used = 0;
		*blocks = block;
	}
	copy = memcpy(block->bytes + block->used, record, bytes);
	block->used += bytes; /* whole words: the next record is aligned too */
	return copy;
}

void record_blocks_free(struct stack_block *blocks)
{
	while (blocks) {
		struct stack_block *older = blocks->older;

		free(blocks);
		blocks = older;
	}
}
