/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of histograms, one for each tuple of labels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/grow.h"
#include "hists.h"
#include "report/report.h"
#include "report/prometheus.h"

/* Labels are what others make up. Of the memory that there is a set may take this part, */
#define MEMORY_SHARE 8
#define MOST_BYTES (256u << 20) /*   but no more. */
/* What may stay as it is when a set is emptied. */
#define KEPT 256

static size_t bytes_of_hist(const struct report_hists *set)
{
	return sizeof(struct report_hist) + report_hist_slots(set->spec.bits) * sizeof(uint64_t);
}

static bool spec_makes_sense(const struct report_hists_spec *spec)
{
	if (!spec->title || !spec->metric || !spec->events || !report_prometheus_name(spec->metric))
		return false;
	if (spec->bits > REPORT_HIST_MAX_BITS || spec->nkeys > REPORT_HISTS_MAX_KEYS ||
	    (unsigned int)spec->unit > REPORT_UNIT_BYTES)
		return false;
	for (size_t i = 0; i < spec->nkeys; i++) {
		if (!spec->keys[i] || !report_prometheus_name(spec->keys[i]) ||
		    !strcmp(spec->keys[i], "le"))
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(spec->keys[i], spec->keys[k]))
				return false;
	}
	return true;
}

/* Texts that could not be copied stay NULL. */
static int copy_spec(struct report_hists *set, const struct report_hists_spec *spec)
{
	struct report_hists_spec *own = &set->spec;
	bool whole;

	*own = *spec;
	own->title = strdup(spec->title);
	own->metric = strdup(spec->metric);
	own->events = strdup(spec->events);
	own->keys = (const char *const *)set->keys;
	whole = own->title && own->metric && own->events;
	for (size_t i = 0; i < spec->nkeys; i++) {
		set->keys[i] = strdup(spec->keys[i]);
		whole = whole && set->keys[i];
	}
	return whole ? 0 : -ENOMEM;
}

int report_hists_new(const struct report_hists_spec *spec, struct report_hists **out)
{
	struct report_hists *set;
	int err;

	if (!spec_makes_sense(spec))
		return -EINVAL;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->tuples = HASH_SET(struct tuple);
	err = copy_spec(set, spec);
	set->most = (uint32_t)(rp_memory_part(MEMORY_SHARE, MOST_BYTES) / bytes_of_hist(set));
	if (set->most > HISTS_MOST)
		set->most = HISTS_MOST;
	if (!err)
		err = report_strings_init(&set->strings);
	if (err)
		report_hists_free(set);
	else
		*out = set;
	return err;
}

static void forget_tuples(struct report_hists *set)
{
	for (uint32_t i = 0; i < set->tuples.count; i++)
		free(set->hists[i]);
	rp_hash_free(&set->tuples);
}

void report_hists_free(struct report_hists *set)
{
	if (!set)
		return;
	forget_tuples(set);
	free(set->hists);
	report_strings_free(&set->strings);
	for (size_t i = 0; i < REPORT_HISTS_MAX_KEYS; i++)
		free(set->keys[i]);
	free((char *)set->spec.title);
	free((char *)set->spec.metric);
	free((char *)set->spec.events);
	report_meta_free(&set->meta);
	free(set);
}

static void empty(struct report_hist *h, unsigned int bits)
{
	size_t slots = report_hist_slots(bits) * sizeof(h->slots[0]);

	*h = (struct report_hist){ .bits = bits, .open = UINT32_MAX, .least = UINT64_MAX };
	memset(h->slots, 0, slots);
}

/* The number of a tuple, which may be a new one. */
static int add_tuple(struct report_hists *set, const char *const *values, uint32_t *id)
{
	const uint32_t before = set->tuples.count;
	struct tuple tuple = { 0 };
	int err = RP_GROW(set->hists, before, set->cap);

	for (size_t i = 0; i < set->spec.nkeys && !err; i++)
		err = report_strings_add(&set->strings, values[i] ? values[i] : "",
					 &tuple.value[i]);
	if (!err)
		err = rp_hash_number(&set->tuples, &tuple, id);
	if (!err && *id == before)
		set->hists[before] = NULL;
	return err;
}

