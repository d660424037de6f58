/* SPDX-License-Identifier: BSD-2-Clause */
/* Expressions of `--filter`: what they mean, in user space, and what is said of those that are
 * wrong. */
#include <check.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "record/filter/tree.h"

/* ---- an event with a field of each kind */

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
	uint64_t ns, us;
	char name[16];
	char whole[8]; /* without a NUL */
	char text[32];
};

static const struct record_filter_value flags[] = {
	{ "A", 1 }, { "B", 2 }, { "C|D", 12 }, { "LOW", -1 }
};
static const struct record_filter_value errnos[] = { { "ENOENT", 2 }, { "EINTR", 4 } };

#define AT(member)                                                                                 \
	.offset = offsetof(struct record, member), .size = sizeof(((struct record *)0)->member)
static const struct record_filter_field fields[] = {
	{ "s8", RECORD_FILTER_NUMBER, true, AT(s8) },
	{ "u8", RECORD_FILTER_NUMBER, false, AT(u8) },
	{ "s16", RECORD_FILTER_NUMBER, true, AT(s16) },
	{ "u16", RECORD_FILTER_NUMBER, false, AT(u16) },
	{ "s32", RECORD_FILTER_NUMBER, true, AT(s32), .values = errnos, .nvalues = 2 },
	{ "u32", RECORD_FILTER_NUMBER, false, AT(u32), .values = flags, .nvalues = 4 },
	{ "s64", RECORD_FILTER_NUMBER, true, AT(s64) },
	{ "u64", RECORD_FILTER_NUMBER, false, AT(u64) },
	{ "ns", RECORD_FILTER_NUMBER, false, AT(ns), .unit_ns = 1 },
	{ "us", RECORD_FILTER_NUMBER, false, AT(us), .unit_ns = 1000 },
	{ "args[1]", RECORD_FILTER_NUMBER, false, AT(u8) },
	{ "name", RECORD_FILTER_CHARS, false, AT(name) },
	{ "whole", RECORD_FILTER_CHARS, false, AT(whole) },
	{ "text", RECORD_FILTER_DATA_LOC, false, AT(text_loc) },
	{ "rel", RECORD_FILTER_REL_LOC, false, AT(rel_loc) },
	{ "user", RECORD_FILTER_USER_STRING, false, AT(user) },
	{ "kernel", RECORD_FILTER_KERNEL_STRING, false, AT(kernel) },
	{ "other", RECORD_FILTER_OTHER, false, AT(whole) },
	{ "uid", RECORD_FILTER_NUMBER, false, AT(u8) }, /* hides the thread's */
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const struct record record = {
	.s8 = -8,
	.u8 = 200,
	.s16 = -300,
	.u16 = 60000,
	.text_loc = 11 << 16 | offsetof(struct record, text),
	.s32 = -2,
	.u32 = 13,
	.rel_loc = 4 << 16 | (offsetof(struct record, text) - offsetof(struct record, rel_loc) - 4),
	.s64 = -5000000000,
	.u64 = UINT64_MAX,
	.user = 0x1000,
	.kernel = 0xffff000,
	.ns = 10000001,
	.us = 10000,
	.name = "kworker/0:1",
	.whole = "12345678",
	.text = "/etc/passwd",
};

static int read_string(void *ctx, bool user, uint64_t address, char *out, size_t size)
{
	(void)ctx;
	if (address == 0x1000 && user)
		return snprintf(out, size, "%s", "/etc/ld.so.cache");
	if (address == 0xffff000 && !user) {
		memset(out, 'k', size);
		out[size - 1] = '\0';
		return (int)size - 1;
	}
	return -EFAULT;
}

static bool keeps(const char *text)
{
	const struct record_filter_event event = { .record = &record,
						   .size = sizeof(record),
						   .pid = 100,
						   .tid = 101,
						   .cpu = 3,
						   .uid = 1000,
						   .comm = "bash",
						   .read_string = read_string };
	struct record_filter_error error;
	struct record_filter *filter = NULL;
	int err = record_filter_parse(text, "t:e", fields, FIELDS, &filter, &error);
	bool kept;

	ck_assert_msg(!err, "%s: %s", text, error.message);
	kept = record_filter_keeps(filter, &event);
	record_filter_free(filter);
	return kept;
}

#define ck_assert_kept(text) ck_assert_msg(keeps(text), "not kept: %s", text)
#define ck_assert_left(text) ck_assert_msg(!keeps(text), "kept: %s", text)

START_TEST(numbers_are_those_of_arithmetic)
{
	ck_assert_kept("s8 == -8 && u8 == 200 && s16 == -300 && u16 == 60000");
	ck_assert_kept("s32 == -2 && u32 == 13 && s64 == -5000000000");
	ck_assert_kept("u64 == 0xffffffffffffffff && u64 == 18446744073709551615");
	/* whatever the types */
	ck_assert_kept("s8 < u8 && s64 < u64 && s8 < u64 && u64 > s64 && !(u64 == s8)");
	ck_assert_kept("u8 > -1 && u64 > -1 && s64 < 18446744073709551615 && s8 != 0xff");
	ck_assert_left(
		"u64 == -1 || s8 == 248 || u64 < s64 || u8 < -1 || s64 > 9223372036854775808");
	ck_assert_kept("s64 > -9223372036854775808 && -1 < 0 && 'A' == 65 && '\\n' == 10");
	ck_assert_kept("0644 == 420 && 4K == 4096 && 1M == 1048576 && 0x1F == 31 && -(-3) == 3");
	ck_assert_kept("s32 < u32 && u32 > s32 && s32 <= s32 && s32 >= s32 && s8 > s16");
	ck_assert_kept("args[1] == 200");
}
END_TEST

START_TEST(masks_are_unsigned)
{
	ck_assert_kept("s8 & 8 && (s8 & 0xff) == 248 && u32 & 5 & 4");
	ck_assert_kept("s8 & u64 == 0xfffffffffffffff8 && s8 & s64 > 0");
	ck_assert_left("u32 & 2 || s8 & s64 < 0 || u8 & 0");
	/* tighter than comparisons, unlike C */
	ck_assert_kept("u32 & 4 == 4 && 4 == u32 & 4");
}
END_TEST

START_TEST(conditions)
{
	ck_assert_kept("u8 && !0 && !(u8 == 1) && !!u8 && (1)");
	ck_assert_kept("u8 == 1 || u8 == 200 && s8 == -8");
	ck_assert_kept("u8 == 200 || u8 == 1 && s8 == 0");
	ck_assert_left("(u8 == 200 || u8 == 1) && s8 == 0");
	ck_assert_left("0 || u8 == 1 || 0 && u8 == 200");
	ck_assert_kept("1 || u8 == 1");
	ck_assert_left("!u8");
}
END_TEST

START_TEST(durations_and_names_of_values)
{
	ck_assert_kept("ns > 10ms && ns < 10001us && us == 10ms && us >= 10000us && us < 1s");
	ck_assert_kept("u32 & A && !(u32 & B) && u32 & \"C|D\" == \"C|D\" && u32 != B");
	ck_assert_kept("s32 == -ENOENT && s32 != -EINTR");
	ck_assert_kept("u32 & A & 1 == A");
}
END_TEST

START_TEST(the_thread)
{
	ck_assert_kept("pid == 100 && tid == 101 && cpu == 3 && comm == \"bash\" && PID == 100");
	ck_assert_kept("uid == 200 && UID == 1000"); /* the event's, the thread's */
	ck_assert_left("comm == \"bas\" || comm == \"bashx\" || comm != \"bash\"");
}
END_TEST

START_TEST(strings)
{
	ck_assert_kept("name == \"kworker/0:1\" && \"12345678\" == whole && whole != \"1234567\"");
	ck_assert_kept(
		"text == \"/etc/passwd\" && rel == \"/etc\" && user == \"/etc/ld.so.cache\"");
	ck_assert_kept(
		"text ~ \"/etc/*\" && text !~ \"/etc\" && text ~ \"*pass*\" && text ~ \"*wd\"");
	ck_assert_kept("name ~ \"kworker/[0-9]:?\" && name !~ \"kworker/[!0-9]:?\"");
	ck_assert_kept("kernel ~ \"k*k\" && kernel !~ \"*z\" && \"/etc\" == rel");
	ck_assert_left("text ~ \"*passwd?\" || text == \"/etc/*\"");
	ck_assert_left("whole == \"123456789\"");
	ck_assert_kept("whole ~ \"\\x31*\" && name ~ \"*\" && name ~ \"**0**\" && name !~ \"\"");
}
END_TEST

START_TEST(a_short_record_has_zeros)
{
	const struct record_filter_event event = { .record = &record, .size = 8, .comm = NULL };
	struct record_filter_error error;
	struct record_filter *filter = NULL;

	ck_assert_int_eq(record_filter_parse("s8 == 0 && name == \"\" && text == \"\" && "
					     "user == \"\" && comm == \"\" && rel ~ \"*\"",
					     "t:e", fields, FIELDS, &filter, &error),
			 0);
	ck_assert(record_filter_keeps(filter, &event));
	record_filter_free(filter);
}
END_TEST

/* Patterns as fnmatch(3) takes them, over two letters, so that many match. */
START_TEST(patterns_match_as_those_of_the_shell)
{
	static const char *const parts[] = { "a", "b", "*", "?", "[ab]", "[!a]", "\\a", "*" };
	char pattern[64], s[16];
	int matched = 0;

	srand(1);
	for (int i = 0; i < 20000; i++) {
		struct filter_glob glob;
		const char *message;
		size_t at, n = (size_t)rand() % 9;
		int shell;

		*pattern = '\0';
		for (int k = rand() % 7; k > 0; k--)
			strcat(pattern, parts[rand() % 8]);
		for (size_t k = 0; k < n; k++)
			s[k] = (char)('a' + rand() % 2);
		s[n] = '\0';
		ck_assert_int_eq(
			record_filter_glob_parse(pattern, strlen(pattern), &glob, &at, &message),
			0);
		shell = !fnmatch(pattern, s, 0);
		matched += shell;
		ck_assert_msg(record_filter_glob_matches(&glob, s, n) == shell, "%s: %s", pattern,
			      s);
		record_filter_glob_free(&glob);
	}
	ck_assert_int_gt(matched, 2000);
}
END_TEST

/* ---- what is wrong */

static char said[1024];

static void hear(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	ck_assert_int_eq(level, RP_ERROR);
	snprintf(said, sizeof(said), "%s", message);
}

/* clang-format off */
static const struct {
	const char *text, *error;
} wrong[] = {
	{ "",
	  "--filter: the expression is empty\n  \n  ^" },
	{ "s16 == 3 && u644 == 1",
	  "--filter: t:e has no field 'u644'; did you mean u64?\n  s16 == 3 && u644 == 1\n              ^~~~" },
	{ "nam ~ \"x*\"",
	  "--filter: t:e has no field 'nam'; did you mean name?\n  nam ~ \"x*\"\n  ^~~" },
	{ "nam == \"x\"",
	  "--filter: t:e has no field 'nam'; did you mean name?\n  nam == \"x\"\n  ^~~" },
	{ "nothinglikeit",
	  "--filter: t:e has no field 'nothinglikeit'\n  nothinglikeit\n  ^~~~~~~~~~~~~" },
	{ "u32 & a",
	  "--filter: 'a' is no value of u32; did you mean A?\n  u32 & a\n        ^" },
	{ "comm == bash",
	  "--filter: comm is a string: \"bash\", in quotes\n  comm == bash\n          ^~~~" },
	{ "comm",
	  "--filter: comm is a string, which is no condition: comm == \"…\"\n  comm\n  ^~~~" },
	{ "u8 = 3",
	  "--filter: == compares\n  u8 = 3\n     ^" },
	{ "u8 == 3 and s8 == 1",
	  "--filter: the and of conditions is &&\n  u8 == 3 and s8 == 1\n          ^~~" },
	{ "1 < u8 < 3",
	  "--filter: this is a condition, and no number: conditions are joined by && and ||, ! stands before "
	  "parentheses\n  1 < u8 < 3\n  ^~~~~~" },
	{ "!u8 == 3",
	  "--filter: this is a condition, and no number: conditions are joined by && and ||, ! stands before "
	  "parentheses\n  !u8 == 3\n  ^~~" },
	{ "(u8 == 3",
	  "--filter: no ) closes this (\n  (u8 == 3\n  ^" },
	{ "u8 == 3)",
	  "--filter: no ( opens what this ) closes\n  u8 == 3)\n         ^" },
	{ "u8 ==",
	  "--filter: a field, a number or ( is missing at the end\n  u8 ==\n       ^" },
	{ "u8 == \"x\"",
	  "--filter: u8 is a number, and this is a text\n  u8 == \"x\"\n        ^~~" },
	{ "u8 ~ \"x\"",
	  "--filter: a field that is a string stands left of this, right of it a pattern in quotes\n"
	  "  u8 ~ \"x\"\n     ^" },
	{ "name > \"x\"",
	  "--filter: name is a string: == and != compare it with a \"text\", ~ and !~ with a \"pattern\"\n"
	  "  name > \"x\"\n  ^~~~" },
	{ "name ~ \"[a\"",
	  "--filter: the pattern: no ] closes a [; \\[ is the byte\n  name ~ \"[a\"\n         ^~~~" },
	{ "name == \"x",
	  "--filter: the quote is not closed\n  name == \"x\n          ^" },
	{ "other == 3",
	  "--filter: other is neither a number nor a string\n  other == 3\n  ^~~~~" },
	{ "u8 == 18446744073709551616",
	  "--filter: a number is below 2^64\n  u8 == 18446744073709551616\n        ^~~~~~~~~~~~~~~~~~~~" },
	{ "u8 == -9223372036854775809",
	  "--filter: a number is -2^63 at least\n  u8 == -9223372036854775809\n        ^~~~~~~~~~~~~~~~~~~~" },
	{ "ns > 1.5ms",
	  "--filter: numbers are whole: 1500us, not 1.5ms\n  ns > 1.5ms\n       ^" },
	{ "us > 10ns",
	  "--filter: us counts in microseconds\n  us > 10ns\n       ^~~~" },
	{ "u8 == 3x",
	  "--filter: no such unit; there are ns, us, ms, s, K, M and G\n  u8 == 3x\n         ^" },
	{ "u8 | 3",
	  "--filter: || is the or of conditions; there is no | of numbers\n  u8 | 3\n     ^" },
	{ "ö == 3",
	  "--filter: not expected here\n  ö == 3\n  ^" },
};
/* clang-format on */

START_TEST(what_is_wrong_is_said_with_its_place)
{
	struct record_filter *filter = NULL;

	rp_log_setup(RP_WARN, hear, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(record_filter_new("--filter", wrong[i].text, "t:e", fields, FIELDS,
						   &filter),
				 -EINVAL);
		ck_assert_str_eq(said, wrong[i].error);
		ck_assert_ptr_null(filter);
	}
}
END_TEST

START_TEST(nesting_has_an_end)
{
	struct record_filter *filter = NULL;
	struct record_filter_error error;
	char text[256];

	memset(text, '(', 100);
	strcpy(text + 100, "u8");
	ck_assert_int_eq(record_filter_parse(text, "t:e", fields, FIELDS, &filter, &error),
			 -EINVAL);
	ck_assert_str_eq(error.message, "nested deeper than 64");
	ck_assert_uint_eq(error.at, 64);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event_filter");
	TCase *tc = tcase_create("event_filter");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_test(tc, numbers_are_those_of_arithmetic);
	tcase_add_test(tc, masks_are_unsigned);
	tcase_add_test(tc, conditions);
	tcase_add_test(tc, durations_and_names_of_values);
	tcase_add_test(tc, the_thread);
	tcase_add_test(tc, strings);
	tcase_add_test(tc, a_short_record_has_zeros);
	tcase_add_test(tc, patterns_match_as_those_of_the_shell);
	tcase_add_test(tc, what_is_wrong_is_said_with_its_place);
	tcase_add_test(tc, nesting_has_an_end);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
