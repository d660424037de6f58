/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verifier says of its own work, at level 2:
 *
 *	mark_precise: frame0: last_idx 7 first_idx 4 subseq_idx -1	goes back from here
 *	mark_precise: frame0: regs=r0 stack=-8 before 6: (07) r0 += 1	exact behind 6
 *	mark_precise: frame0: parent state regs=r0 stack=: ...		where a state is kept
 *	(13,44) frame 1 insn 9 +live -8,-16				slots read from there
 *	(13,44) frame 1 insn 7 +written -8				and written there
 *
 * It knows a number exactly or does not care what it is: a number that nothing depends on is the
 * same as any other when states are compared.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "walk.h"

/* ---- pieces */

static bool take(const char **at, const char *end, const char *what)
{
	const size_t n = strlen(what);

	if ((size_t)(end - *at) < n || memcmp(*at, what, n))
		return false;
	*at += n;
	return true;
}

static bool take_digits(const char **at, const char *end, uint32_t *out)
{
	const char *p = *at;
	uint32_t n = 0;

	while (p < end && isdigit((unsigned char)*p) && n < 100000000)
		n = n * 10 + (uint32_t)(*p++ - '0');
	if (p == *at)
		return false;
	*at = p;
	*out = n;
	return true;
}

/* "r0,r3": a bit for each */
static uint32_t take_regs(const char **at, const char *end)
{
	uint32_t regs = 0, n;

	while (take(at, end, "r") && take_digits(at, end, &n)) {
		regs |= n < FRAME_REGS ? 1u << n : 0;
		if (!take(at, end, ","))
			break;
	}
	return regs;
}

/* "-8,-24" */
static uint64_t take_slots(const char **at, const char *end)
{
	uint64_t slots = 0;
	uint32_t n;

	while (take(at, end, "-") && take_digits(at, end, &n)) {
		if (n && n % 8 == 0 && n <= ASM_STACK_SIZE)
			slots |= UINT64_C(1) << (n / 8 - 1);
		if (!take(at, end, ","))
			break;
	}
	return slots;
}

/* ---- precision */

static void add_precise(struct reader *r, struct precise precise)
{
	struct walk *w = r->walk;

	precise.since = w->out->nsteps;
	if (precise.step != ASM_WALK_NONE && (precise.regs || precise.slots) &&
	    RP_PUSH(w->precise, w->nprecise, w->precise_capacity, precise))
		r->no_memory = true;
}

/* The step at a place of the path; behind its end the one that is still to come. */
static uint32_t step_at(const struct reader *r, size_t place)
{
	return place < r->npath ? r->path[place].step : r->walk->out->nsteps;
}

/* Where it is, or the branch that is about to be taken up. */
static void begin_chain(struct reader *r, uint32_t insn)
{
	struct walk *w = r->walk;
	struct asm_walk *out = w->out;
	size_t at = r->npath;
	const bool ended = r->current < 0 || (at && !r->frame && asm_walk_returns(r, at - 1));

	if (at && r->path[at - 1].at.insn == insn && !ended) {
		w->back = at - 1;
	} else if (ended) {
		while (at && (r->path[at - 1].at.insn != insn || r->path[at - 1].taken_up))
			at--;
		w->back = at ? at - 1 : r->npath;
	} else {
		w->back = at;
	}
	if (step_at(r, w->back) == ASM_WALK_NONE)
		return;
	if (RP_PUSH(out->chains, out->nchains, w->chain_capacity,
		    (struct asm_walk_chain){ .step = step_at(r, w->back), .first = out->nmarks }))
		r->no_memory = true;
}

static void add_mark(struct reader *r, uint32_t frame, uint32_t regs, uint64_t slots, uint32_t insn)
{
	struct walk *w = r->walk;
	struct asm_walk *out = w->out;
	size_t at = w->back < r->npath ? w->back : r->npath;
	uint32_t step;

	while (at && r->path[at - 1].at.insn != insn)
		at--;
	if (!at)
		return;
	step = step_at(r, at);
	w->back = at - 1;
	add_precise(r, (struct precise){ step, 0, frame, regs, slots });
	if (!out->nchains || r->path[at - 1].step == ASM_WALK_NONE)
		return;
	if (RP_PUSH(out->marks, out->nmarks, w->mark_capacity,
		    (struct asm_walk_mark){ .step = r->path[at - 1].step,
					    .frame = (uint8_t)frame,
					    .regs = (uint16_t)regs,
					    .slots = slots })) {
		r->no_memory = true;
		return;
	}
	out->chains[out->nchains - 1].n++;
}

static void everything_precise(struct reader *r)
{
	for (size_t i = 0; i < r->npath; i++)
		for (uint32_t f = 0; f <= r->path[i].at.frame; f++)
			add_precise(r,
				    (struct precise){ r->path[i].step, 0, f, 0x3ff, UINT64_MAX });
}

