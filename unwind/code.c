/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions in code: where calls lead to, behind padding, where a program begins; and what is
 * left, which may be the cases of a switch, or data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code_follow.h"

/* Marks what calls lead to, read from end to end. */
static void mark_called(struct follow *f)
{
	struct x86_parts p;
	uint32_t to;

	for (uint32_t at = 0; at < f->size && rp_work_spend(f->work, 1);) {
		if (!unwind_code_decode(f, at, &p)) {
			at++;
			continue;
		}
		if (!p.vex && p.map == 0 && p.opcode == 0xe8 &&
		    unwind_code_target(f, at, &p, &to) && to != at + p.at)
			f->flags[to] |= CALLED;
		at += p.at;
	}
}

static void mark_pointed(struct follow *f, const struct unwind_starts *starts)
{
	const uint64_t end = f->addr + f->size;

	for (uint64_t at = f->addr; (at = unwind_starts_next(starts, at, end)) < end; at++)
		f->flags[at - f->addr] |= POINTED;
}

/* Where a function may begin: behind padding, at a multiple of 16. */
static uint32_t skip_padding(const struct follow *f, uint32_t at)
{
	struct x86_parts p;

	while (at < f->size && f->state[at] == NO_STATE) {
		if (!f->code[at])
			at++;
		else if (unwind_code_decode(f, at, &p) && unwind_code_is_padding(&p))
			at += p.at;
		else
			break;
	}
	return at;
}

/* Behind what could not be followed: its first jump or return away, or the next multiple of 16. */
static uint32_t skip_unknown(struct follow *f, uint32_t at)
{
	struct x86_parts p;
	bool is_call;

	while (at < f->size && f->state[at] == NO_STATE && !(f->flags[at] & INSIDE) &&
	       rp_work_spend(f->work, 1)) {
		enum insn_flow flow;

		if (!unwind_code_decode(f, at, &p))
			return at + 1;
		flow = rp_x86_flow(&p, &is_call);
		at += p.at;
		if (flow != FLOW_NEXT && flow != FLOW_BRANCH)
			break;
	}
	return at;
}

static uint32_t skip_known(const struct follow *f, uint32_t at)
{
	while (at < f->size && (f->state[at] != NO_STATE || f->flags[at] & INSIDE))
		at++;
	return at;
}

