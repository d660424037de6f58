/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of tracepoints by the texts of their format files: what fields are, and how they read. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/events/event.h"

#define COMMON                                                                                     \
	"name: made_up\nID: 7\nformat:\n"                                                          \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct record_out out;

static bool symbol_at_16(void *ctx, uint64_t address, struct record_out *to)
{
	(void)ctx;
	if (address == 16)
		record_out_str(to, "there");
	return address == 16;
}

/* All fields of one record, behind one another. */
static const char *shown(const char *format, const void *record, size_t bytes, bool json)
{
	const struct record_symbols symbols = { symbol_at_16, NULL };
	struct record_event *event;

	record_out_free(&out);
	ck_assert_int_eq(record_event_parse(format, &event), 0);
	for (uint32_t i = 0; i < event->nfields; i++) {
		record_out_str(&out, i ? " " : "");
		(json ? record_field_json : record_field_text)(event, &event->fields[i], record,
							       bytes, &symbols, &out);
	}
	record_event_free(event);
	record_out_bytes(&out, "", 1);
	ck_assert(!out.failed);
	return out.text;
}

START_TEST(numbers_of_all_sizes)
{
	static const char format[] =
		COMMON "\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"
		       "\tfield:u8 b;\toffset:9;\tsize:1;\tsigned:0;\n"
		       "\tfield:short c;\toffset:10;\tsize:2;\tsigned:1;\n"
		       "\tfield:unsigned int d;\toffset:12;\tsize:4;\tsigned:0;\n"
		       "\tfield:s64 e;\toffset:16;\tsize:8;\tsigned:1;\n"
		       "\tfield:u64 f;\toffset:24;\tsize:8;\tsigned:0;\n"
		       "\tfield:void * g;\toffset:32;\tsize:8;\tsigned:0;\n"
		       "\tfield:dev_t h;\toffset:40;\tsize:4;\tsigned:0;\n"
		       "\tfield:unsigned int i;\toffset:44;\tsize:4;\tsigned:0;\n"
		       "print fmt: \"i=%#x %%\", REC->i\n";
	struct {
		uint64_t common;
		int8_t a;
		uint8_t b;
		int16_t c;
		uint32_t d;
		int64_t e;
		uint64_t f, g;
		uint32_t h, i;
	} r = { 0, -1, 255, -2, 4294967295u, INT64_MIN, UINT64_MAX, 0xffff8880, 254 << 20 | 3, 10 };

	ck_assert_str_eq(shown(format, &r, sizeof(r), false),
			 "-1 255 -2 4294967295 -9223372036854775808 18446744073709551615 "
			 "0xffff8880 254:3 0xa");
	ck_assert_str_eq(shown(format, &r, sizeof(r), true),
			 "-1 255 -2 4294967295 -9223372036854775808 18446744073709551615 "
			 "\"0xffff8880\" \"254:3\" 10");
	/* A record that ends too soon. */
	ck_assert_str_eq(shown(format, &r, 16, false), "-1 255 -2 4294967295 ? ? ? ? ?");
	ck_assert_str_eq(shown(format, &r, 12, true), "-1 255 -2 null null null null null null");
}
END_TEST

START_TEST(texts_and_arrays)
{
	static const char format[] =
		COMMON "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
		       "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n"
		       "\tfield:__rel_loc char[] other;\toffset:20;\tsize:4;\tsigned:0;\n"
		       "\tfield:u16 three[3];\toffset:24;\tsize:6;\tsigned:0;\n"
		       "\tfield:__data_loc s32[] list;\toffset:32;\tsize:4;\tsigned:0;\n"
		       "\tfield:u8 mac[6];\toffset:36;\tsize:6;\tsigned:0;\n"
		       "\tfield:__u8 saddr[4];\toffset:42;\tsize:4;\tsigned:0;\n"
		       "\tfield:__data_loc char[] gone;\toffset:48;\tsize:4;\tsigned:0;\n"
		       "print fmt: \"%s %pM %pI4 %s\", __get_str(name), REC->mac, REC->saddr, "
		       "__get_str(gone)\n";
	unsigned char r[96] = { 0 };
	uint32_t word;

	memcpy(r + 8, "ab\"cdefg", 8); /* full: no NUL */
	word = 5 << 16 | 56;
	memcpy(r + 16, &word, 4);
	memcpy(r + 56, "x\n\xffy", 5);
	word = 3 << 16 | (64 - 24);
	memcpy(r + 20, &word, 4);
	memcpy(r + 64, "hi", 3);
	memcpy(r + 24, (uint16_t[]){ 1, 2, 65535 }, 6);
	word = 8 << 16 | 72;
	memcpy(r + 32, &word, 4);
	memcpy(r + 72, (int32_t[]){ -1, 7 }, 8);
	memcpy(r + 36, "\x02\0\0\0\0\x01", 6);
	memcpy(r + 42, "\x7f\0\0\x01", 4);
	word = 100 << 16 | 4000;
	memcpy(r + 48, &word, 4);
	ck_assert_str_eq(shown(format, r, 80, false),
			 "\"ab\\\"cdefg\" \"x\\n\\xffy\" \"hi\" [1,2,65535] [-1,7] "
			 "02:00:00:00:00:01 127.0.0.1 ?");
	ck_assert_str_eq(shown(format, r, 80, true),
			 "\"ab\\\"cdefg\" \"x\\u000a\\\\xffy\" \"hi\" [1,2,65535] [-1,7] "
			 "\"02:00:00:00:00:01\" \"127.0.0.1\" null");
}
END_TEST

