/* SPDX-License-Identifier: BSD-2-Clause */
/* Call frame instructions and expressions, byte by byte, and the rules that they come to. */
#include "unwind_made.h"

static struct made made;
static struct unwind_table *table;

static void setup(void)
{
	memset(&made, 0, sizeof(made));
	table = NULL;
}

static void teardown(void)
{
	unwind_table_free(table);
}

/* In comments: DW_CFA_ and DW_OP_ without these prefixes. */
static const struct {
	const char *what;
	uint16_t machine; /* 0: x86-64 */
	const char *letters;
	uint8_t insns[48];
	size_t n;
	struct {
		int at; /* offset in the function, which is 0x100 long */
		struct unwind_rule rule;
	} rows[5];
	int bad;
} cases[] = {
#define INSNS(...) .insns = { __VA_ARGS__ }, .n = sizeof((const uint8_t[]){ __VA_ARGS__ })
#define ROW(at, ...)                                                                               \
	{                                                                                          \
		at,                                                                                \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define SP(off) .kind = UNWIND_SP, .cfa_off = off, .ra_off = -8
#define FP(off) .kind = UNWIND_FP, .cfa_off = off, .ra_off = -8
#define SAVED(off) .flags = UNWIND_FP_AT_CFA, .fp_off = off
	{ "push %rbp; mov %rsp, %rbp; leave",
	  /* advance 1, def_cfa_offset 16, offset 6 2, advance 3, def_cfa_register 6, advance 10 */
	  INSNS(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x4a, 0x0c, 7, 8, 0xc6),
	  .rows = { ROW(0, SP(8)), ROW(1, SP(16), SAVED(-16)), ROW(4, FP(16), SAVED(-16)),
		    ROW(14, SP(8)) } },
	{ "equal neighbours are one row",
	  /* advance 4, offset 3 2 (rbx), advance 4, restore 3, advance 4, GNU_args_size 16 */
	  INSNS(0x44, 0x83, 2, 0x44, 0xc3, 0x44, 0x2e, 16), .rows = { ROW(0, SP(8)) } },
	{ "all ways to advance",
	  /* advance_loc1 100, advance_loc2 4, advance_loc4 4, set_loc */
	  INSNS(0x02, 100, 0x0e, 16, 0x03, 4, 0, 0x0e, 24, 0x04, 4, 0, 0, 0, 0x0e, 32, 0x01, 0xf0,
		0x10, 0, 0, 0, 0, 0, 0, 0x0e, 40),
	  .rows = { ROW(0, SP(8)), ROW(100, SP(16)), ROW(104, SP(24)), ROW(108, SP(32)),
		    ROW(0xf0, SP(40)) } },
	{ "beyond the end of the function, or back, nothing is",
	  /* advance_loc2 0x100, def_cfa_offset 16 */
	  INSNS(0x03, 0, 1, 0x0e, 16), .rows = { ROW(0, SP(8)) } },
	{ "the same",
	  /* advance 8, set_loc 0x1004, def_cfa_offset 24 */
	  INSNS(0x48, 0x0e, 16, 0x01, 4, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 24),
	  .rows = { ROW(0, SP(8)), ROW(8, SP(16)) } },
	{ "remember and restore, the CFA too",
	  INSNS(0x41, 0x0e, 16, 0x0a, 0x41, 0x0e, 8, 0x86, 2, 0x41, 0x0b),
	  .rows = { ROW(0, SP(8)), ROW(1, SP(16)), ROW(2, SP(8), SAVED(-16)), ROW(3, SP(16)) } },
	{ "signed and factored forms",
	  /* def_cfa_sf 7 -2, def_cfa_offset_sf -4, offset_extended_sf 6 3, restore_extended 6,
	   * offset_extended 6 2, GNU_negative_offset_extended 6 1 */
	  INSNS(0x12, 7, 0x7e, 0x41, 0x13, 0x7c, 0x11, 6, 3, 0x41, 0x06, 6, 0x41, 0x05, 6, 2, 0x41,
		0x2f, 6, 1),
	  .rows = { ROW(0, SP(16)), ROW(1, SP(32), SAVED(-24)), ROW(2, SP(32)),
		    ROW(3, SP(32), SAVED(-16)), ROW(4, SP(32), SAVED(8)) } },
	{ "a frame of 181312 bytes", INSNS(0x0e, 0xc0, 0x88, 0x0b),
	  .rows = { ROW(0, SP(181312)) } },
	{ "undefined return address: the end", INSNS(0x07, 16),
	  .rows = { ROW(0, .kind = UNWIND_STOP) } },
	{ "CFA by another register, return address in one",
	  /* def_cfa 10 0; advance 1, def_cfa 7 0, register 16 5 */
	  INSNS(0x0c, 10, 0, 0x41, 0x0c, 7, 0, 0x09, 16, 5),
	  .rows = { ROW(0, .kind = UNWIND_REG, .arg = 10, .ra_off = -8),
		    ROW(1, .kind = UNWIND_SP, .flags = UNWIND_RA_REG, .ra_off = 5) } },
	{ "the frame pointer is lost",
	  /* undefined 6; register 6 9; val_offset 6 2; val_expression 6 {}; same_value 6 */
	  INSNS(0x07, 6, 0x41, 0x09, 6, 9, 0x0e, 16, 0x41, 0x14, 6, 2, 0x0e, 24, 0x41, 0x16, 6, 0,
		0x0e, 32, 0x41, 0x08, 6),
	  .rows = { ROW(0, SP(8), .flags = UNWIND_FP_LOST), ROW(1, SP(16), .flags = UNWIND_FP_LOST),
		    ROW(2, SP(24), .flags = UNWIND_FP_LOST),
		    ROW(3, SP(32), .flags = UNWIND_FP_LOST), ROW(4, SP(32)) } },
	{ "a realigned frame of gcc",
	  /* expression 6 {breg6 0}, def_cfa_expression {breg6 -8, deref} */
	  INSNS(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06),
	  .rows = { ROW(0, .kind = UNWIND_DEREF_FP, .cfa_off = -8, .ra_off = -8,
			.flags = UNWIND_FP_AT_FP) } },
	{ "OpenSSL's way",
	  /* def_cfa_expression {breg7 152, deref, plus_uconst 8}; {breg7 64, deref, lit8, plus};
	   * {breg7 64, deref, const1u 8, minus} */
	  INSNS(0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8, 0x41, 0x0f, 6, 0x77, 0xc0, 0x00, 0x06,
		0x38, 0x22, 0x41, 0x0f, 7, 0x77, 0xc0, 0x00, 0x06, 0x08, 8, 0x1c),
	  .rows = { ROW(0, .kind = UNWIND_DEREF_SP, .cfa_off = 152, .arg = 8, .ra_off = -8),
		    ROW(1, .kind = UNWIND_DEREF_SP, .cfa_off = 64, .arg = 8, .ra_off = -8),
		    ROW(2, .kind = UNWIND_DEREF_SP, .cfa_off = 64, .arg = -8, .ra_off = -8) } },
	{ "an expression that a definition could have said", INSNS(0x0f, 4, 0x77, 8, 0x23, 8),
	  .rows = { ROW(0, SP(16)) } },
	{ "the linker's stubs",
	  /* breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus */
	  INSNS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	  .rows = { ROW(0, .kind = UNWIND_PLT, .cfa_off = 8, .arg = 11, .ra_off = -8) } },
	{ "expressions of no such shape, and what they hid comes back",
	  /* {breg7 8, breg9 0, lit8, mul, plus, deref}; def_cfa_register 7 */
	  INSNS(0x0f, 8, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x41, 0x0d, 7),
	  .rows = { ROW(0, .kind = UNWIND_UNSUP), ROW(1, SP(8)) } },
	{ "a signal trampoline", .letters = "zS",
	  /* def_cfa_expression {breg7 160, deref}, expression 16 {breg7 168}, 6 {breg7 120} */
	  INSNS(0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10, 6, 3, 0x77,
		0xf8, 0x00),
	  .rows = { ROW(0, .kind = UNWIND_SIGNAL, .cfa_off = 160, .ra_off = 168, .fp_off = 120) } },
	{ "the caller's stack pointer apart from the CFA",
	  /* advance 37, def_cfa 7 0, offset_extended_sf 6 -2049, 16 -2054,
	   * val_expression 7 {breg7 16440}; advance, same_value 7; advance, restore 7 */
	  INSNS(0x65, 0x0c, 7, 0, 0x11, 6, 0xff, 0x6f, 0x11, 16, 0xfa, 0x6f, 0x16, 7, 4, 0x77, 0xb8,
		0x80, 0x01, 0x41, 0x08, 7, 0x41, 0x0c, 7, 8, 0x90, 1, 0x16, 7, 2, 0x77, 24, 0x41,
		0xc7),
	  .rows = { ROW(0, SP(8)), ROW(37, SP(16440), SAVED(-48)), ROW(38, .kind = UNWIND_UNSUP),
		    ROW(39, .kind = UNWIND_UNSUP), ROW(40, SP(8), SAVED(16392)) } },
	{ "it is counted from another register than the CFA",
	  /* val_expression 7 {breg10 16} */
	  INSNS(0x16, 7, 2, 0x7a, 16), .rows = { ROW(0, SP(8)) } },
	{ "the return address elsewhere than calls put it", INSNS(0x90, 2),
	  .rows = { ROW(0, .kind = UNWIND_UNSUP) } },
	{ "an offset that no rule has room for",
	  /* def_cfa_offset 2^40; advance, def_cfa_offset 8, offset 6 2^20 */
	  INSNS(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x41, 0x0e, 8, 0x86, 0x80, 0x80, 0x40),
	  .rows = { ROW(0, .kind = UNWIND_UNSUP), ROW(1, SP(8), .flags = UNWIND_FP_LOST) } },
	{ "an instruction that is none", INSNS(0x42, 0x0e, 16, 0x42, 0x3f),
	  .rows = { ROW(0, SP(8)), ROW(2, SP(16)), ROW(4, .kind = UNWIND_UNSUP) }, .bad = 1 },
	{ "restore without remember", INSNS(0x42, 0x0b),
	  .rows = { ROW(0, SP(8)), ROW(2, .kind = UNWIND_UNSUP) }, .bad = 1 },
	{ "a block longer than the record", INSNS(0x42, 0x0f, 0xff, 0x7f),
	  .rows = { ROW(0, SP(8)), ROW(2, .kind = UNWIND_UNSUP) }, .bad = 1 },
#define ARM(off) .kind = UNWIND_SP, .cfa_off = off
	{ "stp x29, x30, [sp, -32]!, signed", .machine = EM_AARCH64,
	  /* advance, AARCH64_negate_ra_state, advance, def_cfa_offset 32, offset 29 4, offset 30 3,
	   * advance, restore 30, restore 29, def_cfa_offset 0, advance, negate */
	  INSNS(0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x44, 0xde, 0xdd, 0x0e, 0, 0x44,
		0x2d),
	  .rows = { ROW(0, ARM(0), .flags = UNWIND_RA_REG, .ra_off = 30),
		    ROW(4, ARM(0), .flags = UNWIND_RA_REG | UNWIND_RA_SIGNED, .ra_off = 30),
		    ROW(8, ARM(32), .ra_off = -24, .fp_off = -32,
			.flags = UNWIND_FP_AT_CFA | UNWIND_RA_SIGNED),
		    ROW(12, ARM(0), .flags = UNWIND_RA_REG | UNWIND_RA_SIGNED, .ra_off = 30),
		    ROW(16, ARM(0), .flags = UNWIND_RA_REG, .ra_off = 30) } },
};

START_TEST(test_instructions)
{
	bool is_arm = cases[_i].machine == EM_AARCH64;
	const char *letters = cases[_i].letters ? cases[_i].letters : "";
	int row = 0;

	made_cie(&made, letters, is_arm ? 30 : 16, is_arm ? made_arm64 : made_x86,
		 is_arm ? sizeof(made_arm64) : sizeof(made_x86));
	made_fde(&made, MADE_CODE, 0x100, cases[_i].insns, cases[_i].n);
	ck_assert_int_eq(
		made_table(&made, is_arm ? EM_AARCH64 : EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_int_eq(table->stats.bad_fdes, cases[_i].bad);
	for (int at = 0; at < 0x100; at++) {
		const struct unwind_rule *r = unwind_table_rule(table, MADE_CODE + at);

		if (row < 4 && cases[_i].rows[row + 1].at && cases[_i].rows[row + 1].at <= at)
			row++;
		ck_assert_msg(!memcmp(r, &cases[_i].rows[row].rule, sizeof(*r)),
			      "%s: at %d: kind %d cfa %d fp %d ra %d arg %d flags %x",
			      cases[_i].what, at, r->kind, r->cfa_off, r->fp_off, r->ra_off, r->arg,
			      r->flags);
	}
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x100)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE - 1)->kind, UNWIND_NO_ROW);
}
END_TEST

