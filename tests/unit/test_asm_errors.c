/* SPDX-License-Identifier: BSD-2-Clause */
/* Every fault that the assembler knows: its exact words, and the line it points to. */
#include "asm_said.h"

/* clang-format off: here a line of the file is a line of the program */

/* That a line of the table above knows its own line of the file is what all else rests on. */
START_TEST(lines_know_where_they_stand)
{
	enum { HERE = __LINE__ };
	static const struct asm_insn lines[] = {
		MOV(R0, 0),
		MAP_LOOKUP(counts, -8),
		EXIT(),
	};

	ck_assert_uint_eq(lines[0].line, HERE + 2);
	ck_assert_uint_eq(lines[1].line, HERE + 3);
	ck_assert_uint_eq(lines[6].line, HERE + 3);
	ck_assert_uint_eq(lines[COUNT_OF(lines) - 1].line, HERE + 4);
}
END_TEST

/* ---- labels */

START_TEST(asm_unknown_label)
{
	static const struct asm_insn jump[] = { JEQ(R1, -ENOENT, done), MOV(R0, 0), EXIT() };
	static const struct asm_insn far[] = { MOV(R0, 0), JA(nowhere), EXIT() };

	REFUSE(jump, 0, "JEQ(R1, -ENOENT, done)", "unknown label 'done'");
	REFUSE(far, 1, "JA(nowhere)", "unknown label 'nowhere'");
}
END_TEST

START_TEST(label_inside_of_a_macro)
{
	static const struct asm_insn lines[] = {
		JEQ(R1, 0, .found),
		MAP_LOOKUP_OR_INIT(counts, -8, -16),
		MOV(R0, 0),
		EXIT(),
	};

	REFUSE(lines, 0, "JEQ(R1, 0, .found)",
	       "label '.found' is inside of MAP_LOOKUP_OR_INIT(counts, -8, -16) and not seen from here");
}
END_TEST

START_TEST(unknown_label_in_a_composed_macro_is_quoted_with_it)
{
	static const struct asm_insn lines[] = { FILTER_SET(counts, -8, drop), MOV(R0, 0), EXIT() };
	size_t at = COUNT_OF(lines) - 4;

	ck_assert_int_eq(lines[at].kind, ASM_JUMP);
	REFUSE(lines, at, "FILTER_SET(counts, -8, drop): JEQ(R0, 0, drop)", "unknown label 'drop'");
}
END_TEST

START_TEST(label_in_another_function)
{
	static const struct asm_insn lines[] = {
		CALL_FUNC(f), LABEL(out), JEQ(R0, 1, out), EXIT(),
		FUNC(f),      MOV(R0, 0), JEQ(R1, 0, out), EXIT(),
	};
	static const struct asm_insn other[] = {
		CALL_FUNC(f), JEQ(R0, 0, in), EXIT(), FUNC(f), LABEL(in), JEQ(R1, 0, in), EXIT(),
	};

	REFUSE(lines, 6, "JEQ(R1, 0, out)", "label 'out' is in another function (test)");
	REFUSE(other, 1, "JEQ(R0, 0, in)", "label 'in' is in another function (f)");
}
END_TEST

struct config {
	uint32_t on;
	uint32_t off;
};
static const struct config config = { .on = 1 };
#define REFUSE_CONFIG(lines, at, text, message)                                                    \
	refuse(lines, COUNT_OF(lines), &config, sizeof(config), -EINVAL, at, text, message)

START_TEST(label_among_dropped_lines)
{
	static const struct asm_insn when[] = {
		JEQ(R1, 0, gone), WHEN(struct config, off), LABEL(gone), MOV(R0, 1), END, EXIT(),
	};
	static const struct asm_insn unless[] = {
		JEQ(R1, 0, gone), UNLESS(struct config, on), LABEL(gone), MOV(R0, 1), END, EXIT(),
	};

	REFUSE_CONFIG(when, 0, "JEQ(R1, 0, gone)",
		      "label 'gone' is among the lines that WHEN or UNLESS dropped");
	REFUSE_CONFIG(unless, 0, "JEQ(R1, 0, gone)",
		      "label 'gone' is among the lines that WHEN or UNLESS dropped");
}
END_TEST

