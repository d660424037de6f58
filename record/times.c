/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the map times, a row for each CPU, while programs write. They write a sample and then how
 * many there are, in plain stores, which another processor may see in another order, if only for a
 * moment. So a reader goes as far as the number that it has seen at its last call. And a place may
 * be written over while it is read: what was read counts if the number is still so small by then
 * that the writer had not come round.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rawprof/loader.h>
#include "times.h"

/* So long a writer fills a row. */
#define ROW_SECONDS 4
#define LEAST_PLACES 256u
#define MOST_PLACES 16384u
/* A writer may be so many places further than the number says that is seen of it. */
#define AHEAD 16u

struct record_times {
	void *pages;
	size_t size, row_bytes;
	uint64_t places;
	uint64_t lost;
	uint32_t nrows;
	struct row {
		uint64_t read;	/* so many were read or lost */
		uint64_t known; /* so many there were at the last call */
	} row[];
};

uint32_t record_times_places(uint64_t freq)
{
	uint32_t places = LEAST_PLACES;

	/* Above 4,096 a second a row holds less: at the highest frequency, one second. */
	if (freq > MOST_PLACES)
		return 0;
	while (places < ROW_SECONDS * freq && places < MOST_PLACES)
		places *= 2;
	return places;
}

int record_times_open(int fd, const struct asm_map *map, struct record_times **out)
{
	struct record_times *t = calloc(1, sizeof(*t) + map->max_entries * sizeof(t->row[0]));
	int err;

	if (!t)
		return rp_fail(-ENOMEM, "out of memory for a recording");
	err = rp_map_mmap(fd, map, &t->pages, &t->size);
	if (err) {
		free(t);
		return err;
	}
	t->nrows = map->max_entries;
	t->row_bytes = map->value_size;
	t->places = (map->value_size - sizeof(struct stack_times)) / sizeof(struct stack_time);
	*out = t;
	return 0;
}

void record_times_close(struct record_times *t)
{
	if (t)
		munmap(t->pages, t->size);
	free(t);
}

/* Number n as it lies there; false: it has been written over, perhaps in this moment. */
static bool copy(const struct record_times *t, const struct stack_times *row, uint64_t n,
		 uint64_t ahead, struct stack_time *out)
{
	const struct stack_time *at = &row->sample[n % t->places];

	out->hash = __atomic_load_n(&at->hash, __ATOMIC_RELAXED);
	out->time = __atomic_load_n(&at->time, __ATOMIC_RELAXED);
	out->weight = __atomic_load_n(&at->weight, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&row->written, __ATOMIC_RELAXED) + ahead <= n + t->places;
}

static int read_row(struct record_times *t, uint32_t cpu, bool all, stack_moment_fn fn, void *ctx)
{
	const struct stack_times *row = (const void *)((const char *)t->pages + cpu * t->row_bytes);
	struct row *r = &t->row[cpu];
	const uint64_t written = __atomic_load_n(&row->written, __ATOMIC_ACQUIRE);
	const uint64_t end = all ? written : r->known, ahead = all ? 0 : AHEAD;
	int err = 0;

	r->known = written;
	if (end - r->read > t->places) { /* do not look at each */
		t->lost += end - r->read - t->places;
		r->read = end - t->places;
	}
	for (; !err && r->read < end; r->read++) {
		struct stack_time sample;

		if (copy(t, row, r->read, ahead, &sample)) {
			const struct stack_moment m = { .hash = sample.hash,
							.time = sample.time,
							.weight = sample.weight,
							.count = 1,
							.cpu = (uint16_t)cpu,
							.kind = STACK_MOMENT_AT };

			err = fn(ctx, &m);
		} else {
			t->lost++;
		}
	}
	return err;
}

int record_times_read(struct record_times *t, bool all, stack_moment_fn fn, void *ctx)
{
	int err = 0;

	for (uint32_t cpu = 0; !err && cpu < t->nrows; cpu++)
		err = read_row(t, cpu, all, fn, ctx);
	return err;
}

uint64_t record_times_lost(const struct record_times *t)
{
	return t ? t->lost : 0;
}
