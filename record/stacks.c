/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of stack.c: makes the maps of a recording, and puts together what comes back: the
 * stacks that came through the ring, and what each weighs in the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "published.h"
#include "stack_deep.h"
#include "stack_room.h"
#include "stacks.h"

/* Of a map that grows with the threads. */
#define MOST_ENTRIES (1u << 20)

/* Stacks are found by the hash of their record. */
struct stack_slot {
	uint64_t hash;
	struct stack stack;
	bool held; /* record_stacks_forget() leaves it */
};

struct stacks {
	struct asm_map *maps;
	int *fds;
	size_t nmaps;
	uint32_t nvalues;
	uint32_t ring_mark;
	struct rp_ring *ring;
	bool each;
	bool table;		  /* the map counts is one of struct stack_count */
	struct record_deep *deep; /* NULL: none are that deep */
	struct hash_map slots;	  /* of struct stack_slot */
	struct stack_block *blocks;
	struct stack_room room;
	int error; /* -ENOMEM while draining */
	stack_record_fn on_record;
	stack_moment_fn on_moment; /* NULL: none are expected, */
	stack_python_fn on_python; /*   of these neither, */
	stack_script_fn on_script; /*   nor of these */
	stack_published_fn on_published;
	stack_call_fn on_call;	    /* NULL: none are expected */
	stack_copy_fn on_copy;	    /* NULL: neither, */
	stack_record_fn on_copied;  /*   nor such records */
	struct record_times *times; /* NULL: all moments come through the ring */
	void *counted; /* the counters as record_stacks_restart() found them; NULL: those of now */
	void *ctx;
};

/* Or what stands in its place. */
static struct stack *find_known(const struct stacks *s, uint64_t hash)
{
	struct stack_slot *slot = rp_hash_find(&s->slots, &hash);

	if (!slot && s->room.is_used) {
		hash = record_stack_moved(&s->room, hash);
		slot = rp_hash_find(&s->slots, &hash);
	}
	return slot ? &slot->stack : NULL;
}

/* Once some had no room, there is one for whatever is not known. */
static struct stack *find(const struct stacks *s, uint64_t hash)
{
	struct stack *stack = find_known(s, hash);

	return stack || !s->room.is_used ? stack : find_known(s, record_stack_of_all().hash);
}

/* NULL: out of memory. */
static struct stack *add(struct stacks *s, const struct stack_record *record)
{
	const struct stack_record *kept = record_blocks_keep(&s->blocks, record);
	struct stack_slot *slot = kept ? rp_hash_add(&s->slots, &kept->hash) : NULL;

	if (!slot)
		return NULL;
	slot->stack.record = kept;
	return &slot->stack;
}

/* Whatever is not known from now on may have been left out. */
static bool add_of_all(struct stacks *s)
{
	const struct stack_record all = record_stack_of_all();

	return find_known(s, all.hash) || add(s, &all);
}

static struct stack *add_instead(struct stacks *s, const struct stack_record *record)
{
	const struct stack_record one = record_stack_instead(&s->room, record);
	struct stack *stack;

	if (!add_of_all(s))
		return NULL;
	stack = find_known(s, one.hash);
	return stack ? stack : add(s, &one);
}

int record_stacks_take(struct stacks *s, const struct stack_record *record)
{
	struct stack *stack = find_known(s, record->hash);

	if (!stack)
		stack = record_stack_room_has(&s->room, record) ? add(s, record)
								: add_instead(s, record);
	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nvalues; i++)
		stack->value[i] += record->value[i];
	return 0;
}

/* What is no stack; -EBADMSG: it may be one, whose hash is a tag by chance, or by trying. */
static int take_other(struct stacks *s, const void *data, size_t size)
{
	const struct stack_record *record = data;

	if (size == sizeof(struct stack_moment) && s->on_moment)
		return s->on_moment(s->ctx, data);
	if (s->on_python && size > sizeof(*record) && record->hash == PYTHON_CODE_TAG)
		return s->on_python(s->ctx, data, size);
	if (s->on_script && size == sizeof(struct script_function) &&
	    record->hash == SCRIPT_FUNCTION_TAG)
		return s->on_script(s->ctx, data);
	if (s->on_published && record_published_is(data, size))
		return s->on_published(s->ctx, data);
	if (size == sizeof(struct during_slow) && s->on_call)
		return s->on_call(s->ctx, data);
	if (s->deep && size > sizeof(struct stack_deep) && record->hash == STACK_DEEP_TAG)
		return record_deep_keep(s->deep, data, size);
	if (s->on_copy && size > sizeof(struct stack_copy) && record->hash == STACK_COPY_TAG)
		return s->on_copy(s->ctx, data, size);
	return -EBADMSG;
}

