/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk: the steps of the verifier and the paths that they are on. The reader of the log follows
 * the frame; here it is kept before each step, and put back where a path is left for the branch
 * that an earlier jump pushed. The kernel prints the current frame of such a branch, not those of
 * its callers, and nothing at all if the branch turns out to be safe.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "walk.h"

/* ---- steps */

static bool is_op(const struct reader *r, uint32_t insn, const char *op)
{
	const char *text = insn < r->log->ninsns ? r->log->insns[insn].text : NULL;

	return text && !strncmp(text, op, strlen(op));
}

/* Behind a call the frame is one deeper: where it was called from. */
static void note_call(struct reader *r)
{
	struct walk *w = r->walk;

	if (r->frame > w->depth && r->prev >= 0)
		w->callsites[r->frame] = (uint32_t)r->prev;
	w->depth = r->frame;
}

static int begin_path(struct walk *w, uint32_t step, uint32_t from)
{
	struct asm_walk *out = w->out;

	if (RP_PUSH(out->paths, out->npaths, w->path_capacity,
		    (struct asm_walk_path){ .first = step, .from = from, .match = ASM_WALK_NONE }))
		return -ENOMEM;
	if (from != ASM_WALK_NONE)
		out->steps[from].pushed = out->npaths - 1;
	return 0;
}

static void end_last_path(struct walk *w, enum asm_walk_end end)
{
	struct asm_walk *out = w->out;

	if (!out->npaths)
		return;
	out->paths[out->npaths - 1].end = end;
	out->paths[out->npaths - 1].last = out->nsteps - 1;
}

/* The step that comes before one that is now, on its path. */
static uint32_t step_before(const struct reader *r)
{
	const struct walk *w = r->walk;

	if (w->from != ASM_WALK_NONE)
		return w->from;
	return r->npath ? r->path[r->npath - 1].step : ASM_WALK_NONE;
}

static int link_same(struct walk *w, uint32_t insn, uint32_t step)
{
	const uint32_t was = w->latest_capacity;

	if (RP_GROW_TO(w->same, step + 1, w->same_capacity))
		return -ENOMEM;
	if (RP_GROW_TO(w->latest, insn + 1, w->latest_capacity))
		return -ENOMEM;
	memset(w->latest + was, 0, (w->latest_capacity - was) * sizeof(*w->latest));
	w->same[step] = w->latest[insn];
	w->latest[insn] = step + 1;
	return 0;
}

static uint32_t add_step(struct reader *r, uint32_t insn, bool safe)
{
	struct walk *w = r->walk;
	struct asm_walk *out = w->out;
	const uint32_t step = out->nsteps, from = w->from, before = step_before(r);
	uint32_t state;

	if (step >= ASM_WALK_MAX_STEPS) {
		out->left_out++;
		return ASM_WALK_NONE;
	}
	note_call(r);
	state = asm_walk_keep(r);
	if (state == ASM_WALK_NONE || (!safe && link_same(w, insn, step)) ||
	    RP_PUSH(out->steps, out->nsteps, w->step_capacity,
		    (struct asm_walk_step){ .insn = insn,
					    .prev = before,
					    .state = state,
					    .pushed = ASM_WALK_NONE,
					    .safe = safe }))
		goto no_memory;
	w->from = ASM_WALK_NONE;
	if ((!step || from != ASM_WALK_NONE) && begin_path(w, step, from))
		goto no_memory;
	out->steps[step].path = out->npaths - 1;
	end_last_path(w, ASM_WALK_STOPPED);
	return step;
no_memory:
	r->no_memory = true;
	return ASM_WALK_NONE;
}

/* Does what the log shows of a branch agree with what its jump had to leave? */
static void compare_with_expected(struct reader *r)
{
	struct walk *w = r->walk;
	const uint32_t depth = r->frame;
	struct asm_walk_frame expected;
	const struct frame *shown = &r->frames[depth];

	asm_walk_frame(w->out, w->expected, depth, &expected);
	w->expected = ASM_WALK_NONE;
	for (uint32_t i = 0; i < expected.nplaces; i++) {
		const int where = expected.places[i].where;
		const uint32_t place =
			where >= 0 ? (uint32_t)where : FRAME_REGS + (uint32_t)(-where / 8) - 1;

		if (!shown->at[place] ||
		    !asm_walk_within(&r->values.all[shown->at[place]],
				     &r->values.all[expected.places[i].value])) {
			w->out->surprises++;
			return;
		}
	}
}

uint32_t asm_walk_visit(struct reader *r, uint32_t insn)
{
	if (!r->walk || r->speculative)
		return ASM_WALK_NONE;
	if (r->walk->expected != ASM_WALK_NONE)
		compare_with_expected(r);
	return add_step(r, insn, false);
}

/* ---- branches */

bool asm_walk_returns(const struct reader *r, size_t at)
{
	return is_op(r, r->path[at].at.insn, "(95)");
}

enum { HELPER_LOOP = 181 };

