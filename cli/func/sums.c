/* SPDX-License-Identifier: BSD-2-Clause */
/* What the calls of each function come to, as the kernel has it: of all CPUs together. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "func.h"

void func_rows_free(struct func_rows *rows)
{
	free(rows->row);
	*rows = (struct func_rows){ 0 };
}

/* is_short: the first member alone is there. */
static void add_cpu(struct func_row *row, const struct func_sum *s, bool is_short)
{
	uint64_t least;

	row->entered += s->entered;
	if (is_short)
		return;
	least = ~s->hist.not_least;
	row->left += s->left;
	row->untimed += s->untimed;
	row->inner_ns += s->inner_ns;
	row->all.sum += s->hist.sum;
	if (s->hist.not_least && least < row->all.least)
		row->all.least = least;
	if (s->hist.greatest > row->all.greatest)
		row->all.greatest = s->hist.greatest;
	for (unsigned int i = 0; i < FUNC_HIST_SLOTS; i++) {
		row->slots[i] += s->hist.slots[i];
		row->all.count += s->hist.slots[i];
	}
}

/*
 * Leaves of the row what is new. The kernel keeps the extremes since the beginning: one that has
 * become a new one lies in this interval; else the edge of a bucket stands for it.
 */
static int take_new(struct func *f, const struct func_key *key, struct func_row *row)
{
	struct func_seen *seen = rp_hash_add(&f->seen, key), before;

	if (!seen)
		return -ENOMEM;
	before = *seen;
	seen->entered = row->entered;
	seen->left = row->left;
	seen->untimed = row->untimed;
	seen->inner_ns = row->inner_ns;
	seen->sum = row->all.sum;
	seen->not_least = ~row->all.least;
	seen->greatest = row->all.greatest;
	memcpy(seen->slots, row->slots, sizeof(seen->slots));
	row->entered -= before.entered;
	row->left -= before.left;
	row->untimed -= before.untimed;
	row->inner_ns -= before.inner_ns;
	row->all.sum -= before.sum;
	row->all.count = 0;
	if (~row->all.least == before.not_least)
		row->all.least = 0;
	if (row->all.greatest == before.greatest)
		row->all.greatest = UINT64_MAX;
	for (unsigned int i = 0; i < FUNC_HIST_SLOTS; i++) {
		row->slots[i] -= before.slots[i];
		row->all.count += row->slots[i];
	}
	return 0;
}

struct take {
	struct recording *rec;
	struct func_rows *rows;
	bool new_only;
};

static bool is_empty(const struct func_row *row)
{
	return !row->entered && !row->left && !row->untimed && !row->all.count;
}

static int take_sum(void *ctx, const void *key, const void *value)
{
	struct take *t = ctx;
	struct func *f = t->rec->ctx;
	const struct asm_map *map = &record_stacks_maps(t->rec->stacks)[FUNC_MAP_SUMS];
	const size_t stride = rp_map_cpu_stride(map);
	struct func_rows *rows = t->rows;
	struct func_key whole = { 0 };
	struct func_row *row;
	int err;

	if (RP_GROW(rows->row, rows->n, rows->capacity))
		return -ENOMEM;
	row = &rows->row[rows->n];
	memcpy(&whole, key, map->key_size);
	*row = (struct func_row){ .function = whole.function, .who = whole.who };
	row->all.least = UINT64_MAX;
	memcpy(row->comm, whole.comm, sizeof(whole.comm));
	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++)
		add_cpu(row, (const void *)((const char *)value + (size_t)cpu * stride),
			map->value_size < sizeof(struct func_sum));
	if (is_empty(row))
		return 0;
	err = t->new_only ? take_new(f, &whole, row) : 0;
	if (err || is_empty(row))
		return err;
	if (!record_comm_wanted(t->rec, row->comm))
		t->rec->not_wanted += row->entered + row->all.count;
	else
		rows->n++;
	return 0;
}

struct entered {
	const struct asm_map *map;
	uint64_t n;
};

static int add_entered(void *ctx, const void *key, const void *value)
{
	struct entered *e = ctx;

	(void)key;
	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++)
		e->n += ((const struct func_sum *)((const char *)value +
						   (size_t)cpu * rp_map_cpu_stride(e->map)))
				->entered;
	return 0;
}

int func_entered(struct recording *rec, uint64_t *out)
{
	struct entered e = { .map = &record_stacks_maps(rec->stacks)[FUNC_MAP_SUMS] };
	int err = record_stacks_each(rec->stacks, FUNC_MAP_SUMS, add_entered, &e);

	*out = e.n;
	return err;
}