static int take_record(void *ctx, const void *data, size_t size)
{
	struct stacks *s = ctx;
	const struct stack_record *record = data;
	const int err = take_other(s, data, size);

	if (err != -EBADMSG)
		return s->error = err;
	if (size < sizeof(*record) || record_bytes(record) != size)
		return -EBADMSG;
	if (s->on_copied && record->fresh & STACK_COPIED)
		return s->error = s->on_copied(s->ctx, record);
	if (record->fresh & STACK_DEEP) {
		s->error = record_deep_join(s->deep, &record);
		if (s->error)
			return s->error;
	}
	if (!s->each)
		s->error = record_stacks_take(s, record);
	if (!s->error)
		s->error = s->on_record(s->ctx, record);
	return s->error;
}

int record_stacks_drain(struct stacks *s)
{
	int n = rp_ring_drain(s->ring, take_record, s);

	return n < 0 ? n : 0;
}

static int read_times(struct stacks *s, bool all)
{
	return s->times ? record_times_read(s->times, all, s->on_moment, s->ctx) : 0;
}

int record_stacks_read_times(struct stacks *s)
{
	return read_times(s, false);
}

uint64_t record_stacks_lost_times(const struct stacks *s)
{
	return record_times_lost(s->times);
}

static int take_count(void *ctx, const void *key, const void *value)
{
	const uint64_t *hash = key, *values = value;
	struct stacks *s = ctx;
	struct stack *stack = find(s, *hash);

	if (!stack)
		return -EBADMSG; /* the program writes the record before the count */
	for (uint32_t i = 0; i < s->nvalues; i++)
		stack->value[i] += values[i];
	return 0;
}

static int take_table(struct stacks *s)
{
	const struct stack_table *table;
	void *pages;
	size_t size;
	int err = rp_map_mmap(s->fds[STACK_MAP_COUNTS], &s->maps[STACK_MAP_COUNTS], &pages, &size);

	if (err)
		return err;
	table = pages;
	for (size_t i = 0; !err && i < STACK_PLACES; i++)
		if (table->place[i].hash)
			err = take_count(s, &table->place[i].hash, table->place[i].value);
	munmap(pages, size);
	return err;
}

int record_stacks_finish(struct stacks *s)
{
	int n = record_stacks_drain(s);

	if (n >= 0)
		n = read_times(s, true);
	if (n < 0 || !s->slots.count)
		return n < 0 ? n : 0;
	if (s->table)
		return take_table(s);
	n = rp_map_each(s->fds[STACK_MAP_COUNTS], &s->maps[STACK_MAP_COUNTS], take_count, s);
	return n < 0 ? n : 0;
}

static struct stack_slot *slot_of(const struct stack *stack)
{
	return stack ? (void *)((char *)stack - offsetof(struct stack_slot, stack)) : NULL;
}

const struct stack *record_stacks_next(const struct stacks *s, const struct stack *after)
{
	const struct stack_slot *slot = s->slots.items;

	if (!slot)
		return NULL;
	if (after)
		slot = slot_of(after);
	slot += after != NULL;
	return slot < (const struct stack_slot *)s->slots.items + s->slots.count ? &slot->stack
										 : NULL;
}

const struct stack *record_stacks_at(const struct stacks *s, size_t i)
{
	const struct stack_slot *slot = s->slots.items;

	return i < s->slots.count ? &slot[i].stack : NULL;
}

const struct stack *record_stacks_find(const struct stacks *s, uint64_t hash)
{
	return find(s, hash);
}