START_TEST(duplicate_label)
{
	static const struct asm_insn lines[] = {
		LABEL(twice), MOV(R0, 0), LABEL(twice), JEQ(R0, 1, twice), EXIT(),
	};
	char message[64];

	snprintf(message, sizeof(message), "label 'twice' stands already at line %u",
		 lines[0].line);
	REFUSE(lines, 2, "LABEL(twice)", message);
}
END_TEST

START_TEST(label_at_the_end)
{
	static const struct asm_insn program[] = {
		JEQ(R1, 0, end),
		MOV(R0, 0),
		EXIT(),
		LABEL(end),
	};
	static const struct asm_insn function[] = {
		CALL_FUNC(f), EXIT(),	  FUNC(f), JEQ(R1, 0, end), MOV(R0, 0),
		EXIT(),	      LABEL(end), FUNC(g), EXIT(),
	};
	static const struct asm_insn before[] = {
		JEQ(R1, 0, end), CALL_FUNC(f), EXIT(), LABEL(end), FUNC(f), EXIT(),
	};

	REFUSE(program, 3, "LABEL(end)", "label 'end' names no instruction: the program ends here");
	REFUSE(function, 6, "LABEL(end)",
	       "label 'end' names no instruction: the function ends here");
	REFUSE(before, 3, "LABEL(end)", "label 'end' names no instruction: the program ends here");
}
END_TEST

START_TEST(unused_label_is_a_warning)
{
	static const struct asm_insn lines[] = {
		MOV(R0, 0),
		LABEL(lonely),
		EXIT(),
	};
	static const struct asm_insn dropped[] = {
		MOV(R0, 0), WHEN(struct config, off), JEQ(R1, 0, out), END, LABEL(out), EXIT(),
	};
	struct asm_image image;

	ck_assert_int_eq(assemble(lines, COUNT_OF(lines), NULL, 0, &image), 0);
	ck_assert_said(0, ASM_WARNING, __FILE__, lines[1].line, "LABEL(lonely)",
		       "label 'lonely' is never used");
	ck_assert_uint_eq(nsaid, 1);
	asm_image_free(&image);

	/* Another configuration uses it. */
	ck_assert_int_eq(assemble(dropped, COUNT_OF(dropped), &config, sizeof(config), &image), 0);
	ck_assert_uint_eq(nsaid, 0);
	asm_image_free(&image);
}
END_TEST

/* ---- jumps that are too far */

START_TEST(conditional_jump_out_of_range)
{
	static const struct asm_insn forward[] = { JEQ(R1, 0, far) };
	static const struct asm_insn step[] = { MOV(R0, 0) };
	static const struct asm_insn end[] = { LABEL(far), EXIT() };
	struct asm_insn *lines = calloc(40003, sizeof(*lines));
	struct asm_image image;

	ck_assert_ptr_nonnull(lines);
	/* 32,767 instructions between them: just near enough. Then one more. */
	lines[0] = forward[0];
	for (int i = 1; i <= 32768; i++)
		lines[i] = step[0];
	memcpy(lines + 32768, end, sizeof(end));
	ck_assert_int_eq(assemble(lines, 32770, NULL, 0, &image), 0);
	ck_assert_int_eq(image.insns[0].off, 32767);
	asm_image_free(&image);
	lines[32768] = step[0];
	memcpy(lines + 32769, end, sizeof(end));
	refuse(lines, 32771, NULL, 0, -EINVAL, 0, "JEQ(R1, 0, far)",
	       "label 'far' is 32768 instructions away, a conditional jump reaches 32767: "
	       "turn the condition round and JA, which has 32 bits");

	/* Backward it reaches one more. */
	lines[0] = end[0];
	for (int i = 1; i <= 32769; i++)
		lines[i] = step[0];
	lines[32768] = forward[0];
	lines[32769] = end[1];
	ck_assert_int_eq(assemble(lines, 32770, NULL, 0, &image), 0);
	ck_assert_int_eq(image.insns[32767].off, -32768);
	asm_image_free(&image);
	lines[32768] = step[0];
	lines[32769] = forward[0];
	lines[32770] = end[1];
	refuse(lines, 32771, NULL, 0, -EINVAL, 32769, "JEQ(R1, 0, far)",
	       "label 'far' is -32769 instructions away, a conditional jump reaches 32767: "
	       "turn the condition round and JA, which has 32 bits");
	free(lines);
}
END_TEST

