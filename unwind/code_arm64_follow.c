/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows arm64 code from where functions begin. As for x86-64 (code_follow.c), a function is taken
 * as a whole or not at all, and a call may never come back. But here an instruction is a word, so
 * that nothing is read from its middle; and what was followed is there again for a second look:
 * from its ends, which are returns with the stack as it was, back to what leads to them. What leads
 * to none of them was not code of this function, unless it comes before all calls.
 */
#include "base/grow.h"
#include "code_arm64_follow.h"

enum { SMALL = 16 }; /* words of a function that only goes on by a pointer, at most */

static uint16_t number_of(struct arm64_follow *f, const struct unwind_arm64_state *s)
{
	uint32_t number;
	int err;

	if (f->states.count >= STATES && !rp_hash_find(&f->states, s))
		return NO_STATE;
	err = rp_hash_number(&f->states, s, &number);
	if (err)
		f->err = err;
	return err ? NO_STATE : (uint16_t)number;
}

/* They have the same stack, and know where the return address is. */
static bool agrees(const struct unwind_arm64_state *a, const struct unwind_arm64_state *b)
{
	return a->sp == b->sp && a->sp != UNWIND_ARM64_UNKNOWN && a->ra_at == b->ra_at &&
	       (a->ra_at != UNWIND_ARM64_UNKNOWN || (a->ra_reg == b->ra_reg && a->ra_reg >= 0));
}

static bool differ(int32_t a, int32_t b)
{
	return a != b && a != UNWIND_ARM64_UNKNOWN && b != UNWIND_ARM64_UNKNOWN;
}

/* Two ways to @to have different stacks: which call does not come back? NONE: that is no reason. */
static uint32_t blame(struct arm64_follow *f, uint32_t to, uint32_t call)
{
	const uint32_t other = f->call[to];

	if (other == call)
		return NONE;
	/* What follows it at once is where it goes wrong. */
	if (call == NONE || (other != NONE && other > call && other < to))
		f->fault = other;
	return f->fault;
}

/* Control comes from @from, NONE: from outside, to @to, in @s. False: a contradiction. */
static bool arrive(struct arm64_follow *f, uint32_t from, uint32_t to,
		   const struct unwind_arm64_state *s, bool is_behind_call)
{
	const uint32_t call = is_behind_call ? from : from == NONE ? NONE : f->call[from];
	struct unwind_arm64_state m = *s;
	uint16_t number;

	f->fault = call;
	if (to >= f->size)
		return false;
	if (f->flags[to] & CALLED && s->sp && s->sp != UNWIND_ARM64_UNKNOWN)
		return false;
	if (f->state[to] != NO_STATE) {
		const struct unwind_arm64_state *old = unwind_arm64_state_at(f, to);

		if (differ(old->sp, s->sp) &&
		    (f->flags[to] & SETTLED || blame(f, to, call) != NONE))
			return false;
		if (f->flags[to] & SETTLED) {
			if (from != NONE && agrees(old, s))
				f->flags[from] |= LEADS_ON;
			return f->evidence != GUESS || agrees(old, s);
		}
		m = unwind_arm64_meet(old, s);
	}
	number = number_of(f, &m);
	if (number == NO_STATE)
		return false;
	if (number == f->state[to])
		return true;
	if (f->state[to] == NO_STATE) {
		f->call[to] = call;
		f->err = RP_PUSH(f->trail, f->ntrail, f->trail_capacity, to);
	}
	f->state[to] = number;
	if (!f->err)
		f->err = is_behind_call ? RP_PUSH(f->after, f->nafter, f->after_capacity, to)
					: RP_PUSH(f->ways, f->nways, f->ways_capacity, to);
	return !f->err;
}

/*
 * Behind a loop that compares the stack pointer with a register, they are equal: compilers touch
 * each page of a large frame so.
 */
static bool after_branch(struct unwind_arm64_state *s, uint32_t w)
{
	const bool is_ne = (w & 0xff00001f) == 0x54000001;

	if (is_ne && s->is_compared) {
		if (s->copy > 0 || (s->sp != UNWIND_ARM64_UNKNOWN && s->sp != s->copy))
			return false;
		s->sp = s->copy;
	}
	s->is_compared = false;
	return true;
}

static bool uses_frame(uint32_t w)
{
	const bool is_memory = (w & 0x0a000000) == 0x08000000;
	const uint32_t base = w >> 5 & 31;

	return is_memory && (base == ARM64_SP || base == ARM64_FP);
}

/*
 * From word @i straight on to a jump by a register, without a look at the frame: so a small
 * function goes on by a pointer. No return shows that it has no frame, as it would of others.
 */
