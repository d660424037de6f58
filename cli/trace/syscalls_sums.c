/* SPDX-License-Identifier: BSD-2-Clause */
/* What system calls come to, as the kernel has it: of all CPUs together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "syscalls.h"

static void add_cpu(struct syscalls_row *row, const struct syscalls_sum *s)
{
	const uint64_t least = ~s->hist.not_least;

	row->errors += s->errors;
	row->sum += s->hist.sum;
	if (s->hist.not_least && least < row->least)
		row->least = least;
	if (s->hist.greatest > row->greatest)
		row->greatest = s->hist.greatest;
	for (unsigned int i = 0; i < SYSCALLS_HIST_SLOTS; i++) {
		row->slots[i] += s->hist.slots[i];
		row->count += s->hist.slots[i];
	}
}

/* Leaves of the row what is new. Its extremes are known as buckets alone. */
static int take_new(struct hash_map *seen, struct syscalls_row *row)
{
	struct syscalls_row *last = rp_hash_add(seen, &row->key), before;

	if (!last)
		return -ENOMEM;
	before = *last;
	*last = *row;
	row->count -= before.count;
	row->errors -= before.errors;
	row->sum -= before.sum;
	row->least = UINT64_MAX;
	row->greatest = 0;
	for (unsigned int i = 0; i < SYSCALLS_HIST_SLOTS; i++)
		row->slots[i] -= before.slots[i];
	return 0;
}

struct take {
	struct recording *rec;
	struct syscalls_rows *rows;
	int map;
	bool new_only;
};

static int take_row(void *ctx, const void *key, const void *value)
{
	struct take *t = ctx;
	struct syscalls *sys = t->rec->ctx;
	const struct asm_map *map = &record_stacks_maps(t->rec->stacks)[t->map];
	const bool of_cpus = map->type == BPF_MAP_TYPE_PERCPU_HASH;
	const size_t stride = of_cpus ? rp_map_cpu_stride(map) : map->value_size;
	struct syscalls_rows *rows = t->rows;
	struct syscalls_row *row;
	char comm[17] = "";
	int err;

	if (RP_GROW(rows->row, rows->n, rows->capacity))
		return -ENOMEM;
	row = &rows->row[rows->n];
	*row = (struct syscalls_row){ .least = UINT64_MAX };
	memcpy(&row->key, key, sizeof(row->key));
	for (int cpu = 0; cpu < (of_cpus ? rp_cpus_possible() : 1); cpu++) {
		const char *of_cpu = (const char *)value + (size_t)cpu * stride;

		if (t->map == SYSCALLS_MAP_SUMS)
			add_cpu(row, (const void *)of_cpu);
		else
			row->count += *(const uint64_t *)(const void *)of_cpu;
	}
	err = t->new_only ? take_new(&sys->seen, row) : 0;
	if (err || !row->count)
		return err;
	memcpy(comm, row->key.comm, sizeof(row->key.comm));
	if (!record_comm_wanted(t->rec, comm))
		t->rec->not_wanted += row->count;
	else
		rows->n++;
	return 0;
}

/* ---- rows that differ only in what is not shown */

static int by_key(const void *a, const void *b)
{
	const struct syscalls_key *x = a, *y = b; /* what rows begin with */

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->error < y->error ? -1 : x->error > y->error;
}

static void add_row(struct syscalls_row *to, const struct syscalls_row *from)
{
	to->count += from->count;
	to->errors += from->errors;
	to->sum += from->sum;
	if (from->least < to->least)
		to->least = from->least;
	if (from->greatest > to->greatest)
		to->greatest = from->greatest;
	for (unsigned int i = 0; i < SYSCALLS_HIST_SLOTS; i++)
		to->slots[i] += from->slots[i];
	/* A process is shown by the last of its names. */
	memcpy(to->key.comm, from->key.comm, sizeof(to->key.comm));
}

static void merge(struct syscalls_rows *rows)
{
	size_t n = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_key);
	for (size_t i = 0; i < rows->n; i++)
		if (n && !by_key(&rows->row[n - 1], &rows->row[i]))
			add_row(&rows->row[n - 1], &rows->row[i]);
		else
			rows->row[n++] = rows->row[i];
	rows->n = n;
}

int syscalls_rows(struct recording *rec, int map, bool new_only, struct syscalls_rows *out)
{
	struct syscalls_rows rows = { 0 };
	struct take t = { .rec = rec, .rows = &rows, .map = map, .new_only = new_only };
	int err;

	rec->not_wanted = 0;
	err = record_stacks_each(rec->stacks, map, take_row, &t);
	if (err) {
		free(rows.row);
		return err;
	}
	merge(&rows);
	*out = rows;
	return 0;
}

/* ---- calls that go on */

static int take_started(void *ctx, const void *key, const void *value)
{
	struct syscalls *sys = ctx;
	struct syscalls_call call;

	(void)key;
	memcpy(&call, value, sizeof(call));
	sys->under_way += call.start != 0;
	return 0;
}

int syscalls_count_under_way(struct recording *rec)
{
	return record_stacks_each(rec->stacks, SYSCALLS_MAP_STARTED, take_started, rec->ctx);
}
