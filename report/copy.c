/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles made of others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "copy.h"
#include "names.h"

static uint32_t *nothing_yet(uint32_t n)
{
	uint32_t *numbers = malloc(((size_t)n + 1) * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, ((size_t)n + 1) * sizeof(*numbers));
	return numbers;
}

static int copy_meta(struct copying *c)
{
	const struct report_meta *meta = &c->from->meta;
	int err = report_set_info(c->to, &meta->info);

	if (!err && meta->has_ledger)
		err = report_set_ledger(c->to, &meta->ledger);
	if (!err && meta->has_cost)
		report_set_cost(c->to, &meta->cost);
	return err;
}

int report_copy_begin(struct copying *c, const struct report *from)
{
	struct report_value_type types[REPORT_MAX_VALUES];

	for (size_t i = 0; i < from->ntypes; i++)
		types[i] = report_value_type(from, i);
	return report_copy_begin_types(c, from, types, from->ntypes);
}

int report_copy_begin_types(struct copying *c, const struct report *from,
			    const struct report_value_type *types, size_t ntypes)
{
	int err;

	*c = (struct copying){ .from = from };
	c->strings = nothing_yet(from->strings.count);
	c->frames = nothing_yet(from->frames.count);
	c->nodes = nothing_yet(from->nnodes);
	c->label_sets = nothing_yet(from->label_sets.count);
	c->samples = nothing_yet(from->samples.count);
	err = !c->strings || !c->frames || !c->nodes || !c->label_sets || !c->samples
		      ? -ENOMEM
		      : report_new(types, ntypes, &c->to);
	if (!err)
		err = copy_meta(c);
	if (err)
		return report_copy_end(c, err, NULL);
	c->strings[0] = c->nodes[0] = c->label_sets[0] = 0;
	return 0;
}

int report_copy_end(struct copying *c, int err, struct report **out)
{
	free(c->strings);
	free(c->frames);
	free(c->nodes);
	free(c->label_sets);
	free(c->samples);
	free(c->inlines);
	free(c->pool);
	if (err)
		report_free(c->to);
	else
		*out = c->to;
	*c = (struct copying){ 0 };
	return err;
}

static int copy_string(struct copying *c, uint32_t string, uint32_t *out)
{
	int err = 0;

	if (c->strings[string] == NONE)
		err = report_strings_add(&c->to->strings, text(c->from, string),
					 &c->strings[string]);
	*out = c->strings[string];
	return err;
}

static int copy_inlines(struct copying *c, uint32_t frame, const struct report_frame *f, int n)
{
	int err = 0;

	c->inlines[frame] = (struct copied_inlines){ c->npool, (uint32_t)n };
	for (int i = 0; i < n && !err; i++) {
		uint32_t number = 0;

		err = report_frame_add(c->to, &f[i], &number);
		if (!err)
			err = RP_PUSH(c->pool, c->npool, c->pool_capacity, number);
	}
	return err;
}

int report_copy_frame(struct copying *c, uint32_t frame, uint32_t *out)
{
	struct report_frame f[1 + REPORT_INLINES];
	int err = 0;

	if (c->frames[frame] == NONE) {
		f[0] = report_frame_public(c->from, frame);
		err = c->change ? c->change(c->ctx, f) : 0;
		if (err > 0)
			err = copy_inlines(c, frame, f + 1, err);
		if (!err)
			err = report_frame_add(c->to, f, &c->frames[frame]);
	}
	*out = c->frames[frame];
	return err;
}

static uint32_t depth_of(const struct report *r, uint32_t node)
{
	uint32_t depth = 0;

	for (; node; node = r->nodes[node].parent)
		depth++;
	return depth;
}

/* What is inlined in the frame of a node, on the leaf side of what the node has become, *node. */
static int add_inlines(struct copying *c, uint32_t from, uint32_t *node)
{
	const struct copied_inlines *of = &c->inlines[c->from->nodes[from].frame];
	int err = 0;

	if (!of->n || depth_of(c->to, *node) + of->n > depth_of(c->from, from) + c->room)
		return 0;
	for (uint32_t i = 0; i < of->n && !err; i++)
		err = report_node_add(c->to, *node, c->pool[of->first + i], node);
	return err;
}

