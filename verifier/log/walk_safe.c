/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which earlier state covers one that the verifier found safe. It does not say; so each state that
 * was met at the same instruction is compared, the latest first, by the rules that the verifier
 * follows: all that may be now could have been then. What is not read later does not count, nor
 * does what a number is, where nothing depended on it; pointers have to be of one kind, and what
 * was equal then has to be equal now.
 */
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "walk.h"

enum { MAX_IDS = 64 };

struct comparing {
	struct asm_walk *walk;
	struct walk *w;
	uint32_t safe, old; /* steps */
	bool loop;	    /* the old one is on the way to the other */
	struct {
		uint32_t old, now;
	} ids[MAX_IDS];
	uint32_t nids;
};

/* ---- values */

bool asm_walk_within(const struct value *a, const struct value *b)
{
	if (a->kind != b->kind || a->or_null != b->or_null || strcmp(a->bytes, b->bytes) ||
	    strcmp(a->type, b->type) || strcmp(a->name, b->name))
		return false;
	return a->least >= b->least && a->most <= b->most && a->uleast >= b->uleast &&
	       a->umost <= b->umost && a->low.least >= b->low.least && a->low.most <= b->low.most &&
	       a->low.uleast >= b->low.uleast && a->low.umost <= b->low.umost &&
	       !(a->var_unknown & ~b->var_unknown) &&
	       (a->var_known & ~b->var_unknown) == b->var_known;
}

/* What one id was, another is: throughout. */
static bool same_id(struct comparing *c, uint32_t old, uint32_t now)
{
	if (!old)
		return true;
	for (uint32_t i = 0; i < c->nids; i++)
		if (c->ids[i].old == old || c->ids[i].now == now)
			return c->ids[i].old == old && c->ids[i].now == now;
	if (!now || c->nids == MAX_IDS)
		return false;
	c->ids[c->nids].old = old;
	c->ids[c->nids++].now = now;
	return true;
}

/* Numbers that were equal: the kernel does not print that constants still are, but they are. */
static bool same_number(struct comparing *c, uint32_t old, const struct value *now)
{
	const bool is_constant = now->uleast == now->umost;
	const uint32_t id =
		is_constant ? UINT32_C(0x80000000) | rp_hash_pair((uint32_t)now->uleast,
								  (uint32_t)(now->uleast >> 32))
			    : now->id;

	if (!old || !is_constant)
		return same_id(c, old, id);
	for (uint32_t i = 0; i < c->nids; i++)
		if (c->ids[i].old == old)
			return c->ids[i].now == id;
	if (c->nids == MAX_IDS)
		return false;
	c->ids[c->nids].old = old;
	c->ids[c->nids++].now = id;
	return true;
}

static enum asm_walk_how compare_values(struct comparing *c, const struct value *now,
					const struct value *old, bool precise)
{
	if (old->kind == VALUE_NUMBER && now->kind == VALUE_NUMBER) {
		if (!precise && !c->loop)
			return ASM_WALK_IMPRECISE;
		if (!asm_walk_within(now, old) || (precise && !same_number(c, old->id, now)))
			return ASM_WALK_DIFFERS;
		return asm_vlog_value_same(now, old) ? ASM_WALK_SAME : ASM_WALK_WITHIN;
	}
	if (!asm_walk_within(now, old) || !same_id(c, old->id, now->id) ||
	    !same_id(c, old->ref, now->ref))
		return ASM_WALK_DIFFERS;
	return ASM_WALK_SAME;
}

/* ---- slots */

/* A letter for each byte, 's' where a register lies. */
static void letters(const struct value *v, char out[8])
{
	const size_t n = strlen(v->bytes);

	memset(out, 's', 8);
	memcpy(out, v->bytes, n < 8 ? n : 8);
}

static bool all_any(const char bytes[8])
{
	return strspn(bytes, "m?") >= 8;
}

/* Bytes that were anything, or nothing, may be anything now; those that were 0 have to be. */
static enum asm_walk_how compare_slots(struct comparing *c, const struct value *now,
				       const struct value *old, bool precise)
{
	const struct value anything = { .kind = VALUE_NUMBER,
					.type = "",
					.name = "",
					.least = INT64_MIN,
					.most = INT64_MAX,
					.umost = UINT64_MAX,
					.low = ANY_LOW,
					.unknown = UINT64_MAX,
					.var_unknown = UINT64_MAX };
	char before[9] = "", after[9] = "";
	enum asm_walk_how how = ASM_WALK_SAME;

	letters(old, before);
	letters(now, after);
	if (!*old->bytes && all_any(after))
		return compare_values(c, &anything, old, precise);
	for (int i = 0; i < 8; i++) {
		if (before[i] == '?' || before[i] == 'm')
			continue;
		if (before[i] != after[i])
			return ASM_WALK_DIFFERS;
	}
	if (old->kind == VALUE_BYTES)
		return ASM_WALK_SAME;
	if (strlen(old->bytes) != strlen(now->bytes))
		return ASM_WALK_DIFFERS;
	if (*old->bytes) {
		struct value x = *old, y = *now;

		x.bytes[0] = y.bytes[0] = '\0';
		how = compare_values(c, &y, &x, precise);
	} else {
		how = compare_values(c, now, old, precise);
	}
	return how;
}

/* ---- states */

static const char *live_regs(const struct asm_walk *walk, uint32_t insn)
{
	return insn < walk->log.ninsns ? walk->log.insns[insn].live : NULL;
}

