/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BTF that goes with a program, read back by a reader of its own: what the kernel checks
 * (kernel/bpf/btf.c, check_btf_func and check_btf_line of kernel/bpf/verifier.c) is checked here
 * without one.
 */
#include "asm_said.h"

#include <linux/btf.h>
#include <stdbool.h>

/* ---- the reader */

#define MAX_TYPES 64

struct btf_reader {
	const unsigned char *types, *strings;
	uint32_t types_size, strings_size;
	const struct btf_type *type[MAX_TYPES]; /* from 1 */
	uint32_t n;
};

static uint32_t kind_of(const struct btf_type *t)
{
	return t->info >> 24 & 0x1f;
}

static uint32_t vlen_of(const struct btf_type *t)
{
	return t->info & 0xffff;
}

static uint32_t bytes_behind(const struct btf_type *t)
{
	switch (kind_of(t)) {
	case BTF_KIND_INT:
		return 4;
	case BTF_KIND_PTR:
	case BTF_KIND_FUNC:
		return 0;
	case BTF_KIND_FUNC_PROTO:
		return vlen_of(t) * 8;
	}
	ck_abort_msg("kind %u", kind_of(t));
}

static const char *string(const struct btf_reader *b, uint32_t off)
{
	ck_assert_uint_lt(off, b->strings_size);
	return (const char *)b->strings + off;
}

static struct btf_reader read_btf(const struct asm_image *image)
{
	struct btf_reader b = { 0 };
	struct btf_header h;

	ck_assert_uint_gt(image->btf_size, sizeof(h));
	memcpy(&h, image->btf, sizeof(h));
	ck_assert_uint_eq(h.magic, 0xeb9f);
	ck_assert_uint_eq(h.version, 1);
	ck_assert_uint_eq(h.flags, 0);
	ck_assert_uint_eq(h.hdr_len, 24);
	ck_assert_uint_eq(h.type_off, 0);
	/* No hole and no rest: the kernel refuses both. */
	ck_assert_uint_eq(h.str_off, h.type_len);
	ck_assert_uint_eq(h.type_len % 4, 0);
	ck_assert_uint_eq(24 + h.type_len + h.str_len, image->btf_size);

	b.types = (const unsigned char *)image->btf + 24;
	b.types_size = h.type_len;
	b.strings = b.types + h.type_len;
	b.strings_size = h.str_len;
	ck_assert_uint_eq(b.strings[0], 0);
	ck_assert_uint_eq(b.strings[h.str_len - 1], 0);
	for (uint32_t at = 0; at < h.type_len;) {
		const struct btf_type *t = (const void *)(b.types + at);

		ck_assert_uint_lt(b.n + 1, MAX_TYPES);
		b.type[++b.n] = t;
		at += (uint32_t)sizeof(*t) + bytes_behind(t);
		ck_assert_uint_le(at, h.type_len);
	}
	return b;
}

/* btf_name_valid_identifier() */
static void ck_identifier(const char *name)
{
	ck_assert_msg(*name && !strchr("0123456789", *name), "'%s'", name);
	for (const char *c = name; *c; c++)
		ck_assert_msg(
			strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
			       *c),
			"'%s'", name);
}

/* ---- a program with something of everything, in two functions and a callback */

/* clang-format off */
static const struct asm_insn lines[] = {
	LD_IMM64(R1, 0x1122334455667788),
	MAP_ADD(counts, -8, -16),
	COUNT(stats, struct stats, lost),
	LD_FIELD(R1, R6, "task_struct", "real_parent.tgid"),
	ZERO(-15, 15),
	CALL_FUNC(sum),
	LD_FUNC(R2, call_back),
	EXIT(),
FUNC(sum),
	LABEL(again),
	LD_MAP(R1, counts),
	JEQ(R1, 0, again),
	EXIT(),
FUNC(call_back),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

START_TEST(types)
{
	static const char *const names[] = { "test", "sum", "call_back" };
	struct asm_image image = GOOD(lines);
	struct btf_reader b = read_btf(&image);
	const uint32_t *behind;

	ck_assert_uint_eq(b.n, 6);
	ck_assert_uint_eq(kind_of(b.type[1]), BTF_KIND_INT);
	ck_assert_str_eq(string(&b, b.type[1]->name_off), "int");
	ck_assert_uint_eq(b.type[1]->size, 4);
	behind = (const uint32_t *)(b.type[1] + 1);
	ck_assert_uint_eq(*behind, 1U << 24 | 32); /* signed, offset 0, 32 bits */
	ck_assert_uint_eq(kind_of(b.type[2]), BTF_KIND_PTR);
	ck_assert_uint_eq(b.type[2]->type, 0); /* to void */
	ck_assert_uint_eq(b.type[2]->name_off, 0);
	ck_assert_uint_eq(kind_of(b.type[3]), BTF_KIND_FUNC_PROTO);
	ck_assert_uint_eq(b.type[3]->type, 1);
	ck_assert_uint_eq(b.type[3]->name_off, 0);
	ck_assert_uint_eq(vlen_of(b.type[3]), 1);
	behind = (const uint32_t *)(b.type[3] + 1);
	ck_assert_str_eq(string(&b, behind[0]), "ctx");
	ck_assert_uint_eq(behind[1], 2);
	for (uint32_t i = 0; i < 3; i++) {
		const struct btf_type *t = b.type[4 + i];

		ck_assert_uint_eq(kind_of(t), BTF_KIND_FUNC);
		ck_assert_uint_eq(vlen_of(t), 0); /* BTF_FUNC_STATIC */
		ck_assert_uint_eq(t->type, 3);
		ck_assert_str_eq(string(&b, t->name_off), names[i]);
	}
	asm_image_free(&image);
}
END_TEST

START_TEST(functions)
{
	struct asm_image image = GOOD(lines);
	struct btf_reader b = read_btf(&image);

	ck_assert_uint_eq(image.nfunc_info, 3);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(image.func_info[i].insn_off, image.funcs[i].insn);
		ck_assert_uint_le(image.func_info[i].type_id, b.n);
		ck_assert_str_eq(string(&b, b.type[image.func_info[i].type_id]->name_off),
				 image.funcs[i].name);
	}
	ck_assert_uint_eq(image.func_info[0].insn_off, 0);
	ck_assert_uint_lt(image.func_info[0].insn_off, image.func_info[1].insn_off);
	ck_assert_uint_lt(image.func_info[1].insn_off, image.func_info[2].insn_off);
	asm_image_free(&image);
}
END_TEST