/* As the kernel writes such formats: casts, enumerators as they are, NULL at the end. */
static const char named[] = COMMON
	"\tfield:long state;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned int vec;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long gfp;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int ret;\toffset:32;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long ip;\toffset:40;\tsize:8;\tsigned:0;\n"
	"print fmt: \"%s%s vec=%u [%s] gfp=%s acc=%s ret=%s %pS\", "
	"(REC->state & (((0x1 | 0x2) + 1) << 1) - 1) ? __print_flags(REC->state & 0xff, \"|\", "
	"{ 0x1, \"S\" }, { 0x2, \"D\" }) : \"R\", REC->state & 0x100 ? \"+\" : \"\", REC->vec, "
	"__print_symbolic(REC->vec, { 0, \"HI\" }, { UNKNOWN_ENUM, \"U\" }, { (1 << 1), "
	"\"TWO\" }), (REC->gfp) ? __print_flags(REC->gfp, \"|\", {( unsigned long)((( "
	"gfp_t)((1UL) << (3))) | ( gfp_t)1), \"BOTH\"}, {( unsigned long)1UL, \"ONE\"}, { 0, "
	"((void *)0) }) : \"none\", (REC->gfp & 1UL) ? \"true\" : \"false\", REC->ret ? \"yes\" : "
	"\"no\", (void *)REC->ip\n";

START_TEST(names_of_numbers)
{
	struct {
		uint64_t common;
		int64_t state;
		uint32_t vec, unused;
		uint64_t gfp;
		int32_t ret, unused2;
		uint64_t ip;
	} r = { 0, 0x102, 2, 0, 9, 1, 0, 16 };

	ck_assert_str_eq(shown(named, &r, sizeof(r), false), "D+ TWO(2) BOTH yes there");
	ck_assert_str_eq(shown(named, &r, sizeof(r), true),
			 "\"D+\" \"TWO\" \"BOTH\" \"yes\" \"there\"");
	r.state = 0;
	r.vec = 5;
	r.gfp = 0;
	r.ret = 0;
	r.ip = 17;
	ck_assert_str_eq(shown(named, &r, sizeof(r), false), "R 0x5(5) none no 17");
	r.state = 3;
	r.gfp = 0x43;
	ck_assert_str_eq(shown(named, &r, sizeof(r), true),
			 "\"S|D\" \"0x5\" \"ONE|0x42\" \"no\" 17");
}
END_TEST

/* What is not understood says nothing, and does no harm. */
START_TEST(nonsense_in_print_fmt)
{
	static const char *const fmts[] = {
		"\"%s\", __print_flags(REC->a, \"|\", { 1, \"x\" }",
		"\"%s\", __print_symbolic(REC->a, { 1 / 0, \"x\" })",
		"\"%s %d\", ({ struct x *y = REC->a; y; }), REC->nothing",
		"\"%*d%s",
		"\"%s\", ((((((((((((((",
		"\"%p\", REC->a.b->c[3]",
		"\"%s\", REC->a ? \"x\" :",
		"",
	};
	const struct {
		uint64_t common, a;
	} r = { 0, 1 };

	for (size_t i = 0; i < sizeof(fmts) / sizeof(fmts[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text),
			 "%s\tfield:u64 a;\toffset:8;\tsize:8;\tsigned:0;\n"
			 "print fmt: %s\n",
			 COMMON, fmts[i]);
		ck_assert_str_eq(shown(text, &r, sizeof(r), false), i == 1 ? "0x1" : "1");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("events");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, numbers_of_all_sizes);
	tcase_add_test(tests, texts_and_arrays);
	tcase_add_test(tests, names_of_numbers);
	tcase_add_test(tests, nonsense_in_print_fmt);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	record_out_free(&out);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
