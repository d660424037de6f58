/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CPU sends the inner frames and at once the record, which has the outermost. Between the two
 * there may be pieces of as many others as there are elements in the map.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/unwind.h>

#include "stack_deep.h"

struct piece {
	uint64_t of; /* hash of the record */
	uint32_t bytes, capacity;
	uint64_t *frames;
};

struct record_deep {
	uint32_t most_bytes;
	uint32_t next; /* the piece that is written over: none is older */
	struct piece piece[STACK_DEEPS];
	struct stack_record *joined;
	size_t capacity;
};

int record_deep_open(uint32_t most_frames, struct record_deep **out)
{
	struct record_deep *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->most_bytes = 8 * most_frames;
	*out = d;
	return 0;
}

void record_deep_close(struct record_deep *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < STACK_DEEPS; i++)
		free(d->piece[i].frames);
	free(d->joined);
	free(d);
}

int record_deep_keep(struct record_deep *d, const void *data, size_t size)
{
	const struct stack_deep *from = data;
	struct piece *p = &d->piece[d->next];

	if (size < sizeof(*from) || size != sizeof(*from) + from->bytes)
		return -EBADMSG;
	if (p->capacity < from->bytes) {
		uint64_t *frames = realloc(p->frames, from->bytes);

		if (!frames)
			return -ENOMEM;
		p->frames = frames;
		p->capacity = from->bytes;
	}
	memcpy(p->frames, from->frames, from->bytes);
	p->of = from->of;
	p->bytes = from->bytes;
	d->next = (d->next + 1) % STACK_DEEPS;
	return 0;
}

/* The youngest: it may have come before for the same stack. */
static const struct piece *find(const struct record_deep *d, uint64_t hash)
{
	for (uint32_t i = 1; i <= STACK_DEEPS; i++) {
		const struct piece *p = &d->piece[(d->next + STACK_DEEPS - i) % STACK_DEEPS];

		if (p->bytes && p->of == hash)
			return p;
	}
	return NULL;
}

static int make_room(struct record_deep *d, size_t bytes)
{
	void *joined;

	if (bytes <= d->capacity)
		return 0;
	joined = realloc(d->joined, bytes);
	if (!joined)
		return -ENOMEM;
	d->joined = joined;
	d->capacity = bytes;
	return 0;
}

int record_deep_join(struct record_deep *d, const struct stack_record **record)
{
	const struct stack_record *r = *record;
	const struct piece *p = d ? find(d, r->hash) : NULL;
	const size_t head = sizeof(*r) + r->kernel_bytes;
	char *to;

	if (!p)
		return -EBADMSG;
	if (make_room(d, head + p->bytes + r->user_bytes))
		return -ENOMEM;
	to = (char *)d->joined;
	memcpy(to, r, head);
	memcpy(to + head, p->frames, p->bytes);
	memcpy(to + head + p->bytes, (const char *)r + head, r->user_bytes);
	d->joined->user_bytes += p->bytes;
	d->joined->managed_bytes = 0; /* languages have none */
	d->joined->fresh &= ~(uint32_t)STACK_DEEP;
	if (d->joined->user_bytes > d->most_bytes) {
		d->joined->user_bytes = d->most_bytes;
		d->joined->user_end = UNWIND_DEEP;
	}
	*record = d->joined;
	return 0;
}
