/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cheapest instruction for a probe on the entry of a function.
 *
 * The invariant: between the entry and the place there is one straight line, which nothing enters
 * but at its top and nothing leaves but at its end, and whose instructions leave alone what a
 * program may look at. So each call passes the place once, looking as at the entry.
 *
 * A function of Go may pass its entry several times in one call: its place is behind that.
 */
#include "code.h"

#include <stdio.h>

/* What no instruction before the place may change. */
static uint16_t protect(const struct insn_arch *arch, const struct rp_function *f)
{
	const uint8_t nargs = f->nargs && f->nargs < arch->nargs ? f->nargs : arch->nargs;

	return INSN_OTHER | ((1U << nargs) - 1);
}

static const char *step_name(enum rp_step step)
{
	switch (step) {
	case RP_STEP_CALL:
		return "a call";
	case RP_STEP_EMULATED:
		return "emulated";
	case RP_STEP_SINGLE:
		return "single-stepped";
	default:
		return "may be refused";
	}
}

/* Why the probe cannot go beyond @i, or NULL. */
static const char *obstacle(const struct insn *i, const struct rp_function *f, uint16_t kept)
{
	if (i->flow != FLOW_NEXT || i->is_call)
		return "is a jump";
	if (i->changes & INSN_OTHER)
		return "changes more than flags and spare registers";
	if (i->changes & kept)
		return "changes an argument";
	if (i->grows && f->with_return)
		return "moves the stack pointer, which the return probe needs in place";
	return NULL;
}

static void say(struct rp_place *out, const struct insn *first, const struct insn *last,
		const char *why)
{
	if (out->offset)
		snprintf(out->why, sizeof(out->why), "+%u %s, %s, instead of +0 %s", out->offset,
			 last->name, step_name(out->step), first->name);
	else if (out->step <= RP_STEP_EMULATED || !why)
		snprintf(out->why, sizeof(out->why), "+0 %s, %s", first->name,
			 step_name(out->step));
	else
		snprintf(out->why, sizeof(out->why), "+0 %s, %s: %s %s", first->name,
			 step_name(out->step), last == first ? "it" : last->name, why);
}

/* Bits 1 to @at. */
static uint64_t up_to(uint32_t at)
{
	return ((1ULL << at) << 1) - 2;
}

/* ---- Go */

#define AGAIN_MOST 64 /* instructions: all arguments are kept, the runtime called, they are back */

/* Whether the code there goes to the entry, by whatever it does before. */
static bool begins_again(const struct insn_arch *arch, const struct body *b, int64_t at)
{
	struct insn i;

	for (int n = 0; n < AGAIN_MOST && at > 0 && at < b->size; n++) {
		if (!arch->decode(b->code + at, b->size - (size_t)at, &i))
			return false;
		if (i.flow == FLOW_JUMP)
			return at + i.target == 0;
		if (i.flow != FLOW_NEXT)
			return false;
		at += i.len;
	}
	return false;
}

/*
 * How long the check is that functions of Go begin with; 0: there is none. If the stack is too
 * small, or the runtime wants the CPU for another goroutine, it leads to the runtime, and from
 * there to the entry once more.
 */
static uint32_t stack_check(const struct insn_arch *arch, const struct body *b, uint16_t kept)
{
	uint32_t at = 0, found = 0;
	struct insn i;

	while (at < PROLOGUE && arch->decode(b->code + at, b->size - at, &i)) {
		if (i.flow == FLOW_BRANCH && begins_again(arch, b, at + i.target))
			found = at + i.len;
		else if (i.flow != FLOW_NEXT || i.is_call || i.grows ||
			 i.changes & kept & ~INSN_OTHER)
			break;
		at += i.len;
	}
	return found;
}

static bool choose_behind_check(const struct insn_arch *arch, const struct body *b,
				const struct rp_function *f, uint64_t outside, struct rp_place *out)
{
	const uint32_t at = b->unknown ? 0 : stack_check(arch, b, protect(arch, f));
	struct insn first, i;

	if (!at || at >= PROLOGUE || (b->entered | outside) & up_to(at) ||
	    (f->alone && at >= f->alone) || !arch->decode(b->code, b->size, &first) ||
	    !arch->decode(b->code + at, b->size - at, &i))
		return false;
	*out = (struct rp_place){ .offset = at, .step = i.step };
	say(out, &first, &i, NULL);
	return true;
}

/* ---- all */

void rp_place_choose(const struct insn_arch *arch, const struct body *b,
		     const struct rp_function *f, uint64_t outside, bool nops, struct rp_place *out)
{
	const uint16_t kept = protect(arch, f);
	struct rp_place place = { .step = RP_STEP_UNKNOWN };
	struct insn first = { .name = "an instruction that is not known" }, i = first;
	uint32_t at = 0, grown = 0;
	const char *why = NULL;

	if (f->is_go && choose_behind_check(arch, b, f, outside, out))
		return;
	while (!why && at < PROLOGUE && arch->decode(b->code + at, b->size - at, &i)) {
		if (i.is_nop && nops)
			i.step = i.len == 5 ? RP_STEP_CALL : RP_STEP_EMULATED;
		if (!at) {
			first = i;
			place.step = i.step;
		}
		if (i.step <= RP_STEP_EMULATED)
			break;
		why = b->unknown ? b->unknown : obstacle(&i, f, kept);
		grown += i.grows;
		at += i.len;
	}
	if (!why && at && at < PROLOGUE && at < b->size && i.step <= RP_STEP_EMULATED) {
		if (((b->entered | outside) & up_to(at)))
			why = "something jumps to it, or before it";
		else if (f->alone && at >= f->alone)
			why = "another function begins before it";
		else {
			place.offset = at;
			place.sp_delta = grown;
			place.step = i.step;
		}
	}
	say(&place, &first, &i, why);
	*out = place;
}

void rp_returns_choose(struct body *b, struct rp_returns *out)
{
	struct rp_returns r = { .offsets = b->returns,
				.n = b->nreturns,
				.jumps = b->jumps,
				.njumps = b->njumps,
				.only_jumps = !b->unknown && !b->leaves_otherwise &&
					      b->return_step != RP_STEP_UNKNOWN,
				.calls_itself = b->calls_itself,
				.step = b->return_step };
	const char *leak = b->unknown ? b->unknown : b->leaves;

	b->returns = NULL;
	b->jumps = NULL;
	r.complete = r.n && !leak && r.step != RP_STEP_UNKNOWN;
	if (leak)
		snprintf(r.why, sizeof(r.why), "%u returns, and %s", r.n, leak);
	else if (!r.n)
		snprintf(r.why, sizeof(r.why), "it never returns");
	else
		snprintf(r.why, sizeof(r.why), "%u returns, %s", r.n, step_name(r.step));
	*out = r;
}
