/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole walk as text: the paths as a tree, the hot spots, then step by step what changed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"

enum { INSN_WIDTH = 44, MAX_DEPTH = 40 };

/* ---- the tree of paths */

static const char *end_of(const struct asm_walk_path *path)
{
	return path->end == ASM_WALK_EXIT   ? "to EXIT()"
	       : path->end == ASM_WALK_SAFE ? "into a state seen before"
					    : "where the log ends";
}

/* Of a path the one that its first step came from. */
static uint32_t parent_of(const struct asm_walk *w, uint32_t path)
{
	const uint32_t from = w->paths[path].from;

	return from == ASM_WALK_NONE ? ASM_WALK_NONE : w->steps[from].path;
}

static uint32_t depth_of(const struct asm_walk *w, uint32_t path)
{
	uint32_t depth = 0;

	while ((path = parent_of(w, path)) != ASM_WALK_NONE)
		depth++;
	return depth;
}

static void put_path(struct stepping *s, uint32_t path)
{
	const struct asm_walk *w = &s->walk;
	const struct asm_walk_path *p = &w->paths[path];
	const uint32_t depth = depth_of(w, path), n = p->last - p->first + 1;

	fprintf(s->out, "  %*s%s%u%s", (int)(2 * (depth < MAX_DEPTH ? depth : MAX_DEPTH)), "",
		s->c->label, path, s->c->off);
	if (p->from == ASM_WALK_NONE)
		fprintf(s->out, " from the beginning");
	else
		fprintf(s->out, " from %u of path %u", w->steps[p->from].insn,
			w->steps[p->from].path);
	fprintf(s->out, " to %u: %u %s, %s", w->steps[p->last].insn, n, n == 1 ? "step" : "steps",
		end_of(p));
	if (p->end == ASM_WALK_SAFE && step_match(s, p->last))
		fprintf(s->out, " (step %u)", step_match(s, p->last)->step);
	fputc('\n', s->out);
}

/* A path's children stand below it: those that it pushed, the last pushed first. */
static void put_tree(struct stepping *s)
{
	fprintf(s->out, "\n%spaths%s, indented below the one that pushed them\n", s->c->label,
		s->c->off);
	for (uint32_t i = 0; i < s->walk.npaths; i++)
		put_path(s, i);
}

/* ---- hot spots */

struct spot {
	uint32_t insn, visits;
};

static int by_visits(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->visits != y->visits ? (x->visits < y->visits ? 1 : -1)
				      : (x->insn > y->insn) - (x->insn < y->insn);
}

static void put_hot_spots(struct stepping *s)
{
	const struct asm_vlog *log = &s->walk.log;
	struct spot *spots = calloc(log->ninsns + 1, sizeof(*spots));
	uint64_t all = 0;
	char name[600];

	if (!spots)
		return;
	for (uint32_t i = 0; i < log->ninsns; i++) {
		spots[i] = (struct spot){ i, log->insns[i].visits };
		all += spots[i].visits;
	}
	qsort(spots, log->ninsns, sizeof(*spots), by_visits);
	if (spots[0].visits > 1)
		fprintf(s->out, "\n%shot spots%s, by visits\n", s->c->label, s->c->off);
	for (uint32_t i = 0; i < 8 && i < log->ninsns && spots[i].visits > 1; i++) {
		explained_name(s->e, spots[i].insn, name, sizeof(name));
		fprintf(s->out, "  x%-6u %4.1f %%  %5u  %s\n", spots[i].visits,
			100.0 * spots[i].visits / (double)all, spots[i].insn, name);
	}
	free(spots);
}

/* ---- a step */

static void put_change(struct stepping *s, uint32_t frame, int where, uint32_t was, uint32_t is)
{
	char place[32], bits[80];

	(void)was;
	if (is == ASM_WALK_NONE)
		return;
	step_place(place, frame, where);
	fprintf(s->out, " %s=%s", place, step_value(s, is));
	if (step_bits(s, is, bits))
		fprintf(s->out, " [%s]", bits);
}

static void put_gone(struct stepping *s, uint32_t frame, int where, uint32_t was, uint32_t is)
{
	char place[32];

	if (is != ASM_WALK_NONE || was == ASM_WALK_NONE)
		return;
	step_place(place, frame, where);
	fprintf(s->out, " -%s", place);
}

static void put_outcome(struct stepping *s, uint32_t step)
{
	const struct asm_walk *w = &s->walk;
	const uint32_t before = w->steps[step].state, after = asm_walk_after(w, step);
	uint32_t had, has;

	if (after == ASM_WALK_NONE)
		return;
	had = asm_walk_frames(w, before);
	has = asm_walk_frames(w, after);
	if (has != had)
		fprintf(s->out, " %s%s%s", s->c->label,
			has > had ? "calls, a new frame" : "returns", s->c->off);
	fputs(s->c->state, s->out);
	step_changes(s, before, after, put_change);
	step_changes(s, before, after, put_gone);
	fputs(s->c->off, s->out);
}

