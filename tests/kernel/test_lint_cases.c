/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the verifier agree with what tests/unit/test_lint.c expects of the lint? What is said to be
 * wrong it refuses, what is said to be right it takes.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "../unit/lint_cases.h"

static int fds[LINT_MAPS];

static void setup(void)
{
	ck_assert_int_eq(rp_maps_create(lint_maps, LINT_MAPS, fds), 0);
}

static void teardown(void)
{
	for (size_t i = 0; i < LINT_MAPS; i++)
		close(fds[i]);
}

static int load(const struct lint_case *c, char **log)
{
	const struct asm_bindings bindings = { .maps = lint_maps,
					       .map_fds = fds,
					       .nmaps = LINT_MAPS };
	const struct asm_program program = { .name = "lint",
					     .type = c->type ? c->type : BPF_PROG_TYPE_KPROBE,
					     .lines = c->lines,
					     .nlines = c->n };
	struct asm_image image;
	int fd;

	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, NULL, NULL), 0);
	const struct rp_prog prog = { .name = program.name,
				      .type = program.type,
				      .insns = image.insns,
				      .ninsns = image.ninsns,
				      .btf = image.btf,
				      .btf_size = image.btf_size,
				      .func_info = image.func_info,
				      .line_info = image.line_info,
				      .nfunc_info = image.nfunc_info,
				      .nline_info = image.nline_info };
	fd = rp_prog_load_verbose(&prog, 1, log);
	asm_image_free(&image);
	return fd;
}

START_TEST(the_verifier_agrees)
{
	const struct lint_case *c = &lint_cases[_i];
	char *log = NULL;
	int fd = load(c, &log);

	if (c->message && !c->taken)
		ck_assert_msg(fd == -EACCES || fd == -EINVAL || fd == -E2BIG, "%s is taken (%d)",
			      c->name, fd);
	else if (!c->message)
		ck_assert_msg(fd >= 0, "%s is refused: %s", c->name, log);
	if (fd >= 0)
		close(fd);
	free(log);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint's cases in the kernel");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_unchecked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, the_verifier_agrees, 0, (int)LINT_CASES);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
