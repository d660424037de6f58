/* SPDX-License-Identifier: BSD-2-Clause */
/* The assembler from outside: lines in, image out. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* No line makes more instructions than a frame has bytes, so slots can be counted in 32 bits. */
#define MAX_LINES (UINT32_MAX / ASM_STACK_SIZE)

int asm_refuse(struct assembly *a, const struct asm_diag *diag)
{
	if (a->report)
		a->report(a->report_ctx, diag);
	return -EINVAL;
}

/* A fault that is no line's. */
static int blame_program(struct assembly *a, const char *message)
{
	const char *name = a->program->name ? a->program->name : message;
	const struct asm_diag diag = {
		.severity = ASM_ERROR, .file = name, .text = "", .message = message
	};

	return asm_refuse(a, &diag);
}

static int check_maps(struct assembly *a)
{
	const struct asm_map *maps = a->bindings->maps;
	char message[128];

	for (size_t i = 0; i < a->bindings->nmaps; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(maps[i].name, maps[k].name))
				continue;
			snprintf(message, sizeof(message),
				 "two of the maps that it is bound to are named '%s'",
				 maps[i].name);
			return blame_program(a, message);
		}
	}
	return 0;
}

static int check_shape(struct assembly *a)
{
	const struct asm_program *program = a->program;

	if (!program->name)
		return blame_program(a, "the program has no name");
	if (!program->lines || !program->nlines)
		return blame_program(a, "the program has no lines");
	if (program->nlines > MAX_LINES)
		return blame_program(a, "the program has too many lines");
	return 0;
}

/* Puts in what is included; the parts count as lines of the program. */
static int make_whole(struct assembly *a)
{
	int err = asm_splice(a);

	return err ? err : check_shape(a);
}

static int start(struct assembly *a)
{
	size_t n = a->program->nlines;

	a->placed = asm_arena_alloc(&a->arena, n * sizeof(*a->placed));
	a->funcs = asm_arena_alloc(&a->arena, (n + 1) * sizeof(*a->funcs));
	return a->placed && a->funcs ? asm_make_label_room(a) : -ENOMEM;
}

static int allocate(struct assembly *a, struct asm_image *image)
{
	image->ninsns = a->nslots;
	image->insns = asm_arena_alloc(&a->arena, a->nslots * sizeof(*image->insns));
	image->line_of = asm_arena_alloc(&a->arena, a->nslots * sizeof(*image->line_of));
	image->file_of = asm_arena_alloc(&a->arena, a->nslots * sizeof(*image->file_of));
	image->text_of = asm_arena_alloc(&a->arena, a->nslots * sizeof(*image->text_of));
	image->labels = asm_arena_alloc(&a->arena, (a->nlabels + 1) * sizeof(*image->labels));
	image->funcs = asm_arena_alloc(&a->arena, (a->nfuncs + 1) * sizeof(*image->funcs));
	return image->insns && image->line_of && image->file_of && image->text_of &&
			       image->labels && image->funcs
		       ? 0
		       : -ENOMEM;
}

int asm_assemble(const struct asm_program *program, const struct asm_bindings *bindings,
		 struct asm_image *out, asm_diag_fn report, void *ctx)
{
	static const struct asm_bindings nothing = { 0 };
	struct assembly a = { .program = program,
			      .bindings = bindings ? bindings : &nothing,
			      .report = report,
			      .report_ctx = ctx };
	struct asm_image image = { 0 };
	int err = check_shape(&a);

	if (!err)
		err = check_maps(&a);
	if (!err)
		err = make_whole(&a);
	image.program = a.program;
	if (!err)
		err = start(&a);
	if (err)
		goto out;

	asm_layout(&a);
	err = allocate(&a, &image);
	if (err)
		goto out;
	asm_encode(&a, &image);
	asm_attach_source(&a, &image);
	asm_make_btf(&a, &image);
	err = a.error;
out:
	if (err) {
		asm_arena_free(a.arena);
		return err;
	}
	image.arena = a.arena;
	*out = image;
	return 0;
}

void asm_image_free(struct asm_image *image)
{
	asm_arena_free(image->arena);
	*image = (struct asm_image){ 0 };
}
