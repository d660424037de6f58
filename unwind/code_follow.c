/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows code from where functions begin. A function is taken as a whole or not at all: one whose
 * instructions contradict each other, by a return with something left on the stack, by two ways to
 * a place with different stacks, or by what is no instruction, was followed wrongly.
 *
 * A call may never come back, and what is behind it may be anything. So what follows a call, a
 * *stretch*, is followed last, and a contradiction there is the call's fault: the function is
 * followed once more, with a call that does not return. A stretch counts once it is confirmed: it
 * leads to a return, or meets another that is confirmed, with the same stack.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "code_follow.h"

static uint32_t number_of(struct follow *f, const struct unwind_code_state *s)
{
	uint32_t number;
	int err;

	if (f->states.count >= STATES && !rp_hash_find(&f->states, s))
		return NO_STATE;
	err = rp_hash_number(&f->states, s, &number);
	if (err)
		f->err = err;
	return err ? NO_STATE : number;
}

/* ---- ways to be followed */

static void add_way(struct follow *f, uint32_t at, uint32_t state, uint32_t stretch)
{
	const struct way w = { at, state, stretch };
	int err = RP_PUSH(f->ways, f->nways, f->ways_capacity, w);

	if (err)
		f->err = err;
}

/* What follows the call, or what a function begins with: the first stretch. */
static uint32_t add_stretch(struct follow *f, uint32_t call, uint32_t before)
{
	const uint32_t number = (uint32_t)f->nstretches;
	struct stretch s = { .call = call, .before = number ? before : 0, .same_as = number };
	struct x86_parts p;
	int err;

	if (number == STRETCHES) {
		f->work->left = 0;
		return 0;
	}
	if (!number) {
		s.is_confirmed = s.is_sure = f->evidence == LIKELY || f->evidence == CALLED_FROM;
	} else if (unwind_code_decode(f, call, &p)) {
		s.is_sure = f->stretches[before].is_sure && unwind_code_comes_back(f, call, &p);
		s.is_confirmed = s.is_sure;
	}
	err = RP_PUSH(f->stretches, f->nstretches, f->stretches_capacity, s);
	if (err)
		f->err = err;
	return number;
}

static void add_after(struct follow *f, uint32_t at, uint32_t state, uint32_t stretch)
{
	const struct way w = { at, state, stretch };
	size_t i = f->nafter;
	int err = RP_PUSH(f->after, f->nafter, f->after_capacity, w);

	if (err) {
		f->err = err;
		return;
	}
	for (; i && f->after[(i - 1) / 2].at > at; i = (i - 1) / 2)
		f->after[i] = f->after[(i - 1) / 2];
	f->after[i] = w;
}

static struct way take_after(struct follow *f)
{
	const struct way first = f->after[0], last = f->after[--f->nafter];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < f->nafter) {
		if (child + 1 < f->nafter && f->after[child + 1].at < f->after[child].at)
			child++;
		if (f->after[child].at >= last.at)
			break;
		f->after[i] = f->after[child];
		i = child;
	}
	f->after[i] = last;
	return first;
}

/* ---- stretches */

static uint32_t same_stretch(struct follow *f, uint32_t number)
{
	struct stretch *s = f->stretches;

	while (s[number].same_as != number)
		number = s[number].same_as = s[s[number].same_as].same_as;
	return number;
}

static void confirm(struct follow *f, uint32_t number)
{
	f->stretches[same_stretch(f, number)].is_confirmed = true;
	f->is_confirmed = true;
}

static void join_stretches(struct follow *f, uint32_t a, uint32_t b)
{
	struct stretch *s = f->stretches;

	a = same_stretch(f, a);
	b = same_stretch(f, b);
	s[b].is_confirmed |= s[a].is_confirmed;
	s[a].same_as = b;
}

/* The call before a stretch that is confirmed has returned: so is that which it is in. */
static void confirm_all(struct follow *f)
{
	bool is_new = true;

	for (int round = 0; round < ROUNDS && is_new; round++) {
		is_new = false;
		for (size_t i = f->nstretches; i--;) {
			const uint32_t before = same_stretch(f, f->stretches[i].before);

			if (f->stretches[before].is_confirmed ||
			    !f->stretches[same_stretch(f, (uint32_t)i)].is_confirmed)
				continue;
			f->stretches[before].is_confirmed = is_new = true;
		}
	}
}

