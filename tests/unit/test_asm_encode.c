/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes out of the assembler: bytes as RFC 9669 has them, slots, and where each came from. */
#include "asm_said.h"

/* ---- one instruction of each group against the RFC */

START_TEST(opcodes)
{
	static const struct {
		struct asm_insn line;
		struct bytes want;
	} cases[] = {
		/* section 4.1: class ALU64 is 7, ALU is 4; K is 0, X is 8 */
		{ MOV(R3, -1), { 0xb7, 3, 0, 0, -1 } },
		{ MOV_REG(R3, R10), { 0xbf, 3, 10, 0, 0 } },
		{ ADD(R1, 2), { 0x07, 1, 0, 0, 2 } },
		{ ADD_REG(R1, R2), { 0x0f, 1, 2, 0, 0 } },
		{ SUB(R1, 2), { 0x17, 1, 0, 0, 2 } },
		{ MUL(R1, 2), { 0x27, 1, 0, 0, 2 } },
		{ DIV(R1, 2), { 0x37, 1, 0, 0, 2 } },
		{ SDIV(R1, 2), { 0x37, 1, 0, 1, 2 } },
		{ OR(R1, 2), { 0x47, 1, 0, 0, 2 } },
		{ AND(R1, -2), { 0x57, 1, 0, 0, -2 } },
		{ LSH(R1, 63), { 0x67, 1, 0, 0, 63 } },
		{ RSH_REG(R1, R2), { 0x7f, 1, 2, 0, 0 } },
		{ NEG(R1), { 0x87, 1, 0, 0, 0 } },
		{ MOD_REG(R1, R2), { 0x9f, 1, 2, 0, 0 } },
		{ SMOD_REG(R1, R2), { 0x9f, 1, 2, 1, 0 } },
		{ XOR(R1, INT32_MIN), { 0xa7, 1, 0, 0, INT32_MIN } },
		{ ARSH(R1, 1), { 0xc7, 1, 0, 0, 1 } },
		{ MOV32(R1, 0xffffffff), { 0xb4, 1, 0, 0, -1 } },
		{ ADD32_REG(R1, R2), { 0x0c, 1, 2, 0, 0 } },
		{ SDIV32_REG(R1, R2), { 0x3c, 1, 2, 1, 0 } },
		{ NEG32(R1), { 0x84, 1, 0, 0, 0 } },
		{ ARSH32(R1, 31), { 0xc4, 1, 0, 0, 31 } },
		{ MOVSX(R1, R2, 8), { 0xbf, 1, 2, 8, 0 } },
		{ MOVSX(R1, R2, 32), { 0xbf, 1, 2, 32, 0 } },
		{ MOVSX32(R1, R2, 16), { 0xbc, 1, 2, 16, 0 } },
		/* section 4.2 */
		{ TO_LE(R1, 16), { 0xd4, 1, 0, 0, 16 } },
		{ TO_BE(R1, 32), { 0xdc, 1, 0, 0, 32 } },
		{ BSWAP(R1, 64), { 0xd7, 1, 0, 0, 64 } },
		/* section 5.1, 5.2: W 0, H 8, B 0x10, DW 0x18 */
		{ LDX(W, R1, R2, 4), { 0x61, 1, 2, 4, 0 } },
		{ LDX(H, R1, R2, -32768), { 0x69, 1, 2, -32768, 0 } },
		{ LDX(B, R1, R2, 32767), { 0x71, 1, 2, 32767, 0 } },
		{ LDX(DW, R1, R10, -8), { 0x79, 1, 10, -8, 0 } },
		{ LDXS(W, R1, R2, 4), { 0x81, 1, 2, 4, 0 } },
		{ LDXS(H, R1, R2, 4), { 0x89, 1, 2, 4, 0 } },
		{ LDXS(B, R1, R2, 4), { 0x91, 1, 2, 4, 0 } },
		{ STX(W, R10, -4, R0), { 0x63, 10, 0, -4, 0 } },
		{ STX(DW, R10, -512, R9), { 0x7b, 10, 9, -512, 0 } },
		{ ST(B, R10, -1, 255), { 0x72, 10, 0, -1, 255 } },
		{ ST(DW, R10, -8, -1), { 0x7a, 10, 0, -8, -1 } },
		/* section 5.3 */
		{ ATOMIC_ADD(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x00 } },
		{ ATOMIC_OR(W, R1, 8, R2), { 0xc3, 1, 2, 8, 0x40 } },
		{ ATOMIC_AND(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x50 } },
		{ ATOMIC_XOR(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0xa0 } },
		{ ATOMIC_FETCH_ADD(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x01 } },
		{ ATOMIC_FETCH_OR(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x41 } },
		{ ATOMIC_FETCH_AND(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x51 } },
		{ ATOMIC_FETCH_XOR(W, R1, 8, R2), { 0xc3, 1, 2, 8, 0xa1 } },
		{ ATOMIC_XCHG(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0xe1 } },
		{ ATOMIC_CMPXCHG(W, R1, 8, R2), { 0xc3, 1, 2, 8, 0xf1 } },
		/* not in the RFC: include/uapi/linux/bpf.h of Linux 6.15 */
		{ LOAD_ACQ(B, R1, R2, 8), { 0xd3, 1, 2, 8, 0x100 } },
		{ STORE_REL(DW, R1, 8, R2), { 0xdb, 1, 2, 8, 0x110 } },
		/* section 4.3 */
		{ CALL(map_lookup_elem), { 0x85, 0, 0, 0, 1 } },
		{ CALL(get_current_task_btf), { 0x85, 0, 0, 0, 158 } },
		{ EXIT(), { 0x95, 0, 0, 0, 0 } },
		{ INSN(0xff, 15, 14, -3, 77), { 0xff, 15, 14, -3, 77 } },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct asm_image image = good(&cases[i].line, 1, NULL, 0);

		ck_assert_uint_eq(image.ninsns, 1);
		ck_insn(&image, 0, cases[i].want, cases[i].line.text);
		asm_image_free(&image);
	}
}
END_TEST

