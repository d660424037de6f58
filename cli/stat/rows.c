/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown together, and what its places have counted. There may be as many threads as a user
 * likes: which row a place is of is looked up once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "stat.h"

static void name_thread(struct stat_row *row)
{
	char path[64], comm[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)row->task);
	if (rp_read_small_file(path, comm, sizeof(comm)) < 0)
		snprintf(comm, sizeof(comm), "?");
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(row->label, sizeof(row->label), "%s-%d", comm, (int)row->task);
}

static int add_row(struct stat_rows *r, struct stat_figures *f, struct rp_counter_place key)
{
	const struct stat_row new = { .task = key.task, .cpu = key.cpu };
	struct stat_row *row;

	if (RP_PUSH(f->rows, f->nrows, r->capacity, new))
		return -ENOMEM;
	row = &f->rows[f->nrows - 1];
	row->sum = calloc(f->n, sizeof(*row->sum));
	if (!row->sum)
		return -ENOMEM;
	if (row->cpu >= 0)
		snprintf(row->label, sizeof(row->label), "CPU%d", row->cpu);
	else if (row->task >= 0)
		name_thread(row);
	return 0;
}

/* Rows are those of the first round. */
static int find_row(struct stat_rows *r, struct stat_figures *f, const struct stat_options *own,
		    struct rp_counter_place place, uint32_t *row)
{
	const struct rp_counter_place key = { own->per_thread ? place.task : -1,
					      own->per_cpu ? place.cpu : -1 };
	const struct rp_counter_place *known = rp_hash_find(&r->keys, &key);
	int err;

	*row = HASH_NONE;
	if (!known && r->is_complete)
		return 0;
	err = rp_hash_number(&r->keys, &key, row);
	return err || known ? err : add_row(r, f, key);
}

int stat_rows_note(struct stat_rows *r, struct stat_figures *f, const struct stat_options *own,
		   const struct rp_counters *counters)
{
	const size_t n = rp_counters_places(counters);
	int err = 0;

	if (!r->keys.size)
		r->keys = HASH_SET(struct rp_counter_place);
	r->row = calloc(n + 1, sizeof(*r->row));
	r->before = calloc(f->n * n + 1, sizeof(*r->before));
	if (!r->row || !r->before)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = find_row(r, f, own, rp_counters_place(counters, i), &r->row[i]);
	r->is_complete = true;
	r->part = err ? NULL : calloc(f->nrows + 1, sizeof(*r->part));
	return err || r->part ? err : -ENOMEM;
}

void stat_rows_forget(struct stat_rows *r)
{
	free(r->row);
	free(r->before);
	free(r->part);
	r->row = NULL;
	r->before = NULL;
	r->part = NULL;
}

void stat_rows_free(struct stat_rows *r, struct stat_figures *f)
{
	stat_rows_forget(r);
	rp_hash_free(&r->keys);
	for (size_t i = 0; i < f->nrows; i++)
		free(f->rows[i].sum);
	free(f->rows);
}

/* ---- counts */

/* What has come since the last time, or since the beginning. */
static int count_since(struct rp_perf_counts *before, const struct rp_counters *counters,
		       size_t event, size_t place, struct rp_perf_counts *out)
{
	struct rp_perf_counts now;
	int err = rp_counters_read(counters, event, place, &now);

	if (err)
		return err;
	*out = (struct rp_perf_counts){ now.value - before->value,
					now.enabled_ns - before->enabled_ns,
					now.running_ns - before->running_ns };
	*before = now;
	return 0;
}

/* Scaled where it was: each place has had counters for a time of its own. */
static double scaled(const struct rp_perf_counts *c)
{
	return c->running_ns && c->running_ns < c->enabled_ns
		       ? (double)c->value * ((double)c->enabled_ns / (double)c->running_ns)
		       : (double)c->value;
}

/* A round in which it never had a counter says nothing of its mean. */
static void add_part(struct stat_sum *sum, const struct stat_part *part)
{
	struct stat_series series = { sum->runs, sum->mean, sum->m2 };

	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	if (!part->running_ns && part->enabled_ns)
		return;
	stat_series_add(&series, part->value);
	sum->runs = series.n;
	sum->mean = series.mean;
	sum->m2 = series.m2;
}

int stat_rows_sum(struct stat_rows *r, struct stat_figures *f, const struct rp_counters *counters,
		  size_t event)
{
	const size_t n = rp_counters_places(counters);

	memset(r->part, 0, f->nrows * sizeof(*r->part));
	for (size_t i = 0; i < n; i++) {
		struct rp_perf_counts c;
		struct stat_part *part;
		int err;

		if (r->row[i] == HASH_NONE)
			continue;
		err = count_since(&r->before[event * n + i], counters, event, i, &c);
		if (err)
			return err;
		part = &r->part[r->row[i]];
		part->value += scaled(&c);
		part->enabled_ns += c.enabled_ns;
		part->running_ns += c.running_ns;
	}
	for (size_t i = 0; i < f->nrows; i++) {
		f->rows[i].sum[event].state = rp_counters_state(counters, event);
		add_part(&f->rows[i].sum[event], &r->part[i]);
	}
	return 0;
}
