/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before everything else: INCLUDE lines give way to what they include, so that the passes see one
 * flat array and need not know of parts. From here on each line of that array has its file beside
 * it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "internal.h"

/* A part that includes itself has no end. */
#define MAX_DEPTH 8

/* A part that cannot be included, blamed on the line that does. */
static int refuse(struct assembly *a, const struct asm_part *part, const struct asm_insn *line,
		  const char *message)
{
	const struct asm_diag diag = { .severity = ASM_ERROR,
				       .file = part->file ? part->file : "",
				       .line = line->line,
				       .text = line->text,
				       .message = message };

	return asm_refuse(a, &diag);
}

static int count(struct assembly *a, const struct asm_part *part, int depth, size_t *total)
{
	for (size_t i = 0; i < part->nlines; i++) {
		const struct asm_insn *line = &part->lines[i];
		int err;

		if (line->kind != ASM_INCLUDE) {
			(*total)++;
			continue;
		}
		if (!line->part)
			return refuse(a, part, line,
				      "there is no part to include: its address is NULL");
		if (depth == MAX_DEPTH)
			return refuse(
				a, part, line,
				"the part includes itself, or parts are nested deeper than 8");
		err = count(a, line->part, depth + 1, total);
		if (err)
			return err;
	}
	return 0;
}

/* Lines copied so far. */
struct whole {
	struct asm_insn *lines;
	const char **file_of;
	size_t nlines;
};

/*
 * A part knows only the struct that the configurations of all its programs begin with; what it
 * means lies at the same place in the whole.
 */
static void copy(struct whole *to, const struct asm_part *part, size_t config_size, bool in_part)
{
	for (size_t i = 0; i < part->nlines; i++) {
		struct asm_insn *line = &to->lines[to->nlines];

		if (part->lines[i].kind == ASM_INCLUDE) {
			copy(to, part->lines[i].part, config_size, true);
			continue;
		}
		*line = part->lines[i];
		if (in_part && line->config_size && line->config_size < config_size)
			line->config_size = (uint16_t)config_size;
		to->file_of[to->nlines++] = part->file ? part->file : "";
	}
}

static bool includes(const struct asm_program *program)
{
	for (size_t i = 0; i < program->nlines; i++)
		if (program->lines[i].kind == ASM_INCLUDE)
			return true;
	return false;
}

/* A program without parts stays where it is. */
static int splice_nothing(struct assembly *a, const struct asm_part *body)
{
	a->file_of = asm_arena_alloc(&a->arena, body->nlines * sizeof(*a->file_of));
	if (!a->file_of)
		return -ENOMEM;
	for (size_t i = 0; i < body->nlines; i++)
		a->file_of[i] = body->file;
	return 0;
}

int asm_splice(struct assembly *a)
{
	const struct asm_program *program = a->program;
	const struct asm_part body = { .lines = program->lines,
				       .nlines = program->nlines,
				       .file = program->file ? program->file : program->name };
	struct asm_program *whole;
	struct whole copied = { 0 };
	size_t total = 0;
	int err;

	if (!includes(program))
		return splice_nothing(a, &body);
	err = count(a, &body, 0, &total);
	if (err)
		return err;
	whole = asm_arena_alloc(&a->arena, sizeof(*whole));
	copied.lines = asm_arena_alloc(&a->arena, (total + 1) * sizeof(*copied.lines));
	copied.file_of = asm_arena_alloc(&a->arena, (total + 1) * sizeof(*copied.file_of));
	if (!whole || !copied.lines || !copied.file_of)
		return -ENOMEM;
	copy(&copied, &body, a->bindings->config ? a->bindings->config_size : 0, false);
	*whole = *program;
	whole->lines = copied.lines;
	whole->nlines = total;
	a->program = whole;
	a->file_of = copied.file_of;
	return 0;
}
