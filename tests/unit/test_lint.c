/* SPDX-License-Identifier: BSD-2-Clause */
/* The lint, without a kernel: each rule says what it has to, where it has to, and nothing else. */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rawprof/verifier.h>

#include "lint_cases.h"

/* ---- what was said */

struct said {
	int n;
	enum asm_severity severity;
	char file[64], text[256], message[512];
	uint32_t line;
};

/* Line numbers change when a test is added above: "line 12" becomes "line N". */
static void without_numbers(char *text)
{
	for (char *at = text; (at = strstr(at, "line ")); at += 5) {
		size_t digits = strspn(at + 5, "0123456789");

		if (digits) {
			at[5] = 'N';
			memmove(at + 6, at + 5 + digits, strlen(at + 5 + digits) + 1);
		}
	}
}

static void keep(void *ctx, const struct asm_diag *diag)
{
	struct said *s = ctx;

	if (s->n++)
		return; /* the first is looked at */
	s->severity = diag->severity;
	s->line = diag->line;
	snprintf(s->file, sizeof(s->file), "%s", diag->file);
	snprintf(s->text, sizeof(s->text), "%s", diag->text);
	snprintf(s->message, sizeof(s->message), "%s", diag->message);
	without_numbers(s->message);
}

static const struct asm_bindings bindings = { .maps = lint_maps, .nmaps = LINT_MAPS };

static int lint(const struct asm_insn *lines, size_t n, uint32_t type, struct said *said)
{
	const struct asm_program program = {
		.name = "lint", .type = type, .lines = lines, .nlines = n, .file = "lint.c"
	};
	struct asm_image image;
	int errors;

	*said = (struct said){ 0 };
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), 0);
	errors = asm_lint(&image, &bindings, keep, said);
	asm_image_free(&image);
	return errors;
}

/* ---- the cases */

START_TEST(each_case)
{
	const struct lint_case *c = &lint_cases[_i];
	struct said said;
	int errors = lint(c->lines, c->n, c->type ? c->type : BPF_PROG_TYPE_KPROBE, &said);

	if (!c->message) {
		ck_assert_msg(!said.n, "%s: %s: %s", c->name, said.text, said.message);
		ck_assert_int_eq(errors, 0);
		return;
	}
	ck_assert_msg(said.n == 1, "%s: %d messages, the first: %s", c->name, said.n, said.message);
	ck_assert_str_eq(said.message, c->message);
	ck_assert_str_eq(said.text, c->at);
	ck_assert_int_eq(said.severity, c->warning ? ASM_WARNING : ASM_ERROR);
	ck_assert_int_eq(errors, !c->warning);
}
END_TEST

START_TEST(names_file_and_line)
{
	static const struct asm_insn lines[] = {
		MOV_REG(R6, R1), CALL(get_current_pid_tgid),
		MOV_REG(R7, R1), /* the third */
		MOV(R0, 0),	 EXIT(),
	};
	struct said said;

	ck_assert_int_eq(lint(lines, 5, BPF_PROG_TYPE_KPROBE, &said), 1);
	ck_assert_uint_eq(said.line, lines[2].line);
	ck_assert_str_eq(said.file, "lint.c");
	ck_assert_str_eq(said.text, "MOV_REG(R7, R1)");
}
END_TEST

START_TEST(the_context_has_rules)
{
	static const struct asm_insn head[] = { LDX(DW, R0, R1, 0), EXIT() };
	static const struct asm_insn odd[] = { LDX(W, R0, R1, 10), EXIT() };
	static const struct asm_insn before[] = { LDX(W, R0, R1, -4), EXIT() };
	static const struct asm_insn write[] = { ST(W, R1, 8, 1), MOV(R0, 0), EXIT() };
	static const struct asm_insn atomic[] = { MOV(R2, 1), ATOMIC_ADD(DW, R1, 8, R2), MOV(R0, 0),
						  EXIT() };
	static const struct asm_insn moved[] = { ADD(R1, 8), LD_MAP(R2, stacks), MOV(R3, 0),
						 CALL(get_stackid), EXIT() };
	struct said said;

	ck_assert_int_eq(lint(head, 2, BPF_PROG_TYPE_KPROBE, &said), 0);
	ck_assert_int_eq(lint(head, 2, BPF_PROG_TYPE_TRACEPOINT, &said), 1);
	ck_assert_str_eq(said.message, "8 bytes of the context at offset 0: the first 8 bytes of a "
				       "tracepoint's record are not for programs");
	ck_assert_int_eq(lint(odd, 2, BPF_PROG_TYPE_KPROBE, &said), 1);
	ck_assert_str_eq(said.message, "4 bytes of the context at offset 10: the offset must be a "
				       "multiple of the size");
	ck_assert_int_eq(lint(before, 2, BPF_PROG_TYPE_KPROBE, &said), 1);
	ck_assert_str_eq(said.message, "4 bytes of the context at offset -4: they lie before it");
	ck_assert_int_eq(lint(write, 3, BPF_PROG_TYPE_TRACEPOINT, &said), 1);
	ck_assert_str_eq(said.message, "the context is read only");
	ck_assert_int_eq(lint(atomic, 4, BPF_PROG_TYPE_KPROBE, &said), 1);
	ck_assert_str_eq(said.message, "R1 is the context: no atomic operations there");
	ck_assert_int_eq(lint(moved, 5, BPF_PROG_TYPE_KPROBE, &said), 1);
	ck_assert_str_eq(said.message, "R1 of CALL(get_stackid) has to be the context as it came, "
				       "here it was moved by 8 bytes");
}
END_TEST

