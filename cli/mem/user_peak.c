/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem --peak: what was in use at the highest moment. See programs/mem/user_peak.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ranges.h"
#include "user.h"

/* An entry of the map sites: a stack, or a memory. */
struct site {
	uint64_t hash;
	struct mem_site site;
};

struct mem_peak {
	struct recording *rec;
	struct hash_map sites; /* of struct site */
	uint64_t peak, time;   /* as struct mem_user_stats */
};

int mem_peak_open(struct recording *rec, const struct mem_user_config *config,
		  struct mem_peak **out)
{
	struct mem_peak *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->rec = rec;
	p->sites = HASH_MAP(struct site, hash);
	err = record_attach(rec, rp_mem_peak_programs, RECORD_ALL_ROLES, config);
	if (err)
		mem_peak_close(p);
	else
		*out = p;
	return err;
}

void mem_peak_close(struct mem_peak *p)
{
	if (!p)
		return;
	rp_hash_free(&p->sites);
	free(p);
}

static int take_site(void *ctx, const void *key, const void *value)
{
	struct mem_peak *p = ctx;
	struct site *site = rp_hash_add(&p->sites, key);

	if (!site)
		return -ENOMEM;
	memcpy(&site->site, value, sizeof(site->site));
	return 0;
}

int mem_peak_collect(struct mem_peak *p)
{
	struct mem_user_stats stats;
	int err = record_stacks_stats(p->rec->stacks, &stats);

	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	p->peak = stats.peak;
	p->time = stats.peak_time;
	return record_stacks_each(p->rec->stacks, MEM_MAP_SITES, take_site, p);
}

/* ---- what was in use then */

static bool is_memory(const struct site *s)
{
	return s->hash == s->site.space;
}

/* It had ended before the highest moment. */
static bool was_gone(const struct mem_peak *p, uint64_t space)
{
	const struct site *memory = rp_hash_find(&p->sites, &space);

	return memory && memory->site.ended && memory->site.ended - 1 != p->peak;
}

static uint64_t not_negative(uint64_t n)
{
	return (int64_t)n < 0 ? 0 : n;
}

static struct mem_ranges_use at_peak(const struct mem_peak *p, const struct site *s)
{
	const struct mem_site *site = &s->site;
	const bool kept = site->peak == p->peak;

	if (was_gone(p, site->space))
		return (struct mem_ranges_use){ 0 };
	return (struct mem_ranges_use){ not_negative(kept ? site->peak_objects : site->objects),
					not_negative(kept ? site->peak_bytes : site->bytes) };
}

void mem_peak_of(const struct mem_peak *p, uint64_t hash, uint64_t *objects, uint64_t *bytes)
{
	const struct mem_user *m = p->rec->ctx;
	const struct site *site = rp_hash_find(&p->sites, &hash);
	struct mem_ranges_use use = { 0 }, mapped = { 0 };

	if (site)
		use = at_peak(p, site);
	if (m->mmap)
		mapped = mem_ranges_at_peak(mem_mmap_ranges(m->mmap), hash);
	*objects = use.objects + mapped.objects;
	*bytes = use.bytes + mapped.bytes;
}

/* A process of this memory: that of any of its stacks. */
static uint32_t pid_of(const struct mem_peak *p, uint64_t space)
{
	for (uint32_t i = 0; i < p->sites.count; i++) {
		const struct site *s = (const struct site *)p->sites.items + i;
		const struct stack *stack;

		if (s->site.space != space || is_memory(s))
			continue;
		stack = record_stacks_find(p->rec->stacks, s->hash);
		if (stack)
			return (uint32_t)(stack->record->pid_tgid >> 32);
	}
	return 0;
}

void mem_peak_sum(const struct mem_peak *p, struct mem_peak_sum *out)
{
	uint64_t largest = 0;

	*out = (struct mem_peak_sum){ .bytes = p->peak, .time = p->time };
	for (uint32_t i = 0; i < p->sites.count; i++) {
		const struct site *s = (const struct site *)p->sites.items + i;
		const struct mem_ranges_use use = at_peak(p, s);

		if (!is_memory(s)) {
			out->objects += use.objects;
			out->of_stacks += use.bytes;
			continue;
		}
		out->processes += use.bytes != 0;
		if (use.bytes > out->of_pid) {
			out->of_pid = use.bytes;
			largest = s->hash;
		}
	}
	out->pid = out->of_pid ? pid_of(p, largest) : 0;
}