/* Depth is bounded: beyond it, the function is taken for damaged. */
#define VAL_RSP(low) 0x16, 7, 4, 0x77, low, 0x80, 0x01

/* Who leaves much room and jumps says how what it jumps to is left; who leaves little does not. */
START_TEST(test_jumped_to)
{
	const uint8_t jumps[] = { 0x0c, 7, 0, 0x11, 16, 0xfa, 0x6f, VAL_RSP(0xb8) };
	const uint8_t little[] = { 0x0c, 7, 0, 0x11, 16, 0x7e, 0x16, 7, 2, 0x77, 24 };
	const struct unwind_rule rule = { .kind = UNWIND_SP,
					  .cfa_off = 16440,
					  .arg = 8,
					  .ra_off = 5 },
				 none = { 0 },
				 jumped_to = { .kind = UNWIND_NO_ROW, .flags = UNWIND_COMPUTED };

	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
	made_fde(&made, MADE_CODE, 0x100, little, sizeof(little));
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_mem_eq(&table->jumped_to, &none, sizeof(none));
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE)->cfa_off, 24);
	ck_assert_mem_eq(unwind_table_rule(table, MADE_CODE + 0x200), &none, sizeof(none));
	unwind_table_free(table);

	made_fde(&made, MADE_CODE + 0x300, 0x100, jumps, sizeof(jumps));
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_mem_eq(&table->jumped_to, &rule, sizeof(rule));
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x300)->cfa_off, 16440);
	for (int at = 0x100; at < 0x500; at += 0x300)
		ck_assert_mem_eq(unwind_table_rule(table, MADE_CODE + at), &jumped_to,
				 sizeof(jumped_to));
}
END_TEST