START_TEST(conditions)
{
	static const struct {
		struct asm_insn line;
		struct bytes want; /* at slot 0, to slot 2 */
	} cases[] = {
		{ JA(l), { 0x05, 0, 0, 1, 0 } },
		{ GOTOL(l), { 0x06, 0, 0, 0, 1 } },
		{ MAY_GOTO(l), { 0xe5, 0, 0, 1, 0 } },
		{ JEQ(R1, -1, l), { 0x15, 1, 0, 1, -1 } },
		{ JEQ_REG(R1, R2, l), { 0x1d, 1, 2, 1, 0 } },
		{ JGT(R1, 2, l), { 0x25, 1, 0, 1, 2 } },
		{ JGE(R1, 2, l), { 0x35, 1, 0, 1, 2 } },
		{ JSET(R1, 2, l), { 0x45, 1, 0, 1, 2 } },
		{ JNE(R1, 2, l), { 0x55, 1, 0, 1, 2 } },
		{ JSGT(R1, 2, l), { 0x65, 1, 0, 1, 2 } },
		{ JSGE_REG(R1, R2, l), { 0x7d, 1, 2, 1, 0 } },
		{ JLT(R1, 2, l), { 0xa5, 1, 0, 1, 2 } },
		{ JLE(R1, 2, l), { 0xb5, 1, 0, 1, 2 } },
		{ JSLT(R1, 2, l), { 0xc5, 1, 0, 1, 2 } },
		{ JSLE(R1, 2, l), { 0xd5, 1, 0, 1, 2 } },
		{ JEQ32(R1, 0xffffffff, l), { 0x16, 1, 0, 1, -1 } },
		{ JNE32_REG(R1, R10, l), { 0x5e, 1, 10, 1, 0 } },
		{ JSLE32_REG(R1, R2, l), { 0xde, 1, 2, 1, 0 } },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct asm_insn lines[] = { INSN(0, 0, 0, 0, 0), MOV(R0, 0), LABEL(l), EXIT() };
		struct asm_image image;

		lines[0] = cases[i].line;
		image = GOOD(lines);
		ck_assert_uint_eq(image.ninsns, 3);
		ck_insn(&image, 0, cases[i].want, cases[i].line.text);
		asm_image_free(&image);
	}
}
END_TEST

