/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that are asked for again: the same address stands in many stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "source.h"
#include "strings.h"

void sym_source_free(struct sym_source *s)
{
	sym_dwarf_close(s->dwarf);
	free(s->slots);
	free(s->lines);
	*s = (struct sym_source){ 0 };
}

static struct sym_asked *find(struct sym_asked *slots, size_t n, uint64_t key)
{
	size_t i = sym_hash(&key, sizeof(key)) & (n - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow(struct sym_source *s)
{
	size_t n = s->nslots ? 2 * s->nslots : 128;
	struct sym_asked *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->nslots; i++) {
		if (s->slots[i].key)
			*find(slots, n, s->slots[i].key) = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->nslots = n;
	return 0;
}

static int ask(struct sym_source *s, struct sym_asked *a)
{
	struct sym_line lines[SYM_INLINE_MAX + 1];
	size_t n = sym_dwarf_find(s->dwarf, a->key / 2, a->key % 2, lines, SYM_INLINE_MAX + 1);

	a->first = s->line_count;
	for (size_t i = 0; i < n; i++) {
		struct sym_line *p =
			sym_grow(s->lines, s->line_count, &s->line_capacity, sizeof(*p));

		if (!p)
			return -ENOMEM;
		s->lines = p;
		p[s->line_count++] = lines[i];
	}
	a->count = n;
	return 0;
}

size_t sym_source_find(struct sym_source *s, const struct sym_object *data,
		       const struct sym_object *code, uint64_t vaddr, bool inlined,
		       struct sym_line *out, size_t max)
{
	struct sym_asked *slot, asked = { .key = vaddr << 1 | inlined };

	if (!s->opened) {
		s->opened = true;
		s->unreadable = sym_dwarf_open(&s->dwarf, data, code) && data->has_dwarf;
	}
	if (!s->dwarf || (2 * (s->asked + 1) > s->nslots && grow(s)))
		return 0;
	slot = find(s->slots, s->nslots, asked.key);
	if (!slot->key) {
		if (ask(s, &asked))
			return 0;
		*slot = asked;
		s->asked++;
	}
	if (max > slot->count)
		max = slot->count;
	for (size_t i = 0; i < max; i++)
		out[i] = s->lines[slot->first + i];
	return max;
}
