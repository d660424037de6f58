/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where calls of a function end: at its return instructions, and where it has jumped to another
 * function (a tail call, a part of it that lies elsewhere) at those of that one, as it returns to
 * the caller of the first.
 *
 *	add:	cmp ...			realloc_insert:	...
 *		je grow					ret	<- a call of add may end here
 *		ret	<- and here
 *	grow:	jmp realloc_insert
 *
 * What jumps to another file (the PLT) ends at the jump.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "ends.h"

/* Functions that one may jump to, by one or several jumps; a probe costs their other callers. */
#define MOST_FUNCTIONS 16

struct search {
	struct rp_code *code;
	const struct sym_functions *all; /* of the file, by offset */
	const struct rp_function *first; /* the function that is asked about */
	struct probe_ends *ends;
	bool at_jumps;
	uint64_t seen[MOST_FUNCTIONS];
	uint32_t nseen;
};

static int add_end(struct search *s, uint64_t offset, bool elsewhere)
{
	s->ends->elsewhere += elsewhere;
	return RP_PUSH(s->ends->end, s->ends->n, s->ends->capacity,
		       (struct probe_end){ offset, elsewhere });
}

/* The function that the place lies in; NULL: not known. */
static const struct sym_function_found *function_at(const struct sym_functions *all, uint64_t place)
{
	size_t low = 0, high = all ? all->count : 0;

	while (low < high) { /* items before low begin at the place or before it */
		const size_t middle = low + (high - low) / 2;

		if (all->items[middle].offset <= place)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || place - all->items[low - 1].offset >= all->items[low - 1].size)
		return NULL;
	return &all->items[low - 1];
}

/* False: there are too many. *is_new: it has not been looked at yet. */
static bool see(struct search *s, uint64_t offset, bool *is_new)
{
	for (uint32_t i = 0; i < s->nseen; i++) {
		*is_new = s->seen[i] != offset;
		if (!*is_new)
			return true;
	}
	*is_new = true;
	if (s->nseen == MOST_FUNCTIONS)
		return false;
	s->seen[s->nseen++] = offset;
	return true;
}

static int look_at(struct search *s, const struct rp_function *f);

static int follow_jump(struct search *s, const struct rp_function *f,
		       const struct rp_jump_out *jump)
{
	const uint64_t to = f->offset + (uint64_t)jump->target;
	const struct sym_function_found *other = jump->target ? function_at(s->all, to) : NULL;
	struct rp_function g = *s->first;
	bool is_new;

	if (other && see(s, other->offset, &is_new)) {
		g.offset = other->offset;
		g.size = other->size;
		g.alone = other->alone;
		return is_new ? look_at(s, &g) : 0;
	}
	if (s->at_jumps && !jump->is_conditional)
		return add_end(s, f->offset + jump->at, f->offset != s->first->offset);
	s->ends->complete = false;
	return 0;
}

static int look_at(struct search *s, const struct rp_function *f)
{
	struct rp_returns r;
	int err = rp_code_returns(s->code, f, &r);

	if (err)
		return err;
	s->ends->complete &= r.only_jumps;
	for (uint32_t i = 0; !err && i < r.n; i++)
		err = add_end(s, f->offset + r.offsets[i], f->offset != s->first->offset);
	for (uint32_t i = 0; !err && i < r.njumps; i++)
		err = follow_jump(s, f, &r.jumps[i]);
	rp_returns_free(&r);
	return err;
}

int record_probes_ends(struct rp_code *code, const struct sym_functions *all,
		       const struct rp_function *f, bool at_jumps, struct probe_ends *out)
{
	struct probe_ends ends = { .complete = true };
	struct search s = { .code = code,
			    .all = all,
			    .first = f,
			    .ends = &ends,
			    .at_jumps = at_jumps,
			    .seen = { f->offset },
			    .nseen = 1 };
	int err = look_at(&s, f);

	if (err)
		record_probes_ends_free(&ends);
	else
		*out = ends;
	return err;
}

void record_probes_ends_free(struct probe_ends *ends)
{
	free(ends->end);
	*ends = (struct probe_ends){ 0 };
}
