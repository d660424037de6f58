/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads code that no FDE describes, a piece at a time, and makes rows of what is found in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/grow.h"
#include "code.h"
#include "code_arm64.h"
#include "gaps.h"

enum {
	/* Shorter ones are padding between functions: no sample is in them. */
	GAP_MIN = 16,
	MEMORY_TIMES = 12, /* a byte of code costs at most so many while it is looked at */
};

struct filling {
	unwind_row_fn *row;
	void *ctx;
	const struct unwind_rule *none; /* for what has no rule */
	uint64_t next;			/* behind the last instruction that has a rule, */
	bool is_stopped;		/* the person wants no more of it */
	bool has_state;
	union { /*   and what is known of that one */
		struct unwind_code_state state;
		struct unwind_arm64_state arm64;
	};
};

static const struct unwind_rule nothing = { .kind = UNWIND_NO_ROW };
/* Nor will it ever have one. */
static const struct unwind_rule never = { .kind = UNWIND_NO_ROW, .flags = UNWIND_COMPUTED };

static int put_rule(struct filling *f, uint64_t addr, uint64_t len, const struct unwind_rule *rule)
{
	int err = 0;

	if (addr > f->next)
		err = f->row(f->ctx, f->next, f->none);
	if (!err)
		err = f->row(f->ctx, addr, rule);
	f->has_state = true;
	f->next = addr + len;
	return err;
}

/* As most instructions: nothing is new. */
static bool is_same(struct filling *f, uint64_t addr, uint32_t len, const void *state,
		    const void *last, size_t size)
{
	if (addr != f->next || !f->has_state || memcmp(state, last, size))
		return false;
	f->next = addr + len;
	return true;
}

static int take_rule(void *ctx, uint64_t addr, uint32_t len, const struct unwind_code_state *state)
{
	struct filling *f = ctx;
	struct unwind_rule rule;

	if (is_same(f, addr, len, state, &f->state, sizeof(*state)))
		return 0;
	f->state = *state;
	rule = unwind_code_rule(state);
	return put_rule(f, addr, len, &rule);
}

static int take_arm64(void *ctx, uint64_t addr, uint32_t len,
		      const struct unwind_arm64_state *state)
{
	struct filling *f = ctx;
	struct unwind_rule rule;

	if (is_same(f, addr, len, state, &f->arm64, sizeof(*state)))
		return 0;
	f->arm64 = *state;
	rule = unwind_arm64_rule(state);
	return put_rule(f, addr, len, &rule);
}

static int follow(const struct unwind_source *s, const uint8_t *code, size_t size, uint64_t addr,
		  const struct unwind_starts *starts, struct filling *f)
{
	struct rp_work work = rp_work_for(size, UNWIND_CODE_WORK);
	int err;

	/* There may be many pieces of memory, each soon another: none has more than it needs. */
	if (s->is_memory)
		work.left = size * UNWIND_CODE_WORK + 1;

	f->has_state = false;
	if (s->machine == EM_AARCH64)
		err = unwind_arm64_follow(code, size, addr, starts, &work, take_arm64, f);
	else
		err = unwind_code_follow(code, size, addr, starts, &work, take_rule, f);
	f->is_stopped |= work.is_stopped;
	return err;
}

/* Of the piece of code at @addr: what it is, and what points to it. */
static void add_to_key(struct unwind_sip *sip, const struct unwind_secret *secret,
		       const struct unwind_starts *t, uint64_t addr, const uint8_t *code,
		       size_t size)
{
	const uint64_t end = addr + size;

	unwind_sip_data(sip, secret, code, size);
	while ((addr = unwind_starts_next(t, addr, end)) < end)
		unwind_sip_word(sip, addr++);
}

static int fill_piece(struct unwind_gaps *g, const struct unwind_source *s, uint64_t addr,
		      size_t size, struct filling *f)
{
	const uint64_t memory = (uint64_t)MEMORY_TIMES * size;
	bool is_there = false;
	uint8_t *code;
	int err = 0;

	if (!rp_memory_take(memory)) {
		g->is_lost = true;
		return 0;
	}
	code = malloc(size);
	if (!code)
		err = -ENOMEM;
	else
		is_there = unwind_source_text(s, addr, code, size) == size;
	if (is_there) {
		if (s->made)
			add_to_key(&g->sip, s->made->secret, &g->starts, addr, code, size);
		err = follow(s, code, size, addr, &g->starts, f);
	}
	g->is_lost |= !is_there || f->is_stopped;
	free(code);
	rp_memory_give(memory);
	return err;
}

static int list_range(struct unwind_gaps *g, uint64_t start, uint64_t end)
{
	int err;

	if (end - start > UNWIND_GAPS_MAX - g->bytes || end > UINT32_MAX)
		return 0;
	err = RP_PUSH(g->at, g->count, g->capacity, (uint32_t)start);
	err = err ? err : RP_PUSH(g->at, g->count, g->capacity, (uint32_t)end);
	g->bytes += end - start;
	return err;
}

/* Whether it was listed: in the same order they come again. */
static bool is_next(struct unwind_gaps *g, uint64_t start, uint64_t end)
{
	if (g->next + 1 >= g->count || g->at[g->next] != start || g->at[g->next + 1] != end)
		return false;
	g->next += 2;
	return true;
}

