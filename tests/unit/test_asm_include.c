/* SPDX-License-Identifier: BSD-2-Clause */
/* INCLUDE: lines that several programs have in common. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>

static const struct asm_insn twice_lines[] = {
	FUNC(twice),
	MOV_REG(R0, R1),
	ADD_REG(R0, R1),
	EXIT(),
};
static const struct asm_part twice = { .lines = twice_lines, .nlines = 4, .file = "twice.c" };

static const struct asm_insn nested_lines[] = {
	INCLUDE(&twice), FUNC(four), ADD_REG(R1, R1), CALL_FUNC(twice), EXIT(),
};
static const struct asm_part nested = { ASM_LINES(nested_lines) };

extern const struct asm_part snake;
static const struct asm_insn snake_lines[] = { INCLUDE(&snake) };
const struct asm_part snake = { ASM_LINES(snake_lines) };

static int assemble(const struct asm_insn *lines, size_t n, struct asm_image *image,
		    asm_diag_fn report, void *ctx)
{
	const struct asm_program program = {
		.name = "t", .lines = lines, .nlines = n, .file = "whole.c"
	};
	const struct asm_bindings none = { 0 };

	return asm_assemble(&program, &none, image, report, ctx);
}

START_TEST(parts_stand_where_they_are_included)
{
	static const struct asm_insn lines[] = {
		MOV(R1, 10),
		CALL_FUNC(four),
		EXIT(),
		INCLUDE(&nested),
	};
	struct asm_image image;

	ck_assert_int_eq(assemble(lines, 4, &image, NULL, NULL), 0);
	ck_assert_uint_eq(image.ninsns, 9);
	ck_assert_uint_eq(image.nfuncs, 3);
	ck_assert_str_eq(image.funcs[1].name, "twice");
	ck_assert_uint_eq(image.funcs[1].insn, 3);
	ck_assert_str_eq(image.funcs[2].name, "four");
	ck_assert_uint_eq(image.funcs[2].insn, 6);
	ck_assert_int_eq(image.insns[1].imm, 4);  /* from slot 2 to slot 6 */
	ck_assert_int_eq(image.insns[7].imm, -5); /* from slot 8 back to slot 3 */
	ck_assert_str_eq(image.text_of[3], "MOV_REG(R0, R1)");
	/* The line is where the part was written, not where it was included. */
	ck_assert_str_eq(image.file_of[2], "whole.c");
	ck_assert_str_eq(image.file_of[3], "twice.c");
	ck_assert_str_eq(image.file_of[6], __FILE__);
	ck_assert_uint_eq(image.program->lines[image.line_of[3]].line, twice_lines[1].line);
	asm_image_free(&image);
}
END_TEST

static void keep_message(void *ctx, const struct asm_diag *diag)
{
	strncpy(ctx, diag->message, 127);
}

static void keep_line(void *ctx, const struct asm_diag *diag)
{
	ck_assert_uint_gt(diag->line, 0);
	snprintf(ctx, 128, "%s: %s", diag->file, diag->text);
}

START_TEST(a_part_cannot_include_itself)
{
	static const struct asm_insn lines[] = { MOV(R0, 0), EXIT(), INCLUDE(&snake) };
	struct asm_image image;
	char said[128] = "";

	ck_assert_int_eq(assemble(lines, 3, &image, keep_message, said), -EINVAL);
	ck_assert_str_eq(said, "the part includes itself, or parts are nested deeper than 8");
}
END_TEST

/* The fault is that of the line, wherever it stands. */
START_TEST(a_part_that_is_missing)
{
	static const struct asm_insn outer[] = { MOV(R0, 0), INCLUDE(NULL), EXIT() };
	static const struct asm_part part = { ASM_LINES(outer) };
	static const struct asm_insn lines[] = { INCLUDE(&part) };
	struct asm_image image;
	char said[128] = "";

	ck_assert_int_eq(assemble(outer, 3, &image, keep_line, said), -EINVAL);
	ck_assert_str_eq(said, "whole.c: INCLUDE(NULL)");
	said[0] = '\0';
	ck_assert_int_eq(assemble(lines, 1, &image, keep_line, said), -EINVAL);
	ck_assert_str_eq(said, __FILE__ ": INCLUDE(NULL)");
	ck_assert_int_eq(assemble(lines, 1, &image, keep_message, said), -EINVAL);
	ck_assert_str_eq(said, "there is no part to include: its address is NULL");
}
END_TEST

/* The number of lines does not tell whether there is something to include. */
START_TEST(a_part_of_one_line)
{
	static const struct asm_insn one_line[] = { MOV(R0, 7) };
	static const struct asm_part one = { ASM_LINES(one_line) }, none = { .lines = one_line };
	static const struct asm_insn lines[] = { INCLUDE(&one), EXIT() };
	static const struct asm_insn evened_out[] = { INCLUDE(&none), INCLUDE(&one), INCLUDE(&none),
						      INCLUDE(&twice) };
	struct asm_image image;

	ck_assert_int_eq(assemble(lines, 2, &image, NULL, NULL), 0);
	ck_assert_uint_eq(image.ninsns, 2);
	ck_assert_uint_eq(image.insns[0].code, 0xb7);
	ck_assert_int_eq(image.insns[0].imm, 7);
	asm_image_free(&image);
	ck_assert_int_eq(assemble(evened_out, 4, &image, NULL, NULL), 0);
	ck_assert_uint_eq(image.ninsns, 4);
	asm_image_free(&image);
}
END_TEST

START_TEST(an_empty_part_is_nothing)
{
	static const struct asm_part empty = { .lines = twice_lines, .nlines = 0 };
	static const struct asm_insn lines[] = { MOV(R0, 0), EXIT(), INCLUDE(&empty) };
	static const struct asm_insn only[] = { INCLUDE(&empty) };
	struct asm_image image;

	ck_assert_int_eq(assemble(lines, 3, &image, NULL, NULL), 0);
	ck_assert_uint_eq(image.ninsns, 2);
	asm_image_free(&image);
	ck_assert_int_eq(assemble(only, 1, &image, NULL, NULL), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("asm include");
	TCase *t = tcase_create("include");
	SRunner *r;
	int failed;

	tcase_add_test(t, parts_stand_where_they_are_included);
	tcase_add_test(t, a_part_cannot_include_itself);
	tcase_add_test(t, a_part_that_is_missing);
	tcase_add_test(t, a_part_of_one_line);
	tcase_add_test(t, an_empty_part_is_nothing);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
