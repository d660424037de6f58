/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile from the sections of a saved file. What it refers to comes before it, has been made,
 * and is no second time there: so numbers of the file are those of the report.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "saved.h"

struct profile_input {
	struct report *r;
	struct saved_sections *s;
	uint32_t *strings; /* of each string of the file, its number in the report; 0: none */
	uint32_t nstrings; /* with the one that is none */
	uint16_t *depth;   /* of each node */
	uint32_t ndepth;
};

static bool more(const struct saved_input *in)
{
	return !in->bad && in->at != in->end;
}

/* 0 if all of it was understood. */
static int ended(const struct saved_input *in, int err)
{
	return err ? err : in->bad || in->at != in->end ? -EINVAL : 0;
}

static uint32_t get_string(struct profile_input *p, struct saved_input *in)
{
	return p->strings[report_get_below(in, p->nstrings)];
}

/* Adds what is to be new; -EINVAL: it is there. */
static int add_new(struct hash_map *set, const void *thing)
{
	const uint32_t before = set->count;
	uint32_t number;
	int err = rp_hash_number(set, thing, &number);

	return err ? err : number != before ? -EINVAL : 0;
}

/*
 * Sections of strings and types. The types are what a report is made with, so the strings of the
 * file are taken down first and added then.
 */
static int get_strings(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_STRS];
	/* Each takes two bytes at least. */
	const uint32_t n = report_get_below(in, (uint64_t)(in->end - in->at) / 2 + 1);
	struct saved_input *types = &p->s->in[SAVED_TYPE];
	struct report_value_type type[REPORT_MAX_VALUES] = { 0 };
	const char **text = calloc((size_t)n + 1, sizeof(*text));
	uint32_t ntypes;
	int err = 0;

	p->strings = calloc((size_t)n + 1, sizeof(*p->strings));
	p->nstrings = n + 1;
	for (uint32_t i = 1; text && i <= n; i++) {
		text[i] = report_get_text(in);
		in->bad = in->bad || !text[i];
	}
	ntypes = report_get_below(types, REPORT_MAX_VALUES + 1);
	for (uint32_t i = 0; text && i < ntypes; i++) {
		type[i].type = text[report_get_below(types, p->nstrings)];
		type[i].unit = text[report_get_below(types, p->nstrings)];
	}
	err = !text || !p->strings ? -ENOMEM : ended(in, ended(types, 0));
	if (!err)
		err = report_new(type, ntypes, &p->r);
	for (uint32_t i = 1; !err && i <= n; i++)
		err = report_strings_add(&p->r->strings, text[i], &p->strings[i]);
	free(text);
	return err;
}

static int get_mappings(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_MAPS];
	int err = 0;

	while (!err && more(in)) {
		struct mapping m = { .path = get_string(p, in) };

		m.build_id = get_string(p, in);
		m.start = report_get_number(in);
		m.end = report_get_number(in);
		m.offset = report_get_number(in);
		if (!in->bad)
			err = add_new(&p->r->mappings, &m);
	}
	return ended(in, err);
}

static int get_functions(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_FUNC];
	int err = 0;

	while (!err && more(in)) {
		struct function f = { .name = get_string(p, in) };

		f.path = get_string(p, in);
		f.kind = report_get_below(in, REPORT_FRAME_KINDS);
		if (!in->bad)
			err = add_new(&p->r->functions, &f);
	}
	return ended(in, err);
}

static int get_frames(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_FRAM];
	int err = 0;

	while (!err && more(in)) {
		struct frame f = { 0 };

		f.function = report_get_below(in, p->r->functions.count);
		f.mapping = report_get_below(in, p->r->mappings.count);
		f.address = report_get_number(in);
		f.symbol_offset = report_get_number(in);
		f.module_addr = report_get_number(in);
		f.file = get_string(p, in);
		f.line = report_get_below(in, 1ull << 32);
		f.is_return = report_get_flag(in);
		if (in->bad)
			break;
		/* The path is the one thing that is in both. */
		err = mapping_of(p->r, f.mapping)->path == function_of(p->r, f.function)->path
			      ? add_new(&p->r->frames, &f)
			      : -EINVAL;
	}
	return ended(in, err);
}

