/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process publishes of itself, and the record of one of its threads: two bytes say how long
 * the record is, which comes first; the rest is the message.
 */
#include "record/otel_context.h"
#include "record/published_set.h"

#include "fuzz.h"

static void check_text(const char *text, size_t room)
{
	fuzz_check(memchr(text, 0, room));
}

static void check_message(const uint8_t *data, size_t size)
{
	static struct otel_context said;
	void *bytes = fuzz_copy(data, size);

	record_otel_decode(bytes, size, &said);
	free(bytes);
	check_text(said.schema, sizeof(said.schema));
	for (int i = 0; i < OTEL_TEXTS; i++)
		check_text(said.text[i], sizeof(said.text[i]));
	fuzz_check(said.nkeys <= OTEL_KEYS);
	for (uint32_t i = 0; i < said.nkeys; i++)
		check_text(said.key[i], sizeof(said.key[i]));
}

static const char *check_entry(const char *at, size_t most)
{
	check_text(at, most + 1);
	return at + strlen(at) + 1;
}

static void check_record(const uint8_t *data, size_t size, uint64_t bytes)
{
	struct published_context context = { .process = 1, .bytes = bytes };
	struct label_set set = { .hash = 1 };
	uint32_t most = 0;
	const char *at;
	int err;

	memcpy(context.record, data, size < sizeof(context.record) ? size : sizeof(context.record));
	err = record_context_keep(&context, &set, &most);
	fuzz_check(!err == (bytes >= sizeof(context.head) && bytes <= PUBLISHED_RECORD_BYTES));
	if (err)
		return;
	fuzz_check(set.n <= PUBLISHED_LABELS && most < OTEL_KEYS);
	at = check_entry(check_entry(set.texts, 32), 16);
	for (uint32_t i = 0; i < set.n; i++)
		at = check_entry(at + 1, 255);
	free(set.texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	const uint64_t bytes = fuzz_take(&in, 2);
	const size_t left = (size_t)(in.end - in.at), record = bytes < left ? bytes : left;

	check_record(in.at, record, bytes);
	check_message(in.at + record, left - record);
	return 0;
}
