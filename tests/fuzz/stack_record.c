/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of stacks as a ring hands them over: each is kept once by its hash, and what it weighs is
 * added up. Deep ones come in two parts. Each record of the input begins with its size.
 */
#include "record/stacks.c"

#include "fuzz.h"

enum { DEEPEST = 64 }; /* frames */

static int take_all(void *ctx, const struct stack_record *record)
{
	uint64_t *sum = ctx;

	*sum += record->value[0];
	for (size_t i = 0; i < (record->user_bytes + record->kernel_bytes) / 8; i++)
		*sum ^= record->frames[i] & 0; /* all of it is there */
	return 0;
}

/* Some are the inner frames of one that may come next. */
static void make_piece(void *record, size_t n)
{
	struct stack_deep *piece = record;

	piece->tag = STACK_DEEP_TAG;
	piece->of &= 7;
	piece->bytes = (uint32_t)(n - sizeof(*piece));
}

static bool may_refuse(const struct stack_record *record, size_t n)
{
	return n < sizeof(*record) || n != record_bytes(record) || record->fresh & STACK_DEEP ||
	       record->hash == STACK_DEEP_TAG;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	uint64_t came = 0, kept = 0;
	struct stacks *s = calloc(1, sizeof(*s));
	const struct stack *stack = NULL;

	s->slots = HASH_MAP(struct stack_slot, hash);
	s->nvalues = STACK_VALUES;
	s->on_record = take_all;
	s->ctx = &came;
	if (record_deep_open(DEEPEST, &s->deep))
		abort();
	while (in.at < in.end) {
		const size_t told = fuzz_take(&in, 2), left = (size_t)(in.end - in.at);
		const size_t n = (told < left ? told : left) & ~7u;
		struct stack_record *record = fuzz_copy(in.at, n);
		int err;

		/* A program of ours wrote it: whole words, and small ones to have several alike. */
		if (n >= sizeof(*record) && !(told & 1)) {
			record->hash &= 7;
			record->user_bytes = (uint32_t)((n - sizeof(*record)) / 2) & ~7u;
			record->kernel_bytes = (uint32_t)(n - sizeof(*record)) - record->user_bytes;
			record->managed_bytes = 0;
		}
		if (n > sizeof(struct stack_deep) && told & 2)
			make_piece(record, n);
		err = take_record(s, record, n);
		fuzz_check(!err || (err == -EBADMSG && may_refuse(record, n)));
		free(record);
		in.at += n ? n : 1;
	}
	while ((stack = record_stacks_next(s, stack))) {
		kept += stack->value[0];
		fuzz_check(record_stacks_find(s, stack->record->hash) == stack);
	}
	fuzz_check(kept == came);
	record_stacks_close(s);
	return 0;
}