static int fill_range(struct unwind_gaps *g, const struct unwind_source *s, uint64_t start,
		      uint64_t end, struct filling *f)
{
	const uint64_t base = s->code[0].start;
	int err;

	if (!is_next(g, start - base, end - base))
		return 0;
	err = g->is_searched ? 0 : unwind_starts_find(&g->starts, s, g->at, g->count);
	g->is_searched = true;
	g->is_lost |= g->starts.is_lost;
	/* The end may be that of all addresses. */
	for (uint64_t at = start, size; at < end && !err; at += size) {
		size = end - at < UNWIND_CODE_PIECE ? end - at : UNWIND_CODE_PIECE;
		err = fill_piece(g, s, at, size, f);
	}
	return err;
}

/* A few instructions are no work: their rules are there from the start. */
static int fill_hooks(const struct unwind_source *s, uint64_t start, uint64_t end,
		      struct filling *f)
{
	int err = 0;

	for (size_t i = 0; i < s->nhooks && !err; i++) {
		const struct unwind_hook *h = &s->hooks[i];
		const struct unwind_starts starts = { .entry = h->addr };
		const uint64_t left = h->addr < end ? end - h->addr : 0;
		const size_t size = left < h->size ? (size_t)left : h->size;

		if (h->addr < start || h->addr < f->next || !size)
			continue;
		err = follow(s, h->code, size, h->addr, &starts, f);
	}
	return err;
}

/* The part of it that is code of number @i. False: it is too little. */
static bool cut(const struct unwind_source *s, size_t i, uint64_t *start, uint64_t *end)
{
	const struct unwind_code *c = &s->code[i];

	*start = *start > c->start ? *start : c->start;
	*end = *end < c->end ? *end : c->end;
	return *start < *end && *end - *start >= GAP_MIN;
}

bool unwind_gaps_are_filled(const struct unwind_source *s)
{
	return s->is_computed && (s->machine == EM_X86_64 || s->machine == EM_AARCH64);
}

static bool are_computed(const struct unwind_gaps *g, const struct unwind_source *s)
{
	return unwind_gaps_are_filled(s) && !g->is_jumped_to;
}

int unwind_gaps_list(struct unwind_gaps *g, const struct unwind_source *s, uint64_t start,
		     uint64_t end)
{
	int err = 0;

	for (size_t i = 0; are_computed(g, s) && i < s->ncode && !err; i++) {
		uint64_t from = start, to = end;

		if (cut(s, i, &from, &to))
			err = list_range(g, from - s->code[0].start, to - s->code[0].start);
	}
	return err;
}

int unwind_gaps_fill(struct unwind_gaps *g, const struct unwind_source *s, uint64_t start,
		     uint64_t end, unwind_row_fn *row, void *ctx)
{
	struct filling f = {
		.row = row, .ctx = ctx, .none = s->is_memory ? &never : &nothing, .next = start
	};
	int err = s->is_computed || g->is_jumped_to ? 0 : fill_hooks(s, start, end, &f);

	for (size_t i = 0; (g->is_jumped_to || are_computed(g, s)) && i < s->ncode && !err; i++) {
		uint64_t from = start, to = end;

		if (cut(s, i, &from, &to))
			err = g->is_jumped_to ? put_rule(&f, from, to - from, &never)
					      : fill_range(g, s, from, to, &f);
	}
	return err || f.next >= end ? err : row(ctx, f.next, f.none);
}

void unwind_gaps_begin(struct unwind_gaps *g, const struct unwind_source *s)
{
	if (s->made)
		unwind_sip_begin(&g->sip, s->made->secret->sip);
}

void unwind_gaps_end(struct unwind_gaps *g, const struct unwind_source *s)
{
	if (!s->made)
		return;
	s->made->key = unwind_sip_end(&g->sip, g->count);
	s->made->is_known = !g->is_lost && g->next == g->count;
}

void unwind_gaps_free(struct unwind_gaps *g)
{
	free(g->at);
	unwind_starts_free(&g->starts);
}

/* The way in which the code was filled in: by pieces. */
static bool add_range(struct unwind_sip *sip, const struct unwind_source *s,
		      const struct unwind_secret *secret, const struct unwind_starts *t,
		      uint64_t start, uint64_t end)
{
	const size_t most = end - start < UNWIND_CODE_PIECE ? end - start : UNWIND_CODE_PIECE;
	uint8_t *code = malloc(most);
	bool is_there = code;

	for (uint64_t at = start, size; at < end && is_there; at += size) {
		size = end - at < most ? end - at : most;
		is_there = unwind_source_text(s, at, code, size) == size;
		if (is_there)
			add_to_key(sip, secret, t, at, code, size);
	}
	free(code);
	return is_there;
}

bool unwind_gaps_key(const struct unwind_source *s, const uint32_t *at, size_t n,
		     const struct unwind_secret *secret, struct unwind_key *out)
{
	struct unwind_starts starts = { 0 };
	struct unwind_sip sip;
	uint64_t bytes = 0;
	bool is_there = !n || (!unwind_starts_find(&starts, s, at, n) && !starts.is_lost);

	unwind_sip_begin(&sip, secret->sip);
	for (size_t i = 0; i + 1 < n && is_there; i += 2) {
		const uint64_t base = s->code[0].start;

		bytes += at[i + 1] - at[i];
		is_there = at[i + 1] > at[i] && bytes <= UNWIND_GAPS_MAX &&
			   add_range(&sip, s, secret, &starts, base + at[i], base + at[i + 1]);
	}
	unwind_starts_free(&starts);
	*out = unwind_sip_end(&sip, n);
	return is_there;
}
