/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions in arm64 code: where calls lead to, what something in the file points to, and
 * what is left: behind padding, or the cases of a switch.
 */
#include <errno.h>
#include <stdlib.h>

#include "code.h"
#include "code_arm64_follow.h"

static void mark_starts(struct arm64_follow *f, const struct unwind_starts *starts)
{
	const uint64_t end = f->addr + ARM64_BYTES * (uint64_t)f->size;
	bool is_call;
	uint32_t to;

	for (uint32_t i = 0; i < f->size && rp_work_spend(f->work, 1); i++) {
		const uint32_t w = unwind_arm64_word(f, i);

		rp_arm64_flow(w, &is_call);
		if (is_call && unwind_arm64_target(f, i, w, &to) && to != i + 1)
			f->flags[to] |= CALLED;
	}
	for (uint64_t at = f->addr; (at = unwind_starts_next(starts, at, end)) < end; at++)
		if ((at - f->addr) % ARM64_BYTES == 0)
			f->flags[(at - f->addr) / ARM64_BYTES] |= POINTED;
}

static void find_marked(struct arm64_follow *f, enum word_flags mark)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();

	for (uint32_t i = 0; i < f->size && f->work->left && !f->err; i++)
		if (f->flags[i] & mark && f->state[i] == NO_STATE)
			unwind_arm64_try(f, i, &entry, LIKELY);
}

/* The nearest jump by a table before @at, with something on the stack; NONE. */
static uint32_t table_before(const struct arm64_follow *f, uint32_t at)
{
	uint32_t best = NONE;

	if (!rp_work_spend(f->work, f->ntables / 8))
		return NONE;
	for (size_t k = 0; k < f->ntables; k++) {
		const uint32_t i = f->tables[k];

		if (i < at && at - i < TABLE_REACH && (best == NONE || i > best))
			best = i;
	}
	return best;
}

/* What nothing leads to is a function, or a case of a switch. */
static void try_each(struct arm64_follow *f, uint32_t at, bool is_likely)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();
	uint32_t table;

	if (is_likely && unwind_arm64_try(f, at, &entry, LIKELY))
		return;
	table = table_before(f, at);
	if (table != NONE) {
		const struct unwind_arm64_state s = *unwind_arm64_state_at(f, table);

		if (unwind_arm64_try(f, at, &s, GUESS))
			return;
	}
	if (!is_likely)
		unwind_arm64_try(f, at, &entry, GUESS);
}

static uint32_t skip_padding(const struct arm64_follow *f, uint32_t i)
{
	while (i < f->size && f->state[i] == NO_STATE &&
	       unwind_arm64_is_padding(unwind_arm64_word(f, i)))
		i++;
	return i;
}

/* Behind what could not be followed: its first jump or return away. */
static uint32_t skip_unknown(const struct arm64_follow *f, uint32_t i)
{
	bool is_call;

	while (i < f->size && f->state[i] == NO_STATE) {
		const enum insn_flow flow = rp_arm64_flow(unwind_arm64_word(f, i), &is_call);

		i++;
		if (flow != FLOW_NEXT && flow != FLOW_BRANCH)
			break;
	}
	return i;
}

static void find_others(struct arm64_follow *f)
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
		try_each(f, i, i != start || unwind_arm64_is_prologue(unwind_arm64_word(f, i)));
		if (f->state[i] == NO_STATE)
			i = skip_unknown(f, i);
	}
}

/*
 * While a call's function runs, its caller is looked up by the call's last byte: x30 is lost, and
 * registers that are the caller's again behind it may be in use.
 */
static int tell_call(const struct arm64_follow *f, uint32_t i, unwind_arm64_fn *fn, void *ctx)
{
	const uint64_t addr = f->addr + ARM64_BYTES * (uint64_t)i;
	struct unwind_arm64_state s = *unwind_arm64_state_at(f, i);
	int err = fn(ctx, addr, 1, &s);

	unwind_arm64_called(&s);
	s.copy = UNWIND_ARM64_UNKNOWN;
	s.copy_reg = -1;
	return err ? err : fn(ctx, addr + 1, ARM64_BYTES - 1, &s);
}

static int tell(const struct arm64_follow *f, unwind_arm64_fn *fn, void *ctx)
{
	bool is_call;
	int err = f->err;

	for (uint32_t i = 0; i < f->size && !err; i++) {
		if (f->state[i] == NO_STATE)
			continue;
		rp_arm64_flow(unwind_arm64_word(f, i), &is_call);
		err = is_call ? tell_call(f, i, fn, ctx)
			      : fn(ctx, f->addr + ARM64_BYTES * (uint64_t)i, ARM64_BYTES,
				   unwind_arm64_state_at(f, i));
	}
	return err;
}

static int follow_and_tell(struct arm64_follow *f, const struct unwind_starts *starts,
			   unwind_arm64_fn *fn, void *ctx)
{
	const struct unwind_arm64_state entry = unwind_arm64_entry();
	const uint64_t first = (starts->entry - f->addr) / ARM64_BYTES;

	memset(f->state, 0xff, f->size * sizeof(*f->state));
	mark_starts(f, starts);
	if (starts->entry >= f->addr && first < f->size &&
	    f->addr + ARM64_BYTES * first == starts->entry)
		unwind_arm64_try(f, (uint32_t)first, &entry, CERTAIN);
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
	struct arm64_follow f = { .addr = addr + skipped,
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
