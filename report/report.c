/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile in memory: interned frames, a trie of stacks, samples with weights. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report.h"

int report_new(const struct report_value_type *types, size_t ntypes, struct report **out)
{
	struct report *r;
	uint32_t empty;
	int err;

	if (!ntypes || ntypes > REPORT_MAX_VALUES)
		return -EINVAL;
	for (size_t i = 0; i < ntypes; i++)
		if (!types[i].type || !types[i].unit)
			return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->stream = calloc(1, sizeof(*r->stream));
	r->ntypes = ntypes;
	r->mappings = HASH_SET(struct mapping);
	r->functions = HASH_SET(struct function);
	r->frames = HASH_SET(struct frame);
	r->label_sets = HASH_SET(struct label_set);
	r->samples = HASH_SET(struct sample);
	err = r->stream ? report_strings_init(&r->strings) : -ENOMEM;
	for (size_t i = 0; i < ntypes && !err; i++) {
		err = report_strings_add(&r->strings, types[i].type, &r->types[i].type);
		if (!err)
			err = report_strings_add(&r->strings, types[i].unit, &r->types[i].unit);
	}
	if (!err)
		err = rp_hash_number(&r->label_sets, &(struct label_set){ 0 }, &empty);
	if (!err)
		err = RP_GROW_TO(r->nodes, 64, r->nodes_cap);
	if (err) {
		report_free(r);
		return err;
	}
	r->nodes[r->nnodes++] = (struct node){ NONE, NONE };
	*out = r;
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	report_strings_free(&r->strings);
	rp_hash_free(&r->mappings);
	rp_hash_free(&r->functions);
	rp_hash_free(&r->frames);
	rp_hash_free(&r->label_sets);
	rp_hash_free(&r->samples);
	free(r->nodes);
	rp_index_free(&r->node_index);
	rp_index_free(&r->stack_index);
	free(r->values);
	if (r->stream)
		free(r->stream->moments);
	free(r->stream);
	report_meta_free(&r->meta);
	free(r);
}

/* Of an entry of a set, and of where it is found. */
static uint64_t set_memory(const struct hash_map *set)
{
	return (uint64_t)set->count * (set->size + 2 * sizeof(struct hash_slot));
}

uint64_t report_memory(const struct report *r)
{
	const struct hash_map *const sets[] = { &r->mappings, &r->functions, &r->frames,
						&r->label_sets, &r->samples };
	uint64_t bytes = r->strings.len + (uint64_t)r->strings.count * 24 +
			 (uint64_t)r->nnodes * (sizeof(struct node) + 2 * sizeof(struct hash_slot));

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		bytes += set_memory(sets[i]);
	return bytes + r->samples.count * r->ntypes * sizeof(*r->values) +
	       r->stream->n * sizeof(*r->stream->moments);
}

int report_frame_add(struct report *r, const struct report_frame *frame, uint32_t *id)
{
	struct mapping m = { .start = frame->map_start,
			     .end = frame->map_end,
			     .offset = frame->map_offset };
	struct function fn = { .kind = frame->kind };
	struct frame f = { .address = frame->address,
			   .symbol_offset = frame->symbol_offset,
			   .module_addr = frame->module_addr,
			   .line = frame->line,
			   .is_return = frame->is_return };
	int err;

	if ((unsigned int)frame->kind >= REPORT_FRAME_KINDS)
		return -EINVAL;
	err = report_strings_add(&r->strings, frame->name, &fn.name);
	if (!err)
		err = report_strings_add(&r->strings, frame->module, &fn.path);
	if (!err)
		err = report_strings_add(&r->strings, frame->build_id, &m.build_id);
	if (!err)
		err = report_strings_add(&r->strings, frame->file, &f.file);
	m.path = fn.path;
	if (!err)
		err = rp_hash_number(&r->mappings, &m, &f.mapping);
	if (!err)
		err = rp_hash_number(&r->functions, &fn, &f.function);
	if (!err)
		err = rp_hash_number(&r->frames, &f, id);
	return err;
}

void report_settle(struct report *r)
{
	rp_index_free(&r->node_index);
	rp_index_free(&r->stack_index);
}

/* After report_settle(). */
static int index_nodes(struct report *r)
{
	int err = 0;

	for (uint32_t i = 1; i < r->nnodes && !err; i++) {
		err = rp_index_reserve(&r->node_index);
		if (!err)
			rp_index_put(&r->node_index,
				     rp_hash_pair(r->nodes[i].parent, r->nodes[i].frame), i);
	}
	if (err)
		rp_index_free(&r->node_index);
	return err;
}

int report_node_add(struct report *r, uint32_t parent, uint32_t frame, uint32_t *node)
{
	uint32_t hash = rp_hash_pair(parent, frame), at = hash, found;
	int err = r->node_index.slots ? 0 : index_nodes(r);

	if (!err)
		err = rp_index_reserve(&r->node_index);
	if (err)
		return err;
	while ((found = rp_index_next(&r->node_index, hash, &at)) != NONE) {
		if (r->nodes[found].parent == parent && r->nodes[found].frame == frame) {
			*node = found;
			return 0;
		}
	}
	err = RP_GROW(r->nodes, r->nnodes, r->nodes_cap);
	if (err)
		return err;
	r->nodes[r->nnodes] = (struct node){ parent, frame };
	rp_index_put(&r->node_index, hash, r->nnodes);
	*node = r->nnodes++;
	return 0;
}