static void put_verdicts(struct stepping *s, const struct asm_walk_match *m, enum asm_walk_how how,
			 const char *words)
{
	char place[32];
	bool any = false;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct asm_walk_verdict *v = &s->walk.verdicts[m->first + i];

		if (v->how != how || v->where == 10)
			continue;
		step_place(place, v->frame, v->where);
		fprintf(s->out, "%s%s", any ? " " : words, place);
		any = true;
	}
	if (any)
		fputc('\n', s->out);
}

static void put_safe(struct stepping *s, uint32_t step)
{
	const struct asm_walk_match *m = step_match(s, step);

	fprintf(s->out, "  %6u  %5u  %ssafe%s", step, s->walk.steps[step].insn, s->c->label,
		s->c->off);
	if (!m) {
		fprintf(s->out, ": the log does not show which earlier state covers this one\n");
		return;
	}
	fprintf(s->out, ": all that holds here was covered at step %u%s\n", m->step,
		m->loop ? ", on this very path: another round would change nothing" : "");
	put_verdicts(s, m, ASM_WALK_SAME, "                   the same there: ");
	put_verdicts(s, m, ASM_WALK_WITHIN, "                   within what it was there: ");
	put_verdicts(s, m, ASM_WALK_IMPRECISE,
		     "                   numbers that nothing depended on: ");
	put_verdicts(s, m, ASM_WALK_UNUSED, "                   not needed from here on: ");
}

/* "needs exactly: R3 before 366, R7 before 365 ... 349" */
static void put_chains(struct stepping *s, uint32_t step)
{
	const struct asm_walk *w = &s->walk;

	for (uint32_t i = 0; i < w->nchains; i++) {
		const struct asm_walk_chain *chain = &w->chains[i];
		uint32_t regs = 0;
		uint64_t slots = 0;

		if (chain->step != step || !chain->n)
			continue;
		fprintf(s->out, "%s                   back for what has to be exact:", s->c->dim);
		for (uint32_t k = 0; k < chain->n; k++) {
			const struct asm_walk_mark *m = &w->marks[chain->first + k];

			if (m->regs != regs || m->slots != slots) {
				for (int r = 0; r < 10; r++)
					if (m->regs >> r & 1)
						fprintf(s->out, " R%d", r);
				for (int b = 0; b < 64; b++)
					if (m->slots >> b & 1)
						fprintf(s->out, " fp-%d", 8 * (b + 1));
				fprintf(s->out, " <-");
			}
			fprintf(s->out, " %u", w->steps[m->step].insn);
			regs = m->regs;
			slots = m->slots;
		}
		fprintf(s->out, "%s\n", s->c->off);
	}
}

void step_text_step(struct stepping *s, uint32_t step)
{
	const struct asm_walk_step *at = &s->walk.steps[step];
	char text[ASM_DISASM_SIZE], name[600];

	if (at->safe) {
		put_safe(s, step);
	} else {
		explained_disasm(s->e, at->insn, text);
		explained_name(s->e, at->insn, name, sizeof(name));
		fprintf(s->out, "  %6u  %5u  %-*s", step, at->insn, INSN_WIDTH, text);
		put_outcome(s, step);
		fprintf(s->out, "  %s; %s%s\n", s->c->dim, name, s->c->off);
	}
	if (at->pushed != ASM_WALK_NONE)
		fprintf(s->out, "                   %spushed%s: the other branch, path %u\n",
			s->c->label, s->c->off, at->pushed);
	put_chains(s, step);
}

/* ---- all */

static void put_path_heading(struct stepping *s, uint32_t path)
{
	const struct asm_walk *w = &s->walk;
	const struct asm_walk_path *p = &w->paths[path];
	const uint32_t state = w->steps[p->first].state;

	fprintf(s->out, "\n%spath %u%s", s->c->label, path, s->c->off);
	if (p->from == ASM_WALK_NONE)
		fprintf(s->out, ", from the beginning\n");
	else
		fprintf(s->out, ", popped: from %u to %u, as pushed at step %u of path %u\n",
			w->steps[p->from].insn, w->steps[p->first].insn, p->from,
			w->steps[p->from].path);
	fprintf(s->out, "                   %s", s->c->state);
	step_changes(s, ASM_WALK_NONE, state, put_change);
	fprintf(s->out, "%s\n", s->c->off);
}

void step_text(struct stepping *s)
{
	const struct asm_walk *w = &s->walk;

	explain_head(s->out, s->e);
	fprintf(s->out, "\n%u steps on %u %s\n", w->nsteps, w->npaths,
		w->npaths == 1 ? "path" : "paths");
	put_tree(s);
	put_hot_spots(s);
	for (uint32_t i = 0; i < w->nsteps; i++) {
		if (w->paths[w->steps[i].path].first == i)
			put_path_heading(s, w->steps[i].path);
		step_text_step(s, i);
	}
	if (w->left_out)
		fprintf(s->out, "\n%u more steps are not shown\n", w->left_out);
	if (!(s->e->asked && s->e->loaded >= 0))
		explain_refusal(s->out, s->e);
}
