/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows arm64 code from where functions begin. As for x86-64 (code_follow.c), a function is taken
 * as a whole or not at all, and a call may never come back. But here an instruction is a word, so
 * that nothing is read from its middle; and what was followed is there again for a second look:
 * from its ends, which are returns with the stack as it was, back to what leads to them. What leads
 * to none of them was not code of this function, unless it comes before all calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "code.h"
#include "code_arm64.h"

enum {
	NONE = UINT32_MAX,
	NO_STATE = UINT16_MAX,
	STATES = UINT16_MAX, /* different ones in a piece of code */
	TRIES = 64,	     /* calls of a function that do not return, beyond which it is let be */
	ROUNDS = 16,	     /* over a function, until nothing is new */
	TABLES_MAX = 4096,
	TABLE_REACH = 16384, /* words from a jump by a table to what it may lead to */
};

/* Of each word. */
enum word_flags {
	CALLED = 1,    /* a call leads here */
	POINTED = 2,   /* something else in the file does */
	SETTLED = 4,   /* it is of a function that was taken */
	NO_RETURN = 8, /* a call that does not come back */
	LEADS_ON = 16, /* to an end of the function that is as it should be; while it is followed */
	REACHED = 32,  /* from its start, over calls that come back; the same */
};

/* That the function at hand begins where it is said to begin. */
enum evidence {
	GUESS,	/* a case of a switch, maybe */
	LIKELY, /* by where it lies, or because something points there */
	CERTAIN,
};

struct follow {
	const uint8_t *code;
	uint32_t size; /* words */
	uint64_t addr;
	struct rp_work *work;
	struct hash_map states; /* set of struct unwind_arm64_state */
	uint8_t *flags;
	uint16_t *state; /* number in states */
	uint32_t *call;	 /* the last call on the way to it, NONE */
	uint32_t *ways;	 /* to be followed */
	size_t nways, ways_capacity;
	uint32_t *after; /* what follows calls: later */
	size_t nafter, after_capacity;
	uint32_t *trail; /* words of the function at hand */
	size_t ntrail, trail_capacity;
	uint32_t *tables; /* jumps by tables */
	size_t ntables, tables_capacity;
	enum evidence evidence;
	uint32_t fault; /* the call whose return would be a contradiction, NONE */
	int err;
};

/* ---- words and states */

static uint32_t word_at(const struct follow *f, uint32_t i)
{
	uint32_t w;

	memcpy(&w, f->code + ARM64_BYTES * (size_t)i, sizeof(w));
	return w;
}

static const struct unwind_arm64_state *state_at(const struct follow *f, uint32_t i)
{
	return (const struct unwind_arm64_state *)f->states.items + f->state[i];
}

static uint16_t number_of(struct follow *f, const struct unwind_arm64_state *s)
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

/* The target of a jump or call, in this piece of code; else false. */
static bool target_of(const struct follow *f, uint32_t i, uint32_t w, uint32_t *to)
{
	const int64_t target = i + (int64_t)rp_arm64_target(w) / ARM64_BYTES;

	*to = (uint32_t)target;
	return target != i && target >= 0 && target < f->size;
}

static bool is_padding(uint32_t w)
{
	return !w || w == 0xd503201f; /* nop */
}

/* paciasp, bti c; a frame record, or another part of the stack, is taken. */
static bool is_prologue(uint32_t w)
{
	return w == 0xd503233f || w == 0xd503245f || (w & 0xffc07fff) == 0xa9807bfd ||
	       (w & 0xff8003ff) == 0xd10003ff;
}

/* ---- one function */

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
static uint32_t blame(struct follow *f, uint32_t to, uint32_t call)
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
static bool arrive(struct follow *f, uint32_t from, uint32_t to, const struct unwind_arm64_state *s,
		   bool is_behind_call)
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
		const struct unwind_arm64_state *old = state_at(f, to);

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
		if (s->sp != UNWIND_ARM64_UNKNOWN && s->sp != s->copy)
			return false;
		s->sp = s->copy;
	}
	s->is_compared = false;
	return true;
}