START_TEST(test_remember_depth)
{
	uint8_t insns[200];

	memset(insns, 0x0a, sizeof(insns));
	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
	made_fde(&made, MADE_CODE, 0x100, insns, 16);
	made_fde(&made, MADE_CODE + 0x100, 0x100, insns, sizeof(insns));
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE)->kind, UNWIND_SP);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x100)->kind, UNWIND_UNSUP);
	ck_assert_uint_eq(table->stats.bad_fdes, 1);
}
END_TEST

/* ---- CIEs and pointers */

/*
 * One CIE and one FDE for MADE_CODE + 0x20, 0x40 long, with the address as the CIE's letter R says.
 */
static const struct {
	const char *what, *letters;
	uint8_t data[16]; /* after the length of the augmentation */
	uint8_t ndata;
	int encoding, version;
	int kind; /* of the rule; -1: no table at all */
} cies[] = {
	{ "absolute", "zR", { 0x00 }, 1, 0x00, 1, UNWIND_SP },
	{ "eight bytes", "zR", { 0x04 }, 1, 0x04, 1, UNWIND_SP },
	{ "from here, four signed bytes", "zR", { 0x1b }, 1, 0x1b, 1, UNWIND_SP },
	{ "from here, eight signed bytes", "zR", { 0x1c }, 1, 0x1c, 3, UNWIND_SP },
	{ "two bytes", "zR", { 0x02 }, 1, 0x02, 1, UNWIND_SP },
	{ "LEB128", "zR", { 0x01 }, 1, 0x01, 1, UNWIND_SP },
	{ "aligned", "zR", { 0x50 }, 1, 0x50, 1, UNWIND_SP },
	{ "personality, data, address",
	  "zPLR",
	  { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b },
	  7,
	  0x1b,
	  1,
	  UNWIND_SP },
	{ "arm64's letters", "zRBG", { 0x1b }, 1, 0x1b, 1, UNWIND_SP },
	{ "a letter from the future", "zR?", { 0x1b, 7, 7 }, 3, 0x1b, 1, UNWIND_SP },
	{ "no length, and letters", "R", { 0x1b }, 1, 0x1b, 1, -1 },
	{ "through memory", "zR", { 0x9b }, 1, 0x1b, 1, -1 },
	{ "from the function", "zR", { 0x4b }, 1, 0x1b, 1, -1 },
	{ "no such format", "zR", { 0x0f }, 1, 0x00, 1, -1 },
	{ "omitted", "zR", { 0xff }, 1, 0x00, 1, -1 },
	{ "version 2", "zR", { 0x1b }, 1, 0x1b, 2, -1 },
};

