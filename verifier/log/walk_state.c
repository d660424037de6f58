/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States: a list of frames, each a list of what its places hold. From one step to the next little
 * changes, and paths come by in the same state, so equal frames and equal states are kept once.
 */
#include <string.h>

#include "base/grow.h"
#include "walk.h"

/* ---- keeping */

static uint32_t hash_of(const void *bytes, size_t size, uint32_t n)
{
	return rp_hash_pair(rp_hash_bytes(bytes, size), n);
}

/* Appends the frame's places behind those that are kept; how many, or -1. */
static int64_t list_places(struct walk *w, const struct frame *frame)
{
	uint32_t n = 0;

	if (RP_GROW_TO(w->places, w->nplaces + FRAME_PLACES, w->place_capacity))
		return -1;
	for (uint32_t i = 0; i < FRAME_PLACES; i++)
		if (frame->at[i])
			w->places[w->nplaces + n++] =
				(struct asm_walk_place){ .where = where_of(i),
							 .value = frame->at[i] };
	return n;
}

static uint32_t keep_frame(struct walk *w, const struct frame *frame, uint32_t callsite)
{
	const int64_t n = list_places(w, frame);
	const struct asm_walk_place *places = &w->places[w->nplaces];
	struct kept_frame kept = { .first = w->nplaces, .n = (uint32_t)n, .callsite = callsite };
	const size_t size = kept.n * sizeof(*places);
	uint32_t hash, at, i;

	if (n < 0 || rp_index_reserve(&w->frame_index))
		return ASM_WALK_NONE;
	hash = at = hash_of(places, size, callsite);
	while ((i = rp_index_next(&w->frame_index, hash, &at)) != HASH_NONE)
		if (w->frames[i].n == kept.n && w->frames[i].callsite == callsite &&
		    !memcmp(&w->places[w->frames[i].first], places, size))
			return i;
	if (RP_PUSH(w->frames, w->nframes, w->frame_capacity, kept))
		return ASM_WALK_NONE;
	w->nplaces += kept.n;
	rp_index_put(&w->frame_index, hash, w->nframes - 1);
	return w->nframes - 1;
}

static uint32_t keep_state(struct walk *w, const uint32_t *frames, uint32_t n)
{
	const struct kept_state kept = { .first = w->nstate_frames, .n = n };
	uint32_t hash, at, i;

	if (rp_index_reserve(&w->state_index) ||
	    RP_GROW_TO(w->state_frames, w->nstate_frames + n, w->state_frame_capacity))
		return ASM_WALK_NONE;
	hash = at = hash_of(frames, n * sizeof(*frames), n);
	while ((i = rp_index_next(&w->state_index, hash, &at)) != HASH_NONE)
		if (w->states[i].n == n &&
		    !memcmp(&w->state_frames[w->states[i].first], frames, n * sizeof(*frames)))
			return i;
	if (RP_PUSH(w->states, w->nstates, w->state_capacity, kept))
		return ASM_WALK_NONE;
	memcpy(&w->state_frames[w->nstate_frames], frames, n * sizeof(*frames));
	w->nstate_frames += n;
	rp_index_put(&w->state_index, hash, w->nstates - 1);
	return w->nstates - 1;
}

uint32_t asm_walk_keep(struct reader *r)
{
	uint32_t frames[MAX_FRAMES], state = ASM_WALK_NONE, n = r->frame + 1;
	struct walk *w = r->walk;

	for (uint32_t f = 0; f < n; f++) {
		frames[f] = keep_frame(w, &r->frames[f], f ? w->callsites[f] : ASM_WALK_NONE);
		if (frames[f] == ASM_WALK_NONE)
			n = 0;
	}
	if (n)
		state = keep_state(w, frames, n);
	r->no_memory |= state == ASM_WALK_NONE;
	return state;
}

static uint32_t place_of(int where)
{
	return where >= 0 ? (uint32_t)where : FRAME_REGS + (uint32_t)(-where / 8) - 1;
}

void asm_walk_restore(struct reader *r, uint32_t state)
{
	struct walk *w = r->walk;
	const struct kept_state *kept = &w->states[state];

	r->frame = w->depth = kept->n - 1;
	for (uint32_t f = 0; f < kept->n; f++) {
		const struct kept_frame *frame = &w->frames[w->state_frames[kept->first + f]];

		w->callsites[f] = frame->callsite;
		memset(&r->frames[f], 0, sizeof(r->frames[f]));
		for (uint32_t i = 0; i < frame->n; i++) {
			const struct asm_walk_place *p = &w->places[frame->first + i];

			r->frames[f].at[place_of(p->where)] = p->value;
		}
	}
}

/* ---- looking at them */

uint32_t asm_walk_frames(const struct asm_walk *walk, uint32_t state)
{
	return state < walk->inside->nstates ? walk->inside->states[state].n : 0;
}

void asm_walk_frame(const struct asm_walk *walk, uint32_t state, uint32_t frame,
		    struct asm_walk_frame *out)
{
	const struct walk *w = walk->inside;
	const struct kept_frame *kept;

	*out = (struct asm_walk_frame){ .callsite = ASM_WALK_NONE };
	if (frame >= asm_walk_frames(walk, state))
		return;
	kept = &w->frames[w->state_frames[w->states[state].first + frame]];
	out->places = &w->places[kept->first];
	out->nplaces = kept->n;
	out->number = w->state_frames[w->states[state].first + frame];
	out->callsite = kept->callsite;
}

uint32_t asm_walk_at(const struct asm_walk *walk, uint32_t state, uint32_t frame, int where)
{
	struct asm_walk_frame f;

	asm_walk_frame(walk, state, frame, &f);
	for (uint32_t i = 0; i < f.nplaces; i++)
		if (f.places[i].where == where)
			return f.places[i].value;
	return ASM_WALK_NONE;
}

int asm_walk_value(struct asm_walk *walk, uint32_t value, struct asm_walk_value *out)
{
	struct walk *w = walk->inside;
	const struct value *v = &w->values.all[value < w->values.n ? value : 0];

	*out = (struct asm_walk_value){
		.raw = v->text,
		.text = asm_vlog_value_text(v, &w->arena),
		.is_number = v->kind == VALUE_NUMBER && !*v->bytes,
		.smin = v->least,
		.smax = v->most,
		.umin = v->uleast,
		.umax = v->umost,
		.smin32 = v->low.least,
		.smax32 = v->low.most,
		.umin32 = v->low.uleast,
		.umax32 = v->low.umost,
		.ones = v->var_known,
		.unknown = v->var_unknown,
		.id = v->id,
	};
	return out->text ? 0 : -ENOMEM;
}