static bool is_stack(const struct report *r, uint32_t node, const uint32_t *frames, size_t n)
{
	size_t i = 0;

	for (; node && i < n && r->nodes[node].frame == frames[i]; i++)
		node = r->nodes[node].parent;
	return !node && i == n;
}

/* A stack that was there before is found by all of its frames at once, a new one is walked in. */
static int add_stack(struct report *r, const uint32_t *frames, size_t n, uint32_t *node)
{
	uint32_t hash, at, found = 0;
	int err;

	if (n > REPORT_MAX_STACK)
		return -E2BIG;
	err = rp_index_reserve(&r->stack_index);
	if (err)
		return err;
	at = hash = rp_hash_bytes(frames, n * sizeof(*frames));
	while ((found = rp_index_next(&r->stack_index, hash, &at)) != NONE) {
		if (is_stack(r, found, frames, n)) {
			*node = found;
			return 0;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (frames[i] >= r->frames.count)
			return -EINVAL;
	found = 0;
	while (n-- && !err)
		err = report_node_add(r, found, frames[n], &found);
	if (err)
		return err;
	rp_index_put(&r->stack_index, hash, found);
	*node = found;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct report_label *const *x = a, *const *y = b;

	return strcmp((*x)->key, (*y)->key);
}

static int add_labels(struct report *r, const struct report_label *labels, size_t n, uint32_t *id)
{
	const struct report_label *sorted[REPORT_MAX_LABELS];
	struct label_set set = { .count = n };
	int err = 0;

	if (n > REPORT_MAX_LABELS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		const char *key = labels[i].key;

		if (!key || !*key || !strcmp(key, "comm") || !strcmp(key, "pid") ||
		    !strcmp(key, "tid"))
			return -EINVAL;
		sorted[i] = &labels[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_key);
	for (size_t i = 0; i < n && !err; i++) {
		if (i && !strcmp(sorted[i - 1]->key, sorted[i]->key))
			return -EINVAL;
		set.labels[i].num = sorted[i]->str ? 0 : sorted[i]->num;
		err = report_strings_add(&r->strings, sorted[i]->key, &set.labels[i].key);
		if (!err)
			err = report_strings_add(&r->strings, sorted[i]->str, &set.labels[i].str);
		if (!err && !sorted[i]->str)
			err = report_strings_add(&r->strings, sorted[i]->unit, &set.labels[i].unit);
	}
	return err ? err : rp_hash_number(&r->label_sets, &set, id);
}

int report_sample_add(struct report *r, const struct sample *s, const uint64_t *values,
		      uint32_t *id)
{
	const uint32_t before = r->samples.count;
	uint64_t *sums;
	int err = RP_GROW_TO(r->values, ((size_t)before + 1) * r->ntypes, r->values_cap);

	if (!err)
		err = rp_hash_number(&r->samples, s, id);
	if (err)
		return err;
	sums = &r->values[(uint64_t)*id * r->ntypes];
	if (*id == before)
		memset(sums, 0, r->ntypes * sizeof(*sums));
	for (size_t i = 0; i < r->ntypes; i++)
		sums[i] = add_saturating(sums[i], values[i]);
	return 0;
}

int report_add_id(struct report *r, const struct report_sample *sample, uint32_t *id)
{
	struct sample s = { .pid = sample->pid, .tid = sample->tid };
	int err = 0;

	/* The stack last: its nodes would be seen in formats even if no sample came to have it. */
	if (sample->nlabels)
		err = add_labels(r, sample->labels, sample->nlabels, &s.label_set);
	if (!err)
		err = add_stack(r, sample->frames, sample->nframes, &s.node);
	if (!err)
		err = report_strings_add(&r->strings, sample->comm ? sample->comm : "", &s.comm);
	return err ? err : report_sample_add(r, &s, sample->values, id);
}

int report_add(struct report *r, const struct report_sample *sample)
{
	uint32_t id;

	return report_add_id(r, sample, &id);
}

size_t report_samples(const struct report *r)
{
	return r->samples.count;
}

size_t report_stacks(const struct report *r)
{
	unsigned char *seen = calloc(r->nnodes, 1);
	size_t n = 0;

	/* Without memory for the marks, every sample counts: an upper bound is better than none. */
	for (uint32_t i = 0; i < r->samples.count; i++) {
		uint32_t node = sample_of(r, i)->node;

		if (!seen || !seen[node])
			n++;
		if (seen)
			seen[node] = 1;
	}
	free(seen);
	return n;
}

int report_value_by_name(const struct report *r, const char *type)
{
	for (size_t i = 0; i < r->ntypes; i++)
		if (!strcmp(text(r, r->types[i].type), type))
			return (int)i;
	return -ENOENT;
}

size_t report_value_types(const struct report *r)
{
	return r->ntypes;
}

struct report_value_type report_value_type(const struct report *r, size_t i)
{
	return (struct report_value_type){ text(r, r->types[i].type), text(r, r->types[i].unit) };
}

uint64_t report_total(const struct report *r, unsigned int value)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; value < r->ntypes && i < r->samples.count; i++)
		sum = add_saturating(sum, value_of(r, i, value));
	return sum;
}
