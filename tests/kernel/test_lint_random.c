/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lint against the verifier, on programs made at random: of what the verifier takes the lint
 * must not say that it is wrong. (Stack bytes that nobody wrote are the exception: with
 * CAP_PERFMON kernels since 6.3 let them pass.) The seed is fixed; LINT_SEED and LINT_PROGRAMS in
 * the environment make other and longer runs.
 */
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/verifier.h>
#include <rawprof/loader.h>

#include "random_programs.h"

/* ---- both opinions */

static const struct asm_map maps[] = {
	{ .name = "hash",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 16,
	  .max_entries = 8 },
	{ .name = "array",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 24,
	  .max_entries = 2 },
	{ .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
};
static int fds[3];

static char log_text[1 << 20];

static int load(const struct asm_image *image, uint32_t level)
{
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_KPROBE,
				.insns = (uintptr_t)image->insns,
				.insn_cnt = image->ninsns,
				.license = (uintptr_t) "GPL",
				.log_level = level,
				.log_buf = level ? (uintptr_t)log_text : 0,
				.log_size = level ? sizeof(log_text) : 0 };

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

struct verdict {
	int errors;
	char text[4096];
};

static void note(void *ctx, const struct asm_diag *diag)
{
	struct verdict *v = ctx;
	size_t used = strlen(v->text);

	if (diag->severity != ASM_ERROR || strstr(diag->message, "never written"))
		return;
	v->errors++;
	snprintf(v->text + used, sizeof(v->text) - used, "%u: %s: %s\n", diag->line, diag->text,
		 diag->message);
}

static void show(const struct maker *m, const struct asm_image *image)
{
	for (uint32_t slot = 0; slot < image->ninsns; slot++)
		if (image->text_of[slot])
			printf("line %u, slot %u: %s\n", m->lines[image->line_of[slot]].line, slot,
			       image->text_of[slot]);
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
	const char *value = getenv(name);

	return value ? (uint32_t)strtoul(value, NULL, 0) : otherwise;
}

START_TEST(says_nothing_of_what_the_verifier_takes)
{
	const struct asm_bindings bindings = { .maps = maps, .map_fds = fds, .nmaps = 3 };
	uint32_t programs = setting("LINT_PROGRAMS", 4000), taken = 0, agreed = 0;
	static struct maker m;

	random_state = setting("LINT_SEED", 1) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < 3; i++) {
		fds[i] = rp_map_create(&maps[i]);
		ck_assert_int_ge(fds[i], 0);
	}
	for (uint32_t i = 0; i < programs; i++) {
		struct asm_program program = { .name = "random", .type = BPF_PROG_TYPE_KPROBE };
		struct verdict v = { 0 };
		struct asm_image image;
		int fd;

		make_random(&m);
		program.lines = m.lines;
		program.nlines = m.n;
		ck_assert_int_eq(asm_assemble(&program, &bindings, &image, asm_diag_print, NULL),
				 0);
		fd = load(&image, 0);
		ck_assert_int_ge(asm_lint(&image, &bindings, note, &v), 0);
		if (fd >= 0 && v.errors) {
			show(&m, &image);
			close(load(&image, 2));
			printf("%s", log_text);
		}
		ck_assert_msg(fd < 0 || !v.errors, "program %u is taken by the verifier, but: %s",
			      i, v.text);
		taken += fd >= 0;
		agreed += fd < 0 && v.errors;
		if (fd < 0 && !v.errors && setting("LINT_MISSED", 0)) {
			char *end, *at;

			load(&image, 1);
			end = strstr(log_text, "\nprocessed");
			if (end)
				*end = 0;
			at = strrchr(log_text, '\n');
			printf("missed: %s\n", at ? at + 1 : log_text);
		}
		if (fd >= 0)
			close(fd);
		asm_image_free(&image);
	}
	printf("%u programs: the verifier took %u, the lint saw what is wrong with %u of the other "
	       "%u\n",
	       programs, taken, agreed, programs - taken);
	/* Both happen, or the test tests nothing. */
	ck_assert_uint_gt(taken, programs / 50);
	ck_assert_uint_gt(agreed, (programs - taken) / 2);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lint and verifier");
	TCase *tests = tcase_create("random programs");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, says_nothing_of_what_the_verifier_takes);
	tcase_set_timeout(tests, 0);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
