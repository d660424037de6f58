/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof mem --pinned: memory that a process has and cannot give back, as a few live blocks lie in
 * each page of it.
 *
 * A look reads the blocks in use from the kernel, in the order of their addresses, and of each page
 * that they touch whether it is resident (/proc/PID/pagemap, see pagemap.txt of the kernel). There
 * is one now and then while the recording goes on, so that of a program that ends the last one is
 * shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "user.h"

/* Looks take at most 1 / TIME_SHARE of a CPU's time, and are so far apart. */
#define TIME_SHARE 10
#define MIN_PAUSE_NS (NS_PER_SECOND / 20)

/* A page is pinned if less than 1 / FEW of it is in use. */
#define FEW 4
/* Blocks are at least so far apart, and by multiples of this, in the allocators that there are. */
#define LEAST_BLOCK 32
#define BLOCK_UNIT 16
#define BLOCK_HEAD 8

struct live_block {
	uint64_t generation; /* of the process: start time + exec id */
	uint64_t address, size, hash;
	uint32_t pid;
};

/* A stack, with what it pins. */
struct site {
	uint64_t hash;
	uint64_t value[MEM_WEIGHTS];
};

/* Blocks in a page that may be pinned; there is no room for more of the smallest. */
#define PAGE_BLOCKS (65536 / FEW / LEAST_BLOCK + 1)
struct page {
	uint64_t number;
	uint64_t used; /* bytes, with what the allocator puts around blocks */
	uint32_t n;
	struct {
		uint64_t hash, bytes;
	} in[PAGE_BLOCKS];
};

#define WINDOW 512 /* entries of pagemap that are read at once */
struct pagemap {
	int fd;
	uint64_t first; /* page of entry[0] */
	size_t n;
	uint64_t entry[WINDOW];
};

struct mem_pinned {
	struct recording *rec;
	uint64_t page_bytes;
	uint64_t next_ns; /* when the next look may be */
	struct live_block *block;
	size_t n, capacity;
	struct pagemap map;
	struct page page;
	/* The latest look that found a process, and the one under way. */
	struct hash_map sites, found; /* of struct site */
	struct mem_pinned_sum sum, looked;
};

int mem_pinned_open(struct recording *rec, struct mem_pinned **out)
{
	struct mem_pinned *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->rec = rec;
	p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	p->sites = p->found = HASH_MAP(struct site, hash);
	*out = p;
	return 0;
}

void mem_pinned_close(struct mem_pinned *p)
{
	if (!p)
		return;
	rp_hash_free(&p->sites);
	rp_hash_free(&p->found);
	free(p->block);
	free(p);
}

/* ---- the blocks */

static int take_block(void *ctx, const void *key, const void *value)
{
	struct mem_pinned *p = ctx;
	const struct mem_block *block = value;
	const struct mem_block_key *where = key;
	const struct stack *stack = record_stacks_find(p->rec->stacks, block->hash);

	if (!stack) /* it is newer than what was drained */
		return 0;
	if (RP_GROW(p->block, p->n, p->capacity))
		return -ENOMEM;
	p->block[p->n++] = (struct live_block){
		.generation = stack->record->start_time + stack->record->exec_id,
		.address = where->address,
		.size = block->size,
		.hash = block->hash,
		.pid = (uint32_t)(stack->record->pid_tgid >> 32),
	};
	return 0;
}

/* By process, its latest program first; then by address. */
static int by_address(const void *a, const void *b)
{
	const struct live_block *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->generation != y->generation)
		return x->generation > y->generation ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* ---- is a page resident? */

static int open_pagemap(struct pagemap *map, uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	map->n = 0;
	map->fd = open(path, O_RDONLY | O_CLOEXEC);
	return map->fd < 0 ? -errno : 0;
}

static bool is_resident(struct pagemap *map, uint64_t page)
{
	if (page - map->first >= map->n) {
		ssize_t n = pread(map->fd, map->entry, sizeof(map->entry),
				  (off_t)(page * sizeof(map->entry[0])));

		map->first = page;
		map->n = n > 0 ? (size_t)n / sizeof(map->entry[0]) : 0;
	}
	return page - map->first < map->n && map->entry[page - map->first] >> 63;
}

/* ---- pages */

/* The stack that has most in a page is the one that holds it, with all that is in it. */
static int add_pinned(struct mem_pinned *p, const struct page *page)
{
	uint64_t live = 0, hash = 0, most = 0;
	struct site *site;

	for (uint32_t i = 0; i < page->n; i++) {
		uint64_t bytes = 0;

		for (uint32_t k = 0; k < page->n; k++)
			if (page->in[k].hash == page->in[i].hash)
				bytes += page->in[k].bytes;
		if (!i || bytes > most) {
			most = bytes;
			hash = page->in[i].hash;
		}
		live += page->in[i].bytes;
	}
	site = rp_hash_add(&p->found, &hash);
	if (!site)
		return -ENOMEM;
	site->value[MEM_PINNED_PAGES]++;
	site->value[MEM_PINNED_BLOCKS] += page->n;
	site->value[MEM_PINNED_LIVE] += live;
	site->value[MEM_PINNED_WASTED] += p->page_bytes - live;
	p->looked.pinned++;
	return 0;
}