/* The numbers of helpers against the kernel's own list, as far as the installed header has it. */
START_TEST(helper_numbers)
{
	static const struct {
		const char *name;
		unsigned int number;
	} uapi[] = {
#define UAPI(name, ...) { #name, BPF_FUNC_##name }
		__BPF_FUNC_MAPPER(UAPI)
#undef UAPI
	};

	ck_assert_uint_ge(COUNT_OF(uapi), 163); /* Linux 5.10 */
	for (size_t i = 0; i < COUNT_OF(uapi); i++) {
		const char *name = asm_helper_name(uapi[i].number);

		ck_assert_ptr_nonnull(name);
		ck_assert_str_eq(name, uapi[i].name);
	}
	ck_assert_str_eq(asm_helper_name(211), "cgrp_storage_delete");
	ck_assert_ptr_null(asm_helper_name(212));
	ck_assert_ptr_null(asm_helper_name(UINT32_MAX));
}
END_TEST

/* ---- slots: 64-bit constants take two, everywhere */

/* clang-format off */
START_TEST(jumps_count_slots)
{
	static const struct asm_insn lines[] = {
		LD_IMM64(R1, 0x1122334455667788),	/* 0, 1 */
		JEQ(R1, 0, over),			/* 2 */
		LABEL(back),
		LD_MAP(R2, counts),			/* 3, 4 */
		LD_MAP_VALUE(R3, stats, 8),		/* 5, 6 */
		LABEL(over),
		JNE(R1, 1, back),			/* 7 */
		CALL_FUNC(f),				/* 8 */
		LD_FUNC(R2, f),				/* 9, 10 */
		EXIT(),					/* 11 */
	FUNC(f),
		LD_IMM64(R0, -2),			/* 12, 13 */
		CALL_FUNC(f),				/* 14 */
		EXIT(),					/* 15 */
	};
	/* line of each slot; -1 is the second half of a constant */
	static const int line_of[] = { 0, -1, 1, 3, -1, 4, -1, 6, 7, 8, -1, 9, 11, -1, 12, 13 };
	struct asm_image image = GOOD(lines);

	ck_assert_uint_eq(image.ninsns, 16);
	ck_insn(&image, 0, (struct bytes){ 0x18, 1, 0, 0, 0x55667788 }, "LD_IMM64");
	ck_insn(&image, 1, (struct bytes){ 0, 0, 0, 0, 0x11223344 }, "LD_IMM64");
	ck_insn(&image, 2, (struct bytes){ 0x15, 1, 0, 4, 0 }, "JEQ");
	ck_insn(&image, 3, (struct bytes){ 0x18, 2, 1, 0, 11 }, "LD_MAP");
	ck_insn(&image, 4, (struct bytes){ 0, 0, 0, 0, 0 }, "LD_MAP");
	ck_insn(&image, 5, (struct bytes){ 0x18, 3, 2, 0, 12 }, "LD_MAP_VALUE");
	ck_insn(&image, 6, (struct bytes){ 0, 0, 0, 0, 8 }, "LD_MAP_VALUE");
	ck_insn(&image, 7, (struct bytes){ 0x55, 1, 0, -5, 1 }, "JNE");
	ck_insn(&image, 8, (struct bytes){ 0x85, 0, 1, 0, 3 }, "CALL_FUNC");
	ck_insn(&image, 9, (struct bytes){ 0x18, 2, 4, 0, 2 }, "LD_FUNC");
	ck_insn(&image, 10, (struct bytes){ 0, 0, 0, 0, 0 }, "LD_FUNC");
	ck_insn(&image, 12, (struct bytes){ 0x18, 0, 0, 0, -2 }, "LD_IMM64");
	ck_insn(&image, 13, (struct bytes){ 0, 0, 0, 0, -1 }, "LD_IMM64");
	ck_insn(&image, 14, (struct bytes){ 0x85, 0, 1, 0, -3 }, "CALL_FUNC");

	for (uint32_t slot = 0; slot < image.ninsns; slot++) {
		if (line_of[slot] < 0) {
			ck_assert_ptr_null(image.text_of[slot]);
			ck_assert_uint_eq(image.line_of[slot], image.line_of[slot - 1]);
			continue;
		}
		ck_assert_uint_eq(image.line_of[slot], line_of[slot]);
		ck_assert_str_eq(image.text_of[slot], lines[line_of[slot]].text);
	}

	ck_assert_uint_eq(image.nlabels, 2);
	ck_assert_str_eq(image.labels[0].name, "back");
	ck_assert_uint_eq(image.labels[0].insn, 3);
	ck_assert_str_eq(image.labels[1].name, "over");
	ck_assert_uint_eq(image.labels[1].insn, 7);
	ck_assert_uint_eq(image.nfuncs, 2);
	ck_assert_str_eq(image.funcs[0].name, "test");
	ck_assert_uint_eq(image.funcs[0].insn, 0);
	ck_assert_str_eq(image.funcs[1].name, "f");
	ck_assert_uint_eq(image.funcs[1].insn, 12);
	asm_image_free(&image);
	ck_assert_ptr_null(image.insns);
}
END_TEST