size_t record_stacks_number(const struct stacks *s, uint64_t hash)
{
	const struct stack_slot *slot = slot_of(find(s, hash));

	return slot ? (size_t)(slot - (const struct stack_slot *)s->slots.items) : SIZE_MAX;
}

struct totals {
	const struct stacks *stacks;
	struct stack_total *total;
};

static int add_total(void *ctx, const void *key, const void *value)
{
	const uint64_t *hash = key, *values = value;
	const struct totals *t = ctx;
	const size_t at = record_stacks_number(t->stacks, *hash);

	for (uint32_t i = 0; at != SIZE_MAX && i < t->stacks->nvalues; i++)
		t->total[at].value[i] += values[i];
	return 0;
}

int record_stacks_totals(const struct stacks *s, struct stack_total **out)
{
	struct totals t = { s, calloc(s->slots.count + 1, sizeof(*t.total)) };
	int n;

	if (!t.total)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots.count; i++)
		memcpy(t.total[i].value, record_stacks_at(s, i)->value, sizeof(t.total[i].value));
	n = rp_map_each(s->fds[STACK_MAP_COUNTS], &s->maps[STACK_MAP_COUNTS], add_total, &t);
	if (n < 0) {
		free(t.total);
		return n;
	}
	*out = t.total;
	return 0;
}

void record_stacks_weigh_anew(struct stacks *s)
{
	struct stack_slot *slots = s->slots.items;

	for (size_t i = 0; i < s->slots.count; i++)
		memset(slots[i].stack.value, 0, sizeof(slots[i].stack.value));
}

int record_stacks_add(struct stacks *s, uint64_t hash, const uint64_t value[STACK_VALUES])
{
	struct stack *stack = find(s, hash);

	if (!stack)
		return -ENOENT;
	for (int i = 0; i < STACK_VALUES; i++)
		stack->value[i] += value[i];
	return 0;
}

size_t record_stacks_count(const struct stacks *s)
{
	return s->slots.count;
}

int record_stacks_stats(const struct stacks *s, void *out)
{
	if (s->counted) {
		memcpy(out, s->counted, s->maps[STACK_MAP_STATS].value_size);
		return 0;
	}
	return rp_map_lookup(s->fds[STACK_MAP_STATS], &(uint32_t){ 0 }, out);
}

int record_stacks_add_id(struct stacks *s, int map, uint32_t id)
{
	return rp_map_update(s->fds[map], &id, &(uint64_t){ 0 }, BPF_ANY);
}

int record_stacks_gate(const struct stacks *s, int map, uint64_t value)
{
	return rp_map_update(s->fds[map], &(uint32_t){ 0 }, &value, BPF_ANY);
}

int record_stacks_map(const struct stacks *s, int map)
{
	return s->fds[map];
}

const struct asm_map *record_stacks_maps(const struct stacks *s)
{
	return s->maps;
}

int record_stacks_each(const struct stacks *s, int map, rp_map_fn fn, void *ctx)
{
	int n = rp_map_each(s->fds[map], &s->maps[map], fn, ctx);

	return n < 0 ? n : 0;
}

static int pass_over(void *ctx, const void *key, const void *value)
{
	(void)ctx;
	(void)key;
	(void)value;
	return 0;
}

int record_stacks_clear(struct stacks *s, int map)
{
	const struct asm_map *m = &s->maps[map];
	void *zero;
	int n = 0;

	if (m->type != BPF_MAP_TYPE_ARRAY && m->type != BPF_MAP_TYPE_PERCPU_ARRAY) {
		n = rp_map_drain(s->fds[map], m, pass_over, NULL);
		return n < 0 ? n : 0;
	}
	zero = calloc(1, rp_map_value_bytes(m));
	if (!zero)
		return -ENOMEM;
	for (uint32_t i = 0; !n && i < m->max_entries; i++)
		n = rp_map_update(s->fds[map], &i, zero, BPF_ANY);
	free(zero);
	return n;
}

