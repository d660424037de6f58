/* SPDX-License-Identifier: BSD-2-Clause */
/* Stubs of a PLT that no FDE describes, as each linker makes them. */
#include "unwind_made.h"

#include "unwind/plt.h"

enum { SECTION = 0x40, ADDR = 0x401000, LINK_REGISTER = 30 };

static const char names[] = "\0.plt\0.plt.sec\0.text\0.plt.got";
enum { PLT = 1, PLT_SEC = 6, TEXT = 15, PLT_GOT = 21 };

static uint8_t file[0x200];
static Elf64_Shdr sections[UNWIND_PLTS + 2];
static struct unwind_image image;
static struct unwind_plt plts[UNWIND_PLTS];

static void setup(void)
{
	memset(file, 0xcc, sizeof(file));
	memset(sections, 0, sizeof(sections));
	image = (struct unwind_image){ .fd = -1,
				       .bytes = file,
				       .size = sizeof(file),
				       .machine = EM_X86_64,
				       .sections = sections,
				       .names = (char *)(uintptr_t)names,
				       .names_size = sizeof(names) };
}

static void add_section(uint32_t name, uint64_t offset, uint64_t size)
{
	sections[image.nsections++] = (Elf64_Shdr){ .sh_name = name,
						    .sh_type = SHT_PROGBITS,
						    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						    .sh_addr = ADDR + offset,
						    .sh_offset = offset,
						    .sh_size = size };
}

#define PUT(offset, code) memcpy(file + (offset), code, sizeof(code) - 1)

static const struct unwind_rule on_stack = {
	.cfa_off = 8, .ra_off = -8, .kind = UNWIND_SP, .flags = UNWIND_COMPUTED
};

static void is_rule(const struct unwind_rule *got, const struct unwind_rule *expected)
{
	ck_assert_mem_eq(got, expected, sizeof(*got));
}

/* One section .plt with @size bytes; its stubs begin @header bytes into it. */
static void is_found(uint64_t size, uint64_t header, const struct unwind_rule *rule)
{
	add_section(PLT, SECTION, size);
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 1);
	ck_assert_uint_eq(plts[0].start, ADDR + SECTION + header);
	ck_assert_uint_eq(plts[0].end, ADDR + SECTION + size);
	is_rule(&plts[0].rule, rule);
}

/* The second for indirect branch tracking. */
static const struct {
	char code[17];
	int16_t pushed;
} lld[] = {
	{ "\xff\x25\x6a\x22\0\0\x68\0\0\0\0\xe9\xe0\xff\xff\xff", 11 },
	{ "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xe9\xe2\xff\xff\xff\x66\x90", 9 },
};

START_TEST(of_lld)
{
	struct unwind_rule rule = on_stack;

	rule.kind = UNWIND_PLT;
	rule.arg = lld[_i].pushed;
	PUT(SECTION, "\xff\x35\x6a\x22\0\0\xff\x25\x6c\x22\0\0\x0f\x1f\x40\0");
	PUT(SECTION + 16, lld[_i].code);
	is_found(128, 16, &rule);
}
END_TEST

START_TEST(of_mold)
{
	PUT(SECTION, "\xf3\x0f\x1e\xfa\x41\x53\xff\x35\x7c\x24\0\0\xff\x25\x7e\x24\0\0");
	PUT(SECTION + 32, "\xf3\x0f\x1e\xfa\x41\xbb\0\0\0\0\xff\x25\x68\x24\0\0");
	is_found(64, 32, &on_stack);
}
END_TEST

/* adrp x16; ldr x17, [x16, #0xcb8]; add x16, x16, #0xcb8; br x17 */
#define STUB_ARM64 "\x10\x01\0\xb0\x11\x5e\x46\xf9\x10\xe2\x32\x91\x20\x02\x1f\xd6"

START_TEST(of_arm64)
{
	const struct unwind_rule rule = { .ra_off = LINK_REGISTER,
					  .kind = UNWIND_SP,
					  .flags = UNWIND_RA_REG | UNWIND_COMPUTED };

	image.machine = EM_AARCH64;
	PUT(SECTION, "\xf0\x7b\xbf\xa9"); /* stp x16, x30, [sp, #-16]! */
	if (_i) {
		PUT(SECTION + 32, "\x5f\x24\x03\xd5"); /* bti c */
		PUT(SECTION + 36, STUB_ARM64);
	} else {
		PUT(SECTION + 32, STUB_ARM64);
	}
	is_found(32 + 48, 32, &rule);
}
END_TEST