/* ---- blocks and functions */

START_TEST(end_missing_or_one_too_many)
{
	static const struct asm_insn missing[] = { WHEN(struct config, on), MOV(R0, 0), EXIT() };
	static const struct asm_insn extra[] = { MOV(R0, 0), END, EXIT() };
	static const struct asm_insn inner[] = { SCOPE("OUTER()"), WHEN(struct config, off),
						 MOV(R0, 1),	   END,
						 MOV(R0, 0),	   EXIT() };
	struct asm_insn deep[130];
	static const struct asm_insn scope[] = { SCOPE("DEEP()"), END, EXIT() };

	REFUSE_CONFIG(missing, 0, "WHEN(struct config, on)", "END is missing");
	REFUSE(extra, 1, "END", "END without SCOPE, WHEN or UNLESS");
	REFUSE_CONFIG(inner, 0, "OUTER()", "END is missing");

	for (int i = 0; i < 64; i++) {
		deep[i] = scope[0];
		deep[65 + i] = scope[1];
	}
	deep[64] = scope[2];
	{
		struct asm_image image;

		ck_assert_int_eq(assemble(deep, 129, NULL, 0, &image), 0);
		asm_image_free(&image);
	}
	deep[64] = scope[0];
	deep[129] = scope[2];
	refuse(deep, 130, NULL, 0, -EINVAL, 64, "DEEP(): DEEP()", "nested deeper than 64");
}
END_TEST

START_TEST(functions)
{
	static const struct asm_insn unknown[] = { CALL_FUNC(nobody), EXIT() };
	static const struct asm_insn callback[] = { LD_FUNC(R2, nobody), EXIT() };
	static const struct asm_insn first[] = { FUNC(f), MOV(R0, 0), EXIT() };
	static const struct asm_insn empty[] = { CALL_FUNC(f), EXIT(), FUNC(f) };
	static const struct asm_insn empty_between[] = { CALL_FUNC(f), EXIT(), FUNC(f), FUNC(g),
							 EXIT() };
	static const struct asm_insn inside[] = { MOV(R0, 0), EXIT(), SCOPE("OUTER()"),
						  FUNC(f),    EXIT(), END };
	static const struct asm_insn dropped[] = { CALL_FUNC(f), EXIT(), WHEN(struct config, off),
						   FUNC(f),	 EXIT(), END };
	static const struct asm_insn twice[] = { MOV(R0, 0), EXIT(),  FUNC(f),
						 EXIT(),     FUNC(f), EXIT() };
	char message[64];

	REFUSE(unknown, 0, "CALL_FUNC(nobody)", "unknown function 'nobody'");
	REFUSE(callback, 0, "LD_FUNC(R2, nobody)", "unknown function 'nobody'");
	REFUSE(first, 0, "FUNC(f)", "the program itself comes first, its functions after it");
	REFUSE(empty, 2, "FUNC(f)", "function 'f' is empty");
	REFUSE(empty_between, 2, "FUNC(f)", "function 'f' is empty");
	REFUSE(inside, 3, "OUTER(): FUNC(f)", "a function cannot begin inside of OUTER()");
	REFUSE_CONFIG(dropped, 0, "CALL_FUNC(f)",
		      "function 'f' is among the lines that WHEN or UNLESS dropped");
	snprintf(message, sizeof(message), "function 'f' stands already at line %u", twice[2].line);
	REFUSE(twice, 4, "FUNC(f)", message);
}
END_TEST

START_TEST(the_name_stands_for_a_file_that_is_not_told)
{
	static const struct asm_insn lines[] = { JA(nowhere), EXIT() };
	const struct asm_program program = { .name = "made",
					     .lines = lines,
					     .nlines = COUNT_OF(lines) };
	struct asm_bindings bindings = world(NULL, 0);
	struct asm_image image;

	nsaid = 0;
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, keep, NULL), -EINVAL);
	ck_assert_str_eq(said[0].file, "made");
	ck_assert_uint_eq(said[0].line, lines[0].line);
}
END_TEST