int report_copy_node(struct copying *c, uint32_t node, uint32_t *out)
{
	uint32_t path[REPORT_MAX_STACK], depth = 0, frame;
	int err = 0;

	for (; c->nodes[node] == NONE; node = c->from->nodes[node].parent)
		path[depth++] = node;
	*out = c->nodes[node];
	while (depth && !err) {
		node = path[--depth];
		err = report_copy_frame(c, c->from->nodes[node].frame, &frame);
		if (!err)
			err = report_node_add(c->to, *out, frame, out);
		if (!err && c->inlines)
			err = add_inlines(c, node, out);
		if (!err)
			c->nodes[node] = *out;
	}
	return err;
}

/* Whether the word is in a list with commas between them. */
static bool is_listed(const char *list, const char *word)
{
	const size_t n = strlen(word);

	while (*list) {
		const size_t length = strcspn(list, ",");

		if (length == n && !memcmp(list, word, n))
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

int report_copy_labels(struct copying *c, uint32_t label_set, const char *except, uint32_t *out)
{
	const struct label_set *from = labels_of(c->from, label_set);
	struct label_set set = { .count = 0 };
	int err = 0;

	for (uint64_t i = 0; i < from->count && !err && c->label_sets[label_set] == NONE; i++) {
		struct label *l = &set.labels[set.count];

		if (is_listed(except, text(c->from, from->labels[i].key)))
			continue;
		*l = from->labels[i];
		set.count++;
		err = copy_string(c, l->key, &l->key);
		if (!err)
			err = copy_string(c, l->str, &l->str);
		if (!err)
			err = copy_string(c, l->unit, &l->unit);
	}
	if (!err && c->label_sets[label_set] == NONE)
		err = rp_hash_number(&c->to->label_sets, &set, &c->label_sets[label_set]);
	*out = c->label_sets[label_set];
	return err;
}

int report_copy_sample(struct copying *c, uint32_t sample, uint32_t node, const uint64_t *values)
{
	struct sample s = *sample_of(c->from, sample);
	int err = copy_string(c, s.comm, &s.comm);

	if (!err)
		err = report_copy_labels(c, s.label_set, "", &s.label_set);
	s.node = node;
	if (!values)
		values = &c->from->values[(size_t)sample * c->from->ntypes];
	return err ? err : report_sample_add(c->to, &s, values, &c->samples[sample]);
}

int report_copy_whole(struct copying *c, uint32_t sample)
{
	uint32_t node;
	int err = report_copy_node(c, sample_of(c->from, sample)->node, &node);

	return err ? err : report_copy_sample(c, sample, node, NULL);
}

int report_copy_stream(struct copying *c)
{
	const struct report_stream *s = c->from->stream;
	const struct report_moment *moments;
	int err = 0;
	size_t n;

	if (!s->present)
		return 0;
	moments = report_moments(c->from, &n);
	err = report_set_stream(c->to, s->value, s->missed);
	for (size_t i = 0; i < n && !err; i++) {
		struct report_moment m = moments[i];

		m.sample = c->samples[m.sample];
		if (m.sample != NONE)
			err = report_add_moment(c->to, &m);
	}
	return err;
}

int report_copy_ledger(struct copying *c, const char *cause)
{
	const struct report_ledger *old = &c->from->meta.ledger;
	uint64_t before = report_total(c->from, 0), after = report_total(c->to, 0);
	struct report_info info = c->from->meta.info;
	struct report_ledger l = *old;
	struct report_ledger_line *lines;
	int err;

	/* It was the number before: the sum is what is left to say. */
	info.has_events = info.has_events && before == after;
	if (before != after)
		info.counted = NULL;
	info.start_ns = c->to->meta.info.start_ns;
	info.duration_ns = c->to->meta.info.duration_ns;
	err = report_set_info(c->to, &info);
	if (err || !c->from->meta.has_ledger || after > before || before - after > old->kept)
		return err;
	lines = calloc(old->nlines + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	memcpy(lines, old->lines, old->nlines * sizeof(*lines));
	lines[old->nlines] = (struct report_ledger_line){ cause, before - after, REPORT_FILTERED };
	l.kept -= before - after;
	l.lines = lines;
	l.nlines++;
	err = report_set_ledger(c->to, &l);
	free(lines);
	return err;
}