START_TEST(without_descriptors_a_map_is_its_index)
{
	static const struct asm_insn lines[] = { LD_MAP(R1, table), LD_MAP_VALUE(R2, stats, 0), EXIT() };
	struct asm_bindings bindings = world(NULL, 0);
	struct asm_image image;

	bindings.map_fds = NULL;
	ck_assert_int_eq(assemble_in(lines, COUNT_OF(lines), &bindings, &image), 0);
	ck_assert_int_eq(image.insns[0].imm, 2);
	ck_assert_int_eq(image.insns[2].imm, 1);
	asm_image_free(&image);
}
END_TEST

/* A JA over so much that 16 bits do not reach is a gotol; one that just reaches is not. */
START_TEST(far_ja_is_gotol)
{
	static const struct asm_insn ja[] = { JA(far) }, step[] = { MOV(R0, 0) };
	static const struct asm_insn end[] = { LABEL(far), EXIT() };
	struct asm_insn *lines = calloc(32772, sizeof(*lines));
	struct asm_image image;

	ck_assert_ptr_nonnull(lines);
	lines[0] = ja[0];
	for (int i = 1; i <= 32768; i++)
		lines[i] = step[0];
	memcpy(lines + 32768, end, sizeof(end));
	image = good(lines, 32770, NULL, 0);
	ck_insn(&image, 0, (struct bytes){ 0x05, 0, 0, 32767, 0 }, "JA");
	asm_image_free(&image);
	lines[32768] = step[0];
	memcpy(lines + 32769, end, sizeof(end));
	image = good(lines, 32771, NULL, 0);
	ck_insn(&image, 0, (struct bytes){ 0x06, 0, 0, 0, 32768 }, "JA");
	asm_image_free(&image);

	lines[0] = end[0];
	for (int i = 1; i <= 32769; i++)
		lines[i] = step[0];
	lines[32768] = ja[0];
	image = good(lines, 32769, NULL, 0);
	ck_insn(&image, 32767, (struct bytes){ 0x05, 0, 0, -32768, 0 }, "JA");
	asm_image_free(&image);
	lines[32768] = step[0];
	lines[32769] = ja[0];
	image = good(lines, 32770, NULL, 0);
	ck_insn(&image, 32768, (struct bytes){ 0x06, 0, 0, 0, -32769 }, "JA");
	asm_image_free(&image);
	free(lines);
}
END_TEST
/* clang-format on */

