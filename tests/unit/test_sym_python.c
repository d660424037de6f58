/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Line tables of CPython, as each version has made them of the function below, and the lines that
 * the same interpreter says its instructions have (co_lines(), before 3.10 dis.findlinestarts());
 * texts; layouts.
 *
 *	1  def f(x):			10                1
 *	2      a = [i			11            )
 *	3           for i in x		12            + 2)
 *	4           if i]		13      try:
 *	5      if a:			14          b = 1
 *	7          return (		15      finally:
 *	8              g(		16          pass
 *	9                  a,		17      return b
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "record/python.h"
#include "symbolize/python.h"

/* clang-format off */
static const uint8_t table_38[] = { /* 3.8.18 */
	0x00, 0x01, 0x06, 0x01, 0x02, 0xff, 0x06, 0x03, 0x04, 0x03, 0x02, 0x01, 0x02, 0x01,
	0x02, 0xfe, 0x02, 0x04, 0x02, 0xfc, 0x02, 0xff, 0x02, 0x06, 0x02, 0x01, 0x08, 0x02,
	0x02, 0x01,
};
static const uint8_t lines_38[] = {
	2, 2, 2, 3, 2, 2, 2, 5, 5, 8, 9, 10, 8, 12, 8, 7, 13, 14, 14, 14, 14, 16, 17, 17,
};
static const uint8_t table_39[] = { /* 3.9.18 */
	0x00, 0x01, 0x06, 0x01, 0x02, 0xff, 0x06, 0x03, 0x04, 0x03, 0x02, 0x01, 0x02, 0x01,
	0x02, 0xfe, 0x02, 0x04, 0x02, 0xfc, 0x02, 0xff, 0x02, 0x06, 0x02, 0x01, 0x06, 0x02,
	0x04, 0x01,
};
static const uint8_t lines_39[] = {
	2, 2, 2, 3, 2, 2, 2, 5, 5, 8, 9, 10, 8, 12, 8, 7, 13, 14, 14, 14, 16, 16, 17, 17,
};
static const uint8_t table_310[] = { /* 3.10.13 */
	0x06, 0x01, 0x02, 0x01, 0x06, 0xff, 0x04, 0x03, 0x02, 0x03, 0x02, 0x01, 0x02, 0x01,
	0x02, 0xfe, 0x02, 0x04, 0x02, 0xfc, 0x02, 0xff, 0x02, 0x06, 0x06, 0x01, 0x02, 0x02,
	0x04, 0x01, 0x02, 0xff,
};
static const uint8_t lines_310[] = {
	2, 2, 2, 3, 2, 2, 2, 5, 5, 8, 9, 10, 8, 12, 8, 7, 13, 14, 14, 14, 16, 17, 17, 16,
};
static const uint8_t table_311[] = { /* 3.11.7 */
	0x80, 0x00, 0xf0, 0x02, 0x02, 0x09, 0x0f, 0xf0, 0x00, 0x02, 0x09, 0x0f, 0xd8, 0x12,
	0x13, 0xf0, 0x03, 0x02, 0x09, 0x0f, 0xf1, 0x00, 0x02, 0x09, 0x0f, 0xf4, 0x00, 0x02,
	0x09, 0x0f, 0x80, 0x41, 0xf0, 0x06, 0x00, 0x08, 0x09, 0xf0, 0x00, 0x07, 0x05, 0x11,
	0xf5, 0x06, 0x00, 0x0d, 0x0e, 0xd8, 0x10, 0x11, 0xd8, 0x10, 0x11, 0xf1, 0x05, 0x03,
	0x0d, 0x0e, 0xf4, 0x00, 0x03, 0x0d, 0x0e, 0xf0, 0x08, 0x00, 0x0f, 0x10, 0xf1, 0x09,
	0x04, 0x0d, 0x10, 0xf0, 0x03, 0x05, 0x09, 0x11, 0xf0, 0x0c, 0x03, 0x05, 0x0d, 0xd8,
	0x0c, 0x0d, 0x88, 0x01, 0xe0, 0x08, 0x0c, 0xf8, 0x88, 0x04, 0x88, 0x04, 0x88, 0x04,
	0x88, 0x04, 0xd8, 0x0b, 0x0c, 0x80, 0x48,
};
static const uint8_t lines_311[] = {
	1, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5, 5, 8, 8, 8, 8, 8, 8, 9, 10, 8, 8, 8, 8, 8,
	8, 8, 12, 8, 8, 7, 13, 14, 14, 16, 0, 16, 16, 16, 16, 17, 17,
};
static const uint8_t table_312[] = { /* 3.12.1 */
	0x80, 0x00, 0xe0, 0x12, 0x13, 0xf6, 0x03, 0x02, 0x09, 0x0f, 0xd8, 0x0d, 0x0e, 0xd9,
	0x0c, 0x0d, 0xf2, 0x05, 0x00, 0x0a, 0x0b, 0xf0, 0x00, 0x02, 0x09, 0x0f, 0x80, 0x41,
	0xf0, 0x00, 0x02, 0x09, 0x0f, 0xf1, 0x06, 0x00, 0x08, 0x09, 0xf4, 0x06, 0x00, 0x0d,
	0x0e, 0xd8, 0x10, 0x11, 0xd8, 0x10, 0x11, 0xf3, 0x05, 0x03, 0x0d, 0x0e, 0xf0, 0x08,
	0x00, 0x0f, 0x10, 0xf1, 0x09, 0x04, 0x0d, 0x10, 0xf0, 0x03, 0x05, 0x09, 0x11, 0xf0,
	0x0c, 0x03, 0x05, 0x0d, 0xd8, 0x0c, 0x0d, 0x88, 0x01, 0xe0, 0x08, 0x0c, 0xd8, 0x0b,
	0x0c, 0x80, 0x48, 0xf9, 0xf2, 0x1f, 0x02, 0x09, 0x0f, 0xf8, 0xf0, 0x1c, 0x00, 0x09,
	0x0d, 0xfa,
};
static const uint8_t lines_312[] = {
	1, 3, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 2, 2, 2, 2, 2, 2, 5, 5, 8, 8, 8, 8, 8, 9, 10, 8,
	8, 8, 8, 12, 8, 8, 7, 13, 14, 14, 16, 17, 17, 0, 0, 2, 2, 2, 0, 16, 0, 0, 0,
};
static const uint8_t table_313[] = { /* 3.13.0 */
	0x80, 0x00, 0xe1, 0x12, 0x13, 0xf3, 0x03, 0x02, 0x09, 0x0f, 0xd9, 0x12, 0x13, 0x88,
	0x51, 0xdc, 0x0c, 0x0d, 0xf7, 0x05, 0x00, 0x0a, 0x0b, 0xd9, 0x12, 0x13, 0xf0, 0x03,
	0x00, 0x05, 0x06, 0xf0, 0x00, 0x02, 0x09, 0x0f, 0xf6, 0x06, 0x00, 0x08, 0x09, 0xf4,
	0x06, 0x00, 0x0d, 0x0e, 0xd8, 0x10, 0x11, 0xd8, 0x10, 0x11, 0xf3, 0x05, 0x03, 0x0d,
	0x0e, 0xf0, 0x08, 0x00, 0x0f, 0x10, 0xf1, 0x09, 0x04, 0x0d, 0x10, 0xf0, 0x03, 0x05,
	0x09, 0x11, 0xf0, 0x0c, 0x03, 0x05, 0x0d, 0xd8, 0x0c, 0x0d, 0x88, 0x01, 0xe0, 0x08,
	0x0c, 0xd8, 0x0b, 0x0c, 0x80, 0x48, 0xf9, 0xf2, 0x1f, 0x02, 0x09, 0x0f, 0xf8, 0xf0,
	0x1c, 0x00, 0x09, 0x0d, 0xfa,
};
static const uint8_t lines_313[] = {
	1, 3, 3, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 2, 2, 5, 5,
	5, 5, 5, 5, 5, 8, 8, 8, 8, 8, 9, 10, 8, 8, 8, 8, 12, 8, 8, 7, 13, 14, 14, 16, 17, 17,
	0, 0, 2, 2, 2, 0, 16, 0, 0, 0,
};
#define TABLE(name) table_##name, sizeof(table_##name), lines_##name, sizeof(lines_##name)
static const struct {
	unsigned int version;
	const uint8_t *table;
	size_t n;
	const uint8_t *lines;
	size_t nlines;
} tables[] = {
	{ 0x0308, TABLE(38) },
	{ 0x0309, TABLE(39) },
	{ 0x030a, TABLE(310) },
	{ 0x030b, TABLE(311) },
	{ 0x030c, TABLE(312) },
	{ 0x030d, TABLE(313) },
};
/* clang-format on */
#define TABLES (sizeof(tables) / sizeof(tables[0]))

START_TEST(lines_of_each_version)
{
	for (size_t i = 0; i < TABLES; i++)
		for (uint32_t at = 0; at < tables[i].nlines; at++)
			ck_assert_msg(sym_python_line(tables[i].version, tables[i].table,
						      tables[i].n, 1, at) == tables[i].lines[at],
				      "version %x, position %u", tables[i].version, at);
}
END_TEST

/* Long tables are cut: what is there keeps its lines, the rest has none that is wrong. */
START_TEST(tables_that_are_cut)
{
	for (size_t i = 0; i < TABLES; i++) {
		if (tables[i].version < 0x030a)
			continue; /* the last line goes on */
		for (size_t n = 0; n < tables[i].n; n++)
			for (uint32_t at = 0; at < tables[i].nlines; at++) {
				uint32_t line = sym_python_line(tables[i].version, tables[i].table,
								n, 1, at);

				ck_assert(!line || line == tables[i].lines[at]);
			}
	}
	ck_assert_uint_eq(sym_python_line(0x030b, NULL, 0, 7, 0), 0);
	ck_assert_uint_eq(sym_python_line(0x0308, NULL, 0, 7, 9), 7);
}
END_TEST

/* Numbers of more bits than a line has, without an end. */
START_TEST(hostile_tables)
{
	uint8_t table[64];

	memset(table, 0x7f, sizeof(table));
	table[0] = 0x80 | 14 << 3;
	ck_assert_uint_eq(sym_python_line(0x030c, table, sizeof(table), 1, 0), 0);
	memset(table, 0xff, sizeof(table)); /* entries without a line */
	for (uint32_t at = 0; at < 1000; at++)
		ck_assert_uint_eq(sym_python_line(0x030c, table, sizeof(table), 1, at), 0);
}
END_TEST

static void check_text(uint32_t width, const void *bytes, size_t n, const char *expected)
{
	char *text = sym_python_text(width << 2, bytes, n);

	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(texts_of_each_width)
{
	static const uint16_t two[] = { 0x438, 0x43c, 0x44f, 0x540d, 0xd800 };
	static const uint32_t four[] = { 0x1d518, 'x', 0x110000 };

	check_text(1, "spam", 4, "spam");
	check_text(1,
		   "gr\xf6\xdf"
		   "e",
		   5, "größe");
	check_text(2, two, sizeof(two), "имя名\xef\xbf\xbd");
	check_text(4, four, sizeof(four), "𝔘x\xef\xbf\xbd");
	check_text(4, four, 7, "𝔘"); /* cut in the middle of one */
	check_text(0, "spam", 4, "");
	check_text(7, "spam", 4, "");
	check_text(1, "", 0, "");
}
END_TEST

/* The programs mask offsets: each layout has to lie inside of what they copy. */
START_TEST(layouts_fit_what_is_copied)
{
	for (unsigned int version = 0x0308; version <= 0x030e; version++) {
		const struct python_layout *l = record_python_layout(version);

		ck_assert_ptr_nonnull(l);
		ck_assert_uint_eq(l->version, version);
		ck_assert_uint_le(l->frame_code | l->frame_previous | l->frame_position, 0x78);
		ck_assert_uint_le(l->frame_position, 104);
		ck_assert_uint_lt(l->frame_mark, 112);
		ck_assert_uint_le(l->code_file, 152);
		ck_assert_uint_le(l->code_name, 152);
		ck_assert_uint_le(l->code_lines, 152);
		ck_assert_uint_le(l->code_first_line, 156);
		ck_assert_uint_eq((l->frame_code | l->frame_previous | l->frame_position) & 7, 0);
		ck_assert_uint_eq((l->code_file | l->code_name | l->code_lines) & 7, 0);
		ck_assert_uint_eq(l->code_first_line & 3, 0);
	}
	ck_assert_ptr_null(record_python_layout(0x0307));
	ck_assert_ptr_null(record_python_layout(0x030f));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sym python");
	TCase *tests = tcase_create("python");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, lines_of_each_version);
	tcase_add_test(tests, tables_that_are_cut);
	tcase_add_test(tests, hostile_tables);
	tcase_add_test(tests, texts_of_each_width);
	tcase_add_test(tests, layouts_fit_what_is_copied);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
