/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A refused program, and the smallest change that loads. What the verifier says decides which
 * changes are tried: lines that check, bound, keep or give back something, as the advice to the
 * message has it. Each is offered to the kernel; where it is refused further on, that is repaired
 * too, up to three times. No change moves an access to memory: a path ends earlier, or holds what
 * it did not, but what is read and written stays where it was.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repair.h"

/* ---- offering it to the kernel */

static void attempt_free(struct attempt *a)
{
	if (a->has_image)
		asm_image_free(&a->image);
	if (a->refused)
		asm_refusal_free(&a->refusal);
	free(a->log);
	free(a->lines);
}

/* What the log says: 0 if it is a refusal. */
static int read_refusal(struct attempt *a)
{
	const struct asm_refused refused = { .log = a->log ? a->log : "",
					     .insns = a->image.insns,
					     .ninsns = a->image.ninsns };

	if (asm_refusal_explain(&refused, &a->refusal))
		return -ENODATA;
	a->refused = true;
	return 0;
}

static int assemble(struct repairing *r, struct attempt *a)
{
	a->code.lines = a->lines;
	a->has_image = !asm_assemble(&a->code, &r->e->bind, &a->image, NULL, NULL);
	return a->has_image ? 0 : -EINVAL;
}

/* 1: it loads; 0: it is refused; negative: it cannot be assembled, or refused without a word. */
static int offer(struct repairing *r, struct attempt *a)
{
	struct rp_prog prog;

	r->tries++;
	if (assemble(r, a))
		return -EINVAL;
	rp_prog_of_image(&a->image, &prog);
	a->loaded = rp_prog_load_verbose(&prog, 1, &a->log);
	if (a->loaded < 0)
		return read_refusal(a);
	if (r->loads)
		r->loads(r->loads_ctx, &a->image, a->loaded);
	close(a->loaded);
	return 1;
}

/* As it is it has been offered already. */
static int offer_first(struct repairing *r, struct attempt *a)
{
	if (r->e->broken_slot >= 0 || !r->e->log_text || r->e->loaded >= 0)
		return offer(r, a);
	if (assemble(r, a))
		return -EINVAL;
	a->log = strdup(r->e->log_text);
	return a->log ? read_refusal(a) : -ENOMEM;
}

/* The lines of `from` with the edit made. */
static int make(const struct attempt *from, const struct edit *edit, struct attempt *out)
{
	const size_t n = from->code.nlines;
	size_t used = 0;

	*out = (struct attempt){ .code = from->code, .loaded = -1 };
	out->lines = calloc(n + MAX_ADDED + 2, sizeof(*out->lines));
	if (!out->lines)
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++) {
		if (edit->also.is && i == edit->also.at)
			out->lines[used++] = edit->also.line;
		for (size_t k = 0; i == edit->at && k < edit->nadded; k++)
			out->lines[used++] = edit->added[k];
		if (i < n && (i < edit->at || i >= edit->at + edit->removed))
			out->lines[used++] = from->lines[i];
	}
	out->code.nlines = used;
	if (edit->license)
		out->code.license = edit->license;
	return 0;
}

/* ---- looking for one */

/* The line that an instruction came from; the last one for none. */
static size_t line_at(const struct attempt *a, int64_t insn)
{
	if (insn >= 0 && insn < a->image.ninsns)
		return a->image.line_of[insn];
	return a->code.nlines ? a->code.nlines - 1 : 0;
}

static void put_edit(struct repairing *r, const struct attempt *a, const struct edit *edit)
{
	const struct explain_colors *c = explain_colors(r->e);

	if (edit->also.is)
		fprintf(r->out, "  %s+ %s%s\n    %s\n    ...\n", c->label, edit->also.line.text,
			c->off, a->lines[edit->also.at].text);
	if (edit->license)
		fprintf(r->out, "  %s+ .license = \"%s\"%s\n", c->label, edit->license, c->off);
	for (size_t i = 0; i < edit->removed; i++)
		fprintf(r->out, "  %s- %s%s\n", c->warn, a->lines[edit->at + i].text, c->off);
	for (size_t i = 0; i < edit->nadded; i++)
		fprintf(r->out, "  %s+ %s%s\n", c->label, edit->added[i].text, c->off);
	if (edit->nadded && !edit->removed && edit->at < a->code.nlines)
		fprintf(r->out, "    %s\n", a->lines[edit->at].text);
	fprintf(r->out, "  then %s.\n", edit->means);
}

static bool repair(struct repairing *r, const struct attempt *a, uint32_t depth, uint32_t most);