#define READY_BYTES (64u << 20) /* of sums that may never be needed */
#define READY_TRIES 100

/* The kernel has few pieces of this size at hand, and gets more at once when they are gone. */
static int make_ready(const struct recording *rec, uint32_t function, const void *zeros)
{
	const int fd = record_stacks_map(rec->stacks, FUNC_MAP_SUMS);
	const struct func_key key = { .function = function };
	int err = -ENOMEM;

	for (int i = 0; i < READY_TRIES && err == -ENOMEM; i++) {
		if (i)
			poll(NULL, 0, 1);
		err = rp_map_update(fd, &key, zeros, BPF_NOEXIST);
	}
	return err;
}

/*
 * For the same reason calls would be lost where hundreds of functions are called for the first
 * time: their sums are made before. Without room for one, its first call tries again, and counts
 * what is lost.
 */
int func_ready_sums(struct recording *rec)
{
	struct func *f = rec->ctx;
	const struct asm_map *map = &record_stacks_maps(rec->stacks)[FUNC_MAP_SUMS];
	const size_t bytes = rp_map_value_bytes(map);
	const uint32_t count = record_probes_count(f->probes);
	void *zeros = f->ready < count ? calloc(1, bytes) : NULL;
	int err = 0;

	if (f->ready < count && !zeros)
		return -ENOMEM;
	for (; !err && f->ready < count && (f->ready + 1) * bytes <= READY_BYTES; f->ready++) {
		err = make_ready(rec, f->ready, zeros);
		if (err == -EEXIST || err == -ENOMEM || err == -E2BIG)
			err = 0;
	}
	free(zeros);
	return err;
}

/* By function, then by who; of one process the threads' names are put together. */
static int by_key(const void *a, const void *b)
{
	const struct func_row *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	return x->who ? 0 : strcmp(x->comm, y->comm);
}

static void add_row(struct func_row *to, const struct func_row *from)
{
	to->entered += from->entered;
	to->left += from->left;
	to->untimed += from->untimed;
	to->inner_ns += from->inner_ns;
	to->all.count += from->all.count;
	to->all.sum += from->all.sum;
	if (from->all.least < to->all.least)
		to->all.least = from->all.least;
	if (from->all.greatest > to->all.greatest)
		to->all.greatest = from->all.greatest;
	for (unsigned int i = 0; i < FUNC_HIST_SLOTS; i++)
		to->slots[i] += from->slots[i];
}

static void merge(const struct func *f, struct func_rows *rows)
{
	size_t n = 0;

	if (f->by == FUNC_BY_FUNCTION) /* with --comm they are by name too */
		for (size_t i = 0; i < rows->n; i++)
			rows->row[i].comm[0] = '\0';
	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_key);
	for (size_t i = 0; i < rows->n; i++)
		if (n && !by_key(&rows->row[n - 1], &rows->row[i]))
			add_row(&rows->row[n - 1], &rows->row[i]);
		else
			rows->row[n++] = rows->row[i];
	rows->n = n;
}

static int add_under_way(const struct func *f, struct func_rows *rows)
{
	const struct func_going *going = f->going.items;

	for (uint32_t i = 0; f->by == FUNC_BY_FUNCTION && i < f->going.count; i++) {
		const struct func_going *g = &going[i];
		size_t at = 0;

		while (at < rows->n && rows->row[at].function != g->function)
			at++;
		if (at == rows->n) {
			if (RP_GROW(rows->row, rows->n, rows->capacity))
				return -ENOMEM;
			rows->row[rows->n] = (struct func_row){ .function = g->function };
			rows->row[rows->n++].all.least = UINT64_MAX;
		}
		rows->row[at].under_way += g->calls;
	}
	return 0;
}

int func_rows(struct recording *rec, bool new_only, struct func_rows *out)
{
	struct func_rows rows = { 0 };
	struct take t = { .rec = rec, .rows = &rows, .new_only = new_only };
	int err;

	rec->not_wanted = 0;
	err = record_stacks_each(rec->stacks, FUNC_MAP_SUMS, take_sum, &t);
	if (err) {
		func_rows_free(&rows);
		return err;
	}
	merge(rec->ctx, &rows);
	if (!new_only)
		err = add_under_way(rec->ctx, &rows);
	if (err)
		func_rows_free(&rows);
	else
		*out = rows;
	return err;
}