int record_stacks_restart(struct stacks *s)
{
	void *counted = malloc(s->maps[STACK_MAP_STATS].value_size);
	int err = counted ? record_stacks_stats(s, counted) : -ENOMEM;

	if (!err)
		err = record_stacks_clear(s, STACK_MAP_STATS);
	if (!err)
		err = record_stacks_clear(s, STACK_MAP_COUNTS);
	if (err) {
		free(counted);
		return err;
	}
	free(s->counted);
	s->counted = counted;
	return 0;
}

int record_stacks_load(struct stacks *s, const struct asm_program *program, const void *config)
{
	struct asm_bindings bind = { .maps = s->maps, .map_fds = s->fds, .nmaps = s->nmaps };
	struct program_config *copy;
	int fd;

	if (!program->config_size)
		return rp_program_load(program, &bind);
	copy = malloc(program->config_size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, config, program->config_size);
	copy->ring_mark = s->ring_mark;
	copy->table = s->table;
	bind.config = copy;
	bind.config_size = program->config_size;
	fd = rp_program_load(program, &bind);
	free(copy);
	return fd;
}

void record_stacks_at_least(struct asm_map *map, uint64_t entries)
{
	if (map->max_entries < entries)
		map->max_entries = entries < MOST_ENTRIES ? (uint32_t)entries : MOST_ENTRIES;
}

static void size_python_maps(struct asm_map *maps, const struct program_config *c)
{
	if (c->managed_bytes)
		maps[STACK_MAP_SCRATCH].value_size =
			STACK_MANAGED_SCRATCH_BYTES(c->all_bytes, c->both_bytes);
	else
		maps[STACK_MAP_PYTHON_LAYOUTS].value_size =
			maps[STACK_MAP_MANAGED_SEEN].value_size =
				maps[STACK_MAP_PYTHON_CODE].value_size = 8;
	if (!c->jvm)
		maps[STACK_MAP_JVM_PROCESSES].value_size = maps[STACK_MAP_JVM_SEEN].value_size = 8;
	if (!c->scripts)
		maps[STACK_MAP_SCRIPT_LAYOUTS].value_size =
			maps[STACK_MAP_SCRIPT_FUNCTION].value_size = 8;
	if (!c->perl)
		maps[STACK_MAP_PERL_LINES].value_size = 8;
	if (!c->published) {
		maps[STACK_MAP_PUBLISHED].value_size = 8;
		maps[STACK_MAP_PUBLISHED_SEEN].max_entries = 1;
	}
}

static void size_deep_map(struct asm_map *map, const struct program_config *c)
{
	if (!c->deep_bytes)
		return;
	map->value_size = STACK_DEEP_VALUE_BYTES(c->deep_bytes);
	map->max_entries = c->deep_mask + 1;
}

static void size_maps(struct asm_map *maps, const struct stacks_options *opt)
{
	size_deep_map(&maps[STACK_MAP_DEEP], opt->config);
	if (opt->config->copies) {
		maps[STACK_MAP_COPIES].value_size = STACK_COPY_VALUE_BYTES;
		maps[STACK_MAP_COPIES].max_entries = opt->config->copies;
	}
	if (opt->thread_map) {
		record_stacks_thread_map(&maps[opt->thread_map], opt->threads);
		record_stacks_at_least(&maps[STACK_MAP_COUNTS], 4 * (uint64_t)opt->threads);
	}
	if (opt->nids)
		maps[STACK_MAP_PIDS].max_entries = maps[STACK_MAP_TIDS].max_entries = opt->nids;
	maps[STACK_MAP_SCRATCH].value_size = STACK_SCRATCH_BYTES(opt->config->both_bytes);
	size_python_maps(maps, opt->config);
	maps[STACK_MAP_EVENTS].max_entries = opt->ring_bytes;
	if (opt->config->times_mask) {
		maps[STACK_MAP_TIMES].value_size = STACK_TIMES_BYTES(opt->config->times_mask + 1);
		maps[STACK_MAP_TIMES].max_entries = (uint32_t)rp_cpus_possible();
	}
	if (opt->config->during) {
		maps[STACK_MAP_DURING].max_entries = DURING_THREADS;
		maps[STACK_MAP_DURING_CALLS].max_entries = DURING_SYSCALLS;
	}
	if (opt->config->each && maps[STACK_MAP_COUNTS].type == BPF_MAP_TYPE_ARRAY)
		maps[STACK_MAP_COUNTS].value_size = 8;
	else if (opt->config->each)
		maps[STACK_MAP_COUNTS].max_entries = 1;
	if (!opt->config->vma)
		maps[STACK_MAP_FILES].max_entries = 1;
	if (opt->config->eh)
		return;
	/* Without tables the program has no use for them, and they are large. */
	maps[STACK_MAP_MAPPINGS].value_size = maps[STACK_MAP_INDEX].value_size =
		maps[STACK_MAP_RULES].value_size = maps[STACK_MAP_CACHE].value_size = 8;
	maps[STACK_MAP_PROCS].max_entries = 1;
}

