/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile as sections of a saved file: everything numbered anew, in an order of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/write.h"
#include "saved.h"

/* The number that each thing has in the file; NONE: none yet. */
struct numbering {
	const struct report *r;
	struct order order; /* strings and frames have their ranks as numbers */
	uint32_t *mappings, *functions, *nodes, *label_sets, *samples;
	uint32_t *frames; /* by rank */
	uint32_t nmappings, nfunctions, nnodes, nlabel_sets;
};

static uint32_t *no_numbers(uint32_t n)
{
	uint32_t *numbers = malloc(((size_t)n + 1) * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, ((size_t)n + 1) * sizeof(*numbers));
	return numbers;
}

static void numbering_free(struct numbering *n)
{
	report_order_free(&n->order);
	free(n->mappings);
	free(n->functions);
	free(n->nodes);
	free(n->label_sets);
	free(n->samples);
	free(n->frames);
}

static int numbering_make(const struct report *r, struct numbering *n)
{
	*n = (struct numbering){ .r = r };
	n->mappings = no_numbers(r->mappings.count);
	n->functions = no_numbers(r->functions.count);
	n->nodes = no_numbers(r->nnodes);
	n->label_sets = no_numbers(r->label_sets.count);
	n->samples = no_numbers(r->samples.count);
	n->frames = no_numbers(r->frames.count);
	if (!n->mappings || !n->functions || !n->nodes || !n->label_sets || !n->samples ||
	    !n->frames || report_order_make(r, true, &n->order)) {
		numbering_free(n);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->frames.count; i++)
		n->frames[n->order.frames[i]] = i;
	for (uint32_t i = 0; i < r->samples.count; i++)
		n->samples[n->order.samples[i]] = i;
	return 0;
}

/* Strings have their ranks as numbers, from 1; 0 is none. */
static int put_strings(struct saved_document *d, const struct numbering *n)
{
	const struct strings *s = &n->r->strings;
	struct buf *b = report_saved_section(d, SAVED_STRS);
	uint32_t *by_rank = calloc(s->count, sizeof(*by_rank));

	if (!by_rank)
		return -ENOMEM;
	for (uint32_t i = 1; i < s->count; i++)
		by_rank[n->order.strings[i]] = i;
	report_proto_add_varint(b, s->count - 1);
	for (uint32_t i = 1; i < s->count; i++)
		report_put_text(b, strings_get(s, by_rank[i]));
	free(by_rank);
	return 0;
}

static void put_string(struct buf *b, const struct numbering *n, uint32_t string)
{
	report_proto_add_varint(b, n->order.strings[string]);
}

static void put_types(struct saved_document *d, const struct numbering *n)
{
	struct buf *b = report_saved_section(d, SAVED_TYPE);

	report_proto_add_varint(b, n->r->ntypes);
	for (size_t i = 0; i < n->r->ntypes; i++) {
		put_string(b, n, n->r->types[i].type);
		put_string(b, n, n->r->types[i].unit);
	}
}

/* The thing is put, unless it was; its number. */
static uint32_t put_mapping(struct buf *b, struct numbering *n, uint32_t mapping)
{
	const struct mapping *m = mapping_of(n->r, mapping);

	if (n->mappings[mapping] != NONE)
		return n->mappings[mapping];
	put_string(b, n, m->path);
	put_string(b, n, m->build_id);
	report_proto_add_varint(b, m->start);
	report_proto_add_varint(b, m->end);
	report_proto_add_varint(b, m->offset);
	return n->mappings[mapping] = n->nmappings++;
}

static uint32_t put_function(struct buf *b, struct numbering *n, uint32_t function)
{
	const struct function *f = function_of(n->r, function);

	if (n->functions[function] != NONE)
		return n->functions[function];
	put_string(b, n, f->name);
	put_string(b, n, f->path);
	report_proto_add_varint(b, f->kind);
	return n->functions[function] = n->nfunctions++;
}

