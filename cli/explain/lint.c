/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be found wrong with a program without a kernel: the lint's findings, line by line. */
#include <errno.h>

#include "explain.h"

struct findings {
	FILE *out;
	const struct explain_colors *c;
	uint32_t n;
};

static void put_finding(void *ctx, const struct asm_diag *d)
{
	struct findings *f = ctx;

	f->n++;
	fprintf(f->out, "%s%s:%u: %s%s\n", f->c->source, d->file, d->line, d->text, f->c->off);
	fprintf(f->out, "  %s%s%s: %s\n", f->c->warn,
		d->severity == ASM_ERROR ? "error" : "warning", f->c->off, d->message);
}

int explain_lint(FILE *out, const struct explained *e)
{
	struct findings f = { .out = out, .c = explain_colors(e) };
	const int errors = asm_lint(&e->image, &e->bind, put_finding, &f);

	if (errors < 0)
		return rp_fail(errors, "cannot look at %s: out of memory", e->image.program->name);
	if (!f.n)
		fprintf(out, "%s: nothing was found. Only the verifier can say that it is right.\n",
			e->image.program->name);
	return errors ? -EINVAL : 0;
}