/* All blocks of the page have been seen. */
static int end_page(struct mem_pinned *p)
{
	struct page *page = &p->page;
	int err = 0;

	if (page->used && is_resident(&p->map, page->number)) {
		p->looked.resident++;
		if (page->used < p->page_bytes / FEW)
			err = add_pinned(p, page);
	}
	page->used = page->n = 0;
	return err;
}

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	const uint64_t first = start > from ? start : from, last = end < to ? end : to;

	return first < last ? last - first : 0;
}

static int add_to_page(struct mem_pinned *p, const struct live_block *b, uint64_t end,
		       uint64_t number)
{
	const uint64_t from = number * p->page_bytes, to = from + p->page_bytes;
	struct page *page = &p->page;
	int err = 0;

	if (page->number != number)
		err = end_page(p);
	page->number = number;
	page->used += overlap(b->address, end, from, to);
	if (page->n < PAGE_BLOCKS) {
		page->in[page->n].hash = b->hash;
		page->in[page->n++].bytes = overlap(b->address, b->address + b->size, from, to);
	}
	return err;
}

/* Of a large block the first page and the last one may be shared; those between it fills. */
static int add_block(struct mem_pinned *p, const struct live_block *b)
{
	const uint64_t whole =
		(b->size + BLOCK_HEAD + BLOCK_UNIT - 1) & ~(uint64_t)(BLOCK_UNIT - 1);
	const uint64_t end = b->address + (whole < LEAST_BLOCK ? LEAST_BLOCK : whole);
	const uint64_t first = b->address / p->page_bytes, last = (end - 1) / p->page_bytes;
	int err;

	if (end <= b->address || b->size > end) /* no address, no size */
		return 0;
	err = add_to_page(p, b, end, first);
	return !err && last != first ? add_to_page(p, b, end, last) : err;
}

/* The blocks of one process that is there, of its latest program. */
static int look_into(struct mem_pinned *p, const struct live_block *block)
{
	int err;

	p->page.used = p->page.n = 0;
	for (const struct live_block *b = block;
	     b < p->block + p->n && b->pid == block->pid && b->generation == block->generation;
	     b++) {
		err = add_block(p, b);
		if (err)
			return err;
	}
	return end_page(p);
}

/* ---- a look */

static int look_at_all(struct mem_pinned *p)
{
	int err = 0;

	for (size_t i = 0; !err && i < p->n; i++) {
		if (i && p->block[i].pid == p->block[i - 1].pid)
			continue;
		if (open_pagemap(&p->map, p->block[i].pid))
			continue; /* it has ended */
		err = look_into(p, &p->block[i]);
		close(p->map.fd);
	}
	return err;
}

static int look(struct mem_pinned *p)
{
	const uint64_t begin = rp_monotonic_ns(), cpu_begin = rp_thread_cpu_ns();
	int err;

	p->n = 0;
	p->looked = (struct mem_pinned_sum){ .time = begin };
	rp_hash_free(&p->found);
	err = record_stacks_each(p->rec->stacks, MEM_MAP_BLOCKS, take_block, p);
	if (err)
		return err;
	if (p->n)
		qsort(p->block, p->n, sizeof(*p->block), by_address);
	err = look_at_all(p);
	if (!err && p->looked.resident) { /* a process that has ended has nothing */
		const struct hash_map before = p->sites;

		p->sites = p->found;
		p->found = before;
		p->sum = p->looked;
	}
	p->next_ns = begin + MIN_PAUSE_NS + TIME_SHARE * (rp_thread_cpu_ns() - cpu_begin);
	return err;
}

int mem_pinned_tick(struct mem_pinned *p)
{
	return rp_monotonic_ns() < p->next_ns ? 0 : look(p);
}

int mem_pinned_last(struct mem_pinned *p)
{
	int err = record_drain(p->rec);

	return err < 0 ? err : look(p);
}

/* ---- what it has seen */

void mem_pinned_of(const struct mem_pinned *p, uint64_t hash, uint64_t value[MEM_WEIGHTS])
{
	const struct site *site = rp_hash_find(&p->sites, &hash);

	memset(value, 0, MEM_WEIGHTS * sizeof(value[0]));
	if (site)
		memcpy(value, site->value, sizeof(site->value));
}

void mem_pinned_sum(const struct mem_pinned *p, struct mem_pinned_sum *out)
{
	*out = p->sum;
}
