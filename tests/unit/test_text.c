/* SPDX-License-Identifier: BSD-2-Clause */
/* What anybody may have named is printed without anything that a terminal or a format obeys. */
#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/text.h"

static char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = rp_text_format(fmt, args);
	va_end(args);
	return text;
}

#define ASSERT_FORMAT(expected, ...)                                                               \
	do {                                                                                       \
		char *text_ = format(__VA_ARGS__);                                                 \
		ck_assert_str_eq(text_, expected);                                                 \
		free(text_);                                                                       \
	} while (0)

static char *json(const char *s)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	rp_text_print_json(f, s);
	fclose(f);
	return text;
}

static void assert_harmless(const char *text)
{
	for (; *text; text++)
		ck_assert_msg(*text >= 0x20 && *text < 0x7f, "byte %02x", (unsigned char)*text);
}

START_TEST(each_byte_alone)
{
	for (int c = 1; c < 0x100; c++) {
		char s[] = { (char)c, 0 }, *text = format("%s", s), *quoted = json(s);

		assert_harmless(text);
		assert_harmless(quoted);
		if (c >= 0x20 && c < 0x7f)
			ck_assert_str_eq(text, s);
		else
			ck_assert_int_eq(text[0], '\\');
		free(text);
		free(quoted);
	}
}
END_TEST

START_TEST(each_control_character_in_utf_8)
{
	static const uint32_t turns[] = { 0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b,
					  0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069 };
	char s[4] = "";

	for (uint32_t code = 0x80; code < 0xa0; code++) {
		char *text, *quoted, expected[16];

		s[0] = (char)0xc2;
		s[1] = (char)code;
		text = format("%s", s);
		quoted = json(s);
		snprintf(expected, sizeof(expected), "\\xc2\\x%02x", (unsigned int)code);
		ck_assert_str_eq(text, expected);
		snprintf(expected, sizeof(expected), "\"\\u%04x\"", (unsigned int)code);
		ck_assert_str_eq(quoted, expected);
		free(text);
		free(quoted);
	}
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		const uint32_t c = turns[i];
		char wide[4] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
				 (char)(0x80 | (c & 0x3f)), 0 };
		char narrow[4] = { (char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)), 0 };
		char *text = format("%s", c < 0x800 ? narrow : wide);
		char *quoted = json(c < 0x800 ? narrow : wide);

		assert_harmless(text);
		assert_harmless(quoted);
		free(text);
		free(quoted);
	}
}
END_TEST

START_TEST(other_characters_stay)
{
	ASSERT_FORMAT("\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80", "%s",
		      "\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80");
	ASSERT_FORMAT("12 0x1f  ab", "%d %#x %3.2s", 12, 0x1f, "abc");
	ASSERT_FORMAT("100%", "100%%");
}
END_TEST

START_TEST(line_breaks_of_the_format_alone_are_some)
{
	ASSERT_FORMAT("a\\nb\n\tc\\td\n", "%s\n\t%s\n", "a\nb", "c\td");
	ASSERT_FORMAT("\\x01\n\\x02\t\\xf5", "%s\n%s\t%s", "\x01", "\x02", "\xf5");
	ASSERT_FORMAT("\\xc3\n", "%s\n", "\xc3"); /* half of a character before it */
}
END_TEST

/* Whatever could stand for a line break is there already: then none is printed. */
START_TEST(no_argument_makes_a_line_break)
{
	char all[256], *text;

	for (int c = 1; c < 0x100; c++)
		all[c - 1] = (char)c;
	all[255] = 0;
	text = format("%s\n", all);
	assert_harmless(text);
	free(text);
	all['\x05' - 1] = '?'; /* one byte is free, which is the line break's */
	text = format("%s\n\t", all);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 3);
	ck_assert_str_eq(strchr(text, '\n'), "\n\\t");
	free(text);
}
END_TEST

START_TEST(lines_stay_lines)
{
	char *text = rp_text_lines("a\n\tb\x1b[0m\r\n");

	ck_assert_str_eq(text, "a\n\tb\\x1b[0m\\r\n");
	free(text);
}
END_TEST

static void keep(void *ctx, enum rp_level level, const char *message)
{
	(void)level;
	snprintf(ctx, 200, "%s", message);
}

START_TEST(messages_are_clean_and_errors_counted)
{
	const unsigned long before = rp_log_errors();
	char said[200] = "";

	rp_log_setup(RP_ERROR, keep, said);
	ck_assert_int_eq(rp_fail(-5, "cannot read %s\ntry: %d", "/tmp/\x1b[2J\nx", 7), -5);
	ck_assert_str_eq(said, "cannot read /tmp/\\x1b[2J\\nx\ntry: 7");
	ck_assert_uint_eq(rp_log_errors(), before + 1);
	rp_log(RP_WARN, "this is not wanted");
	ck_assert_uint_eq(rp_log_errors(), before + 1);
	rp_log_setup(RP_WARN, NULL, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");
	SRunner *r;
	int failed;

	tcase_add_test(t, each_byte_alone);
	tcase_add_test(t, each_control_character_in_utf_8);
	tcase_add_test(t, other_characters_stay);
	tcase_add_test(t, line_breaks_of_the_format_alone_are_some);
	tcase_add_test(t, no_argument_makes_a_line_break);
	tcase_add_test(t, lines_stay_lines);
	tcase_add_test(t, messages_are_clean_and_errors_counted);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
