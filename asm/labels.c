/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names: of labels, functions and maps. A label belongs to a function and to the SCOPE it stands
 * in, and is seen from there inwards: the innermost wins. So it is looked for from the jump's own
 * scope outwards, each time under (function, scope, name), in a hash table that is at most half
 * full.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static uint32_t hash(uint32_t func, uint32_t scope, const char *name)
{
	uint32_t h = (func * 31 + scope) * 2654435761U;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619;
	return h ^ h >> 15;
}

/* Where the label is, or the free place where it belongs; the table is never full. */
static uint32_t *place_of(struct assembly *a, uint32_t func, uint32_t scope, const char *name)
{
	uint32_t mask = a->label_capacity - 1, i = hash(func, scope, name) & mask;

	for (; a->label_at[i]; i = (i + 1) & mask) {
		const struct label *l = &a->labels[a->label_at[i] - 1];

		if (l->func == func && l->scope == scope && !strcmp(l->name, name))
			break;
	}
	return &a->label_at[i];
}

int asm_make_label_room(struct assembly *a)
{
	uint32_t n = 0;

	for (size_t i = 0; i < a->program->nlines; i++)
		n += a->program->lines[i].kind == ASM_LABEL;
	for (a->label_capacity = 2; a->label_capacity < 2 * n;)
		a->label_capacity *= 2;
	a->labels = asm_arena_alloc(&a->arena, (n + 1) * sizeof(*a->labels));
	a->label_at = asm_arena_alloc(&a->arena, a->label_capacity * sizeof(*a->label_at));
	return a->labels && a->label_at ? 0 : -ENOMEM;
}

void asm_add_label(struct assembly *a, uint32_t line)
{
	const struct placed *p = &a->placed[line];
	const char *name = a->program->lines[line].sym;
	uint32_t *at = place_of(a, p->func, p->scope, name);

	if (*at) {
		asm_fault(a, -EINVAL, line, "label '%s' stands already at line %u", name,
			  a->program->lines[a->labels[*at - 1].line].line);
		return;
	}
	a->labels[a->nlabels++] = (struct label){
		.name = name, .line = line, .scope = p->scope, .slot = p->slot, .func = p->func
	};
	*at = a->nlabels;
}

struct label *asm_find_label(struct assembly *a, uint32_t line, const char *name)
{
	uint32_t func = a->placed[line].func, scope = a->placed[line].scope;

	for (;; scope = a->placed[scope].scope) {
		uint32_t at = *place_of(a, func, scope, name);

		if (at)
			return &a->labels[at - 1];
		if (scope == NO_SCOPE)
			return NULL;
	}
}

/* Says why a label is not seen from a line, which is not always that it does not exist. */
void asm_unknown_label(struct assembly *a, uint32_t line)
{
	const char *name = a->program->lines[line].sym;

	for (uint32_t i = 0; i < a->nlabels; i++) {
		const struct label *l = &a->labels[i];

		if (strcmp(l->name, name))
			continue;
		if (l->func != a->placed[line].func)
			asm_fault(a, -EINVAL, line, "label '%s' is in another function (%s)", name,
				  a->funcs[l->func].name);
		else
			asm_fault(a, -EINVAL, line,
				  "label '%s' is inside of %s and not seen from here", name,
				  a->program->lines[l->scope].text);
		return;
	}
	if (asm_is_dropped(a, ASM_LABEL, name))
		asm_fault(a, -EINVAL, line,
			  "label '%s' is among the lines that WHEN or UNLESS dropped", name);
	else
		asm_fault(a, -EINVAL, line, "unknown label '%s'", name);
}

/* A label names the instruction after it, which has to be one of its own function. */
void asm_check_labels(struct assembly *a)
{
	for (uint32_t i = 0; i < a->nlabels; i++) {
		const struct label *l = &a->labels[i];
		bool last = l->func + 1 == a->nfuncs;

		if (l->slot == (last ? a->nslots : a->funcs[l->func + 1].slot))
			asm_fault(a, -EINVAL, l->line,
				  "label '%s' names no instruction: the %s ends here", l->name,
				  l->func ? "function" : "program");
	}
}

/* A jump among dropped lines uses its label too: with another configuration it is there. */
void asm_check_unused_labels(struct assembly *a)
{
	for (uint32_t i = 0; i < a->program->nlines; i++) {
		const struct asm_insn *line = &a->program->lines[i];
		struct label *label;

		if (!a->placed[i].dropped ||
		    (line->kind != ASM_JUMP && line->kind != ASM_JUMP_PARAM))
			continue;
		label = asm_find_label(a, i, line->sym);
		if (label)
			label->used = true;
	}
	for (uint32_t i = 0; i < a->nlabels; i++)
		if (!a->labels[i].used)
			asm_warning(a, a->labels[i].line, "label '%s' is never used",
				    a->labels[i].name);
}

/* ---- other names */

bool asm_is_dropped(struct assembly *a, enum asm_kind kind, const char *name)
{
	for (uint32_t i = 0; i < a->program->nlines; i++)
		if (a->placed[i].dropped && a->program->lines[i].kind == kind &&
		    !strcmp(a->program->lines[i].sym, name))
			return true;
	return false;
}

const struct func *asm_find_func(struct assembly *a, const char *name)
{
	for (uint32_t i = 1; i < a->nfuncs; i++)
		if (!strcmp(a->funcs[i].name, name))
			return &a->funcs[i];
	return NULL;
}

int asm_find_map(struct assembly *a, const char *name)
{
	for (size_t i = 0; i < a->bindings->nmaps; i++)
		if (!strcmp(a->bindings->maps[i].name, name))
			return (int)i;
	return -1;
}
