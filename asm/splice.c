/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before everything else: INCLUDE lines give way to what they include, so that the passes see one
 * flat array and need not know of parts.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "internal.h"

/* A part that includes itself has no end. */
#define MAX_DEPTH 8

static int count(const struct asm_insn *lines, size_t n, int depth, size_t *total)
{
	for (size_t i = 0; i < n; i++) {
		if (lines[i].kind != ASM_INCLUDE) {
			(*total)++;
		} else if (depth == MAX_DEPTH || !lines[i].part) {
			return -EINVAL;
		} else {
			int err = count(lines[i].part->lines, lines[i].part->nlines, depth + 1,
					total);

			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * A part knows only the struct that the configurations of all its programs begin with; what it means lies at the
 * same place in the whole.
 */
static struct asm_insn *copy(struct asm_insn *to, const struct asm_insn *lines, size_t n,
			     size_t config_size, bool in_part)
{
	for (size_t i = 0; i < n; i++) {
		if (lines[i].kind == ASM_INCLUDE) {
			to = copy(to, lines[i].part->lines, lines[i].part->nlines, config_size,
				  true);
			continue;
		}
		*to = lines[i];
		if (in_part && to->config_size && to->config_size < config_size)
			to->config_size = (uint16_t)config_size;
		to++;
	}
	return to;
}

static bool includes(const struct asm_program *program)
{
	for (size_t i = 0; i < program->nlines; i++)
		if (program->lines[i].kind == ASM_INCLUDE)
			return true;
	return false;
}

int splice(struct assembly *a)
{
	const struct asm_program *program = a->program;
	struct asm_program *whole;
	struct asm_insn *lines;
	size_t total = 0;
	int err;

	if (!includes(program))
		return 0;
	err = count(program->lines, program->nlines, 0, &total);
	if (err)
		return err;
	whole = arena_alloc(&a->arena, sizeof(*whole));
	lines = arena_alloc(&a->arena, (total + 1) * sizeof(*lines));
	if (!whole || !lines)
		return -ENOMEM;
	copy(lines, program->lines, program->nlines,
	     a->bindings->config ? a->bindings->config_size : 0, false);
	*whole = *program;
	whole->lines = lines;
	whole->nlines = total;
	a->program = whole;
	return 0;
}