int record_stacks_open(const struct stacks_options *opt, stack_record_fn on_record, void *ctx,
		       struct stacks **out)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->slots = HASH_MAP(struct stack_slot, hash);
	record_stack_room_init(&s->room, opt->whose);
	s->each = opt->config->each;
	s->table = opt->maps[STACK_MAP_COUNTS].type == BPF_MAP_TYPE_ARRAY;
	s->nvalues = s->table ? STACK_TABLE_VALUES : opt->maps[STACK_MAP_COUNTS].value_size / 8;
	s->ring_mark = opt->ring_bytes / 4;
	s->on_record = on_record;
	s->on_moment = opt->on_moment;
	s->on_python = opt->on_python;
	s->on_script = opt->on_script;
	s->on_published = opt->on_published;
	s->on_call = opt->on_call;
	s->on_copy = opt->on_copy;
	s->on_copied = opt->on_copied;
	s->ctx = ctx;
	s->maps = malloc(opt->nmaps * sizeof(*s->maps));
	s->fds = malloc(opt->nmaps * sizeof(*s->fds));
	if (s->maps && s->fds) {
		memcpy(s->maps, opt->maps, opt->nmaps * sizeof(*s->maps));
		size_maps(s->maps, opt);
		err = rp_maps_create(s->maps, opt->nmaps, s->fds);
	}
	if (!err) {
		s->nmaps = opt->nmaps;
		err = rp_ring_open(s->fds[STACK_MAP_EVENTS], opt->ring_bytes, &s->ring);
	}
	if (!err && opt->config->deep_bytes)
		err = record_deep_open(opt->most_frames, &s->deep);
	if (!err && opt->config->times_mask)
		err = record_times_open(s->fds[STACK_MAP_TIMES], &s->maps[STACK_MAP_TIMES],
					&s->times);
	if (err < 0)
		record_stacks_close(s);
	else
		*out = s;
	return err < 0 ? err : 0;
}

void record_stacks_hold(struct stacks *s, uint64_t hash)
{
	struct stack_slot *slot = slot_of(find(s, hash));

	if (slot)
		slot->held = true;
}

/* Copies of what is held, which weigh nothing. Without memory or room it is not known any more. */
static void keep_held(struct stacks *s, const struct hash_map *slots)
{
	const struct stack_slot *slot = slots->items;

	for (size_t i = 0; i < slots->count; i++)
		if (slot[i].held && record_stack_room_has(&s->room, slot[i].stack.record))
			add(s, slot[i].stack.record);
}

void record_stacks_forget(struct stacks *s)
{
	struct hash_map slots = s->slots;
	struct stack_block *blocks = s->blocks;

	s->slots = HASH_MAP(struct stack_slot, hash);
	s->blocks = NULL;
	record_stack_room_empty(&s->room);
	keep_held(s, &slots);
	if (s->room.is_used) /* what is not known may still be counted in the kernel */
		add_of_all(s);
	record_blocks_free(blocks);
	rp_hash_free(&slots);
	free(s->counted);
	s->counted = NULL;
}

void record_stacks_close(struct stacks *s)
{
	if (!s)
		return;
	rp_ring_close(s->ring);
	record_times_close(s->times);
	record_deep_close(s->deep);
	rp_fds_close(s->fds, s->nmaps);
	free(s->maps);
	free(s->fds);
	free(s->counted);
	record_blocks_free(s->blocks);
	record_stack_room_free(&s->room);
	rp_hash_free(&s->slots);
	free(s);
}
