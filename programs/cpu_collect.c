/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of cpu.c: makes its maps, loads its program, and puts together what comes back: the
 * stacks that came through the ring, and how often each was counted in the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include <rawprof/programs.h>

/* A stack waits in blocks of this size, copied once and never moved, so that pointers to it stay
 * good. */
#define BLOCK_BYTES (256 * 1024)

struct block {
	struct block *older;
	size_t used;
	unsigned char bytes[];
};

/*
 * Stacks by key: open addressing, at most half full. A slot is empty while its record is NULL.
 */
struct cpu_collect {
	struct asm_map maps[CPU_MAPS];
	int fds[CPU_MAPS];
	int program;
	struct rp_ring *ring;
	bool each;
	struct cpu_stack *slots;
	size_t nslots, used;
	struct block *blocks;
	int error; /* -ENOMEM while draining */
	cpu_record_fn on_record;
	void *ctx;
};

static size_t record_bytes(const struct cpu_record *r)
{
	return sizeof(*r) + r->user_bytes + r->kernel_bytes;
}

static const struct cpu_record *keep_record(struct cpu_collect *c, const struct cpu_record *record)
{
	size_t bytes = record_bytes(record);
	struct block *block = c->blocks;
	void *copy;

	if (!block || BLOCK_BYTES - block->used < bytes) {
		block = malloc(sizeof(*block) + BLOCK_BYTES);
		if (!block)
			return NULL;
		block->older = c->blocks;
		block->used = 0;
		c->blocks = block;
	}
	copy = memcpy(block->bytes + block->used, record, bytes);
	block->used += bytes; /* whole words: the next record is aligned too */
	return copy;
}

static struct cpu_stack *find_slot(struct cpu_stack *slots, size_t nslots,
				   const struct cpu_key *key)
{
	size_t i = key->hash & (nslots - 1);

	while (slots[i].record && memcmp(&slots[i].record->key, key, sizeof(*key)))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static int grow(struct cpu_collect *c)
{
	size_t nslots = c->nslots ? c->nslots * 2 : 1024;
	struct cpu_stack *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < c->nslots; i++)
		if (c->slots[i].record)
			*find_slot(slots, nslots, &c->slots[i].record->key) = c->slots[i];
	free(c->slots);
	c->slots = slots;
	c->nslots = nslots;
	return 0;
}

static int add_record(struct cpu_collect *c, const struct cpu_record *record)
{
	struct cpu_stack *slot;

	if (c->used * 2 >= c->nslots) {
		int err = grow(c);

		if (err)
			return err;
	}
	slot = find_slot(c->slots, c->nslots, &record->key);
	if (!slot->record) {
		slot->record = keep_record(c, record);
		if (!slot->record)
			return -ENOMEM;
		c->used++;
	}
	slot->samples++;
	slot->period += record->period;
	return 0;
}

static int take_record(void *ctx, const void *data, size_t size)
{
	struct cpu_collect *c = ctx;
	const struct cpu_record *record = data;

	if (size < sizeof(*record) || record_bytes(record) != size)
		return -EBADMSG;
	if (!c->each)
		c->error = add_record(c, record);
	if (!c->error)
		c->error = c->on_record(c->ctx, record);
	return c->error;
}

int cpu_collect_drain(struct cpu_collect *c)
{
	int n = rp_ring_drain(c->ring, take_record, c);

	return n < 0 ? n : 0;
}

static int take_count(void *ctx, const void *key, const void *value)
{
	struct cpu_collect *c = ctx;
	const struct cpu_count *count = value;
	struct cpu_stack *slot = find_slot(c->slots, c->nslots, key);

	if (!slot->record)
		return -EBADMSG; /* the program writes the record before the count */
	slot->samples += count->samples;
	slot->period += count->period;
	return 0;
}

int cpu_collect_finish(struct cpu_collect *c)
{
	int n = cpu_collect_drain(c);

	if (n < 0 || !c->used)
		return n < 0 ? n : 0;
	n = rp_map_each(c->fds[CPU_MAP_COUNTS], &c->maps[CPU_MAP_COUNTS], take_count, c);
	return n < 0 ? n : 0;
}