/* Hooks that return nothing, and contexts that hold addresses: no rule of theirs is applied. */
START_TEST(other_program_types)
{
	static const struct asm_insn no_value[] = { MOV(R6, 0), EXIT() };
	static const struct asm_insn follows[] = { LDX(DW, R6, R1, 0), LDX(DW, R7, R6, 16),
						   MOV(R0, 0), EXIT() };
	struct said said;

	ck_assert_int_eq(lint(no_value, 2, BPF_PROG_TYPE_LSM, &said), 0);
	ck_assert_int_eq(lint(no_value, 2, BPF_PROG_TYPE_TRACING, &said), 1);
	ck_assert_int_eq(lint(follows, 4, BPF_PROG_TYPE_TRACING, &said), 0);
	ck_assert_int_eq(lint(follows, 4, BPF_PROG_TYPE_RAW_TRACEPOINT, &said), 1);
}
END_TEST

/* Every fault of a program is reported, each once, from the top. */
START_TEST(several_faults)
{
	static const struct asm_insn lines[] = {
		CALL(get_prandom_u32),
		JGT(R0, 5, other),
		MOV_REG(R6, R1),
		JA(both),
		LABEL(other),
		MOV_REG(R6, R7),
		LABEL(both),
		LDX(DW, R8, R10, -8),
		LDX(DW, R8, R10, -8),
		INSN(0x7b, R10, R8, 8, 0),
		MOV(R0, 0),
		EXIT(),
	};
	struct said said;

	ck_assert_int_eq(lint(lines, sizeof(lines) / sizeof(lines[0]), BPF_PROG_TYPE_KPROBE, &said),
			 4);
	ck_assert_int_eq(said.n, 4);
	ck_assert_str_eq(said.text, "MOV_REG(R6, R1)");
}
END_TEST

/* ---- size */

/* n diamonds of paths one after the other: 2^n paths. */
static struct asm_insn *diamonds(uint32_t n, size_t *nlines)
{
	static const struct asm_insn diamond[] = {
		CALL(get_prandom_u32),
		INSN(BPF_JMP | BPF_JGT | BPF_K, R0, 0, 2, 7),
		ADD(R6, 1),
		INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0),
		ADD(R6, 2),
		MUL(R6, 3),
	};
	static const struct asm_insn begin = MOV(R6, 0), end[2] = { MOV(R0, 0), EXIT() };
	const size_t each = sizeof(diamond) / sizeof(diamond[0]);
	struct asm_insn *lines = calloc(n * each + 3, sizeof(*lines));

	lines[0] = begin;
	for (uint32_t i = 0; i < n; i++)
		memcpy(lines + 1 + i * each, diamond, sizeof(diamond));
	memcpy(lines + 1 + n * each, end, sizeof(end));
	*nlines = n * each + 3;
	return lines;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As large as the kernel takes. With the sanitizers, so the bound is wide. */
START_TEST(a_million_instructions)
{
	size_t n;
	struct asm_insn *lines = diamonds(166666, &n);
	struct asm_program program = {
		.name = "large", .type = BPF_PROG_TYPE_KPROBE, .lines = lines, .nlines = n
	};
	struct said said = { 0 };
	struct asm_image image;
	double begin;

	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), 0);
	ck_assert_uint_gt(image.ninsns, 999000);
	begin = seconds();
	ck_assert_int_eq(asm_lint(&image, &bindings, keep, &said), 0);
	ck_assert_msg(seconds() - begin < 20, "%f s", seconds() - begin);
	image.insns[image.ninsns - 2].src_reg = 1; /* MOV(R0, 0): a fault at the far end is found */
	ck_assert_int_eq(asm_lint(&image, &bindings, keep, &said), 1);
	image.insns[image.ninsns - 2] =
		(struct bpf_insn){ .code = 0xbf, .dst_reg = 0, .src_reg = 8 };
	ck_assert_int_eq(asm_lint(&image, &bindings, keep, &said), 1);
	asm_image_free(&image);
	free(lines);
}
END_TEST

START_TEST(more_faults_than_are_shown)
{
	static const struct asm_insn bad = MOV_REG(R6, R7), end[2] = { MOV(R0, 0), EXIT() };
	static const struct asm_insn bad_insn = INSN(0xff, 0, 0, 0, 0);
	struct asm_insn lines[ASM_LINT_MAX * 3 + 2];
	struct said said;

	for (int i = 0; i < ASM_LINT_MAX * 3; i++)
		lines[i] = bad_insn;
	memcpy(lines + ASM_LINT_MAX * 3, end, sizeof(end));
	ck_assert_int_eq(lint(lines, ASM_LINT_MAX * 3 + 2, BPF_PROG_TYPE_KPROBE, &said),
			 ASM_LINT_MAX);
	ck_assert_int_eq(said.n, ASM_LINT_MAX + 1);
	for (int i = 0; i < ASM_LINT_MAX * 3; i++)
		lines[i] = bad;
	ck_assert_int_eq(lint(lines, ASM_LINT_MAX * 3 + 2, BPF_PROG_TYPE_KPROBE, &said), 1);
}
END_TEST

START_TEST(no_instructions)
{
	const struct asm_image image = { 0 };

	ck_assert_int_eq(asm_lint(&image, &bindings, NULL, NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tests, each_case, 0, (int)LINT_CASES);
	tcase_add_test(tests, names_file_and_line);
	tcase_add_test(tests, the_context_has_rules);
	tcase_add_test(tests, other_program_types);
	tcase_add_test(tests, several_faults);
	tcase_add_test(tests, a_million_instructions);
	tcase_add_test(tests, more_faults_than_are_shown);
	tcase_add_test(tests, no_instructions);
	tcase_set_timeout(tests, 120);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
