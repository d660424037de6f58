/* SPDX-License-Identifier: BSD-2-Clause */
/* The assembler with very long programs, and with no memory. */
#include "asm_said.h"

#include <time.h>

/* ---- memory that runs out */

/* The sanitizer's calloc where there is one, or the C library's. */
extern void *__interceptor_calloc(size_t n, size_t size) __attribute__((weak));
extern void *__libc_calloc(size_t n, size_t size) __attribute__((weak));

static long callocs_left = -1; /* that succeed; -1: all of them */
static unsigned long callocs;

void *calloc(size_t n, size_t size)
{
	callocs++;
	if (!callocs_left)
		return NULL;
	if (callocs_left > 0)
		callocs_left--;
	return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

/* ---- programs of any length */

/*
 * Rounds one after the other, each in a scope of its own because of its labels, with a jump to its
 * end and one to the end of the program. Returns the number of lines.
 */
static size_t long_program(struct asm_insn **out, size_t rounds)
{
	static const struct asm_insn open[] = { SCOPE("ROUND()"), JEQ(R0, 1, .end), JA(finish) };
	static const struct asm_insn close[] = { LABEL(.end), MOV(R1, 1), END };
	static const struct asm_insn finish[] = { LABEL(finish), EXIT() };
	static const struct asm_insn middle[] = { LD_IMM64(R1, 0x123456789),
						  MAP_ADD(counts, -8, -16),
						  COUNT(stats, struct stats, lost) };
	size_t n = 0, most = rounds * (COUNT_OF(open) + COUNT_OF(middle) + COUNT_OF(close)) + 2;
	struct asm_insn *lines = malloc(most * sizeof(*lines));

	ck_assert_ptr_nonnull(lines);
#define APPEND(part) memcpy(lines + n, part, sizeof(part)), n += COUNT_OF(part)
	for (size_t i = 0; i < rounds; i++) {
		APPEND(open);
		APPEND(middle);
		APPEND(close);
	}
	APPEND(finish);
	ck_assert_uint_eq(n, most);
	*out = lines;
	return n;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

START_TEST(a_hundred_thousand_lines_are_quick)
{
	struct asm_insn *lines;
	struct asm_image image;
	size_t n = long_program(&lines, 2500);
	double start = seconds();

	ck_assert_uint_gt(n, 100000);
	ck_assert_int_eq(assemble(lines, n, NULL, 0, &image), 0);
	printf("%zu lines, %u labels: %.0f ms\n", n, image.nlabels, 1e3 * (seconds() - start));
	ck_assert_double_lt(seconds() - start, 5);
	ck_assert_uint_eq(image.nlabels, 2500 * 3 + 1);
	/* The last label is where the program ends, and the first round jumps there. */
	ck_assert_uint_eq(image.insns[1].code, 0x06);
	ck_assert_uint_eq((uint32_t)image.insns[1].imm + 2, image.ninsns - 1);
	asm_image_free(&image);
	free(lines);
}
END_TEST

/* As many labels as there can be to look through. Half a minute under the sanitizers, if each jump
 * and each label meant a walk over all of them. */
START_TEST(many_labels_in_one_scope)
{
	enum { N = 50000 };
	static const struct asm_insn label[] = { LABEL(x), JEQ(R1, 0, x) };
	static const struct asm_insn exit_line[] = { EXIT() };
	struct asm_insn *lines = malloc((2 * N + 1) * sizeof(*lines));
	char(*names)[8] = malloc(N * sizeof(*names));
	struct asm_image image;
	double start = seconds();

	ck_assert(lines && names);
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "l%d", i);
		lines[2 * i] = label[0];
		lines[2 * i + 1] = label[1];
		lines[2 * i].sym = lines[2 * i + 1].sym = names[i];
	}
	lines[2 * N] = exit_line[0];
	ck_assert_int_eq(assemble(lines, 2 * N + 1, NULL, 0, &image), 0);
	ck_assert_uint_eq(nsaid, 0);
	ck_assert_double_lt(seconds() - start, 5);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(image.insns[i].off, -1);
	asm_image_free(&image);
	free(lines);
	free(names);
}
END_TEST

/* Fail at the first allocation, then at the second, and so on until there are enough: -ENOMEM each
 * time, *out as it was, and (says the leak checker) nothing left behind. */
static unsigned long fail_everywhere(const struct asm_insn *lines, size_t n, int want)
{
	unsigned long tries = 0, before;
	int err;

	do {
		struct asm_image image, untouched;

		memset(&image, 0x5a, sizeof(image));
		untouched = image;
		before = callocs;
		callocs_left = (long)tries++;
		err = assemble(lines, n, NULL, 0, &image);
		callocs_left = -1;
		ck_assert(err == -ENOMEM || err == want);
		if (err)
			ck_assert_mem_eq(&image, &untouched, sizeof(image));
		else
			asm_image_free(&image);
	} while (err == -ENOMEM && callocs > before);
	ck_assert_int_eq(err, want);
	return tries - 1;
}

START_TEST(no_memory)
{
	static const struct asm_insn faulty[] = { SCOPE("OUTER()"), JA(nowhere), END, EXIT() };
	struct asm_insn *lines;
	size_t n = long_program(&lines, 300);

	ck_assert_uint_ge(fail_everywhere(lines, n, 0), 10);
	ck_assert_uint_ge(fail_everywhere(faulty, COUNT_OF(faulty), -EINVAL), 1);
	free(lines);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: limits");
	TCase *tc = tcase_create("limits");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_hundred_thousand_lines_are_quick);
	tcase_add_test(tc, many_labels_in_one_scope);
	tcase_add_test(tc, no_memory);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
