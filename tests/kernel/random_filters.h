/* SPDX-License-Identifier: BSD-2-Clause */
/* Random expressions of `--filter`, and random records for them; the same every time. */
#ifndef TESTS_KERNEL_RANDOM_FILTERS_H
#define TESTS_KERNEL_RANDOM_FILTERS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/filter/filter.h"

/* ---- a record with a field of each kind */

struct record {
	uint64_t before;
	int8_t s8;
	uint8_t u8;
	int16_t s16;
	uint16_t u16;
	uint32_t text_loc; /* __data_loc */
	int32_t s32;
	uint32_t u32;
	uint32_t rel_loc; /* __rel_loc */
	int64_t s64;
	uint64_t u64;
	uint64_t user, kernel; /* addresses of strings */
	char name[16];
	char odd[7];
	char packed[9]; /* s32 at byte 1, u64 from there on, not aligned */
	char wide[300];
	char text[300];
};

#define AT(member)                                                                                 \
	.offset = offsetof(struct record, member), .size = sizeof(((struct record *)0)->member)
static const struct record_filter_field fields[] = {
	{ "s8", RECORD_FILTER_NUMBER, true, AT(s8) },
	{ "u8", RECORD_FILTER_NUMBER, false, AT(u8) },
	{ "s16", RECORD_FILTER_NUMBER, true, AT(s16) },
	{ "u16", RECORD_FILTER_NUMBER, false, AT(u16) },
	{ "s32", RECORD_FILTER_NUMBER, true, AT(s32) },
	{ "u32", RECORD_FILTER_NUMBER, false, AT(u32) },
	{ "s64", RECORD_FILTER_NUMBER, true, AT(s64) },
	{ "u64", RECORD_FILTER_NUMBER, false, AT(u64) },
	{ "odd32", RECORD_FILTER_NUMBER, true, offsetof(struct record, packed) + 1, 4 },
	{ "odd64", RECORD_FILTER_NUMBER, false, offsetof(struct record, packed) + 1, 8 },
	{ "name", RECORD_FILTER_CHARS, false, AT(name) },
	{ "odd", RECORD_FILTER_CHARS, false, AT(odd) },
	{ "wide", RECORD_FILTER_CHARS, false, AT(wide) },
	{ "text", RECORD_FILTER_DATA_LOC, false, AT(text_loc) },
	{ "rel", RECORD_FILTER_REL_LOC, false, AT(rel_loc) },
	{ "user", RECORD_FILTER_USER_STRING, false, AT(user) },
	{ "kernel", RECORD_FILTER_KERNEL_STRING, false, AT(kernel) },
};
enum { NUMBERS = 10, STRINGS = 7 };

/* ---- random expressions; the same every time */

static uint64_t state = 88172645463325252;

static unsigned int below(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 11) % n;
}

static const char *const numbers[] = { "0",
				       "1",
				       "-1",
				       "2",
				       "3",
				       "7",
				       "'a'",
				       "127",
				       "-128",
				       "0xff",
				       "-300",
				       "0xfffe",
				       "2147483647",
				       "-2147483648",
				       "0x80000000",
				       "0xffffffff",
				       "4G",
				       "0x7fffffffffffffff",
				       "-9223372036854775808",
				       "0x8000000000000000",
				       "0xffffffffffffffff",
				       "0xffffffff80000000" };
static const char *const comparisons[] = { "==", "!=", "<", "<=", ">", ">=" };
static const char *const texts[] = { "",	"a",	       "ab",	  "abc",
				     "aabbcc",	"/etc/passwd", "abcabca", "kworker/0:1",
				     "bbbbbbb", "abababababab" };
static const char *const pieces[] = { "*", "*",	   "?",	   "a",		"b",
				      "c", "[ab]", "[!a]", "[a-bx-z/]", "ab" };

#define PICK(array) (array)[below(sizeof(array) / sizeof((array)[0]))]

static char expression[4096];

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	const size_t used = strlen(expression);
	va_list args;

	va_start(args, fmt);
	vsnprintf(expression + used, sizeof(expression) - used, fmt, args);
	va_end(args);
}