/* ---- one instruction */

enum outcome { GO_ON, END_OF_WAY, CONTRADICTION };

/* Bytes of the instruction at @at are no other's. */
static bool claim(struct follow *f, uint32_t at, uint32_t len)
{
	for (uint32_t i = 1; i < len; i++)
		if (f->state[at + i] != NO_STATE || f->flags[at + i] & INSIDE)
			return false;
	f->flags[at] = (uint16_t)((f->flags[at] & ~LENGTH) | len);
	for (uint32_t i = 1; i < len; i++)
		f->flags[at + i] |= INSIDE;
	return true;
}

enum agreement { AGREE, DIFFER, NO_WORD };

static enum agreement compare(struct unwind_known a, struct unwind_known b)
{
	if (a.from == KNOWN_NOT || b.from == KNOWN_NOT)
		return NO_WORD;
	return a.from == b.from && a.off == b.off ? AGREE : DIFFER;
}

static enum agreement compare_stacks(const struct unwind_code_state *a,
				     const struct unwind_code_state *b)
{
	const enum agreement sp = compare(a->sp, b->sp), bp = compare(a->bp, b->bp);

	return sp == DIFFER || bp == DIFFER ? DIFFER : sp == AGREE ? AGREE : bp;
}

/* The way w comes to where another was: which stretch should not be? 0: that is no reason. */
static uint32_t whose_fault(const struct follow *f, const struct way *w)
{
	const uint32_t other = f->stretch[w->at];

	if (other == w->stretch)
		return 0;
	if (!other || !w->stretch)
		return other ? other : w->stretch;
	/* What follows it at once is where it goes wrong. */
	return w->at - f->stretches[other].call < w->at - f->stretches[w->stretch].call
		       ? other
		       : w->stretch;
}

/* Joins what is known at w->at already. *fault: see whose_fault(). */
static enum outcome join(struct follow *f, struct way *w, uint32_t *fault)
{
	const struct unwind_code_state *old = unwind_code_state_of(f, f->state[w->at]),
				       *new = unwind_code_state_of(f, w->state);
	const enum agreement agree = compare_stacks(old, new);
	struct unwind_code_state m;
	uint32_t number;

	if (f->flags[w->at] & SETTLED) {
		if (agree == AGREE)
			confirm(f, w->stretch);
		return agree == DIFFER || (agree == NO_WORD && f->evidence == GUESS) ? CONTRADICTION
										     : END_OF_WAY;
	}
	if (agree == DIFFER) {
		*fault = whose_fault(f, w);
		if (*fault)
			return CONTRADICTION;
	} else if (agree == AGREE) {
		join_stretches(f, w->stretch, f->stretch[w->at]);
	}
	if (f->state[w->at] == w->state)
		return END_OF_WAY;
	m = unwind_code_meet(old, new);
	number = number_of(f, &m);
	if (number == NO_STATE)
		return CONTRADICTION;
	if (number == f->state[w->at])
		return END_OF_WAY;
	f->state[w->at] = (uint16_t)number;
	w->state = number;
	return GO_ON;
}

static bool begins_function(const struct unwind_code_state *s)
{
	return s->sp.from == KNOWN_NOT || (s->sp.from == KNOWN_CFA && s->sp.off == -8);
}

static enum outcome arrive(struct follow *f, struct way *w, struct x86_parts *p, uint32_t *fault)
{
	*fault = w->stretch;
	if (!rp_work_spend(f->work, 1) || f->err)
		return CONTRADICTION;
	if (f->flags[w->at] & INSIDE)
		return CONTRADICTION;
	if (f->flags[w->at] & CALLED && !begins_function(unwind_code_state_of(f, w->state)))
		return CONTRADICTION;
	if (f->state[w->at] != NO_STATE) {
		const enum outcome o = join(f, w, fault);

		if (o != GO_ON)
			return o;
		return unwind_code_decode(f, w->at, p) ? GO_ON : CONTRADICTION;
	}
	if (!unwind_code_decode(f, w->at, p) || !claim(f, w->at, p->at))
		return CONTRADICTION;
	f->state[w->at] = (uint16_t)w->state;
	f->stretch[w->at] = (uint16_t)w->stretch;
	f->err = RP_PUSH(f->trail, f->ntrail, f->trail_capacity, w->at);
	return f->err ? CONTRADICTION : GO_ON;
}