static bool goes_on_by_pointer(const struct arm64_follow *f, uint32_t i)
{
	const uint32_t end = f->size - i > SMALL ? i + SMALL : f->size;
	bool is_call;

	for (; i < end; i++) {
		const uint32_t w = unwind_arm64_word(f, i);
		const enum insn_flow flow = rp_arm64_flow(w, &is_call);

		if (flow != FLOW_NEXT || is_call || uses_frame(w))
			return flow == FLOW_TABLE;
	}
	return false;
}

/* A function ends before word @i: there another one begins, maybe behind padding. */
static bool begins_another(const struct arm64_follow *f, uint32_t i)
{
	const uint32_t from = i;

	while (i < f->size && unwind_arm64_is_padding(unwind_arm64_word(f, i)))
		if (!unwind_arm64_word(f, i++))
			return true;
	return i == f->size || f->flags[i] & (CALLED | POINTED) ||
	       (i > from &&
		(unwind_arm64_is_prologue(unwind_arm64_word(f, i)) || goes_on_by_pointer(f, i)));
}

static bool pass_call(struct arm64_follow *f, uint32_t i, uint32_t w, struct unwind_arm64_state *s)
{
	uint32_t to;

	if (unwind_arm64_target(f, i, w, &to) && to == i + 1) /* to learn its own address */
		return unwind_arm64_step(s, w) && arrive(f, i, to, s, false);
	unwind_arm64_called(s);
	if (s->ra_at == UNWIND_ARM64_UNKNOWN && s->ra_reg < 0 && f->evidence != CERTAIN)
		return false;
	if (f->flags[i] & NO_RETURN || begins_another(f, i + 1))
		return true;
	return arrive(f, i, i + 1, s, true);
}

/* ret; and retaa, retab, which name none. */
static uint32_t returns_by(uint32_t w)
{
	const uint32_t reg = w >> 5 & 31;

	return reg == 31 ? ARM64_LR : reg;
}

/* A return with something left on the stack shows that it was followed wrongly. */
static bool is_return_right(const struct unwind_arm64_state *s, uint32_t w)
{
	return s->sp == UNWIND_ARM64_UNKNOWN || unwind_arm64_may_return(s, returns_by(w));
}

/* From the word at @i to where control goes. False: a contradiction. */
static bool pass(struct arm64_follow *f, uint32_t i)
{
	struct unwind_arm64_state s = *unwind_arm64_state_at(f, i), there;
	const uint32_t w = unwind_arm64_word(f, i);
	bool is_call;
	const enum insn_flow flow = rp_arm64_flow(w, &is_call);
	uint32_t to;

	f->fault = f->call[i];
	if (is_call)
		return pass_call(f, i, w, &s);
	switch (flow) {
	case FLOW_NEXT:
		return unwind_arm64_step(&s, w) && arrive(f, i, i + 1, &s, false);
	case FLOW_BRANCH:
		there = s;
		there.is_compared = false;
		if (unwind_arm64_target(f, i, w, &to) && !arrive(f, i, to, &there, false))
			return false;
		return !after_branch(&s, w) || arrive(f, i, i + 1, &s, false);
	case FLOW_JUMP:
		return !unwind_arm64_target(f, i, w, &to) || arrive(f, i, to, &s, false);
	case FLOW_RETURN:
		return is_return_right(&s, w);
	default:
		return true;
	}
}

static bool follow_all(struct arm64_follow *f)
{
	while ((f->nways || f->nafter) && !f->err) {
		const uint32_t i = f->nways ? f->ways[--f->nways] : f->after[--f->nafter];

		f->fault = NONE;
		if (!rp_work_spend(f->work, 1) || !pass(f, i))
			return false;
	}
	return !f->err;
}

static void undo(struct arm64_follow *f)
{
	for (size_t k = 0; k < f->ntrail; k++) {
		f->state[f->trail[k]] = NO_STATE;
		f->flags[f->trail[k]] &= (uint8_t)~LEADS_ON;
	}
	f->ntrail = f->nways = f->nafter = 0;
}

/* ---- the second look */

/* Where control goes from word @i within what was followed: at most two; NONE: no other. */
static void next_of(const struct arm64_follow *f, uint32_t i, uint32_t next[2])
{
	const uint32_t w = unwind_arm64_word(f, i);
	bool is_call;
	const enum insn_flow flow = rp_arm64_flow(w, &is_call);
	const bool goes_on = flow == FLOW_NEXT || flow == FLOW_BRANCH;

	next[0] = goes_on && i + 1 < f->size && f->state[i + 1] != NO_STATE &&
				  !(is_call && f->flags[i] & NO_RETURN)
			  ? i + 1
			  : NONE;
	if ((flow != FLOW_BRANCH && flow != FLOW_JUMP) || !unwind_arm64_target(f, i, w, &next[1]) ||
	    f->state[next[1]] == NO_STATE)
		next[1] = NONE;
}