static void say_number(void)
{
	static const char *const thread[] = { "pid", "tid", "cpu", "uid" };

	if (below(3))
		say("%s", fields[below(NUMBERS)].name);
	else if (!below(3))
		say("%s", PICK(thread));
	else
		say("%s", PICK(numbers));
	if (!below(4)) {
		say(" & %s", PICK(numbers));
		if (!below(3))
			say(" & %s", fields[below(NUMBERS)].name);
	}
}

static void say_string(void)
{
	const char *field = below(8) ? fields[NUMBERS + below(STRINGS)].name : "comm";

	if (!below(3)) {
		say("%s %s \"%s\"", field, below(2) ? "==" : "!=", PICK(texts));
		return;
	}
	say("%s %s \"", field, below(3) ? "~" : "!~");
	if (!below(3))
		say("%s*", PICK(texts));
	for (unsigned int n = below(6); n > 0; n--)
		say("%s", PICK(pieces));
	say("\"");
}

static void say_condition(int depth)
{
	const unsigned int kind = depth ? below(9) : below(5);

	if (kind > 6) {
		say("!(");
		say_condition(depth - 1);
		say(")");
	} else if (kind > 4) {
		say("(");
		say_condition(depth - 1);
		say(kind == 5 ? " && " : " || ");
		say_condition(depth - 1);
		say(")");
	} else if (kind > 2) {
		say_string();
	} else if (kind) {
		say_number();
		if (below(6)) {
			say(" %s ", PICK(comparisons));
			say_number();
		}
	} else {
		/* What holds of one in two. */
		say("%s & 1 == 0", fields[below(NUMBERS)].name);
	}
}

/* ---- random records */

static char user_texts[4][300];

static void fill_text(char *out, size_t size)
{
	size_t n;

	memset(out, 0, size);
	if (below(2)) {
		strncpy(out, PICK(texts), size);
		return;
	}
	n = below(3) ? below(12) : below((unsigned int)size + 1);
	for (size_t i = 0; i < n && i < size; i++)
		out[i] = "abc"[below(3)];
}

static uint64_t any_number(void)
{
	static const uint64_t some[] = { 0,
					 1,
					 UINT64_MAX,
					 2,
					 3,
					 7,
					 'a',
					 127,
					 -128ull,
					 255,
					 -300ull,
					 0xfffe,
					 INT32_MAX,
					 1ull << 31,
					 UINT32_MAX,
					 1ull << 32,
					 INT64_MAX,
					 1ull << 63,
					 0xffffffff80000000 };

	return PICK(some);
}

static void fill(struct record *r, uint64_t kernel_text)
{
	const uint64_t packed = any_number();
	size_t length;

	*r = (struct record){ .s8 = (int8_t)any_number(),
			      .u8 = (uint8_t)any_number(),
			      .s16 = (int16_t)any_number(),
			      .u16 = (uint16_t)any_number(),
			      .s32 = (int32_t)any_number(),
			      .u32 = (uint32_t)any_number(),
			      .s64 = (int64_t)any_number(),
			      .u64 = any_number() };
	r->packed[0] = 'a';
	memcpy(r->packed + 1, &packed, 8);
	fill_text(r->name, sizeof(r->name));
	fill_text(r->odd, sizeof(r->odd));
	fill_text(r->wide, sizeof(r->wide));
	fill_text(r->text, sizeof(r->text));
	/* With its NUL, or cut. */
	length = below(4) ? strnlen(r->text, 299) + 1 : below(8);
	r->text_loc = (uint32_t)(length << 16 | offsetof(struct record, text));
	r->rel_loc = (uint32_t)(length << 16 | (offsetof(struct record, text) -
						offsetof(struct record, rel_loc) - 4));
	r->user = below(5) ? (uintptr_t)user_texts[below(4)] : below(2) ? 0 : 4096;
	r->kernel = below(4) ? kernel_text : 0;
}

static uint64_t kernel_text; /* the address of the record's text in the kernel's memory */

static int read_string(void *ctx, bool user, uint64_t address, char *out, size_t size)
{
	const struct record *r = ctx;

	if (user ? address < 65536 : address != kernel_text || !address)
		return -EFAULT;
	snprintf(out, size, "%.*s", (int)sizeof(r->text),
		 user ? (const char *)(uintptr_t)address : r->text);
	return (int)strlen(out);
}

#endif