const struct cpu_stack *cpu_collect_next(const struct cpu_collect *c, const struct cpu_stack *after)
{
	size_t i = after ? (size_t)(after - c->slots) + 1 : 0;

	for (; i < c->nslots; i++)
		if (c->slots[i].record)
			return &c->slots[i];
	return NULL;
}

size_t cpu_collect_count(const struct cpu_collect *c)
{
	return c->used;
}

int cpu_collect_stats(const struct cpu_collect *c, struct cpu_stats *out)
{
	return rp_map_lookup(c->fds[CPU_MAP_STATS], &(uint32_t){ 0 }, out);
}

int cpu_collect_add_id(struct cpu_collect *c, int map, uint32_t id)
{
	return rp_map_update(c->fds[map], &id, &(uint64_t){ 0 }, BPF_ANY);
}

int cpu_collect_program(const struct cpu_collect *c)
{
	return c->program;
}

const int *cpu_collect_fds(const struct cpu_collect *c)
{
	return c->fds;
}

int cpu_collect_ring_fd(const struct cpu_collect *c)
{
	return c->fds[CPU_MAP_EVENTS];
}

static void size_maps(struct cpu_collect *c, const struct cpu_collect_options *opt)
{
	memcpy(c->maps, cpu_maps, sizeof(c->maps));
	if (opt->nids)
		c->maps[CPU_MAP_PIDS].max_entries = c->maps[CPU_MAP_TIDS].max_entries = opt->nids;
	c->maps[CPU_MAP_SCRATCH].value_size =
		(uint32_t)sizeof(struct cpu_record) + opt->config.both_bytes;
	c->maps[CPU_MAP_EVENTS].max_entries = opt->ring_bytes;
	if (opt->config.each)
		c->maps[CPU_MAP_COUNTS].max_entries = 1;
	if (opt->config.eh)
		return;
	/* Without tables the program has no use for them, and they are large. */
	c->maps[CPU_MAP_RANGES].value_size = c->maps[CPU_MAP_INDEX].value_size =
		c->maps[CPU_MAP_RULES].value_size = 8;
	c->maps[CPU_MAP_PROCS].max_entries = 1;
}

int cpu_collect_open(const struct cpu_collect_options *opt, cpu_record_fn on_record, void *ctx,
		     struct cpu_collect **out)
{
	struct cpu_collect *c = calloc(1, sizeof(*c));
	struct cpu_config config = opt->config;
	struct asm_bindings bind = { .nmaps = CPU_MAPS,
				     .config = &config,
				     .config_size = sizeof(config) };
	int err;

	if (!c)
		return -ENOMEM;
	c->program = -1;
	c->each = config.each;
	c->on_record = on_record;
	c->ctx = ctx;
	size_maps(c, opt);
	config.ring_mark = c->maps[CPU_MAP_EVENTS].max_entries / 4;

	err = rp_maps_create(c->maps, CPU_MAPS, c->fds);
	if (err < 0) {
		free(c);
		return err;
	}
	bind.maps = c->maps;
	bind.map_fds = c->fds;
	err = c->program = rp_program_load(&cpu_sample_program, &bind);
	if (err >= 0)
		err = rp_ring_open(c->fds[CPU_MAP_EVENTS], c->maps[CPU_MAP_EVENTS].max_entries,
				   &c->ring);
	if (err >= 0)
		err = grow(c);
	if (err < 0) {
		cpu_collect_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void cpu_collect_close(struct cpu_collect *c)
{
	if (!c)
		return;
	rp_ring_close(c->ring);
	rp_fds_close(&c->program, 1);
	rp_fds_close(c->fds, CPU_MAPS);
	while (c->blocks) {
		struct block *older = c->blocks->older;

		free(c->blocks);
		c->blocks = older;
	}
	free(c->slots);
	free(c);
}