/* How many jumps by a table there are up to @at: they are in order. */
static size_t tables_before(const struct follow *f, uint32_t at)
{
	size_t low = 0, high = f->ntables;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (f->tables[middle].at > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Cases of a switch lie near the jump to them. */
static bool try_tables(struct follow *f, uint32_t at)
{
	uint32_t tried[TABLES], n = 0;
	size_t i = tables_before(f, at), last = i > TABLES_LOOKED_AT ? i - TABLES_LOOKED_AT : 0;

	while (i-- > last && n < TABLES && at - f->tables[i].at < TABLE_REACH) {
		struct unwind_code_state s = *unwind_code_state_of(f, f->tables[i].state);
		uint32_t k = 0;

		while (k < n && tried[k] != f->tables[i].state)
			k++;
		if (k < n)
			continue;
		tried[n++] = f->tables[i].state;
		if (s.bp.from == KNOWN_CFA) /* what returns by rbp shows nothing of rsp */
			s.sp = (struct unwind_known){ 0, KNOWN_NOT };
		if (unwind_code_try(f, at, &s, s.sp.off == -8 ? GUESS : LIKELY, false))
			return true;
	}
	return false;
}

/* The state in which what nothing leads to begins: a function's, or that of a jump by a table. */
static bool try_each(struct follow *f, uint32_t at, bool is_likely)
{
	const struct unwind_code_state entry = unwind_code_entry();
	const bool is_called = f->flags[at] & CALLED;

	if ((is_likely || is_called) &&
	    unwind_code_try(f, at, &entry, is_called ? CALLED_FROM : LIKELY,
			    is_called || unwind_code_is_prologue(f, at)))
		return true;
	if (try_tables(f, at))
		return true;
	return !is_likely && !is_called && unwind_code_try(f, at, &entry, GUESS, false);
}

/* A function's start by where it lies: what is known ends at @start. */
static bool is_aligned(const struct follow *f, uint32_t at, uint32_t start)
{
	return !((f->addr + at) % 16) && (at != start || !start || unwind_code_is_prologue(f, at));
}

/* The first byte from @at on that has the mark; four flags at a time. */
static uint32_t next_marked(const struct follow *f, enum byte_flags mark, uint32_t at)
{
	const uint64_t each = ~0ULL / UINT16_MAX * mark;
	uint64_t four;

	for (; at + 4 <= f->size; at += 4) {
		memcpy(&four, f->flags + at, sizeof(four));
		if (four & each)
			break;
	}
	while (at < f->size && !(f->flags[at] & mark))
		at++;
	return at;
}

static void find_marked(struct follow *f, enum byte_flags mark, enum evidence evidence)
{
	const struct unwind_code_state entry = unwind_code_entry();
	uint32_t at = 0;

	for (; (at = next_marked(f, mark, at)) < f->size && f->work->left && !f->err; at++)
		if (f->state[at] == NO_STATE && !(f->flags[at] & INSIDE))
			unwind_code_try(f, at, &entry, evidence, false);
}

static void find_functions(struct follow *f)
{
	uint32_t at, start;

	find_marked(f, CALLED, CALLED_FROM);
	find_marked(f, POINTED, POINTED_AT);
	for (at = 0; at < f->size && f->work->left && !f->err;) {
		at = skip_known(f, at);
		start = at;
		at = skip_padding(f, at);
		if (at >= f->size || f->state[at] != NO_STATE)
			continue;
		if (!try_each(f, at, is_aligned(f, at, start)))
			at = skip_unknown(f, at);
	}
}

/* What follows a call of a function that was not known to come back when it was met. */
static bool find_returns(struct follow *f)
{
	struct x86_parts p;
	bool is_call, is_new = false;

	for (uint32_t at = 0; at < f->size && f->work->left && !f->err; at++) {
		struct unwind_code_state s;
		uint32_t next;

		if (!(f->flags[at] & SETTLED) || f->flags[at] & NO_RETURN ||
		    !unwind_code_decode(f, at, &p))
			continue;
		next = at + p.at;
		rp_x86_flow(&p, &is_call);
		if (!is_call || next >= f->size || f->state[next] != NO_STATE ||
		    f->flags[next] & INSIDE || !unwind_code_comes_back(f, at, &p))
			continue;
		s = *unwind_code_state_of(f, f->state[at]);
		unwind_code_called(&s,
				   UNWIND_KEPT_BY_CALLS | unwind_code_left_alone(f, at, &p, &s));
		is_new |= unwind_code_try(f, next, &s, LIKELY, true);
	}
	return is_new;
}

/*
 * While a call's function runs, its caller is looked up by the call's last byte. A register has
 * what it had then only if it is left alone; but rbx may be had from where it was saved.
 */
static int tell_call(const struct follow *f, uint32_t at, const struct x86_parts *p,
		     unwind_code_fn *fn, void *ctx)
{
	struct unwind_code_state s = *unwind_code_state_of(f, f->state[at]);
	int err = fn(ctx, f->addr + at, 1, &s);

	unwind_code_called(&s, 1U << X86_BX | unwind_code_left_alone(f, at, p, &s));
	if (unwind_code_rule(&s).kind == UNWIND_NO_ROW)
		s.fp = FP_NOWHERE;
	return err ? err : fn(ctx, f->addr + at + 1, p->at - 1, &s);
}

/* It is a call, and the frame is found by a register. */
static bool is_by_register(const struct follow *f, uint32_t at, struct x86_parts *p)
{
	const struct unwind_code_state *s = unwind_code_state_of(f, f->state[at]);
	bool is_call = false;

	if (s->copy_reg[0] >= 0 && unwind_code_rule(s).kind == UNWIND_REG &&
	    unwind_code_decode(f, at, p))
		rp_x86_flow(p, &is_call);
	return is_call;
}

static int tell(const struct follow *f, unwind_code_fn *fn, void *ctx)
{
	struct x86_parts p;
	int err = f->err;

	for (uint32_t at = 0; at < f->size && !err; at++)
		if (f->state[at] != NO_STATE)
			err = is_by_register(f, at, &p)
				      ? tell_call(f, at, &p, fn, ctx)
				      : fn(ctx, f->addr + at, f->flags[at] & LENGTH,
					   unwind_code_state_of(f, f->state[at]));
	return err;
}

int unwind_code_follow(const uint8_t *code, size_t size, uint64_t addr,
		       const struct unwind_starts *starts, struct rp_work *work, unwind_code_fn *fn,
		       void *ctx)
{
	const struct unwind_code_state first = unwind_code_entry();
	struct follow f = { .code = code,
			    .size = (uint32_t)size,
			    .addr = addr,
			    .work = work,
			    .by_returns = starts->is_memory,
			    .states = HASH_SET(struct unwind_code_state) };
	int err = -ENOMEM;

	if (size > UNWIND_CODE_PIECE)
		return -EFBIG;
	f.flags = calloc(size, sizeof(*f.flags));
	f.state = malloc(size * sizeof(*f.state));
	f.stretch = malloc(size * sizeof(*f.stretch));
	if (f.flags && f.state && f.stretch) {
		memset(f.state, 0xff, size * sizeof(*f.state));
		mark_called(&f);
		mark_pointed(&f, starts);
		if (starts->entry - addr < size)
			unwind_code_try(&f, (uint32_t)(starts->entry - addr), &first, CALLED_FROM,
					true);
		find_functions(&f);
		for (int round = 0; round < ROUNDS && find_returns(&f); round++)
			;
		err = tell(&f, fn, ctx);
	}
	rp_hash_free(&f.states);
	free(f.flags);
	free(f.state);
	free(f.stretch);
	free(f.stretches);
	free(f.tables);
	free(f.ways);
	free(f.after);
	free(f.trail);
	return err;
}