static void put_frames(struct saved_document *d, struct numbering *n)
{
	struct buf *mappings = report_saved_section(d, SAVED_MAPS);
	struct buf *functions = report_saved_section(d, SAVED_FUNC);
	struct buf *b = report_saved_section(d, SAVED_FRAM);

	for (uint32_t i = 0; i < n->r->frames.count; i++) {
		const struct frame *f = frame_of(n->r, n->frames[i]);

		report_proto_add_varint(b, put_function(functions, n, f->function));
		report_proto_add_varint(b, put_mapping(mappings, n, f->mapping));
		report_proto_add_varint(b, f->address);
		report_proto_add_varint(b, f->symbol_offset);
		report_proto_add_varint(b, f->module_addr);
		put_string(b, n, f->file);
		report_proto_add_varint(b, f->line);
		report_proto_add_varint(b, f->is_return);
	}
}

/* A node behind its parents, which come first if they are new; its number. */
static uint32_t put_node(struct buf *b, struct numbering *n, uint32_t node)
{
	const struct node *nodes = n->r->nodes;
	uint32_t path[REPORT_MAX_STACK], depth = 0, parent;

	for (; n->nodes[node] == NONE; node = nodes[node].parent)
		path[depth++] = node;
	parent = n->nodes[node];
	while (depth) {
		node = path[--depth];
		/* How far back the parent is: mostly 1. */
		report_proto_add_varint(b, n->nnodes - parent);
		report_proto_add_varint(b, n->order.frames[nodes[node].frame]);
		parent = n->nodes[node] = n->nnodes++;
	}
	return parent;
}

static uint32_t put_labels(struct buf *b, struct numbering *n, uint32_t label_set)
{
	const struct label_set *set = labels_of(n->r, label_set);

	if (n->label_sets[label_set] != NONE)
		return n->label_sets[label_set];
	report_proto_add_varint(b, set->count);
	for (uint64_t i = 0; i < set->count; i++) {
		const struct label *l = &set->labels[i];

		put_string(b, n, l->key);
		put_string(b, n, l->str);
		put_string(b, n, l->unit);
		report_put_signed(b, l->num);
	}
	return n->label_sets[label_set] = n->nlabel_sets++;
}

static void put_samples(struct saved_document *d, struct numbering *n)
{
	const struct report *r = n->r;
	struct buf *nodes = report_saved_section(d, SAVED_NODE);
	struct buf *labels = report_saved_section(d, SAVED_LABL);
	struct buf *b = report_saved_section(d, SAVED_SAMP);

	n->nodes[0] = n->nnodes++; /* the root and the empty set are not written */
	n->label_sets[0] = n->nlabel_sets++;
	for (uint32_t i = 0; i < r->samples.count; i++) {
		const struct sample *s = sample_of(r, n->order.samples[i]);

		report_proto_add_varint(b, put_node(nodes, n, s->node));
		put_string(b, n, s->comm);
		report_proto_add_varint(b, put_labels(labels, n, s->label_set));
		report_put_signed(b, s->pid);
		report_put_signed(b, s->tid);
		for (size_t type = 0; type < r->ntypes; type++)
			report_proto_add_varint(b, value_of(r, n->order.samples[i], type));
	}
}

/* The moments have an order that depends on nothing but what they are. */
static void put_stream(struct saved_document *d, const struct numbering *n)
{
	const struct report_moment *moments;
	uint64_t before = 0;
	struct buf *b;
	size_t count;

	if (!n->r->stream->present)
		return;
	moments = report_moments(n->r, &count);
	b = report_saved_section(d, SAVED_TIME);
	report_proto_add_varint(b, n->r->stream->value);
	report_proto_add_varint(b, n->r->stream->missed);
	for (size_t i = 0; i < count; i++) {
		const struct report_moment *m = &moments[i];

		report_proto_add_varint(b, m->time_ns - before);
		report_proto_add_varint(b, (uint64_t)m->cpu << 4 | m->kind);
		report_proto_add_varint(b, m->weight);
		report_proto_add_varint(b, n->samples[m->sample]);
		report_proto_add_varint(b, m->count);
		before = m->time_ns;
	}
}

int report_saved_put_profile(struct saved_document *d, const struct report *r)
{
	struct numbering n;
	int err = numbering_make(r, &n);

	if (err)
		return err;
	err = put_strings(d, &n);
	put_types(d, &n);
	put_frames(d, &n);
	put_samples(d, &n);
	put_stream(d, &n);
	numbering_free(&n);
	return err;
}