START_TEST(two_maps_of_one_name)
{
	static const struct asm_insn lines[] = { LD_MAP(R1, counts), MOV(R0, 0), EXIT() };
	static const struct asm_map twice[] = { { .name = "counts" },
						{ .name = "other" },
						{ .name = "counts" } };
	struct asm_bindings bindings = { .maps = twice, .nmaps = COUNT_OF(twice) };
	struct asm_image image;

	ck_assert_int_eq(assemble_in(lines, COUNT_OF(lines), &bindings, &image), -EINVAL);
	ck_assert_uint_eq(nsaid, 1);
	ck_assert_str_eq(said[0].message, "two of the maps that it is bound to are named 'counts'");
	ck_assert_str_eq(said[0].file, "test");
}
END_TEST

/* No bindings are bindings to nothing. */
START_TEST(no_bindings)
{
	static const struct asm_insn lines[] = { MOV(R0, 0), EXIT() },
				     with_map[] = { LD_MAP(R1, counts), MOV(R0, 0), EXIT() };
	struct asm_program program = { .name = "free", .lines = lines, .nlines = 2 };
	struct asm_image image;

	ck_assert_int_eq(asm_assemble(&program, NULL, &image, keep, NULL), 0);
	ck_assert_uint_eq(image.ninsns, 2);
	asm_image_free(&image);
	nsaid = 0;
	program.lines = with_map;
	program.nlines = 3;
	ck_assert_int_eq(asm_assemble(&program, NULL, &image, keep, NULL), -EINVAL);
	ck_assert_str_eq(said[0].message, "unknown map 'counts'");
}
END_TEST

START_TEST(programs_without_anything)
{
	static const struct asm_insn lines[] = { WHEN(struct config, off), MOV(R0, 0), EXIT(),
						 END };
	struct asm_bindings bindings = world(NULL, 0);
	struct asm_program program = { .name = "hollow" };
	struct asm_image image;

	REFUSE_CONFIG(lines, 0, "WHEN(struct config, off)", "the program has no instructions");
	nsaid = 0;
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, keep, NULL), -EINVAL);
	ck_assert_str_eq(said[0].message, "the program has no lines");
	ck_assert_str_eq(said[0].file, "hollow");
	program = (struct asm_program){ .lines = lines, .nlines = COUNT_OF(lines) };
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, keep, NULL), -EINVAL);
	ck_assert_str_eq(said[1].message, "the program has no name");
	program =
		(struct asm_program){ .name = "hollow", .lines = lines, .nlines = SIZE_MAX / 128 };
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, keep, NULL), -EINVAL);
	ck_assert_str_eq(said[2].message, "the program has too many lines");
	ck_assert_uint_eq(nsaid, 3);
}
END_TEST

/* Lines made by hand can be anything. */
START_TEST(lines_that_no_macro_makes)
{
	static const struct asm_insn kind[] = { ASM_LINE(31, "STRANGE()"), EXIT() };
	static const struct asm_insn zero[] = {
		ASM_LINE(ASM_ZERO, "ZERO(-8, 9)", .insn = { .off = -8 }, .value = 9), EXIT()
	};
	static const struct asm_insn outside[] = { ASM_LINE(ASM_LD_PARAM, "LD_PARAM(outside)",
							    .param_size = 4, .param_offset = 6,
							    .config_size = sizeof(config)),
						   EXIT() };
	static const struct asm_insn param[] = { ASM_LINE(ASM_LD_PARAM, "LD_PARAM(3)",
							  .param_size = 3,
							  .config_size = sizeof(config)),
						 EXIT() };

	REFUSE(kind, 0, "STRANGE()", "no such kind of line: 31");
	REFUSE(zero, 0, "ZERO(-8, 9)", "beyond the stack frame");
	REFUSE_CONFIG(param, 0, "LD_PARAM(3)", "a parameter has 1, 2, 4 or 8 bytes, this one 3");
	REFUSE_CONFIG(outside, 0, "LD_PARAM(outside)",
		      "the parameter lies outside of the configuration");
}
END_TEST