static int get_nodes(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_NODE];
	uint32_t capacity = 0, node;
	int err = RP_PUSH(p->depth, p->ndepth, capacity, 0);

	while (!err && more(in)) {
		const uint32_t n = p->r->nnodes;
		uint32_t back = report_get_below(in, (uint64_t)n + 1);
		uint32_t frame = report_get_below(in, p->r->frames.count);

		if (in->bad || !back || p->depth[n - back] == REPORT_MAX_STACK)
			return -EINVAL;
		err = report_node_add(p->r, n - back, frame, &node);
		if (!err && node != n)
			err = -EINVAL;
		if (!err)
			err = RP_PUSH(p->depth, p->ndepth, capacity,
				      (uint16_t)(p->depth[n - back] + 1));
	}
	return ended(in, err);
}

/* The labels of a set that report_add() could have made. */
static void get_label(struct profile_input *p, struct saved_input *in, struct label *l,
		      const char *before)
{
	const char *key;

	l->key = get_string(p, in);
	l->str = get_string(p, in);
	l->unit = get_string(p, in);
	l->num = report_get_signed(in);
	key = text(p->r, l->key);
	in->bad = in->bad || !key || !*key || (before && strcmp(before, key) >= 0) ||
		  !strcmp(key, "comm") || !strcmp(key, "pid") || !strcmp(key, "tid") ||
		  (l->str && (l->num || l->unit));
}

static int get_label_sets(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_LABL];
	int err = 0;

	while (!err && more(in)) {
		struct label_set set = { .count = report_get_below(in, REPORT_MAX_LABELS + 1) };
		const char *before = NULL;

		for (uint64_t i = 0; i < set.count && !in->bad; i++) {
			get_label(p, in, &set.labels[i], before);
			before = text(p->r, set.labels[i].key);
		}
		if (!in->bad)
			err = add_new(&p->r->label_sets, &set);
	}
	return ended(in, err);
}

static int32_t get_id(struct saved_input *in)
{
	const int64_t id = report_get_signed(in);

	in->bad = in->bad || id != (int32_t)id;
	return (int32_t)id;
}

static int get_samples(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_SAMP];
	struct report *r = p->r;
	int err = 0;

	while (!err && more(in)) {
		const uint32_t before = r->samples.count;
		struct sample s = { .node = report_get_below(in, r->nnodes) };
		uint64_t values[REPORT_MAX_VALUES];
		uint32_t id;

		s.comm = get_string(p, in);
		s.label_set = report_get_below(in, r->label_sets.count);
		s.pid = get_id(in);
		s.tid = get_id(in);
		for (size_t i = 0; i < r->ntypes; i++)
			values[i] = report_get_number(in);
		if (in->bad || !s.comm)
			return -EINVAL;
		err = report_sample_add(r, &s, values, &id);
		if (!err && id != before)
			err = -EINVAL;
	}
	return ended(in, err);
}

static int get_stream(struct profile_input *p)
{
	struct saved_input *in = &p->s->in[SAVED_TIME];
	uint32_t value = report_get_below(in, p->r->ntypes);
	uint64_t time = 0;
	int err = report_set_stream(p->r, value, report_get_number(in));

	while (!err && more(in)) {
		struct report_moment m;
		uint32_t place;

		time += report_get_below_wide(in, REPORT_MOMENT_LAST + 1 - time);
		place = report_get_below(in, 1 << 16);
		m.time_ns = time;
		m.cpu = place >> 4;
		m.kind = place & 15;
		m.weight = report_get_number(in);
		m.sample = report_get_below(in, p->r->samples.count);
		m.count = report_get_below(in, 1ull << 32);
		if (!in->bad)
			err = report_add_moment(p->r, &m);
	}
	return ended(in, err);
}

int report_saved_get_profile(struct saved_sections *s, struct report_meta *meta,
			     struct report **out, enum saved_tag *bad)
{
	static const struct {
		enum saved_tag tag;
		int (*get)(struct profile_input *p);
	} steps[] = {
		{ SAVED_STRS, get_strings },   { SAVED_MAPS, get_mappings },
		{ SAVED_FUNC, get_functions }, { SAVED_FRAM, get_frames },
		{ SAVED_NODE, get_nodes },     { SAVED_LABL, get_label_sets },
		{ SAVED_SAMP, get_samples },   { SAVED_TIME, get_stream },
	};
	struct profile_input p = { .s = s };
	int err = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !err; i++) {
		*bad = steps[i].tag;
		if (s->bytes[*bad])
			err = steps[i].get(&p);
	}
	free(p.strings);
	free(p.depth);
	if (err) {
		report_free(p.r);
		report_meta_free(meta);
		return err;
	}
	p.r->meta = *meta;
	*out = p.r;
	return 0;
}
