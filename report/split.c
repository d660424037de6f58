/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile as several, by the labels of its samples: what servers of profiles call series, each of
 * which is one service. In them no process is told from another unless it is asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"

size_t report_label_sets(const struct report *r)
{
	return r->label_sets.count;
}

void report_label_set_totals(const struct report *r, uint64_t *totals)
{
	memset(totals, 0xff, r->label_sets.count * sizeof(*totals));
	for (uint32_t i = 0; i < r->samples.count; i++) {
		uint64_t *total = &totals[sample_of(r, i)->label_set];

		*total = add_saturating(*total == UINT64_MAX ? 0 : *total, value_of(r, i, 0));
		*total -= *total == UINT64_MAX;
	}
}

const char *report_label_text(const struct report *r, size_t set, const char *key)
{
	const struct label *l = label_by_key(r, (uint32_t)set, key);

	return l && l->str ? text(r, l->str) : NULL;
}

static int copy_sample(struct copying *c, uint32_t sample, unsigned int keep, const char *except)
{
	const struct sample *from = sample_of(c->from, sample);
	struct sample s = { 0 };
	int err = report_copy_node(c, from->node, &s.node);

	if (!err && keep & REPORT_KEEP_COMM)
		err = report_strings_add(&c->to->strings, text(c->from, from->comm), &s.comm);
	if (!err && keep & REPORT_KEEP_LABELS)
		err = report_copy_labels(c, from->label_set, except, &s.label_set);
	s.pid = keep & REPORT_KEEP_PID ? from->pid : 0;
	s.tid = keep & REPORT_KEEP_TID ? from->tid : 0;
	return err ? err
		   : report_sample_add(c->to, &s,
				       &c->from->values[(size_t)sample * c->from->ntypes],
				       &c->samples[sample]);
}

static int split_off(const struct report *r, const uint32_t *part_of, uint32_t part,
		     unsigned int keep, const char *except, struct report **out)
{
	struct copying c;
	int err = report_copy_begin(&c, r);

	if (err)
		return err;
	c.to->without_pids = !(keep & REPORT_KEEP_PID);
	for (uint32_t i = 0; i < r->samples.count && !err; i++)
		if (part_of[sample_of(r, i)->label_set] == part)
			err = copy_sample(&c, i, keep, except);
	if (!err)
		err = report_copy_ledger(&c, "other services");
	return report_copy_end(&c, err, out);
}

int report_split(const struct report *r, const uint32_t *part_of, size_t n, unsigned int keep,
		 const char *except, struct report **parts)
{
	int err = 0;

	memset(parts, 0, n * sizeof(*parts));
	for (size_t i = 0; i < n && !err; i++)
		err = split_off(r, part_of, (uint32_t)i, keep, except, &parts[i]);
	for (size_t i = 0; i < n && err; i++) {
		report_free(parts[i]);
		parts[i] = NULL;
	}
	return err;
}

bool report_next_module(const struct report *r, size_t *at, const char **path, const char **id)
{
	while (*at < r->mappings.count) {
		const struct mapping *m = mapping_of(r, (uint32_t)(*at)++);

		if (!m->path || !m->build_id)
			continue;
		*path = text(r, m->path);
		*id = text(r, m->build_id);
		return true;
	}
	return false;
}
