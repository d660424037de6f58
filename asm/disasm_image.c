/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that an assembled program lends to its disassembly: labels, functions, maps. */
#include <stddef.h>

#include <rawprof/asm.h>

/* Symbols stand in the order of their instructions. The first at that slot, or NULL. */
static const char *symbol_at(const struct asm_symbol *symbols, uint32_t n, uint32_t slot)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (symbols[middle].insn < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && symbols[low].insn == slot ? symbols[low].name : NULL;
}

static const char *label_at(void *ctx, uint32_t slot)
{
	const struct asm_image *image = ctx;

	return symbol_at(image->labels, image->nlabels, slot);
}

static const char *func_at(void *ctx, uint32_t slot)
{
	const struct asm_image *image = ctx;

	return symbol_at(image->funcs, image->nfuncs, slot);
}

static const char *map_at(void *ctx, uint32_t slot)
{
	const struct asm_image *image = ctx;
	const struct asm_insn *line = &image->program->lines[image->line_of[slot]];

	return line->kind == ASM_LD_MAP || line->kind == ASM_LD_MAP_VALUE ? line->sym : NULL;
}

static const char *kfunc_at(void *ctx, uint32_t slot)
{
	const struct asm_image *image = ctx;
	const struct asm_insn *line = &image->program->lines[image->line_of[slot]];

	return line->kind == ASM_CALL_KFUNC ? line->sym : NULL;
}

struct asm_disasm_options asm_disasm_options(const struct asm_image *image)
{
	return (struct asm_disasm_options){ .ctx = (void *)image,
					    .label = label_at,
					    .func = func_at,
					    .map = map_at,
					    .call = kfunc_at };
}
