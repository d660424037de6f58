/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that are asked for again: the same address stands in many stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "lines_budget.h"
#include "lines_image.h"
#include "source.h"

void sym_source_free(struct sym_source *s)
{
	sym_lines_close(s->found);
	rp_hash_free(&s->asked);
	free(s->lines);
	*s = (struct sym_source){ 0 };
}

static int ask(struct sym_source *s, struct sym_asked *a)
{
	struct sym_line lines[SYM_INLINE_MAX + 1];
	bool failed;
	size_t n = sym_lines_find(s->found, a->key / 2, a->key % 2, lines, SYM_INLINE_MAX + 1,
				  &failed);

	s->unreadable |= failed;
	if (failed)
		return -EAGAIN; /* for who asks: not for all */
	a->first = s->line_count;
	a->count = n;
	if (RP_GROW_TO(s->lines, s->line_count + n, s->line_capacity))
		return -ENOMEM;
	if (n)
		memcpy(s->lines + s->line_count, lines, n * sizeof(*lines));
	s->line_count += n;
	return 0;
}

size_t sym_source_find(struct sym_source *s, const struct sym_object *data,
		       const struct sym_object *code, uint64_t vaddr, bool inlined,
		       struct sym_line *out, size_t max)
{
	struct sym_asked asked = { .key = vaddr << 1 | inlined }, *known;

	if (!s->opened && sym_lines_are_ours(data) && !sym_lines_may_open()) {
		s->unreadable |= data->has_dwarf;
		return 0;
	}
	if (!s->opened) {
		s->opened = true;
		s->unreadable = sym_lines_open(&s->found, data, code) && data->has_dwarf;
		s->asked = HASH_MAP(struct sym_asked, key);
	}
	if (!s->found)
		return 0;
	known = rp_hash_find(&s->asked, &asked.key);
	if (!known) {
		known = ask(s, &asked) ? NULL : rp_hash_add(&s->asked, &asked.key);
		if (!known)
			return 0;
		*known = asked;
	}
	if (max > known->count)
		max = known->count;
	if (max)
		memcpy(out, s->lines + known->first, max * sizeof(*out));
	return max;
}