/* It returns, or goes on in another function, with a whole stack. */
static bool is_end(const struct arm64_follow *f, uint32_t i)
{
	const struct unwind_arm64_state *s = unwind_arm64_state_at(f, i);
	const bool is_called = f->evidence == CERTAIN || f->flags[f->trail[0]] & CALLED;
	const uint32_t w = unwind_arm64_word(f, i);
	bool is_call;
	uint32_t to;

	switch (rp_arm64_flow(w, &is_call)) {
	case FLOW_RETURN:
		return unwind_arm64_may_return(s, returns_by(w));
	case FLOW_JUMP:
		return !unwind_arm64_target(f, i, w, &to) && f->evidence != GUESS &&
		       unwind_arm64_may_return(s, ARM64_LR);
	case FLOW_TABLE:
		/*
		 * Who has stored the return address was called. Else it may be an interpreter's
		 * code for an instruction, to which a table points, and which goes on by another.
		 */
		return f->evidence != GUESS &&
		       (s->ra_at != UNWIND_ARM64_UNKNOWN ||
			(is_called && unwind_arm64_may_return(s, ARM64_LR)));
	default:
		return false;
	}
}

static void mark_what_leads_on(struct arm64_follow *f)
{
	bool is_new = true;

	for (int round = 0; round < ROUNDS && is_new; round++) {
		is_new = false;
		for (size_t k = f->ntrail; k--;) {
			const uint32_t i = f->trail[k];
			uint32_t next[2];
			bool leads_on = is_end(f, i);

			if (f->flags[i] & LEADS_ON)
				continue;
			next_of(f, i, next);
			for (int n = 0; n < 2; n++)
				leads_on |= next[n] != NONE && f->flags[next[n]] & LEADS_ON;
			if (leads_on) {
				f->flags[i] |= LEADS_ON;
				is_new = true;
			}
		}
	}
}

static bool is_behind_call(const struct arm64_follow *f, uint32_t i, uint32_t next)
{
	bool is_call;

	rp_arm64_flow(unwind_arm64_word(f, i), &is_call);
	return is_call && next == i + 1;
}

static void mark_what_is_reached(struct arm64_follow *f)
{
	f->nways = 0;
	f->flags[f->trail[0]] |= REACHED;
	f->err = RP_PUSH(f->ways, f->nways, f->ways_capacity, f->trail[0]);
	while (f->nways && !f->err) {
		const uint32_t i = f->ways[--f->nways];
		uint32_t next[2];

		next_of(f, i, next);
		for (int n = 0; n < 2 && !f->err; n++) {
			if (next[n] == NONE || f->flags[next[n]] & (REACHED | SETTLED) ||
			    (is_behind_call(f, i, next[n]) && !(f->flags[next[n]] & LEADS_ON)))
				continue;
			f->flags[next[n]] |= REACHED;
			f->err = RP_PUSH(f->ways, f->nways, f->ways_capacity, next[n]);
		}
	}
	f->nways = 0;
}

static void note_table(struct arm64_follow *f, uint32_t i)
{
	bool is_call;

	if (rp_arm64_flow(unwind_arm64_word(f, i), &is_call) == FLOW_TABLE &&
	    unwind_arm64_state_at(f, i)->sp && f->ntables < TABLES_MAX && !f->err)
		f->err = RP_PUSH(f->tables, f->ntables, f->tables_capacity, i);
}

/* What was reached is there to stay. */
static void settle(struct arm64_follow *f)
{
	for (size_t k = 0; k < f->ntrail; k++) {
		const uint32_t i = f->trail[k];

		if (f->flags[i] & REACHED) {
			f->flags[i] |= SETTLED;
			note_table(f, i);
		} else {
			f->state[i] = NO_STATE;
		}
		f->flags[i] &= (uint8_t) ~(REACHED | LEADS_ON);
	}
	f->ntrail = 0;
}

/* Whoever comes by these calls another way has another reason for what they do. */
static void forget_calls(struct arm64_follow *f, const uint32_t *calls, int n)
{
	while (n--)
		f->flags[calls[n]] &= (uint8_t)~NO_RETURN;
}

bool unwind_arm64_try(struct arm64_follow *f, uint32_t at, const struct unwind_arm64_state *s,
		      enum evidence evidence)
{
	uint32_t calls[TRIES];
	int n = 0;

	f->evidence = evidence;
	while (f->state[at] == NO_STATE) {
		f->ntrail = f->nways = f->nafter = 0;
		if (arrive(f, NONE, at, s, false) && follow_all(f)) {
			mark_what_leads_on(f);
			if (!(f->flags[at] & LEADS_ON) && evidence != CERTAIN)
				break;
			mark_what_is_reached(f);
			settle(f);
			return true;
		}
		undo(f);
		if (f->fault == NONE || f->err || !f->work->left || n == TRIES)
			break;
		calls[n++] = f->fault;
		f->flags[f->fault] |= NO_RETURN;
	}
	undo(f);
	forget_calls(f, calls, n);
	return false;
}
