/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes publish by OpenTelemetry's proposals: their message, and records of threads. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/context.h"
#include "record/otel_context.h"
#include "record/published_set.h"

/* ---- messages, written in the simplest way */

struct message {
	uint8_t bytes[65536];
	size_t n;
};

static void put(struct message *m, unsigned int field, const void *bytes, size_t n)
{
	size_t left = n;

	m->bytes[m->n++] = (uint8_t)(field << 3 | 2);
	for (; left > 127; left >>= 7)
		m->bytes[m->n++] = (uint8_t)(left | 128);
	m->bytes[m->n++] = (uint8_t)left;
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

static void put_message(struct message *m, unsigned int field, const struct message *of)
{
	put(m, field, of->bytes, of->n);
}

static void put_attribute(struct message *m, unsigned int field, const char *key,
			  const struct message *value)
{
	static struct message pair;

	pair.n = 0;
	put(&pair, 1, key, strlen(key));
	put_message(&pair, 2, value);
	put_message(m, field, &pair);
}

static void put_text(struct message *m, unsigned int field, const char *key, const char *text)
{
	struct message *value = calloc(1, sizeof(*value));

	put(value, 1, text, strlen(text));
	put_attribute(m, field, key, value);
	free(value);
}

static void put_keys(struct message *m, const char *const *keys, size_t n)
{
	static struct message list, value, key;

	list.n = value.n = 0;
	for (size_t i = 0; i < n; i++) {
		key.n = 0;
		put(&key, 1, keys[i], strlen(keys[i]));
		put_message(&list, 1, &key);
	}
	put_message(&value, 5, &list);
	put_attribute(m, 2, "threadlocal.attribute_key_map", &value);
}

static struct message all, resource;
static struct otel_context said;

static void begin(void)
{
	all.n = resource.n = 0;
}

static void put_usual(void)
{
	static const char *const keys[] = { "http.route", "", "user" };

	put_text(&resource, 1, "service.name", "shop");
	put_text(&resource, 1, "service.version", "1.2");
	put_text(&resource, 1, "deployment.environment.name", "test");
	put_message(&all, 1, &resource);
	put_text(&all, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_keys(&all, keys, 3);
}

START_TEST(what_a_process_says)
{
	put_usual();
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_str_eq(said.schema, "tlsdesc_v1_dev");
	ck_assert_str_eq(said.text[OTEL_SERVICE], "shop");
	ck_assert_str_eq(said.text[OTEL_VERSION], "1.2");
	ck_assert_str_eq(said.text[OTEL_ENVIRONMENT], "test");
	ck_assert_uint_eq(said.nkeys, 3);
	ck_assert_str_eq(said.key[0], "http.route");
	ck_assert_str_eq(said.key[1], "");
	ck_assert_str_eq(said.key[2], "user");
}
END_TEST

START_TEST(an_empty_one)
{
	ck_assert(record_otel_decode("", 0, &said));
	ck_assert_str_eq(said.schema, "");
	ck_assert_uint_eq(said.nkeys, 0);
}
END_TEST

/* As later versions of it may have them: numbers, and messages that nobody knows. */
START_TEST(fields_that_are_not_known)
{
	static const uint8_t others[] = { 0x18, 0x96, 0x01, 0x21, 1,	2,    3,    4,
					  5,	6,    7,    8,	  0x2d, 1,    2,    3,
					  4,	0x32, 2,    'o',  'k',	0xf8, 0x07, 1 };

	memcpy(all.bytes, others, sizeof(others));
	all.n = sizeof(others);
	put_usual();
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_str_eq(said.text[OTEL_SERVICE], "shop");
}
END_TEST

START_TEST(the_last_one_counts)
{
	put_text(&all, 2, "threadlocal.schema_version", "first");
	put_text(&all, 2, "threadlocal.schema_version", "second");
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_str_eq(said.schema, "second");
}
END_TEST

START_TEST(a_value_of_another_type_is_none)
{
	static const struct message number = { { 0x18, 5 }, 2 };

	put_attribute(&all, 2, "threadlocal.schema_version", &number);
	put_attribute(&all, 2, "threadlocal.attribute_key_map", &number);
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_str_eq(said.schema, "");
	ck_assert_uint_eq(said.nkeys, 0);
}
END_TEST

/* A key has room for 63 bytes, and no character is cut. */
START_TEST(long_texts_are_cut)
{
	const char *key[1];
	char text[200];

	memset(text, 'a', sizeof(text));
	memcpy(text + 61, "\xe2\x82\xac", 3);
	text[199] = '\0';
	key[0] = text;
	put_keys(&all, key, 1);
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_uint_eq(strlen(said.key[0]), 61);
}
END_TEST

START_TEST(more_keys_than_there_are_numbers)
{
	const char *keys[300];

	for (int i = 0; i < 300; i++)
		keys[i] = "k";
	put_keys(&all, keys, 300);
	ck_assert(record_otel_decode(all.bytes, all.n, &said));
	ck_assert_uint_eq(said.nkeys, OTEL_KEYS);
}
END_TEST

/* Lengths that lead out of it: what is left of it is not read. */
START_TEST(cut_anywhere)
{
	size_t whole = 0;

	put_usual();
	for (size_t n = 0; n < all.n; n++) {
		uint8_t *bytes = malloc(n + 1);

		memcpy(bytes, all.bytes, n);
		whole += record_otel_decode(bytes, n, &said);
		free(bytes);
	}
	ck_assert_uint_eq(whole, 3); /* after each of its three fields but the last, and empty */
}
END_TEST

/* Processes of others that are no more do not take the room of those that are. */
START_TEST(processes_of_one_user)
{
	struct {
		char signature[8];
		uint32_t version, bytes;
		uint64_t published_at, payload;
	} head = { "OTEL_CTX", 2, 0, 1, (uintptr_t)all.bytes };
	const uint32_t own = (uint32_t)getpid();
	struct published_process out = { .kind = PUBLISHED_NONE };
	struct record_context *c;

	memcpy(head.signature, "OTEL_CTX", sizeof(head.signature));
	put_usual();
	head.bytes = (uint32_t)all.n;
	ck_assert_int_eq(record_context_open(&c, false), 0);
	record_context_found(c, own, (uintptr_t)&head, &out);
	ck_assert_str_eq(record_context_text(c, own, 1, OTEL_SERVICE), "shop");
	for (uint32_t i = 0; i < 5000; i++)
		record_context_found(c, UINT32_MAX - i, 4096, &out);
	ck_assert_str_eq(record_context_text(c, own, 1, OTEL_SERVICE), "shop");
	for (uint32_t i = 0; i < 5000; i++) {
		record_context_found(c, UINT32_MAX - i, 4096, &out);
		record_context_ended(c, UINT32_MAX - i);
	}
	ck_assert_str_eq(record_context_text(c, own, 1, OTEL_SERVICE), "shop");
	ck_assert_str_eq(record_context_key(c, own, 1, 2), "user");
	record_context_close(c);
}
END_TEST

START_TEST(no_message)
{
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t group[] = { 0x0b };

	ck_assert(!record_otel_decode(endless, sizeof(endless), &said));
	ck_assert(!record_otel_decode(group, sizeof(group), &said));
}
END_TEST

/* ---- records */

static struct published_context record;
static struct label_set set;
static uint32_t most;

static void put_entry(uint8_t key, const char *text)
{
	uint8_t *at = record.record + record.bytes;

	at[0] = key;
	at[1] = (uint8_t)strlen(text);
	memcpy(at + 2, text, strlen(text));
	record.bytes += 2 + strlen(text);
}

static void begin_record(void)
{
	record = (struct published_context){ .process = 7, .start_time = 9, .bytes = 28 };
	set = (struct label_set){ 0 };
}

static void forget_set(void)
{
	free(set.texts);
}

/* Text number i behind trace and span, without the number of its key. */
static const char *text_at(uint32_t i, int *key)
{
	const char *at = set.texts;

	at += strlen(at) + 1;
	at += strlen(at) + 1;
	for (; i; i--)
		at += 1 + strlen(at + 1) + 1;
	*key = (unsigned char)*at;
	return at + 1;
}

START_TEST(a_trace_and_attributes)
{
	int key;

	memset(record.head.trace, 0xab, 16);
	record.head.span[7] = 0x1f;
	put_entry(0, "/before");
	put_entry(255, "last");
	put_entry(0, "/a");
	ck_assert_int_eq(record_context_keep(&record, &set, &most), 0);
	ck_assert_str_eq(set.texts, "abababababababababababababababab");
	ck_assert_str_eq(set.texts + 33, "000000000000001f");
	ck_assert_uint_eq(set.process, 7);
	ck_assert_uint_eq(set.start_time, 9);
	ck_assert_uint_eq(set.n, 2);
	ck_assert_uint_eq(most, 255);
	ck_assert_str_eq(text_at(0, &key), "last");
	ck_assert_int_eq(key, 255);
	ck_assert_str_eq(text_at(1, &key), "/a");
	ck_assert_int_eq(key, 0);
}
END_TEST

START_TEST(no_trace)
{
	ck_assert_int_eq(record_context_keep(&record, &set, &most), 0);
	ck_assert_uint_eq(set.n, 0);
	ck_assert_str_eq(set.texts, "");
	ck_assert_str_eq(set.texts + 1, "");
}
END_TEST

START_TEST(an_entry_that_is_cut_ends_it)
{
	int key;

	put_entry(1, "whole");
	put_entry(2, "cut");
	put_entry(3, "behind");
	record.record[28 + 7 + 1] = 200;
	ck_assert_int_eq(record_context_keep(&record, &set, &most), 0);
	ck_assert_uint_eq(set.n, 1);
	ck_assert_str_eq(text_at(0, &key), "whole");
}
END_TEST

START_TEST(many_attributes)
{
	for (uint8_t i = 0; i < 100; i++)
		put_entry(i, "text");
	ck_assert_uint_le(record.bytes, PUBLISHED_RECORD_BYTES);
	ck_assert_int_eq(record_context_keep(&record, &set, &most), 0);
	ck_assert_uint_eq(set.n, PUBLISHED_LABELS);
}
END_TEST

START_TEST(sizes_are_not_believed)
{
	record.bytes = 27;
	ck_assert_int_eq(record_context_keep(&record, &set, &most), -EBADMSG);
	record.bytes = PUBLISHED_RECORD_BYTES + 1;
	ck_assert_int_eq(record_context_keep(&record, &set, &most), -EBADMSG);
	record.bytes = UINT64_MAX;
	ck_assert_int_eq(record_context_keep(&record, &set, &most), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("contexts");
	TCase *messages = tcase_create("messages"), *records = tcase_create("records");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(messages, begin, NULL);
	tcase_set_timeout(messages, 60);
	tcase_add_test(messages, what_a_process_says);
	tcase_add_test(messages, an_empty_one);
	tcase_add_test(messages, fields_that_are_not_known);
	tcase_add_test(messages, the_last_one_counts);
	tcase_add_test(messages, a_value_of_another_type_is_none);
	tcase_add_test(messages, long_texts_are_cut);
	tcase_add_test(messages, more_keys_than_there_are_numbers);
	tcase_add_test(messages, cut_anywhere);
	tcase_add_test(messages, processes_of_one_user);
	tcase_add_test(messages, no_message);
	suite_add_tcase(s, messages);
	tcase_add_checked_fixture(records, begin_record, forget_set);
	tcase_add_test(records, a_trace_and_attributes);
	tcase_add_test(records, no_trace);
	tcase_add_test(records, an_entry_that_is_cut_ends_it);
	tcase_add_test(records, many_attributes);
	tcase_add_test(records, sizes_are_not_believed);
	suite_add_tcase(s, records);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
