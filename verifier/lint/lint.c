/* SPDX-License-Identifier: BSD-2-Clause */
/* The lint from outside: an image in, faults out, in the order of its instructions. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lint.h"

/* ---- collecting: each fault once, however many paths lead to it */

static bool is_known(const struct lint *l, uint32_t slot, uint32_t rule)
{
	for (size_t i = 0; i < l->nfindings; i++)
		if (l->findings[i].slot == slot && l->findings[i].rule == rule)
			return true;
	return false;
}

__attribute__((format(printf, 5, 0))) static void collect(struct lint *l,
							  enum asm_severity severity, uint32_t slot,
							  uint32_t rule, const char *fmt,
							  va_list args)
{
	struct finding *f = &l->findings[l->nfindings];

	if (is_known(l, slot, rule))
		return;
	if (l->nfindings == ASM_LINT_MAX) {
		l->more = true;
		return;
	}
	*f = (struct finding){ .slot = slot, .rule = rule, .severity = severity };
	if (vasprintf(&f->message, fmt, args) < 0)
		l->nomem = true;
	else
		l->nfindings++;
}

void asm_lint_finding(struct lint *l, uint32_t slot, uint32_t rule, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	collect(l, ASM_ERROR, slot, rule, fmt, args);
	va_end(args);
}

void asm_lint_caution(struct lint *l, uint32_t slot, uint32_t rule, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	collect(l, ASM_WARNING, slot, rule, fmt, args);
	va_end(args);
}

/* ---- the source of a slot */

static const struct asm_insn *line_of(const struct lint *l, uint32_t slot)
{
	return &l->image->program->lines[l->image->line_of[slot]];
}

uint32_t asm_lint_line_at(const struct lint *l, uint32_t slot)
{
	return line_of(l, slot)->line;
}

const char *asm_lint_text_at(const struct lint *l, uint32_t slot)
{
	const char *text = l->image->text_of[slot];

	return text ? text : line_of(l, slot)->text;
}

const struct asm_map *asm_lint_map_of(const struct lint *l, const struct reg *reg)
{
	return reg->map == NO_MAP ? NULL : &l->bindings->maps[reg->map];
}

/* ---- reporting */

static int by_slot(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

/* Returns the number of errors. */
static int report_all(struct lint *l, asm_diag_fn report, void *ctx)
{
	int errors = 0;

	qsort(l->findings, l->nfindings, sizeof(*l->findings), by_slot);
	for (size_t i = 0; i < l->nfindings; i++) {
		const struct finding *f = &l->findings[i];
		struct asm_diag diag = { .severity = f->severity,
					 .file = l->image->file_of[f->slot],
					 .line = asm_lint_line_at(l, f->slot),
					 .text = asm_lint_text_at(l, f->slot),
					 .message = f->message };

		errors += f->severity == ASM_ERROR;
		if (report)
			report(ctx, &diag);
		if (report && l->more && i == l->nfindings - 1) {
			diag.severity = ASM_WARNING;
			diag.message = "there are more faults than are shown";
			report(ctx, &diag);
		}
	}
	return errors;
}

int asm_lint(const struct asm_image *image, const struct asm_bindings *bindings, asm_diag_fn report,
	     void *ctx)
{
	struct finding findings[ASM_LINT_MAX];
	struct lint l = { .image = image,
			  .bindings = bindings,
			  .insns = image->insns,
			  .n = image->ninsns,
			  .findings = findings };
	int result;

	if (!l.n)
		return 0;
	l.slots = calloc(l.n, sizeof(*l.slots));
	if (!l.slots)
		return -ENOMEM;
	if (asm_lint_encoding(&l) && asm_lint_graph(&l))
		asm_lint_paths(&l);
	result = l.nomem ? -ENOMEM : report_all(&l, report, ctx);
	for (size_t i = 0; i < l.nfindings; i++)
		free(l.findings[i].message);
	free(l.slots);
	return result;
}
