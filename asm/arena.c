/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of one assembled program: blocks that only grow, freed together. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#define BLOCK_BYTES 16384

/* The newest block first; the others are full or nearly so. */
struct arena {
	struct arena *older;
	size_t used, size;
	_Alignas(16) unsigned char bytes[];
};

void *asm_arena_alloc(struct arena **arena, size_t bytes)
{
	struct arena *block = *arena;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!block || block->size - block->used < bytes) {
		size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		block = calloc(1, sizeof(*block) + size);
		if (!block)
			return NULL;
		block->size = size;
		block->older = *arena;
		*arena = block;
	}
	block->used += bytes;
	return block->bytes + block->used - bytes;
}

char *asm_arena_vprintf(struct arena **arena, const char *fmt, va_list args)
{
	char *text = NULL;
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, fmt, args);
	if (length >= 0)
		text = asm_arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	return text;
}

char *asm_arena_printf(struct arena **arena, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = asm_arena_vprintf(arena, fmt, args);
	va_end(args);
	return text;
}

void asm_arena_free(struct arena *arena)
{
	while (arena) {
		struct arena *older = arena->older;

		free(arena);
		arena = older;
	}
}