static void put_address(uint64_t v, int encoding)
{
	if ((encoding & 0x70) == 0x10)
		v -= MADE_EH_FRAME + made.size;
	switch (encoding) {
	case 0x50:
		while (made.size % 8)
			made_uint(&made, 0xff, 1);
		break;
	case 0x02:
		made_uint(&made, v, 2);
		return;
	case 0x01:
		made_uint(&made, (v & 0x7f) | 0x80, 1);
		made_uint(&made, v >> 7, 1);
		return;
	case 0x1b:
		made_uint(&made, v, 4);
		return;
	}
	made_uint(&made, v, 8);
}

static void put_length(uint64_t v, int encoding)
{
	if (encoding == 0x02)
		made_uint(&made, v, 2);
	else if (encoding == 0x01)
		made_uint(&made, v, 1);
	else
		made_uint(&made, v, encoding == 0x1b ? 4 : 8);
}

static void put_records(int i, const char *letters, int version)
{
	made_begin(&made);
	made.cie = made.record;
	made_uint(&made, 0, 4);
	made_uint(&made, version, 1);
	made_put(&made, letters, strlen(letters) + 1);
	made_uint(&made, 1, 1);
	made_uint(&made, 0x78, 1);
	made_uint(&made, 16, 1);
	if (*letters == 'z')
		made_uint(&made, cies[i].ndata, 1);
	made_put(&made, cies[i].data, cies[i].ndata);
	made_put(&made, made_x86, sizeof(made_x86));
	made_end(&made);

	made_begin(&made);
	made_uint(&made, made.record + 4 - made.cie, 4);
	put_address(MADE_CODE + 0x20, cies[i].encoding);
	put_length(0x40, cies[i].encoding);
	if (*letters == 'z') {
		made_uint(&made, 3, 1);
		made_put(&made, "\x3f\x3f\x3f", 3); /* not to be taken for instructions */
	}
	made_end(&made);
}