/* Is a slot the second half of a 64-bit constant? */
static bool is_second(const struct asm_image *image, uint32_t slot)
{
	return slot && image->insns[slot - 1].code == 0x18;
}

START_TEST(source_lines)
{
	struct asm_image image = GOOD(lines);
	struct btf_reader b = read_btf(&image);
	uint32_t slot = 0, last_file = 0;

	/* One for each instruction, in order; so each function has one at its start. */
	for (uint32_t i = 0; i < image.nline_info; i++, slot++) {
		const struct bpf_line_info *info = &image.line_info[i];
		const struct asm_insn *line;

		if (is_second(&image, slot))
			slot++;
		ck_assert_uint_lt(slot, image.ninsns);
		ck_assert_uint_eq(info->insn_off, slot);
		line = &lines[image.line_of[slot]];
		ck_assert_str_eq(string(&b, info->file_name_off), __FILE__);
		ck_assert_uint_eq(info->line_col >> 10, line->line);
		ck_assert_uint_eq(info->line_col & 0x3ff, 0);
		ck_assert_str_eq(string(&b, info->line_off), image.text_of[slot]);
		ck_assert_ptr_nonnull(strstr(image.text_of[slot], line->text));
		/* Two names for one file, in turns: the verifier prints each line (btf.c). */
		ck_assert_uint_ne(info->file_name_off, last_file);
		last_file = info->file_name_off;
	}
	ck_assert_uint_eq(slot, image.ninsns);
	asm_image_free(&image);
}
END_TEST

START_TEST(composed_macros_are_quoted_whole)
{
	struct asm_image image = GOOD(lines);

	ck_assert_str_eq(image.text_of[0], "LD_IMM64(R1, 0x1122334455667788)");
	ck_assert_ptr_null(image.text_of[1]);
	ck_assert_str_eq(image.text_of[2], "MAP_ADD(counts, -8, -16): LD_MAP(R1, counts)");
	ck_assert_str_eq(image.text_of[6], "MAP_ADD(counts, -8, -16): CALL(map_lookup_elem)");
	ck_assert_str_eq(image.text_of[7], "MAP_ADD(counts, -8, -16): JNE(R0, 0, .found)");
	asm_image_free(&image);
}
END_TEST

/* ---- what BTF cannot hold as it is */

START_TEST(names_that_are_no_identifiers)
{
	static const struct asm_insn some[] = { MOV(R0, 0), EXIT(), FUNC(.local - 1), EXIT() };
	struct asm_program program = { .name = "7up.test-\xe9 x",
				       .lines = some,
				       .nlines = COUNT_OF(some) };
	struct asm_bindings bindings = world(NULL, 0);
	struct asm_image image;
	struct btf_reader b;

	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), 0);
	b = read_btf(&image);
	ck_assert_str_eq(string(&b, b.type[4]->name_off), "_up_test___x");
	ck_identifier(string(&b, b.type[4]->name_off));
	ck_identifier(string(&b, b.type[5]->name_off));
	asm_image_free(&image);

	program.name = "";
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), 0);
	b = read_btf(&image);
	ck_identifier(string(&b, b.type[4]->name_off));
	asm_image_free(&image);
}
END_TEST

START_TEST(line_numbers_end_at_22_bits)
{
	struct asm_insn some[] = { MOV(R0, 0), MOV(R0, 1), EXIT() };
	struct asm_image image;

	some[0].line = 1;
	some[1].line = 0x3ffffe;
	some[2].line = 0x3fffff;
	image = GOOD(some);
	ck_assert_uint_eq(image.line_info[0].line_col >> 10, 1);
	ck_assert_uint_eq(image.line_info[1].line_col >> 10, 0x3ffffe);
	ck_assert_uint_eq(image.line_info[2].line_col >> 10, 0x3fffff);
	asm_image_free(&image);
}
END_TEST

START_TEST(lines_of_several_files)
{
	static const struct asm_insn two[] = { MOV(R0, 1), MOV(R0, 2) };
	static const struct asm_part part = { .lines = two, .nlines = 2, .file = "b.h" };
	static const struct asm_insn some[] = { MOV(R0, 0), INCLUDE(&part), MOV(R0, 3), EXIT() };
	static const char *const files[] = { __FILE__, "b.h", "b.h", __FILE__, __FILE__ };
	struct asm_image image = GOOD(some);
	struct btf_reader b = read_btf(&image);

	for (size_t i = 0; i < COUNT_OF(files); i++)
		ck_assert_str_eq(string(&b, image.line_info[i].file_name_off), files[i]);
	asm_image_free(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: BTF");
	TCase *tc = tcase_create("btf");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, types);
	tcase_add_test(tc, functions);
	tcase_add_test(tc, source_lines);
	tcase_add_test(tc, composed_macros_are_quoted_whole);
	tcase_add_test(tc, names_that_are_no_identifiers);
	tcase_add_test(tc, line_numbers_end_at_22_bits);
	tcase_add_test(tc, lines_of_several_files);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
