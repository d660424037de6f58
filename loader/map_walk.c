/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map_walk.c: every entry of a map, read or read and deleted. By batches of some hundred entries a
 * call where the kernel has them for the type (Linux 5.6 and later, type by type), otherwise key by
 * key.
 */
#include "internal.h"

#include <rawprof/asm.h>
#include <stdlib.h>

/* Bytes of keys and values that one batch is meant to carry. */
enum { BATCH_BYTES = 128 << 10 };

struct walk {
	int fd;
	const struct asm_map *map;
	bool drain;
	rp_map_fn fn;
	void *ctx;
	size_t key_size, value_size; /* as a lookup lays them out */
	int seen;
};

static int hand_over(struct walk *w, const void *key, const void *value)
{
	const int err = w->fn(w->ctx, key, value);

	if (err >= 0)
		w->seen++;
	return err < 0 ? err : 0;
}

/* ---- by batches */

/*
 * The kernel's place in the map between two calls: `in` for the next, `out` from the last. It is a
 * u32 or a key. A count too small for the fullest bucket of a hash is ENOSPC, and nothing was
 * consumed.
 */
struct batch {
	uint32_t count;
	void *keys, *values, *in, *out;
	bool started;
};

static int batch_room(struct batch *b, const struct walk *w, uint32_t count)
{
	void *keys = realloc(b->keys, count * w->key_size);
	void *values;

	if (!keys)
		return -ENOMEM;
	b->keys = keys;
	values = realloc(b->values, count * w->value_size);
	if (!values)
		return -ENOMEM;
	b->values = values;
	b->count = count;
	return 0;
}

static int batch_start(struct batch *b, const struct walk *w)
{
	const size_t place = w->key_size < 8 ? 8 : w->key_size;
	const size_t fit = BATCH_BYTES / (w->key_size + w->value_size);
	uint32_t count = fit < 16 ? 16 : (uint32_t)fit;

	if (count > w->map->max_entries)
		count = w->map->max_entries ? w->map->max_entries : 1;
	b->in = calloc(1, place);
	b->out = calloc(1, place);
	return b->in && b->out ? batch_room(b, w, count) : -ENOMEM;
}

static int batch_call(struct batch *b, const struct walk *w, uint32_t *got)
{
	union rp_attr attr = { 0 };
	int err;

	attr.batch.in_batch = b->started ? ptr64(b->in) : 0;
	attr.batch.out_batch = ptr64(b->out);
	attr.batch.keys = ptr64(b->keys);
	attr.batch.values = ptr64(b->values);
	attr.batch.count = b->count;
	attr.batch.map_fd = (uint32_t)w->fd;
	err = rp_sys_bpf(w->drain ? BPF_MAP_LOOKUP_AND_DELETE_BATCH : BPF_MAP_LOOKUP_BATCH, &attr);
	*got = attr.batch.count;
	return err;
}

static int batch_deliver(const struct batch *b, struct walk *w, uint32_t got)
{
	int err = 0;

	for (uint32_t i = 0; i < got && !err; i++)
		err = hand_over(w, (char *)b->keys + i * w->key_size,
				(char *)b->values + i * w->value_size);
	return err;
}

enum { NO_BATCHES = 1 };

/* 0 at the end of the map, or NO_BATCHES for this type or kernel, and then nothing has been handed
 * over. */
static int walk_batches(struct walk *w)
{
	struct batch b = { 0 };
	uint32_t got;
	int err, end;

	err = batch_start(&b, w);
	for (end = 0; !err && end != -ENOENT;) {
		void *last;

		end = batch_call(&b, w, &got);
		if (end == -ENOSPC) {
			err = b.count > UINT32_MAX / 2 ? -ENOSPC : batch_room(&b, w, b.count * 2);
			continue;
		}
		if (end && end != -ENOENT) {
			/* EINVAL: the command is unknown (before 5.6); EOPNOTSUPP: the type has
			 * none. */
			err = !b.started && (end == -EINVAL || end == -EOPNOTSUPP) ? NO_BATCHES
										   : end;
			break;
		}
		b.started = true;
		err = batch_deliver(&b, w, got);
		last = b.in;
		b.in = b.out;
		b.out = last;
	}
	free(b.keys);
	free(b.values);
	free(b.in);
	free(b.out);
	return err;
}

/* ---- key by key */

static int visit(struct walk *w, const void *key, void *value)
{
	const int err =
		w->drain ? rp_map_take(w->fd, key, value) : rp_map_lookup(w->fd, key, value);

	/* A program, or the LRU, may have deleted it since. */
	return err == -ENOENT ? 0 : err ? err : hand_over(w, key, value);
}

/*
 * The next key is asked for before the present one is deleted: after a key that is gone the kernel
 * starts from the beginning. That can still happen when a program deletes, so the steps are
 * bounded.
 */
static int walk_keys(struct walk *w)
{
	const uint64_t most = 4ULL * w->map->max_entries + 16;
	char *key = calloc(1, w->key_size), *next = calloc(1, w->key_size),
	     *value = calloc(1, w->value_size);
	int err = key && next && value ? rp_map_next_key(w->fd, NULL, key) : -ENOMEM;

	for (uint64_t step = 0; !err && step < most; step++) {
		char *swap = key;
		const int more = rp_map_next_key(w->fd, key, next);

		err = visit(w, key, value);
		if (!err)
			err = more;
		key = next;
		next = swap;
	}
	free(key);
	free(next);
	free(value);
	return err == -ENOENT ? 0 : err;
}

static int walk(int fd, const struct asm_map *map, bool drain, rp_map_fn fn, void *ctx)
{
	struct walk w = { fd, map, drain, fn, ctx, map->key_size, rp_map_value_bytes(map), 0 };
	int err;

	if (!w.key_size || !w.value_size)
		return -EINVAL;
	err = walk_batches(&w);
	if (err == NO_BATCHES)
		err = walk_keys(&w);
	return err ? err : w.seen;
}

int rp_map_each(int fd, const struct asm_map *map, rp_map_fn fn, void *ctx)
{
	return walk(fd, map, false, fn, ctx);
}

int rp_map_drain(int fd, const struct asm_map *map, rp_map_fn fn, void *ctx)
{
	return walk(fd, map, true, fn, ctx);
}