/* The number of one that there is, or NONE. */
static uint32_t find_tuple(const struct report_hists *set, const char *const *values)
{
	const struct tuple *all = set->tuples.items, *found;
	struct tuple tuple = { 0 };

	for (size_t i = 0; i < set->spec.nkeys; i++) {
		tuple.value[i] = report_strings_find(&set->strings, values[i] ? values[i] : "");
		if (!tuple.value[i])
			return NONE;
	}
	found = rp_hash_find(&set->tuples, &tuple);
	return found ? (uint32_t)(found - all) : NONE;
}

#define OTHERS "[others]"
static const char *const of_others[] = { OTHERS, OTHERS, OTHERS, OTHERS };
_Static_assert(sizeof(of_others) / sizeof(of_others[0]) == REPORT_HISTS_MAX_KEYS, "as many");

static int get_within(struct report_hists *set, const char *const *values, uint32_t most,
		      struct report_hist **out)
{
	uint32_t id = set->tuples.count < most ? NONE : find_tuple(set, values);
	struct report_hist *h;
	int err = 0;

	if (id == NONE)
		err = add_tuple(set, set->tuples.count < most ? values : of_others, &id);
	if (err)
		return err;
	h = set->hists[id];
	if (!h) {
		h = set->hists[id] = malloc(bytes_of_hist(set));
		if (!h)
			return -ENOMEM;
		empty(h, set->spec.bits);
	}
	*out = h;
	return 0;
}

int report_hists_get(struct report_hists *set, const char *const *values, struct report_hist **out)
{
	return get_within(set, values, set->most, out);
}

int report_hists_get_spare(struct report_hists *set, const char *const *values,
			   struct report_hist **out)
{
	return get_within(set, values, set->most / 2, out);
}

static bool holds(const struct report_hists *set, uint32_t tuple)
{
	return set->hists[tuple] && set->hists[tuple]->count;
}

size_t report_hists_count(const struct report_hists *set)
{
	size_t n = 0;

	for (uint32_t i = 0; i < set->tuples.count; i++)
		n += holds(set, i);
	return n;
}

static uint64_t in_others(const struct report_hists *set)
{
	const uint32_t id = set->spec.nkeys ? find_tuple(set, of_others) : NONE;

	return id != NONE && holds(set, id) ? set->hists[id]->count : 0;
}

uint64_t report_hists_folded(const struct report_hists *set)
{
	return add_saturating(set->folded, in_others(set));
}

void report_hists_clear(struct report_hists *set)
{
	set->folded = report_hists_folded(set);
	if (set->tuples.count > KEPT) {
		forget_tuples(set);
		report_strings_forget(&set->strings);
	}
	for (uint32_t i = 0; i < set->tuples.count; i++)
		if (holds(set, i))
			empty(set->hists[i], set->spec.bits);
}

uint64_t report_hists_total(const struct report_hists *set)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < set->tuples.count; i++)
		if (holds(set, i))
			sum = add_saturating(sum, set->hists[i]->count);
	return sum;
}

static int by_labels(const void *a, const void *b, void *arg)
{
	const struct report_hists *set = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = 0;

	for (size_t i = 0; i < set->spec.nkeys && !order; i++)
		order = strverscmp(hists_label(set, x, i), hists_label(set, y, i));
	return order;
}

uint32_t *report_hists_sorted(const struct report_hists *set, uint32_t *n)
{
	uint32_t *sorted = malloc(((size_t)set->tuples.count + 1) * sizeof(*sorted));

	if (!sorted)
		return NULL;
	*n = 0;
	for (uint32_t i = 0; i < set->tuples.count; i++)
		if (holds(set, i))
			sorted[(*n)++] = i;
	qsort_r(sorted, *n, sizeof(*sorted), by_labels, (void *)set);
	return sorted;
}

int report_hists_set_info(struct report_hists *set, const struct report_info *info)
{
	return report_meta_set_info(&set->meta, info);
}

int report_hists_set_ledger(struct report_hists *set, const struct report_ledger *ledger)
{
	return report_meta_set_ledger(&set->meta, ledger);
}

void report_hists_set_cost(struct report_hists *set, const struct report_cost *cost)
{
	report_meta_set_cost(&set->meta, cost);
}
