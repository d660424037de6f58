/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that went on when the recording ended: they have begun, and are counted as such. */
#include <errno.h>
#include <string.h>

#include "func.h"

struct depth {
	uint64_t thread;
	uint32_t calls;
};

struct look {
	struct func *f;
	struct hash_map depths;
};

static int take_depth(void *ctx, const void *key, const void *value)
{
	struct look *l = ctx;
	struct func_page_key k;
	struct func_page page;
	struct depth *d;

	memcpy(&k, key, sizeof(k));
	memcpy(&page, value, sizeof(page));
	if (k.number || !page.depth)
		return 0;
	d = rp_hash_add(&l->depths, &k.thread);
	if (!d)
		return -ENOMEM;
	d->calls = page.depth;
	return 0;
}

static int take_calls(void *ctx, const void *key, const void *value)
{
	struct look *l = ctx;
	const char *at = (const char *)value + offsetof(struct func_page, call);
	struct func_page_key k;
	const struct depth *d;
	uint32_t first;

	memcpy(&k, key, sizeof(k));
	first = k.number << FUNC_PAGE_SHIFT;
	d = rp_hash_find(&l->depths, &k.thread);
	for (uint32_t i = 0; d && i < FUNC_PAGE_CALLS && first + i < d->calls; i++) {
		struct func_call call;
		uint64_t *count;

		memcpy(&call, at + (size_t)i * l->f->config.slot_bytes, FUNC_SHORT_CALL);
		if (call.function == FUNC_NONE)
			continue;
		l->f->under_way++;
		count = func_under_way(l->f, call.function);
		if (!count)
			return -ENOMEM;
		++*count;
	}
	return 0;
}

uint64_t *func_under_way(struct func *f, uint32_t function)
{
	struct func_going *going = rp_hash_add(&f->going, &function);

	return going ? &going->calls : NULL;
}

int func_count_under_way(struct recording *rec)
{
	struct look look = { .f = rec->ctx, .depths = HASH_MAP(struct depth, thread) };
	int err = record_stacks_each(rec->stacks, FUNC_MAP_CALLS, take_depth, &look);

	if (!err)
		err = record_stacks_each(rec->stacks, FUNC_MAP_CALLS, take_calls, &look);
	rp_hash_free(&look.depths);
	return err;
}