/* Before Linux 6.4 an errno of these two calls is in the low half of R0 only; the macros extend its
 * sign, so that R0 can be compared with -EEXIST. */
START_TEST(results_of_map_calls_are_made_whole)
{
	static const struct asm_insn lines[] = {
		MAP_ADD(counts, -8, -16),
		MAP_LOOKUP_OR_INIT(counts, -8, -16),
		MAP_UPDATE(counts, -8, -16, BPF_ANY),
		MAP_DELETE(counts, -8),
		EXIT(),
	};
	struct asm_image image = GOOD(lines);
	unsigned int updates = 0, deletes = 0;

	for (uint32_t slot = 0; slot < image.ninsns; slot++) {
		const struct bpf_insn *insn = &image.insns[slot];

		if (insn->code != 0x85 || (insn->imm != 2 && insn->imm != 3))
			continue;
		updates += insn->imm == 2;
		deletes += insn->imm == 3;
		ck_insn(&image, slot + 1, (struct bytes){ 0x67, 0, 0, 0, 32 }, "after the call");
		ck_insn(&image, slot + 2, (struct bytes){ 0xc7, 0, 0, 0, 32 }, "after the call");
	}
	ck_assert_uint_eq(updates, 3);
	ck_assert_uint_eq(deletes, 1);
	asm_image_free(&image);
}
END_TEST

/* ---- ZERO: every byte once, aligned, and no store more than needed */

static void check_zero(const struct asm_insn *line, int off, int bytes, uint32_t most)
{
	struct asm_image image = good(line, 1, NULL, 0);
	int at = off;

	ck_assert_uint_le(image.ninsns, most);
	for (uint32_t slot = 0; slot < image.ninsns; slot++) {
		static const int size_of[] = { 4, 2, 1, 8 };
		int size = size_of[image.insns[slot].code >> 3 & 3];

		ck_assert_uint_eq(image.insns[slot].code & 0xe7, 0x62);
		ck_assert_uint_eq(image.insns[slot].dst_reg, 10);
		ck_assert_int_eq(image.insns[slot].imm, 0);
		ck_assert_int_eq(image.insns[slot].off, at);
		ck_assert_int_eq(at % size, 0);
		at += size;
	}
	ck_assert_int_eq(at, off + bytes);
	asm_image_free(&image);
}

START_TEST(zero)
{
	struct big {
		uint64_t words[64];
	};
	static const struct asm_insn some[] = { ZERO(-512, 512), ZERO(-1, 1), ZERO(-7, 7),
						ZERO_FRAME(struct big) };

	check_zero(&some[0], -512, 512, 64);
	check_zero(&some[1], -1, 1, 1);
	check_zero(&some[2], -7, 7, 3);
	check_zero(&some[3], -512, 512, 64);
	for (int off = -64; off < 0; off++)
		for (int bytes = 1; bytes <= -off; bytes++) {
			struct asm_insn line = some[0];

			line.insn.off = (int16_t)off;
			line.value = (uint64_t)bytes;
			/* At most 1, 2, 4 up to the first multiple of 8, and down again behind. */
			check_zero(&line, off, bytes, (uint32_t)(bytes / 8 + 6));
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: encoding");
	TCase *tc = tcase_create("encode");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, opcodes);
	tcase_add_test(tc, conditions);
	tcase_add_test(tc, helper_numbers);
	tcase_add_test(tc, jumps_count_slots);
	tcase_add_test(tc, without_descriptors_a_map_is_its_index);
	tcase_add_test(tc, far_ja_is_gotol);
	tcase_add_test(tc, results_of_map_calls_are_made_whole);
	tcase_add_test(tc, zero);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