static bool pass_call(struct follow *f, uint32_t i, uint32_t w, struct unwind_arm64_state *s)
{
	uint32_t to;

	if (target_of(f, i, w, &to) && to == i + 1) /* to learn its own address */
		return unwind_arm64_step(s, w) && arrive(f, i, to, s, false);
	unwind_arm64_called(s);
	if (s->ra_at == UNWIND_ARM64_UNKNOWN && s->ra_reg < 0 && f->evidence != CERTAIN)
		return false;
	if (f->flags[i] & NO_RETURN || i + 1 == f->size || is_padding(word_at(f, i + 1)) ||
	    f->flags[i + 1] & (CALLED | POINTED))
		return true;
	return arrive(f, i, i + 1, s, true);
}

/* A return with something left on the stack shows that it was followed wrongly. */
static bool is_return_right(const struct unwind_arm64_state *s, uint32_t w)
{
	return s->sp == UNWIND_ARM64_UNKNOWN || unwind_arm64_may_return(s, w >> 5 & 31);
}

/* From the word at @i to where control goes. False: a contradiction. */
static bool pass(struct follow *f, uint32_t i)
{
	struct unwind_arm64_state s = *state_at(f, i), there;
	const uint32_t w = word_at(f, i);
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
		if (target_of(f, i, w, &to) && !arrive(f, i, to, &there, false))
			return false;
		return !after_branch(&s, w) || arrive(f, i, i + 1, &s, false);
	case FLOW_JUMP:
		return !target_of(f, i, w, &to) || arrive(f, i, to, &s, false);
	case FLOW_RETURN:
		return is_return_right(&s, w);
	default:
		return true;
	}
}

static bool follow_all(struct follow *f)
{
	while ((f->nways || f->nafter) && !f->err) {
		const uint32_t i = f->nways ? f->ways[--f->nways] : f->after[--f->nafter];

		f->fault = NONE;
		if (!rp_work_spend(f->work, 1) || !pass(f, i))
			return false;
	}
	return !f->err;
}

static void undo(struct follow *f)
{
	for (size_t k = 0; k < f->ntrail; k++) {
		f->state[f->trail[k]] = NO_STATE;
		f->flags[f->trail[k]] &= (uint8_t)~LEADS_ON;
	}
	f->ntrail = f->nways = f->nafter = 0;
}

/* ---- the second look */

/* Where control goes from word @i within what was followed: at most two; NONE: no other. */
static void next_of(const struct follow *f, uint32_t i, uint32_t next[2])
{
	const uint32_t w = word_at(f, i);
	bool is_call;
	const enum insn_flow flow = rp_arm64_flow(w, &is_call);
	const bool goes_on = flow == FLOW_NEXT || flow == FLOW_BRANCH;

	next[0] = goes_on && i + 1 < f->size && f->state[i + 1] != NO_STATE &&
				  !(is_call && f->flags[i] & NO_RETURN)
			  ? i + 1
			  : NONE;
	if ((flow != FLOW_BRANCH && flow != FLOW_JUMP) || !target_of(f, i, w, &next[1]) ||
	    f->state[next[1]] == NO_STATE)
		next[1] = NONE;
}

/* It returns, or goes on in another function, with a whole stack. */
static bool is_end(const struct follow *f, uint32_t i)
{
	const struct unwind_arm64_state *s = state_at(f, i);
	const uint32_t w = word_at(f, i);
	bool is_call;
	uint32_t to;

	switch (rp_arm64_flow(w, &is_call)) {
	case FLOW_RETURN:
		return unwind_arm64_may_return(s, w >> 5 & 31);
	case FLOW_JUMP:
		return !target_of(f, i, w, &to) && f->evidence != GUESS &&
		       unwind_arm64_may_return(s, ARM64_LR);
	case FLOW_TABLE: /* who has stored the return address was called */
		return f->evidence != GUESS && (unwind_arm64_may_return(s, ARM64_LR) ||
						s->ra_at != UNWIND_ARM64_UNKNOWN);
	default:
		return false;
	}
}

static void mark_what_leads_on(struct follow *f)
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