START_TEST(test_cies)
{
	put_records(_i, cies[_i].letters, cies[_i].version);
	if (cies[_i].kind < 0) {
		ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), -ENODATA);
		ck_assert_ptr_null(table);
		return;
	}
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->stats.bad_fdes, 0);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x1f)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x20)->kind, cies[_i].kind);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x5f)->kind, cies[_i].kind);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x60)->kind, UNWIND_NO_ROW);
}
END_TEST

/* A length of eight bytes; a record after the empty one; a CIE that lies about where it is. */
START_TEST(test_lengths)
{
	size_t size;

	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
	made_uint(&made, UINT32_MAX, 4);
	made_uint(&made, 4 + 16 + 4, 8);
	made_uint(&made, made.size, 4);
	made_uint(&made, MADE_CODE, 8);
	made_uint(&made, 0x20, 8);
	made_uint(&made, 0, 4);
	size = made.size;
	made_fde(&made, MADE_CODE + 0x100, 0x20, NULL, 0);
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->nfdes, 2);
	unwind_table_free(table);

	made.size = size;
	made_uint(&made, 0, 4); /* the end */
	made_fde(&made, MADE_CODE + 0x100, 0x20, NULL, 0);
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->nfdes, 1);
	unwind_table_free(table);

	made.size = size;
	made.cie = made.size + 1000; /* beyond the end: the distance is negative */
	made_fde(&made, MADE_CODE + 0x100, 0x20, NULL, 0);
	made.cie = -1; /* before the beginning */
	made_fde(&made, MADE_CODE + 0x200, 0x20, NULL, 0);
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->nfdes, 1);
	ck_assert_uint_eq(table->stats.bad_fdes, 2);
}
END_TEST

