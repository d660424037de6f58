/* SPDX-License-Identifier: BSD-2-Clause */
/* Where in a function samples were: its addresses, with what each is worth. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

struct spot {
	uint32_t function, mapping;
	uint64_t start, address; /* as the module counts */
	uint64_t self, total;
};

struct spotting {
	const struct report *r;
	const bool *fits;
	struct hash_map spots;
};

/*
 * The node of the whole frame that the function is, or is inlined in: inlined ones stand on its
 * leaf side and have its address.
 */
static uint32_t whole_of(const struct report *r, uint32_t node)
{
	while (function_of(r, frame_of(r, r->nodes[node].frame)->function)->kind ==
		       REPORT_INLINED &&
	       r->nodes[node].parent)
		node = r->nodes[node].parent;
	return node;
}

/* A function that calls itself counts where it is innermost. */
static int add_stack(struct spotting *s, uint32_t leaf, uint64_t weight)
{
	const struct report *r = s->r;
	struct spot key = { 0 }, *found;
	const struct frame *f;
	uint32_t node = leaf;

	while (node && !s->fits[frame_of(r, r->nodes[node].frame)->function])
		node = r->nodes[node].parent;
	if (!node)
		return 0;
	node = whole_of(r, node);
	f = frame_of(r, r->nodes[node].frame);
	key.function = f->function;
	key.mapping = f->mapping;
	key.start = f->module_addr - f->symbol_offset;
	/* What was called is before the return address. */
	key.address = f->module_addr - f->is_return;
	found = rp_hash_add(&s->spots, &key);
	if (!found)
		return -ENOMEM;
	found->total = add_saturating(found->total, weight);
	if (node == whole_of(r, leaf))
		found->self = add_saturating(found->self, weight);
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct report_place *x = a, *y = b;
	int order = strcmp(x->module ? x->module : "", y->module ? y->module : "");

	if (!order)
		order = strcmp(x->build_id ? x->build_id : "", y->build_id ? y->build_id : "");
	if (!order && x->start != y->start)
		order = x->start < y->start ? -1 : 1;
	if (!order && x->address != y->address)
		order = x->address < y->address ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static struct report_place *list_places(const struct spotting *s)
{
	const struct report *r = s->r;
	struct report_place *list = calloc((size_t)s->spots.count + 1, sizeof(*list));

	for (uint32_t i = 0; list && i < s->spots.count; i++) {
		const struct spot *spot = (const struct spot *)s->spots.items + i;
		const struct function *fn = function_of(r, spot->function);

		list[i] = (struct report_place){
			.name = report_function_name(r, spot->function),
			.module = text(r, fn->path),
			.build_id = text(r, mapping_of(r, spot->mapping)->build_id),
			.kind = (enum report_frame_kind)fn->kind,
			.start = spot->start,
			.address = spot->address,
			.self = spot->self,
			.total = spot->total,
		};
	}
	if (list)
		qsort(list, s->spots.count, sizeof(*list), by_place);
	return list;
}

int report_places(const struct report *r, const char *function, unsigned int weight,
		  struct report_place **out, size_t *n, char why[REPORT_WHY])
{
	struct spotting s = { .r = r, .spots = HASH_MAP(struct spot, address) };
	struct report_place *list = NULL;
	struct pattern *p = NULL;
	bool *fits = NULL;
	int err;

	*why = '\0';
	err = report_pattern_new(function, false, &p, why);
	if (!err && !(s.fits = fits = report_pattern_functions(r, p, false)))
		err = -ENOMEM;
	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		err = add_stack(&s, sample_of(r, i)->node, value_of(r, i, weight));
	if (!err && !s.spots.count) {
		snprintf(why, REPORT_WHY, "no stack has such a function");
		err = -EINVAL;
	}
	if (!err && !(list = list_places(&s)))
		err = -ENOMEM;
	*n = s.spots.count;
	report_pattern_free(p);
	free(fits);
	rp_hash_free(&s.spots);
	if (!err)
		*out = list;
	return err;
}