static bool is_behind_call(const struct follow *f, uint32_t i, uint32_t next)
{
	bool is_call;

	rp_arm64_flow(word_at(f, i), &is_call);
	return is_call && next == i + 1;
}

static void mark_what_is_reached(struct follow *f)
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

static void note_table(struct follow *f, uint32_t i)
{
	bool is_call;

	if (rp_arm64_flow(word_at(f, i), &is_call) == FLOW_TABLE && state_at(f, i)->sp &&
	    f->ntables < TABLES_MAX && !f->err)
		f->err = RP_PUSH(f->tables, f->ntables, f->tables_capacity, i);
}

/* What was reached is there to stay. */
static void settle(struct follow *f)
{
	for (size_t k = 0; k < f->ntrail; k++) {
		const uint32_t i = f->trail[k];

		if (f->flags[i] & REACHED) {
			f->flags[i] |= SETTLED;
			note_table(f, i);
		} else {
			f->state[i] = NO_STATE;
		}
		f->flags[i] &= (uint8_t)~(REACHED | LEADS_ON);
	}
	f->ntrail = 0;
}

static bool try_at(struct follow *f, uint32_t at, const struct unwind_arm64_state *s,
		   enum evidence evidence)
{
	f->evidence = evidence;
	for (int i = 0; i < TRIES && f->state[at] == NO_STATE; i++) {
		f->ntrail = f->nways = f->nafter = 0;
		if (arrive(f, NONE, at, s, false) && follow_all(f)) {
			mark_what_leads_on(f);
			if (!(f->flags[at] & LEADS_ON) && evidence != CERTAIN) {
				undo(f);
				return false;
			}
			mark_what_is_reached(f);
			settle(f);
			return true;
		}
		undo(f);
		if (f->fault == NONE || f->err || !f->work->left)
			return false;
		f->flags[f->fault] |= NO_RETURN;
	}
	return false;
}

/* ---- all functions */

static void mark_starts(struct follow *f, const struct unwind_starts *starts)
{
	const uint64_t end = f->addr + ARM64_BYTES * (uint64_t)f->size;
	bool is_call;
	uint32_t to;

	for (uint32_t i = 0; i < f->size && rp_work_spend(f->work, 1); i++) {
		const uint32_t w = word_at(f, i);

		rp_arm64_flow(w, &is_call);
		if (is_call && target_of(f, i, w, &to) && to != i + 1)
			f->flags[to] |= CALLED;
	}
	for (uint64_t at = f->addr; (at = unwind_starts_next(starts, at, end)) < end; at++)
		if ((at - f->addr) % ARM64_BYTES == 0)
			f->flags[(at - f->addr) / ARM64_BYTES] |= POINTED;
}

static void find_marked(struct follow *f, enum word_flags mark)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();

	for (uint32_t i = 0; i < f->size && f->work->left && !f->err; i++)
		if (f->flags[i] & mark && f->state[i] == NO_STATE)
			try_at(f, i, &entry, LIKELY);
}

/* The nearest jump by a table before @at, with something on the stack; NONE. */
static uint32_t table_before(const struct follow *f, uint32_t at)
{
	uint32_t best = NONE;

	for (size_t k = 0; k < f->ntables; k++) {
		const uint32_t i = f->tables[k];

		if (i < at && at - i < TABLE_REACH && (best == NONE || i > best))
			best = i;
	}
	return best;
}

/* What nothing leads to is a function, or a case of a switch. */
static void try_each(struct follow *f, uint32_t at, bool is_likely)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();
	uint32_t table;

	if (is_likely && try_at(f, at, &entry, LIKELY))
		return;
	table = table_before(f, at);
	if (table != NONE) {
		const struct unwind_arm64_state s = *state_at(f, table);

		if (try_at(f, at, &s, GUESS))
			return;
	}
	if (!is_likely)
		try_at(f, at, &entry, GUESS);
}

static uint32_t skip_padding(const struct follow *f, uint32_t i)
{
	while (i < f->size && f->state[i] == NO_STATE && is_padding(word_at(f, i)))
		i++;
	return i;
}

