/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording of locks has found, as a list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "lock.h"

void lock_list_free(struct lock_list *list)
{
	for (size_t i = 0; i < list->ntexts; i++)
		free(list->text[i]);
	free(list->text);
	free(list->item);
	*list = (struct lock_list){ 0 };
}

/* A walk through the maps. */
struct walk {
	struct recording *rec;
	struct lock_list *list;
	uint64_t now; /* until when waits that go on have lasted */
};

static int add_item(struct walk *w, const struct lock_pair *pair, const struct lock_sum *sum)
{
	struct lock_list *list = w->list;
	struct lock_item *item;

	if (RP_GROW(list->item, list->n, list->capacity))
		return -ENOMEM;
	item = &list->item[list->n];
	*item = (struct lock_item){ .waiter = record_stacks_find(w->rec->stacks, pair->waiter),
				    .releaser = pair->releaser ? record_stacks_find(w->rec->stacks,
										    pair->releaser)
							       : NULL,
				    .how = pair->how,
				    .outcome = pair->outcome,
				    .count = sum->count,
				    .ns = sum->ns,
				    .max_ns = sum->max_ns };
	if (!item->waiter) /* a stack is published before anything refers to it */
		return rp_fail(-EBADMSG, "a thread waits where no stack is known");
	list->n++;
	return 0;
}

/* What of it is new since the last interval; remembers it for the next one. */
static int take_new(struct lock *l, const struct lock_pair *pair, struct lock_sum *sum)
{
	struct lock_earlier *known = rp_hash_add(&l->earlier, pair);
	const struct lock_sum now = *sum;

	if (!known)
		return -ENOMEM;
	sum->count -= known->sum.count;
	sum->ns -= known->sum.ns;
	known->sum = now;
	return 0;
}

/* It came after the stacks were fetched. */
static bool is_of_next_interval(const struct walk *w, uint64_t waiter)
{
	return w->rec->opt->interval && !record_stacks_find(w->rec->stacks, waiter);
}

static int take_result(void *ctx, const void *key, const void *value)
{
	struct walk *w = ctx;
	struct lock_pair pair;
	struct lock_sum sum;
	int err = 0;

	memcpy(&pair, key, sizeof(pair));
	memcpy(&sum, value, sizeof(sum));
	if (is_of_next_interval(w, pair.waiter))
		return 0;
	if (!w->now)
		err = take_new(w->rec->ctx, &pair, &sum);
	return err || !sum.count ? err : add_item(w, &pair, &sum);
}

static int take_waiting(struct walk *w, const struct lock_waits *waits)
{
	struct lock *l = w->rec->ctx;
	int err = 0;

	for (int i = 0; !err && i < LOCK_DEPTH; i++) {
		const struct lock_wait *wait = &waits->wait[i];
		const struct lock_pair pair = { .waiter = wait->hash,
						.how = wait->how,
						.outcome = LOCK_WAITING };
		struct lock_sum sum = { .count = 1 };

		if (!wait->lock || is_of_next_interval(w, wait->hash))
			continue;
		sum.ns = sum.max_ns = wait->since < w->now ? w->now - wait->since : 0;
		if (sum.ns < l->config.min_ns)
			l->shorter++;
		else
			err = add_item(w, &pair, &sum);
	}
	return err;
}

static int take_thread(void *ctx, const void *key, const void *value)
{
	(void)key;
	return take_waiting(ctx, value);
}

static int take_spinners(void *ctx, const void *key, const void *value)
{
	struct walk *w = ctx;
	size_t stride = rp_map_cpu_stride(&record_stacks_maps(w->rec->stacks)[LOCK_MAP_SPINNERS]);
	int err = 0;

	(void)key;
	for (int cpu = 0; !err && cpu < rp_cpus_possible(); cpu++)
		err = take_waiting(w, (const void *)((const char *)value + (size_t)cpu * stride));
	return err;
}

static int weigh(void *ctx, const void *key, const void *value)
{
	struct recording *rec = ctx;
	struct lock_pair pair;
	struct lock_sum sum;
	int err;

	memcpy(&pair, key, sizeof(pair));
	memcpy(&sum, value, sizeof(sum));
	err = record_stacks_add(rec->stacks, pair.waiter,
				(uint64_t[STACK_VALUES]){ sum.count, sum.ns });
	return err == -ENOENT ? 0 : err; /* lock_waits() says it */
}

int lock_weigh(struct recording *rec)
{
	return record_stacks_each(rec->stacks, LOCK_MAP_RESULTS, weigh, rec);
}

bool lock_wanted(const struct lock *l, const char *type)
{
	const char *at = l->options->types;

	while (at && *at) {
		size_t len = strcspn(at, ",");

		if (lock_type_matches(type, at, len))
			return true;
		at += len + (at[len] == ',');
	}
	return !l->options->types;
}