/* They have no header, and what they jump to is known before they run. */
START_TEST(of_several_sections)
{
	PUT(0x20, "\xff\x25\x6a\x22\0\0\x66\x90");
	PUT(0x60, "\xf3\x0f\x1e\xfa\xff\x25\x6a\x22\0\0\x66\x0f\x1f\x44\0\0");
	PUT(0x90, "\xf3\x0f\x1e\xfa\xf2\xff\x25\x6a\x22\0\0\x0f\x1f\x44\0\0");
	add_section(PLT_SEC, 0x60, 16);
	add_section(TEXT, 0x60, 16);
	add_section(PLT, 0x90, 16);
	add_section(PLT_GOT, 0x20, 8);
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 3);
	ck_assert_uint_eq(plts[0].start, ADDR + 0x20);
	ck_assert_uint_eq(plts[0].end, ADDR + 0x28);
	ck_assert_uint_eq(plts[1].start, ADDR + 0x60);
	ck_assert_uint_eq(plts[2].start, ADDR + 0x90);
	for (int i = 0; i < 3; i++)
		is_rule(&plts[i].rule, &on_stack);
}
END_TEST

START_TEST(of_no_more_sections_than_there_is_room_for)
{
	PUT(0x20, "\xff\x25");
	for (int i = 0; i < UNWIND_PLTS + 2; i++)
		add_section(PLT, 0x20, 16);
	ck_assert_uint_eq(unwind_plts_find(plts, &image), UNWIND_PLTS);
}
END_TEST

/* Other code, a section beyond the file, one that is cut off, one that ends with its addresses. */
START_TEST(of_nothing_that_is_not_known)
{
	add_section(PLT, SECTION, 64);
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	PUT(SECTION + 16, "\xff\x25\x6a\x22\0\0\x68\0\0\0\0\xe9");
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 1);
	image.machine = EM_AARCH64;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	image.machine = EM_RISCV;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	image.machine = EM_X86_64;
	sections[0].sh_size = 17;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	sections[0].sh_size = 64;
	sections[0].sh_offset = sizeof(file) + 1;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	sections[0].sh_offset = SECTION;
	sections[0].sh_addr = UINT64_MAX - 31;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
	sections[0].sh_addr = ADDR;
	sections[0].sh_flags = SHF_ALLOC;
	ck_assert_uint_eq(unwind_plts_find(plts, &image), 0);
}
END_TEST

static uint8_t rule_at(const struct unwind_table *t, uint64_t addr)
{
	return unwind_table_rule(t, addr)->kind;
}

/* Between two functions that have FDEs; with and without looking at the code around it. */
START_TEST(in_a_table)
{
	static struct made m;
	struct unwind_code code = { MADE_CODE, MADE_CODE_END };
	struct unwind_source s = { .machine = EM_X86_64,
				   .code = &code,
				   .ncode = 1,
				   .addr = MADE_EH_FRAME,
				   .data = m.bytes,
				   .plts = { { 0x2010, 0x2080, on_stack },
					     { 0x3000, 0x3040, on_stack },
					     { MADE_CODE_END - 16, MADE_CODE_END + 16, on_stack } },
				   .nplts = 3,
				   .is_computed = _i };
	struct unwind_table *t;

	memset(&m, 0, sizeof(m));
	made_cie(&m, "", 16, made_x86, sizeof(made_x86));
	made_fde(&m, 0x1000, 0x100, "\x0e\x20", 2);
	made_fde(&m, 0x2400, 0x2000, "\x0e\x20", 2);
	made_uint(&m, 0, 4);
	s.size = m.size;
	ck_assert_int_eq(unwind_table_make(&s, UNWIND_PART_ROWS, &t), 0);
	ck_assert_int_eq(rule_at(t, 0x10ff), UNWIND_SP);
	ck_assert_int_eq(rule_at(t, 0x1100), UNWIND_NO_ROW);
	ck_assert_int_eq(rule_at(t, 0x200f), UNWIND_NO_ROW);
	is_rule(unwind_table_rule(t, 0x2010), &on_stack);
	is_rule(unwind_table_rule(t, 0x207f), &on_stack);
	ck_assert_int_eq(rule_at(t, 0x2080), UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(t, 0x3010)->cfa_off, 0x20);	/* what the FDE says */
	ck_assert_int_eq(rule_at(t, MADE_CODE_END - 8), UNWIND_NO_ROW); /* it is not all code */
	unwind_table_free(t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind_plt");
	TCase *t = tcase_create("plt");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, of_lld, 0, 2);
	tcase_add_test(t, of_mold);
	tcase_add_loop_test(t, of_arm64, 0, 2);
	tcase_add_test(t, of_several_sections);
	tcase_add_test(t, of_no_more_sections_than_there_is_room_for);
	tcase_add_test(t, of_nothing_that_is_not_known);
	tcase_add_loop_test(t, in_a_table, 0, 2);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