/*
 * .debug_frame: CIEs have an id of all ones, 0 being an offset like others, and eight bytes of it
 * if the length has.
 */
START_TEST(test_debug_frame)
{
	const size_t pad = 4 + 8 + 8 + 16 + 4;

	made.is_debug_frame = true;
	made_cie(&made, "", 16, made_x86, sizeof(made_x86));
	made_fde(&made, MADE_CODE, 0x20, "\x44\x0e\x10", 3);

	made_uint(&made, UINT32_MAX, 4); /* a CIE of 64 bits */
	made.cie = made.size - 4;
	made_uint(&made, 8 + 8 + sizeof(made_x86), 8);
	made_uint(&made, UINT64_MAX, 8);
	made_put(&made, "\x04\0\x08\0\x01\x78\x10", 8); /* version, augmentation, sizes, ... */
	made.size--;
	made_put(&made, "\x0c\x07\x18\x90\x01", 5); /* def_cfa 7 24, offset 16 1 */
	made_uint(&made, 0, 1);
	ck_assert_uint_eq(made.size - made.cie, 4 + 8 + 8 + 8 + sizeof(made_x86));
	made_uint(&made, UINT32_MAX, 4); /* and its FDE */
	made_uint(&made, pad - 12, 8);
	made_uint(&made, made.cie, 8);
	made_uint(&made, MADE_CODE + 0x100, 8);
	made_uint(&made, 0x20, 8);
	made_uint(&made, 0, 4);

	made.cie = 1 << 20; /* beyond the end */
	made_fde(&made, MADE_CODE + 0x200, 0x20, NULL, 0);
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), 0);
	ck_assert_uint_eq(table->nfdes, 2);
	ck_assert_uint_eq(table->stats.bad_fdes, 1);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE)->cfa_off, 8);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 4)->cfa_off, 16);
	ck_assert_int_eq(unwind_table_rule(table, MADE_CODE + 0x100)->cfa_off, 24);
	unwind_table_free(table);
	table = NULL;

	/* Read as .eh_frame none of it makes sense. */
	made.is_debug_frame = false;
	ck_assert_int_eq(made_table(&made, EM_X86_64, UNWIND_PART_ROWS, &table), -ENODATA);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("call frame instructions");
	TCase *t = tcase_create("cfi");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_instructions, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(t, test_jumped_to);
	tcase_add_test(t, test_remember_depth);
	tcase_add_loop_test(t, test_cies, 0, sizeof(cies) / sizeof(cies[0]));
	tcase_add_test(t, test_lengths);
	tcase_add_test(t, test_debug_frame);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