/* Names what is there and drops what was not asked for. */
static int choose(struct recording *rec, struct lock_list *list)
{
	struct lock *l = rec->ctx;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; !err && i < list->n; i++) {
		struct lock_item *item = &list->item[i];

		err = lock_describe(rec, list, item);
		if (err)
			break;
		if (!record_comm_wanted(rec, item->waiter->record->comm))
			rec->not_wanted += item->count;
		else if (!lock_wanted(l, item->word[LOCK_WORD_TYPE]))
			l->other_types += item->count;
		else
			list->item[n++] = *item;
	}
	list->n = n;
	return err;
}

int lock_waits(struct recording *rec, bool earlier, struct lock_list *out)
{
	struct lock *l = rec->ctx;
	struct lock_list list = { 0 };
	struct walk w = { .rec = rec, .list = &list, .now = earlier ? 0 : l->end_ns };
	int err;

	l->shorter = 0; /* a series asks more than once */
	err = record_stacks_each(rec->stacks, LOCK_MAP_RESULTS, take_result, &w);
	if (!err && !earlier)
		err = record_stacks_each(rec->stacks, LOCK_MAP_THREADS, take_thread, &w);
	if (!err && !earlier)
		err = record_stacks_each(rec->stacks, LOCK_MAP_SPINNERS, take_spinners, &w);
	rec->not_wanted = l->other_types = 0;
	if (!err)
		err = choose(rec, &list);
	l->kept = 0;
	for (size_t i = 0; !err && i < list.n; i++)
		l->kept += list.item[i].count;
	if (err)
		lock_list_free(&list);
	else
		*out = list;
	return err;
}

/* ---- windows */

int lock_find(struct recording *rec)
{
	struct lock *l = rec->ctx;

	l->carried_in = l->carried;
	return lock_waits(rec, false, &l->list);
}

/* Waits of one thread, or those that spin: what is under way begins now. Returns how many. */
static unsigned int begin_anew(struct recording *rec, struct lock_waits *waits, uint64_t now)
{
	unsigned int n = 0;

	for (int i = 0; i < LOCK_DEPTH; i++) {
		struct lock_wait *wait = &waits->wait[i];

		if (!wait->lock)
			continue;
		record_stacks_hold(rec->stacks, wait->hash);
		if (wait->releaser)
			record_stacks_hold(rec->stacks, wait->releaser);
		wait->since = now;
		n++;
	}
	return n;
}

struct carry {
	struct recording *rec;
	uint64_t now;
	struct thread_waits {
		uint32_t tid;
		struct lock_waits waits;
	} * threads;
	size_t n, capacity;
};

static int carry_thread(void *ctx, const void *key, const void *value)
{
	struct carry *c = ctx;
	struct lock *l = c->rec->ctx;
	struct thread_waits t;
	unsigned int n;

	memcpy(&t.tid, key, sizeof(t.tid));
	memcpy(&t.waits, value, sizeof(t.waits));
	n = begin_anew(c->rec, &t.waits, c->now);
	l->carried += n;
	return n ? RP_PUSH(c->threads, c->n, c->capacity, t) : 0;
}

static int carry_spinners(void *ctx, const void *key, const void *value)
{
	const struct carry *c = ctx;
	const struct asm_map *map = &record_stacks_maps(c->rec->stacks)[LOCK_MAP_SPINNERS];
	const size_t bytes = rp_map_value_bytes(map), stride = rp_map_cpu_stride(map);
	struct lock *l = c->rec->ctx;
	char *copy = malloc(bytes);
	int err;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, value, bytes);
	for (size_t at = 0; at + stride <= bytes; at += stride)
		l->carried += begin_anew(c->rec, (void *)(copy + at), c->now);
	err = rp_map_update(record_stacks_map(c->rec->stacks, LOCK_MAP_SPINNERS), key, copy,
			    BPF_ANY);
	free(copy);
	return err;
}

/*
 * So much of them as was over has been counted. The gate is closed: only a thread that ends changes
 * what the maps hold, by taking itself away.
 */
int lock_carry_over(struct recording *rec)
{
	struct carry c = { .rec = rec, .now = rp_monotonic_ns() };
	struct lock *l = rec->ctx;
	int err;

	l->carried = 0;
	err = record_stacks_each(rec->stacks, LOCK_MAP_THREADS, carry_thread, &c);
	for (size_t i = 0; !err && i < c.n; i++) {
		err = rp_map_update(record_stacks_map(rec->stacks, LOCK_MAP_THREADS),
				    &c.threads[i].tid, &c.threads[i].waits, BPF_EXIST);
		err = err == -ENOENT ? 0 : err;
	}
	free(c.threads);
	return err ? err : record_stacks_each(rec->stacks, LOCK_MAP_SPINNERS, carry_spinners, &c);
}
