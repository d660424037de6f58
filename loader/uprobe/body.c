/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the instructions of a function lead. */
#include "base/grow.h"
#include "loader/internal.h"
#include "code.h"

#include <elf.h>
#include <stdlib.h>

static const struct insn_arch archs[] = {
	{ EM_X86_64, 1, 15, 6, rp_insn_x86_decode, rp_insn_x86_is_mistaken },
	{ EM_AARCH64, 4, 4, 8, rp_insn_arm64_decode },
};

const struct insn_arch *rp_insn_arch(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		if (archs[i].machine == machine)
			return &archs[i];
	}
	return NULL;
}

/*
 * A walk over the instructions that can be reached. Bit i of seen: one that begins at offset i was
 * followed, or is on the stack of those to follow. Each is put there once at most.
 */
struct walk {
	const struct insn_arch *arch;
	struct body *b;
	uint64_t *seen;
	uint32_t *todo;
	size_t ntodo, capacity;
};

static bool get_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static int go_to(struct walk *w, int64_t to)
{
	if (to < 0 || to >= w->b->size || get_bit(w->seen, (uint32_t)to))
		return 0;
	w->seen[to / 64] |= 1ULL << to % 64;
	return RP_PUSH(w->todo, w->ntodo, w->capacity, (uint32_t)to);
}

static int add_return(struct body *b, uint32_t at, enum rp_step step)
{
	if (step > b->return_step)
		b->return_step = step;
	return RP_PUSH(b->returns, b->nreturns, b->capacity, at);
}

/* If the instruction at @at jumps out of the function, that is kept. */
static int add_jump(struct body *b, uint32_t at, const struct insn *i)
{
	const bool is_conditional = i->flow == FLOW_BRANCH;
	const int64_t to = (int64_t)at + i->target;
	const struct rp_jump_out jump = { at, i->flow == FLOW_AWAY ? 0 : to, is_conditional };

	if (i->flow != FLOW_AWAY &&
	    ((i->flow != FLOW_JUMP && !is_conditional) || (to >= 0 && to < b->size)))
		return 0;
	return RP_PUSH(b->jumps, b->njumps, b->jumps_capacity, jump);
}

static void note_entry(struct body *b, int64_t to)
{
	if (to >= 0 && to < PROLOGUE)
		b->entered |= 1ULL << to;
}

static const char computed[] = "a jump to a computed address";

/* One instruction; puts what comes after it on the stack. */
static int follow(struct walk *w, uint32_t at)
{
	struct body *b = w->b;
	const int64_t size = b->size;
	struct insn i;
	int64_t to, next;
	int err = 0;

	if (!w->arch->decode(b->code + at, b->size - at, &i)) {
		b->unknown = "an instruction that is not known";
		return 0;
	}
	next = (int64_t)at + i.len;
	to = (int64_t)at + i.target;
	if (i.target)
		note_entry(b, to);
	switch (i.flow) {
	case FLOW_BRANCH:
	case FLOW_JUMP:
		if (to < 0 || to >= size)
			b->leaves = "a jump";
		err = add_jump(b, at, &i);
		if (!err)
			err = go_to(w, to);
		break;
	case FLOW_TABLE:
		b->unknown = b->leaves = computed;
		break;
	case FLOW_AWAY:
		b->leaves = "a jump through memory";
		err = add_jump(b, at, &i);
		break;
	case FLOW_RETURN:
		return add_return(b, at, i.step);
	default:
		break;
	}
	if (err || (i.flow != FLOW_NEXT && i.flow != FLOW_BRANCH))
		return err;
	/* Behind the last call there is often nothing: it does not come back. */
	if (next >= size && !i.is_call) {
		b->leaves = "running on into what follows it";
		b->leaves_otherwise = true;
	}
	return go_to(w, next);
}

/* What cannot be reached by jumps that say where they go (handlers of exceptions, the cases of a
 * switch) may jump as well. */
static void sweep(const struct insn_arch *arch, struct body *b)
{
	struct insn i;

	for (uint32_t at = 0; at < b->size; at += i.len) {
		if (!arch->decode(b->code + at, b->size - at, &i)) {
			i.len = arch->align;
			continue;
		}
		if (i.target)
			note_entry(b, (int64_t)at + i.target);
		b->calls_itself |= i.is_call && i.target == -(int64_t)at;
	}
}

/* All returns and jumps out, if there is nothing but instructions, however they are reached. */
static int sweep_returns(const struct insn_arch *arch, struct body *b, bool *all)
{
	struct insn i;
	int err = 0;

	*all = false;
	for (uint32_t at = 0; at < b->size; at += i.len)
		if (!arch->decode(b->code + at, b->size - at, &i))
			return 0;
	*all = true;
	b->nreturns = b->njumps = 0;
	for (uint32_t at = 0; !err && at < b->size; at += i.len) {
		arch->decode(b->code + at, b->size - at, &i);
		err = i.flow == FLOW_RETURN ? add_return(b, at, i.step) : add_jump(b, at, &i);
	}
	return err;
}

/* Then a computed jump leads to one of them: every return counts. */
static int follow_computed(const struct insn_arch *arch, struct body *b)
{
	bool all;
	int err = sweep_returns(arch, b, &all);

	if (all)
		b->unknown = NULL;
	if (all && b->leaves == computed)
		b->leaves = NULL;
	return err;
}

static int compare_offsets(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int compare_jumps(const void *a, const void *b)
{
	const struct rp_jump_out *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

int rp_body_read(const struct insn_arch *arch, const uint8_t *code, uint32_t size,
		 enum body_how how, struct body *out)
{
	struct body b = { .code = code, .size = size };
	struct walk w = { .arch = arch, .b = &b };
	bool all;
	int err;

	w.seen = calloc(size / 64 + 1, sizeof(*w.seen));
	err = w.seen ? go_to(&w, 0) : -ENOMEM;
	while (!err && w.ntodo)
		err = follow(&w, w.todo[--w.ntodo]);
	if (!err && how == BODY_ONLY_CODE && b.unknown)
		err = follow_computed(arch, &b);
	if (!err && how == BODY_CATCHES)
		err = sweep_returns(arch, &b, &all);
	free(w.seen);
	free(w.todo);
	if (err) {
		rp_body_free(&b);
		return err;
	}
	sweep(arch, &b);
	if (b.nreturns)
		qsort(b.returns, b.nreturns, sizeof(*b.returns), compare_offsets);
	if (b.njumps)
		qsort(b.jumps, b.njumps, sizeof(*b.jumps), compare_jumps);
	*out = b;
	return 0;
}

void rp_body_free(struct body *b)
{
	free(b->returns);
	free(b->jumps);
	*b = (struct body){ 0 };
}