/* Of what is chosen from no more than one may load: it is not for us to choose. */
static void drop_choices(struct repairing *r, const struct attempt *a, struct candidates *c)
{
	const repair_loads_fn loads = r->loads;
	uint32_t load = 0;
	size_t kept = 0;

	r->loads = NULL;
	for (size_t i = 0; i < c->n && load < 2; i++) {
		struct attempt next;

		if (!c->all[i].choice || make(a, &c->all[i], &next))
			continue;
		load += offer(r, &next) > 0;
		attempt_free(&next);
	}
	r->loads = loads;
	for (size_t i = 0; i < c->n; i++)
		if (!c->all[i].choice || load < 2)
			c->all[kept++] = c->all[i];
	c->n = kept;
}

static bool try_edit(struct repairing *r, const struct attempt *a, const struct edit *edit,
		     uint32_t depth, uint32_t most)
{
	struct attempt next;
	bool found = false;
	int is;

	if (r->tries >= MAX_TRIES || make(a, edit, &next))
		return false;
	is = offer(r, &next);
	r->made[depth].in = a;
	r->made[depth].edit = edit;
	if (is > 0)
		for (uint32_t i = 0; i <= depth; i++)
			put_edit(r, r->made[i].in, r->made[i].edit);
	found = is > 0 || (!is && depth + 1 < most && repair(r, &next, depth + 1, most));
	r->made[depth].in = NULL;
	attempt_free(&next);
	return found;
}

/* Of what the verifier says now: `depth` changes have been made, `most` may be. */
static bool repair(struct repairing *r, const struct attempt *a, uint32_t depth, uint32_t most)
{
	struct candidates *c = calloc(1, sizeof(*c));
	bool found = false;

	if (!c)
		return false;
	c->r = r;
	c->a = a;
	c->at = line_at(a, a->refusal.insn);
	if (a->refusal.insn >= 0 && a->refusal.insn < a->image.ninsns)
		c->insn = a->image.insns[a->refusal.insn];
	repair_candidates(c);
	drop_choices(r, a, c);
	for (size_t i = 0; i < c->n && !found; i++)
		found = try_edit(r, a, &c->all[i], depth, most);
	free(c);
	return found;
}

/* The program as it is, or as --break has left it. */
static int begin(struct repairing *r, struct attempt *a)
{
	const struct explained *e = r->e;
	const struct asm_program *p = e->image.program;
	struct edit edit = { .at = p->nlines };
	struct attempt whole = { .code = *p, .lines = (struct asm_insn *)p->lines };

	if (e->broken_slot >= 0) {
		edit.at = e->image.line_of[e->broken_slot];
		edit.removed = 1;
		if (e->opt->flip) {
			edit.added[edit.nadded] = p->lines[edit.at];
			edit.added[edit.nadded++].insn.code = e->image.insns[e->broken_slot].code;
		}
	}
	return make(&whole, &edit, a);
}

int repair_program(FILE *out, struct explained *e, repair_loads_fn loads, void *ctx)
{
	const struct explain_colors *c = explain_colors(e);
	struct repairing r = { .out = out, .e = e, .loads = loads, .loads_ctx = ctx };
	struct attempt a;
	bool found = false;
	int err, is;

	if (!e->has_image)
		return rp_fail(-EINVAL, "--repair needs the program, not its log alone");
	err = begin(&r, &a);
	if (err)
		return err;
	is = offer_first(&r, &a);
	if (is > 0) {
		fprintf(out, "\nnothing to repair: the kernel accepts it\n");
	} else if (!is) {
		fprintf(out, "\n%srepair%s, tried on this kernel\n", c->label, c->off);
		for (uint32_t most = 1; most <= MAX_EDITS && !found; most++)
			found = repair(&r, &a, 0, most);
		if (!found && !r.tries)
			err = rp_fail(-ENOENT, "no change is known that mends this; "
					       "the advice above says what is wrong");
		else if (!found)
			err = rp_fail(-ENOENT,
				      "none of %" PRIu32 " changes that were tried makes it load; "
				      "the advice above says what is wrong",
				      r.tries);
	} else {
		err = rp_fail(-EINVAL,
			      "without that line it cannot be assembled: nothing to offer");
	}
	attempt_free(&a);
	for (size_t i = 0; i < r.ntexts; i++)
		free(r.texts[i]);
	return err;
}

int explain_repair(FILE *out, struct explained *e)
{
	return repair_program(out, e, NULL, NULL);
}