/* Behind what could not be followed: its first jump or return away. */
static uint32_t skip_unknown(const struct follow *f, uint32_t i)
{
	bool is_call;

	while (i < f->size && f->state[i] == NO_STATE) {
		const enum insn_flow flow = rp_arm64_flow(word_at(f, i), &is_call);

		i++;
		if (flow != FLOW_NEXT && flow != FLOW_BRANCH)
			break;
	}
	return i;
}

static void find_others(struct follow *f)
{
	for (uint32_t i = 0, start; i < f->size && f->work->left && !f->err;) {
		if (f->state[i] != NO_STATE) {
			i++;
			continue;
		}
		start = i;
		i = skip_padding(f, i);
		if (i == f->size || f->state[i] != NO_STATE)
			continue;
		try_each(f, i, i != start || is_prologue(word_at(f, i)));
		if (f->state[i] == NO_STATE)
			i = skip_unknown(f, i);
	}
}

/*
 * While a call's function runs, its caller is looked up by the call's last byte: x30 is lost, and
 * registers that are the caller's again behind it may be in use.
 */
static int tell_call(const struct follow *f, uint32_t i, unwind_arm64_fn *fn, void *ctx)
{
	const uint64_t addr = f->addr + ARM64_BYTES * (uint64_t)i;
	struct unwind_arm64_state s = *state_at(f, i);
	int err = fn(ctx, addr, 1, &s);

	unwind_arm64_called(&s);
	s.copy = UNWIND_ARM64_UNKNOWN;
	s.copy_reg = -1;
	return err ? err : fn(ctx, addr + 1, ARM64_BYTES - 1, &s);
}

static int tell(const struct follow *f, unwind_arm64_fn *fn, void *ctx)
{
	bool is_call;
	int err = f->err;

	for (uint32_t i = 0; i < f->size && !err; i++) {
		if (f->state[i] == NO_STATE)
			continue;
		rp_arm64_flow(word_at(f, i), &is_call);
		err = is_call ? tell_call(f, i, fn, ctx)
			      : fn(ctx, f->addr + ARM64_BYTES * (uint64_t)i, ARM64_BYTES,
				   state_at(f, i));
	}
	return err;
}

static int follow_and_tell(struct follow *f, const struct unwind_starts *starts,
			   unwind_arm64_fn *fn, void *ctx)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();
	const uint64_t first = (starts->entry - f->addr) / ARM64_BYTES;

	memset(f->state, 0xff, f->size * sizeof(*f->state));
	mark_starts(f, starts);
	if (starts->entry >= f->addr && first < f->size &&
	    f->addr + ARM64_BYTES * first == starts->entry)
		try_at(f, (uint32_t)first, &entry, CERTAIN);
	find_marked(f, CALLED);
	find_marked(f, POINTED);
	find_others(f);
	return tell(f, fn, ctx);
}

int unwind_arm64_follow(const uint8_t *code, size_t size, uint64_t addr,
			const struct unwind_starts *starts, struct rp_work *work,
			unwind_arm64_fn *fn, void *ctx)
{
	const size_t skipped = -addr % ARM64_BYTES; /* up to the first whole word */
	struct follow f = { .addr = addr + skipped,
			    .work = work,
			    .states = HASH_SET(struct unwind_arm64_state) };
	int err = -ENOMEM;

	if (size > UNWIND_CODE_PIECE)
		return -EFBIG;
	if (size < skipped + ARM64_BYTES)
		return 0;
	f.code = code + skipped;
	f.size = (uint32_t)((size - skipped) / ARM64_BYTES);
	f.flags = calloc(f.size, sizeof(*f.flags));
	f.state = malloc(f.size * sizeof(*f.state));
	f.call = malloc(f.size * sizeof(*f.call));
	if (f.flags && f.state && f.call)
		err = follow_and_tell(&f, starts, fn, ctx);
	rp_hash_free(&f.states);
	free(f.flags);
	free(f.state);
	free(f.call);
	free(f.ways);
	free(f.after);
	free(f.trail);
	free(f.tables);
	return err;
}