/* ---- several at once */

START_TEST(all_errors_come_in_one_pass)
{
	static const struct asm_insn lines[] = {
		LD_FIELD(R1, R2, "task_struct", "tgdi"),
		LD_MAP(R1, cuonts),
		JEQ(R1, 0, nowhere),
		CALL_FUNC(nobody),
		MAP_ADD(conuts, -8, -16),
		END,
		MOV(R0, 0),
		EXIT(),
	};
	struct asm_image image;
	size_t add = 4, load[3], nload = 0;

	/* A binding's -ENOENT was the first, but it is not all that is wrong. */
	ck_assert_int_eq(assemble(lines, COUNT_OF(lines), NULL, 0, &image), -EINVAL);
	for (size_t i = add; nload < 3; i++)
		if (lines[i].kind == ASM_LD_MAP)
			load[nload++] = i;
	ck_assert_uint_eq(nsaid, 8);
	ck_assert_said(0, ASM_ERROR, __FILE__, lines[0].line, lines[0].text,
		       "kernel type task_struct, member tgdi: No such file or directory");
	ck_assert_said(1, ASM_ERROR, __FILE__, lines[COUNT_OF(lines) - 3].line, "END",
		       "END without SCOPE, WHEN or UNLESS");
	ck_assert_said(2, ASM_ERROR, __FILE__, lines[1].line, "LD_MAP(R1, cuonts)",
		       "unknown map 'cuonts'");
	ck_assert_said(3, ASM_ERROR, __FILE__, lines[2].line, "JEQ(R1, 0, nowhere)",
		       "unknown label 'nowhere'");
	ck_assert_said(4, ASM_ERROR, __FILE__, lines[3].line, "CALL_FUNC(nobody)",
		       "unknown function 'nobody'");
	for (size_t i = 0; i < 3; i++)
		ck_assert_said(5 + i, ASM_ERROR, __FILE__, lines[load[i]].line,
			       "MAP_ADD(conuts, -8, -16): LD_MAP(R1, conuts)",
			       "unknown map 'conuts'");
	/* Nobody has to listen. */
	{
		struct asm_program program = { .name = "test",
					       .lines = lines,
					       .nlines = COUNT_OF(lines) };
		struct asm_bindings bindings = world(NULL, 0);

		ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), -EINVAL);
	}
}
END_TEST

/* clang-format on */

START_TEST(how_it_is_printed)
{
	const struct asm_diag error = { ASM_ERROR, "a.c", 7, "JA(x)", "unknown label 'x'" };
	const struct asm_diag warning = { ASM_WARNING, "b.c", 8, "LABEL(y)",
					  "label 'y' is never used" };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(file);
	asm_diag_print(file, &error);
	asm_diag_print(file, &warning);
	fclose(file);
	ck_assert_str_eq(text, "a.c:7: error: unknown label 'x'\n\tJA(x)\n"
			       "b.c:8: warning: label 'y' is never used\n\tLABEL(y)\n");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: errors");
	TCase *tc = tcase_create("errors");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, lines_know_where_they_stand);
	tcase_add_test(tc, asm_unknown_label);
	tcase_add_test(tc, label_inside_of_a_macro);
	tcase_add_test(tc, unknown_label_in_a_composed_macro_is_quoted_with_it);
	tcase_add_test(tc, label_in_another_function);
	tcase_add_test(tc, label_among_dropped_lines);
	tcase_add_test(tc, duplicate_label);
	tcase_add_test(tc, label_at_the_end);
	tcase_add_test(tc, unused_label_is_a_warning);
	tcase_add_test(tc, conditional_jump_out_of_range);
	tcase_add_test(tc, end_missing_or_one_too_many);
	tcase_add_test(tc, functions);
	tcase_add_test(tc, programs_without_anything);
	tcase_add_test(tc, two_maps_of_one_name);
	tcase_add_test(tc, no_bindings);
	tcase_add_test(tc, the_name_stands_for_a_file_that_is_not_told);
	tcase_add_test(tc, lines_that_no_macro_makes);
	tcase_add_test(tc, all_errors_come_in_one_pass);
	tcase_add_test(tc, how_it_is_printed);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
