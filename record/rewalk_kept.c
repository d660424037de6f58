/* SPDX-License-Identifier: BSD-2-Clause */
/* A CPU sends a copy and at once its record; between the two may be those of all other CPUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "rewalk_kept.h"

int record_rewalk_kept_copy(struct rewalk_kept *k, const void *data, size_t size)
{
	const struct stack_copy *from = data;
	struct rewalk_one one = { 0 };

	if (size < sizeof(*from) || from->inner > STACK_COPY_BYTES ||
	    from->outer > STACK_COPY_OUTER || size != sizeof(*from) + from->inner + from->outer)
		return -EBADMSG;
	if (k->bytes + size > k->most)
		return 0; /* its record will find nothing */
	one.copy = malloc(size);
	if (!one.copy || RP_PUSH(k->one, k->n, k->capacity, one)) {
		free(one.copy);
		return -ENOMEM;
	}
	memcpy(one.copy, from, size);
	k->bytes += size;
	return 0;
}

static struct rewalk_one *find(const struct rewalk_kept *k, uint64_t hash)
{
	for (size_t i = k->n; i-- > 0 && k->n - i <= 2 * STACK_COPIES;)
		if (!k->one[i].record && k->one[i].copy->of == hash)
			return &k->one[i];
	return NULL;
}

int record_rewalk_kept_record(struct rewalk_kept *k, const struct stack_record *record,
			      const struct stack_record **plain)
{
	const size_t size = sizeof(*record) + record->kernel_bytes + (size_t)record->user_bytes +
			    record->managed_bytes;
	struct rewalk_one *one = find(k, record->hash);
	struct stack_record *r = malloc(size);

	if (!r)
		return -ENOMEM;
	memcpy(r, record, size);
	r->fresh &= ~(uint32_t)STACK_COPIED;
	*plain = r;
	if (one) {
		one->record = r;
		k->bytes += size;
		return 1;
	}
	free(k->plain);
	k->plain = r;
	k->refused++;
	return 0;
}

void record_rewalk_kept_forget(struct rewalk_kept *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct stack_copy *c = k->one[i].copy;

		explicit_bzero(c, sizeof(*c) + c->inner + c->outer);
		free(c);
		free(k->one[i].record);
	}
	k->n = k->bytes = 0;
	k->refused = 0;
}

void record_rewalk_kept_free(struct rewalk_kept *k)
{
	record_rewalk_kept_forget(k);
	free(k->one);
	free(k->plain);
	*k = (struct rewalk_kept){ 0 };
}

uint64_t record_rewalk_hash(const struct stack_record *r, const struct program_config *config)
{
	const size_t head =
		offsetof(struct stack_record, frames) - offsetof(struct stack_record, tag);
	const size_t words = (head + r->kernel_bytes + r->user_bytes + r->managed_bytes) / 8;
	const size_t rounds = (words + 3) / 4;
	const uint64_t *word = &r->tag;
	uint64_t hash = r->published ^ config->hash_secret;

	for (size_t round = 0; round < rounds; round++) {
		const size_t first = 4 * (config->may_goto ? rounds - 1 - round : round);

		for (size_t i = first; i < first + 4; i++) {
			hash = (hash ^ (i < words ? word[i] : 0)) * GOLDEN_RATIO_64;
			hash ^= hash >> 32;
		}
	}
	return hash;
}