/* To another function, which begins with what is on the stack now: so may what is guessed. */
static void leave(struct follow *f, const struct way *w, const struct unwind_code_state *s)
{
	if (!f->by_returns && (f->evidence == LIKELY || f->evidence == CALLED_FROM) &&
	    unwind_code_may_return(s))
		confirm(f, w->stretch);
}

static void note_table(struct follow *f, const struct way *w)
{
	size_t i = f->ntables;

	if (i == TABLES_MAX || unwind_code_state_of(f, w->state)->sp.from != KNOWN_CFA ||
	    RP_PUSH(f->tables, f->ntables, f->tables_capacity, *w))
		return;
	for (; i && f->tables[i - 1].at > w->at; i--)
		f->tables[i] = f->tables[i - 1];
	f->tables[i] = *w;
}

/* All that the function does is to jump to one that it was given: "jmp *%rdx". */
static bool is_only_a_jump(const struct follow *f, const struct way *w, const struct x86_parts *p)
{
	const uint32_t arguments =
		1u << X86_DI | 1u << X86_SI | 1u << X86_DX | 1u << X86_CX | 3u << 8;

	return w->at == f->trail[0] && rp_x86_rm_is_register(p) && arguments >> rp_x86_rm(p) & 1;
}

/*
 * A jump by a table of distances, "movslq (%rdx, %rax, 4), %rax; add %rdx, %rax; jmp *%rax": no
 * address leads to what is reached so. What has one, and jumps so, is a function then, and not a
 * block of an interpreter.
 */
static bool is_by_distance(const struct follow *f, const struct way *w, const struct x86_parts *p)
{
	enum { MOVSLQ = 0x63, BY_SIB = 4, TIMES_4 = 2, LOOKED_AT = 64 };

	for (size_t i = 0; i < f->ntrail && i < LOOKED_AT && f->trail[i] < w->at; i++) {
		struct x86_parts q;

		if (unwind_code_decode(f, f->trail[i], &q) && !q.vex && !q.map &&
		    q.opcode == MOVSLQ && !rp_x86_rm_is_register(&q) && (q.modrm & 7) == BY_SIB &&
		    q.sib >> 6 == TIMES_4 && rp_x86_reg(&q) == rp_x86_rm(p))
			return rp_x86_rm_is_register(p);
	}
	return false;
}

/*
 * The target of a jump, in this piece of code; else false. One over the prefix "lock" leads to the
 * same instruction, as far as the stack goes.
 */
bool unwind_code_target(const struct follow *f, uint32_t at, const struct x86_parts *p,
			uint32_t *to)
{
	enum { LOCK = 0xf0 };
	int64_t target = at + rp_x86_target(p);

	if (target == at + (int64_t)p->at + 1 && target <= f->size && f->code[target - 1] == LOCK)
		target--;
	*to = (uint32_t)target;
	return target >= 0 && target < f->size;
}

bool unwind_code_is_padding(const struct x86_parts *p)
{
	if (p->vex || p->lock)
		return false;
	if (p->map == 1)
		return p->opcode == 0x1f;
	return p->map == 0 && (p->opcode == 0xcc || (p->opcode == 0x90 && !(p->rex & REX_B)));
}

bool unwind_code_is_prologue(const struct follow *f, uint32_t at)
{
	struct x86_parts p;
	int reg;

	if (unwind_code_decode(f, at, &p) && p.map == 1 && p.opcode == 0x1e && p.f3 &&
	    p.modrm == 0xfa)
		at += p.at; /* endbr64 */
	if (at >= f->size || !unwind_code_decode(f, at, &p) || p.map || p.vex || p.p66 ||
	    (p.opcode & 0xf8) != 0x50)
		return false;
	reg = (p.opcode & 7) | (p.rex & REX_B ? 8 : 0);
	return reg == X86_BX || reg == X86_BP || reg >= 12;
}

