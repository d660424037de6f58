/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a profile: samples that fit, a time, the callers and callees of a function. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "filter.h"

/* ---- by an expression */

int report_select(const struct report *r, const char *expression, struct report **out,
		  char why[REPORT_WHY])
{
	struct filter *f = NULL;
	struct copying c;
	int err = report_filter_new(r, expression, &f, why);

	if (!err)
		err = report_copy_begin(&c, r);
	if (err) {
		report_filter_free(f);
		return err;
	}
	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		if (report_filter_takes(f, i))
			err = report_copy_whole(&c, i);
	if (!err && !c.to->samples.count) {
		snprintf(why, REPORT_WHY, "no sample of the profile fits");
		err = -EINVAL;
	}
	if (!err)
		err = report_copy_stream(&c);
	if (!err)
		err = report_copy_ledger(&c, "other than --filter");
	report_filter_free(f);
	return report_copy_end(&c, err, out);
}

/* ---- by time */

/* What of an interval is within [from, to); both ends are times of the stream. */
static uint64_t overlap(const struct report_moment *m, uint64_t from, uint64_t to)
{
	uint64_t begin = m->weight < m->time_ns ? m->time_ns - m->weight : 0, end = m->time_ns;

	/* What began before the recording has its whole weight in it. */
	if (begin <= from && end < to && m->weight >= m->time_ns && !from)
		return m->weight;
	begin = begin > from ? begin : from;
	end = end < to ? end : to;
	return end > begin ? end - begin : 0;
}

/* Adds what a moment is worth between the two; false: nothing. */
static bool add_moment(const struct report *r, const struct report_moment *m, uint64_t from,
		       uint64_t to, uint64_t values[REPORT_MAX_VALUES])
{
	const bool inside = m->time_ns >= from && m->time_ns < to;
	const uint64_t weight = m->kind == REPORT_UNTIL ? overlap(m, from, to)
				: inside		? m->weight
							: 0;

	if (m->kind == REPORT_WOKEN || (!inside && !weight))
		return false;
	values[0] = inside ? m->count : 0;
	if (r->stream->value)
		values[1] = weight;
	return true;
}

static int add_moments(struct copying *c, uint64_t from, uint64_t to)
{
	const struct report *r = c->from;
	const struct report_moment *moments;
	size_t n;
	int err = 0;

	moments = report_moments(r, &n);
	for (size_t i = 0; i < n && !err; i++) {
		struct report_moment m = moments[i];
		uint64_t values[REPORT_MAX_VALUES];
		uint32_t node;

		if (!add_moment(r, &m, from, to, values))
			continue;
		err = report_copy_node(c, sample_of(r, m.sample)->node, &node);
		if (!err)
			err = report_copy_sample(c, m.sample, node, values);
		if (err)
			break;
		if (m.kind == REPORT_UNTIL)
			m.weight = overlap(&moments[i], from, to);
		m.count = (uint32_t)values[0];
		m.sample = c->samples[m.sample];
		m.time_ns = (m.time_ns < to ? m.time_ns : to - 1) - from;
		err = report_add_moment(c->to, &m);
	}
	return err;
}

int report_between(const struct report *r, uint64_t from_ns, uint64_t to_ns, struct report **out,
		   char why[REPORT_WHY])
{
	const struct report_stream *s = r->stream;
	struct report_value_type types[2];
	struct report_info info = r->meta.info;
	struct copying c;
	int err;

	if (!s->present || !s->n) {
		snprintf(why, REPORT_WHY, "it has no times");
		return -EINVAL;
	}
	*why = '\0';
	types[0] = report_value_type(r, 0);
	types[1] = report_value_type(r, s->value);
	err = report_copy_begin_types(&c, r, types, s->value ? 2 : 1);
	if (err)
		return err;
	to_ns = to_ns > REPORT_MOMENT_LAST ? REPORT_MOMENT_LAST + 1 : to_ns;
	err = report_set_stream(c.to, s->value ? 1 : 0, 0);
	if (!err)
		err = add_moments(&c, from_ns, to_ns);
	info.start_ns += info.start_ns ? from_ns : 0;
	if (info.duration_ns && to_ns > info.duration_ns)
		to_ns = info.duration_ns;
	info.duration_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	if (!err)
		err = report_set_info(c.to, &info);
	if (!err)
		err = report_copy_ledger(&c, "other than --between");
	return report_copy_end(&c, err, out);
}

uint64_t report_without_time(const struct report *r)
{
	uint64_t sum = 0, total = report_total(r, 0);

	for (size_t i = 0; i < r->stream->n; i++)
		sum += r->stream->moments[i].count;
	return sum < total ? total - sum : 0;
}

/* ---- by function */

/* The frames from node up to, and without, stop, leaf first, below `below`. */
static int add_path(struct copying *c, uint32_t node, uint32_t stop, uint32_t below, uint32_t *out)
{
	uint32_t path[REPORT_MAX_STACK], depth = 0, frame;
	int err = 0;

	for (; node != stop; node = c->from->nodes[node].parent)
		path[depth++] = c->from->nodes[node].frame;
	*out = below;
	while (depth && !err) {
		err = report_copy_frame(c, path[--depth], &frame);
		if (!err)
			err = report_node_add(c->to, *out, frame, out);
	}
	return err;
}

/* The node of the function in a stack, 0 if it is not in it: the innermost or the outermost. */
static uint32_t find_function(const struct report *r, const bool *fits, uint32_t node,
			      bool innermost)
{
	uint32_t found = 0;

	for (; node && !(innermost && found); node = r->nodes[node].parent)
		if (fits[frame_of(r, r->nodes[node].frame)->function])
			found = node;
	return found;
}

static int around(const struct report *r, const bool *fits, bool callers, struct report **out,
		  char why[REPORT_WHY])
{
	struct copying c;
	int err = report_copy_begin(&c, r);

	if (err)
		return err;
	for (uint32_t i = 0; i < r->samples.count && !err; i++) {
		const uint32_t leaf = sample_of(r, i)->node;
		const uint32_t at = find_function(r, fits, leaf, callers);
		uint32_t node;

		if (!at)
			continue;
		err = callers ? report_copy_node(&c, at, &node)
			      : add_path(&c, leaf, r->nodes[at].parent, 0, &node);
		if (!err)
			err = report_copy_sample(&c, i, node, NULL);
	}
	if (!err && !c.to->samples.count) {
		snprintf(why, REPORT_WHY, "no stack has such a function");
		err = -EINVAL;
	}
	if (!err)
		err = report_copy_stream(&c);
	if (!err)
		err = report_copy_ledger(&c,
					 callers ? "other than --callers" : "other than --callees");
	return report_copy_end(&c, err, out);
}

int report_around(const struct report *r, const char *function, bool callers, struct report **out,
		  char why[REPORT_WHY])
{
	struct pattern *p = NULL;
	bool *fits = NULL;
	int err;

	*why = '\0';
	err = report_pattern_new(function, false, &p, why);
	if (!err && !(fits = report_pattern_functions(r, p, false)))
		err = -ENOMEM;
	if (!err)
		err = around(r, fits, callers, out, why);
	report_pattern_free(p);
	free(fits);
	return err;
}