/* Where the frame goes on: at the instruction itself, or behind the call that it is in. */
static uint32_t goes_on_at(const struct comparing *c, uint32_t frame)
{
	struct asm_walk_frame next;

	asm_walk_frame(c->walk, c->walk->steps[c->safe].state, frame + 1, &next);
	return next.callsite == ASM_WALK_NONE ? c->walk->steps[c->safe].insn : next.callsite;
}

static bool is_live(const struct comparing *c, uint32_t frame, int where)
{
	const uint32_t insn = goes_on_at(c, frame);
	const char *live = live_regs(c->walk, insn);

	if (where == 10)
		return true;
	if (where >= 0)
		return !live || live[where] != '.';
	return asm_walk_live_slots(c->w, insn, frame) >> ((uint32_t)-where / 8 - 1) & 1;
}

static enum asm_walk_how compare_place(struct comparing *c, uint32_t frame, int where, uint32_t now,
				       uint32_t old, const struct precise *precise)
{
	const struct value *all = c->w->values.all;

	if (old == ASM_WALK_NONE)
		return ASM_WALK_UNUSED;
	if (where >= 0 && !is_live(c, frame, where))
		return ASM_WALK_UNUSED;
	if (where >= 0)
		return now == ASM_WALK_NONE ? ASM_WALK_DIFFERS
					    : compare_values(c, &all[now], &all[old],
							     precise->regs >> where & 1);
	if (now != ASM_WALK_NONE) {
		const enum asm_walk_how how = compare_slots(c, &all[now], &all[old],
							    precise->slots >> (-where / 8 - 1) & 1);

		if (how != ASM_WALK_DIFFERS)
			return how;
	} else if (all[old].kind == VALUE_BYTES && all_any(all[old].bytes)) {
		return ASM_WALK_SAME;
	}
	return is_live(c, frame, where) ? ASM_WALK_DIFFERS : ASM_WALK_UNUSED;
}

static int add_verdict(struct comparing *c, uint32_t frame, int where, enum asm_walk_how how)
{
	return RP_PUSH(c->walk->verdicts, c->walk->nverdicts, c->w->verdict_capacity,
		       (struct asm_walk_verdict){ .frame = (uint8_t)frame,
						  .how = (uint8_t)how,
						  .where = (int16_t)where });
}

/* All places that either has. 1: it covers; 0: it does not; -ENOMEM. */
static int compare_frames(struct comparing *c, uint32_t frame)
{
	const struct asm_walk_step *steps = c->walk->steps;
	const struct precise precise = asm_walk_precise(c->w, c->old, frame, c->safe);
	const uint32_t now_state = steps[c->safe].state, old_state = steps[c->old].state;
	struct asm_walk_frame now, old;

	asm_walk_frame(c->walk, now_state, frame, &now);
	asm_walk_frame(c->walk, old_state, frame, &old);
	if (now.callsite != old.callsite)
		return 0;
	for (uint32_t place = 0; place < FRAME_PLACES; place++) {
		const int where = where_of(place);
		const uint32_t a = asm_walk_at(c->walk, now_state, frame, where);
		const uint32_t b = asm_walk_at(c->walk, old_state, frame, where);
		enum asm_walk_how how;

		if (a == ASM_WALK_NONE && b == ASM_WALK_NONE)
			continue;
		how = compare_place(c, frame, where, a, b, &precise);
		if (how == ASM_WALK_DIFFERS)
			return 0;
		if (add_verdict(c, frame, where, how))
			return -ENOMEM;
	}
	return 1;
}

static int covers(struct comparing *c)
{
	const struct asm_walk_step *steps = c->walk->steps;
	const uint32_t n = asm_walk_frames(c->walk, steps[c->safe].state);
	int is = n == asm_walk_frames(c->walk, steps[c->old].state);

	c->nids = 0;
	for (uint32_t f = 0; f < n && is > 0; f++)
		is = compare_frames(c, f);
	return is;
}

/* ---- all that are safe */

static int find_match(struct asm_walk *walk, uint32_t safe)
{
	struct comparing c = { .walk = walk, .w = walk->inside, .safe = safe };
	const uint32_t insn = walk->steps[safe].insn, first = walk->nverdicts;
	struct asm_walk_match match = { .safe = safe, .step = ASM_WALK_NONE, .first = first };
	uint32_t on_path = walk->steps[safe].prev;
	uint32_t old = insn < c.w->latest_capacity ? c.w->latest[insn] : 0;
	int is = 0;

	for (; old && is == 0; old = c.w->same[old - 1]) {
		c.old = old - 1;
		if (c.old >= safe)
			continue;
		while (on_path != ASM_WALK_NONE && on_path > c.old)
			on_path = walk->steps[on_path].prev;
		c.loop = on_path == c.old;
		walk->nverdicts = first;
		is = covers(&c);
		if (is > 0) {
			match.step = c.old;
			match.loop = c.loop;
		}
	}
	if (is < 0)
		return is;
	walk->nverdicts = is ? walk->nverdicts : first;
	match.n = walk->nverdicts - first;
	walk->paths[walk->steps[safe].path].match = walk->nmatches;
	return RP_PUSH(walk->matches, walk->nmatches, c.w->match_capacity, match);
}

int asm_walk_find_matches(struct asm_walk *walk)
{
	int err = 0;

	for (uint32_t i = 0; i < walk->nsteps && !err; i++)
		if (walk->steps[i].safe)
			err = find_match(walk, i);
	return err;
}