/*
 * The function that is called comes back, as some that are called by name do not: by a pointer that
 * is not of the linker's making, or one that was followed to its return.
 */
bool unwind_code_comes_back(const struct follow *f, uint32_t at, const struct x86_parts *p)
{
	const uint32_t next = at + p->at;
	struct x86_parts after;
	uint32_t to;

	/* Behind a function's end there is another function, or padding before it. */
	if (next >= f->size || !unwind_code_decode(f, next, &after) ||
	    unwind_code_is_padding(&after) ||
	    ((f->addr + next) % 16 == 0 && unwind_code_is_prologue(f, next)))
		return false;
	if (p->opcode == 0xff)
		return (p->modrm & 0xc7) != 5;
	return unwind_code_target(f, at, p, &to) && f->flags[to] & RETURNS;
}

/* Functions that are called from here may use rbp as they like. */
static bool is_return_wrong(const struct follow *f, const struct unwind_code_state *s)
{
	if (f->evidence < POINTED_AT && s->sp.from == KNOWN_CFA && s->fp == FP_GONE)
		return true;
	return s->fp != FP_OUTERMOST && s->sp.from == KNOWN_CFA &&
	       (s->sp.off != -8 || s->fp == FP_SAVED);
}

/*
 * Behind a loop that compares the stack pointer with a register, they are equal: GCC touches each
 * page of a large frame so. False: they are not yet, and control does not come there.
 */
static bool after_branch(struct unwind_code_state *s, const struct x86_parts *p)
{
	const bool is_jne = p->opcode == (p->map ? 0x85 : 0x75);
	struct unwind_known end;

	if (is_jne && s->compared) {
		end = s->copy[s->compared - 1];
		if (s->sp.from == end.from && s->sp.off != end.off)
			return false;
		s->sp = end;
	}
	s->compared = 0;
	return true;
}

static enum outcome go_to(struct follow *f, struct way *w, uint32_t to,
			  const struct unwind_code_state *s)
{
	/* Most instructions change nothing of it. */
	const bool is_same = !memcmp(s, unwind_code_state_of(f, w->state), sizeof(*s));
	const uint32_t number = is_same ? w->state : number_of(f, s);

	if (number == NO_STATE)
		return CONTRADICTION;
	w->at = to;
	w->state = number;
	return GO_ON;
}

/* From the instruction at w->at to the next; other ways from there are kept for later. */
static enum outcome pass(struct follow *f, struct way *w, const struct x86_parts *p)
{
	struct unwind_code_state s = *unwind_code_state_of(f, w->state), before;
	const uint32_t next = w->at + p->at;
	enum outcome o;
	bool is_call;
	uint32_t to;
	const enum insn_flow flow = rp_x86_flow(p, &is_call);