static void precision_line(struct reader *r, const char *at, const char *end)
{
	uint32_t frame, regs, insn;
	uint64_t slots;
	bool kept;

	if (!take(&at, end, "frame") || !take_digits(&at, end, &frame) || !take(&at, end, ": ") ||
	    frame >= MAX_FRAMES)
		return;
	if (take(&at, end, "last_idx ")) {
		if (take_digits(&at, end, &insn) && memmem(at, (size_t)(end - at), "_idx -1", 7))
			begin_chain(r, insn);
		return;
	}
	if (take(&at, end, "falling back to forcing all scalars precise")) {
		everything_precise(r);
		return;
	}
	kept = take(&at, end, "parent state ");
	if (!take(&at, end, "regs="))
		return;
	regs = take_regs(&at, end);
	if (!take(&at, end, " stack="))
		return;
	slots = take_slots(&at, end);
	if (kept)
		add_precise(r,
			    (struct precise){ step_at(r, r->walk->back), 0, frame, regs, slots });
	else if (take(&at, end, " before ") && take_digits(&at, end, &insn))
		add_mark(r, frame, regs, slots, insn);
}

static int by_step(const void *a, const void *b)
{
	const struct precise *x = a, *y = b;

	return x->step != y->step ? (x->step > y->step ? 1 : -1)
				  : (x->since > y->since) - (x->since < y->since);
}

struct precise asm_walk_precise(const struct walk *w, uint32_t step, uint32_t frame, uint32_t until)
{
	struct precise all = { .step = step, .frame = frame };
	uint32_t low = 0, high = w->nprecise;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (w->precise[middle].step < step)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < w->nprecise && w->precise[low].step == step; low++) {
		const struct precise *p = &w->precise[low];

		if (p->frame != frame || p->since > until)
			continue;
		all.regs |= p->regs;
		all.slots |= p->slots;
	}
	return all;
}

/* ---- slots that are read */

static void live_line(struct reader *r, const char *at, const char *end)
{
	struct walk *w = r->walk;
	const char *frame_at = memmem(at, (size_t)(end - at), ") frame ", 8);
	const uint32_t was = w->live_capacity;
	uint32_t frame, insn;

	if (!frame_at)
		return;
	at = frame_at + 8;
	if (!take_digits(&at, end, &frame) || !take(&at, end, " insn ") ||
	    !take_digits(&at, end, &insn) || frame >= MAX_FRAMES || insn >= r->log->ninsns)
		return;
	if (RP_GROW_TO(w->live, insn + 1, w->live_capacity)) {
		r->no_memory = true;
		return;
	}
	memset(w->live + was, 0, (w->live_capacity - was) * sizeof(*w->live));
	w->live[insn].said |= (uint16_t)(1u << frame);
	if (take(&at, end, " +live "))
		w->live[insn].slots[frame] |= take_slots(&at, end);
}

/* The instructions' deepest frames; of EXIT(), whose own ends with it, the one above. */
static void note_depths(const struct asm_walk *walk, uint8_t *deepest)
{
	const struct walk *w = walk->inside;

	for (uint32_t i = 0; i < walk->nsteps; i++) {
		const struct asm_walk_step *s = &walk->steps[i];
		const char *text = walk->log.insns[s->insn].text;
		const bool exits = text && !strncmp(text, "(95)", 4);
		const uint32_t n = asm_walk_frames(walk, s->state) - exits;

		if (s->insn < w->live_capacity && n > deepest[s->insn])
			deepest[s->insn] = (uint8_t)n;
	}
}

/* What is read behind an instruction that neither reads nor writes it is read behind what led
 * there. */
static bool spread(struct walk *w, const struct asm_vlog *log, uint32_t to, const uint8_t *deepest)
{
	const struct live_slots *behind = &w->live[to];
	bool more = false;

	for (uint32_t i = 0; i < log->insns[to].nfrom; i++) {
		const uint32_t from = log->insns[to].from[i];
		struct live_slots *before;

		if (from >= w->live_capacity)
			continue;
		before = &w->live[from];
		for (uint32_t f = 0; f < deepest[from]; f++) {
			if (before->said & 1u << f || !(behind->slots[f] & ~before->slots[f]))
				continue;
			before->slots[f] |= behind->slots[f];
			more = true;
		}
	}
	return more;
}

int asm_walk_order_talk(struct asm_walk *walk)
{
	struct walk *w = walk->inside;
	uint8_t *deepest = calloc(w->live_capacity + 1, 1);
	bool more = w->live_capacity > 0;

	if (!deepest)
		return -ENOMEM;
	if (w->nprecise)
		qsort(w->precise, w->nprecise, sizeof(*w->precise), by_step);
	note_depths(walk, deepest);
	while (more) {
		more = false;
		for (uint32_t i = walk->log.ninsns; i-- > 0;)
			if (i < w->live_capacity)
				more |= spread(w, &walk->log, i, deepest);
	}
	free(deepest);
	return 0;
}

uint64_t asm_walk_live_slots(const struct walk *w, uint32_t insn, uint32_t frame)
{
	if (!w->live_capacity)
		return UINT64_MAX;
	return insn < w->live_capacity ? w->live[insn].slots[frame] : 0;
}

void asm_walk_talk(struct reader *r, const char *line, const char *end)
{
	if (r->speculative)
		return;
	if (take(&line, end, "mark_precise: "))
		precision_line(r, line, end);
	else if (line < end && *line == '(')
		live_line(r, line, end);
}