/* The frame of bpf_loop's function: the index, and what R3 of the call was. */
static void enter_callback(struct reader *r, uint32_t insn)
{
	const char *number = strchr(r->log->insns[insn].text, '#');
	struct frame *caller = &r->frames[r->frame], *callee;
	uint32_t data = caller->at[3];

	if (r->frame + 1 >= MAX_FRAMES || !number || atoi(number + 1) != HELPER_LOOP)
		return;
	if (data && !strncmp(r->values.all[data].text, "fp-", 3)) {
		char text[40];
		const int n = snprintf(text, sizeof(text), "fp[%u]%s", r->frame,
				       r->values.all[data].text + 2);

		data = asm_vlog_value_intern(&r->values, &r->arena, text, (size_t)n, false);
	}
	r->frame++;
	callee = &r->frames[r->frame];
	memset(callee, 0, sizeof(*callee));
	callee->at[1] = asm_vlog_value_intern(&r->values, &r->arena, "scalar()", 8, false);
	callee->at[2] = data;
	callee->at[10] = asm_vlog_value_intern(&r->values, &r->arena, "fp0", 3, false);
	r->no_memory |= !callee->at[1] || !callee->at[10];
}

/*
 * A branch that `step` pushed: everything is as it was before that step, but for what its condition
 * says. What the kernel prints of it, it prints afterwards.
 */
void asm_walk_take_up(struct reader *r, uint32_t step, uint32_t to)
{
	struct walk *w = r->walk;
	uint32_t insn;

	if (!w || r->speculative || step >= w->out->nsteps)
		return;
	insn = w->out->steps[step].insn;
	w->from = step;
	r->prev = insn;
	asm_walk_restore(r, w->out->steps[step].state);
	if (is_op(r, insn, "(85)")) {
		enter_callback(r, insn);
		w->expected = ASM_WALK_NONE;
	} else {
		asm_walk_branch(r, insn, to);
		w->expected = asm_walk_keep(r);
	}
}

void asm_walk_prune(struct reader *r, uint32_t insn)
{
	struct walk *w = r->walk;

	if (!w || r->speculative)
		return;
	if (insn >= r->log->ninsns) { /* where it is safe, it has been */
		w->expected = w->from = ASM_WALK_NONE;
		return;
	}
	if (w->from == ASM_WALK_NONE && !r->shown)
		asm_walk_effect(r, insn);
	w->expected = ASM_WALK_NONE;
	if (add_step(r, insn, true) != ASM_WALK_NONE)
		end_last_path(w, ASM_WALK_SAFE);
}

uint32_t asm_walk_after(const struct asm_walk *walk, uint32_t step)
{
	const struct asm_walk_step *s = &walk->steps[step];

	if (s->safe)
		return ASM_WALK_NONE;
	if (step + 1 < walk->nsteps && walk->steps[step + 1].path == s->path)
		return walk->steps[step + 1].state;
	return step + 1 == walk->nsteps && !walk->left_out ? walk->last : ASM_WALK_NONE;
}

/* ---- all of it */

/* A path that is not cut off ends at EXIT() of the program, in its own frame. */
static void note_exits(struct asm_walk *walk)
{
	for (uint32_t i = 0; i < walk->npaths; i++) {
		struct asm_walk_path *path = &walk->paths[i];
		const struct asm_walk_step *last = &walk->steps[path->last];
		const char *text = walk->log.insns[last->insn].text;
		const bool refused = walk->log.message && i + 1 == walk->npaths;

		if (path->end == ASM_WALK_STOPPED && !refused && text &&
		    !strncmp(text, "(95)", 4) && asm_walk_frames(walk, last->state) == 1)
			path->end = ASM_WALK_EXIT;
	}
}

int asm_walk_read(const char *text, struct asm_walk *out)
{
	struct asm_walk walk = { .inside = calloc(1, sizeof(struct walk)) };
	struct reader reader = { .log = &walk.log, .prev = -1, .current = -1 };
	struct walk *w = walk.inside;

	if (!w)
		return -ENOMEM;
	reader.walk = w;
	w->out = &walk;
	w->expected = w->from = ASM_WALK_NONE;
	w->made_ids = 100000000; /* the kernel's count from 1 */
	reader.no_memory = !asm_vlog_values_begin(&reader.values);
	if (!reader.no_memory)
		asm_vlog_read(&reader, text);
	if (!reader.no_memory)
		asm_vlog_reader_finish(&reader);
	walk.last = reader.no_memory ? ASM_WALK_NONE : asm_walk_keep(&reader);
	asm_vlog_reader_free(&reader);
	w->values = reader.values;
	w->arena = reader.arena;
	w->out = NULL;
	if (reader.no_memory || asm_walk_order_talk(&walk) || asm_walk_find_matches(&walk)) {
		asm_walk_free(&walk);
		return -ENOMEM;
	}
	note_exits(&walk);
	walk.nstates = w->nstates;
	walk.nframes = w->nframes;
	walk.nvalues = w->values.n;
	*out = walk;
	return 0;
}

void asm_walk_free(struct asm_walk *walk)
{
	struct walk *w = walk->inside;

	if (w) {
		free(w->frames);
		free(w->places);
		free(w->states);
		free(w->state_frames);
		rp_index_free(&w->frame_index);
		rp_index_free(&w->state_index);
		free(w->same);
		free(w->latest);
		free(w->precise);
		free(w->live);
		asm_vlog_values_free(&w->values);
		walk->log.arena = w->arena;
	}
	free(w);
	free(walk->steps);
	free(walk->paths);
	free(walk->matches);
	free(walk->verdicts);
	free(walk->chains);
	free(walk->marks);
	asm_vlog_free(&walk->log);
	*walk = (struct asm_walk){ 0 };
}