	if (is_call && unwind_code_target(f, w->at, p, &to) && to == next && p->opcode == 0xe8) {
		s.sp.off -= s.sp.from == KNOWN_NOT ? 0 : 8; /* to learn its own address */
		is_call = false;
	} else if (is_call) {
		/* The ABI has it at a multiple of 16, and compilers do. */
		if (f->evidence < POINTED_AT && s.sp.from == KNOWN_CFA && s.sp.off % 16)
			return CONTRADICTION;
		unwind_code_called(&s,
				   UNWIND_KEPT_BY_CALLS | unwind_code_left_alone(f, w->at, p, &s));
		o = go_to(f, w, next, &s);
		/* Where a guess is a call's, it may be of what another function begins with. */
		if (o == GO_ON && next < f->size && f->evidence != GUESS &&
		    !(f->flags[next - p->at] & NO_RETURN))
			add_after(f, next, w->state, add_stretch(f, next - p->at, w->stretch));
		return o == GO_ON ? END_OF_WAY : o;
	} else if (flow == FLOW_NEXT && !unwind_code_step(&s, p)) {
		return CONTRADICTION;
	}
	switch (flow) {
	case FLOW_BRANCH:
		before = s;
		s.compared = 0;
		if (!unwind_code_target(f, w->at, p, &to))
			leave(f, w, &s);
		else if ((o = go_to(f, w, to, &s)) != GO_ON)
			return o;
		else
			add_way(f, w->at, w->state, w->stretch);
		s = before;
		if (!after_branch(&s, p))
			return END_OF_WAY;
		break;
	case FLOW_JUMP:
		if (unwind_code_target(f, w->at, p, &to))
			return go_to(f, w, to, &s);
		leave(f, w, &s);
		return END_OF_WAY;
	case FLOW_TABLE:
		if (is_only_a_jump(f, w, p) && unwind_code_may_return(&s))
			confirm(f, w->stretch);
		else
			note_table(f, w);
		if (f->flags[f->trail[0]] & POINTED && is_by_distance(f, w, p))
			leave(f, w, &s);
		return END_OF_WAY;
	case FLOW_AWAY:
		leave(f, w, &s);
		return END_OF_WAY;
	case FLOW_RETURN:
		if (unwind_code_may_return(&s)) {
			f->has_returned = true;
			confirm(f, w->stretch);
		}
		return is_return_wrong(f, &s) ? CONTRADICTION : END_OF_WAY;
	case FLOW_STOP:
		return END_OF_WAY;
	case FLOW_NEXT:
		break;
	}
	return next < f->size ? go_to(f, w, next, &s) : CONTRADICTION;
}

/* ---- one function */

static bool follow_way(struct follow *f, struct way w, uint32_t *fault)
{
	struct x86_parts p;
	enum outcome o;

	do {
		o = arrive(f, &w, &p, fault);
		if (o == GO_ON) {
			*fault = w.stretch;
			o = pass(f, &w, &p);
		}
	} while (o == GO_ON);
	return o == END_OF_WAY;
}

static void undo_one(struct follow *f, uint32_t at)
{
	const uint32_t len = f->flags[at] & LENGTH;

	f->state[at] = NO_STATE;
	f->flags[at] &= ~LENGTH;
	for (uint32_t k = 1; k < len; k++)
		f->flags[at + k] &= ~INSIDE;
}

static void undo(struct follow *f)
{
	for (size_t i = 0; i < f->ntrail; i++)
		undo_one(f, f->trail[i]);
	f->ntrail = 0;
}

/* What was confirmed is there to stay. */
static void settle(struct follow *f)
{
	for (size_t i = 0; i < f->ntrail; i++) {
		const uint32_t at = f->trail[i];

		if (f->stretches[same_stretch(f, f->stretch[at])].is_confirmed)
			f->flags[at] |= SETTLED;
		else
			undo_one(f, at);
	}
	f->ntrail = 0;
}

static bool follow_all(struct follow *f, uint32_t at, uint32_t state, uint32_t *fault)
{
	f->nways = f->nafter = f->nstretches = 0;
	f->is_confirmed = false;
	f->has_returned = false;
	add_stretch(f, NONE, 0);
	add_way(f, at, state, 0);
	while ((f->nways || f->nafter) && !f->err) {
		const struct way w = f->nways ? f->ways[--f->nways] : take_after(f);

		if (!follow_way(f, w, fault))
			return false;
	}
	return !f->err;
}

bool unwind_code_try(struct follow *f, uint32_t at, const struct unwind_code_state *s,
		     enum evidence evidence, bool is_certain)
{
	const uint32_t state = number_of(f, s);
	uint32_t fault;

	f->evidence = evidence;
	for (int i = 0; i < TRIES && state != NO_STATE; i++) {
		fault = 0;
		if (follow_all(f, at, state, &fault)) {
			confirm_all(f);
			if (f->evidence == GUESS || f->evidence == POINTED_AT
				    ? !f->stretches[same_stretch(f, 0)].is_confirmed
				    : !f->is_confirmed && !is_certain)
				break;
			if (f->has_returned && f->flags[at] & CALLED)
				f->flags[at] |= RETURNS;
			settle(f);
			return true;
		}
		if (!fault || f->err || !f->work->left)
			break;
		undo(f);
		f->flags[f->stretches[fault].call] |= NO_RETURN;
	}
	undo(f);
	return false;
}
