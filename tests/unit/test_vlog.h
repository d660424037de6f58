/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the verifier's words share: logs from tests/data, and lists as texts. */
#ifndef TESTS_UNIT_TEST_VLOG_H
#define TESTS_UNIT_TEST_VLOG_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>
#include <rawprof/verifier.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The tests are run from the top of the source tree. */
static inline char *data_file(const char *name)
{
	char path[200], *text = NULL;
	size_t capacity = 0;
	FILE *in;

	snprintf(path, sizeof(path), "tests/data/%s", name);
	in = fopen(path, "r");
	ck_assert_msg(in, "%s: %s", path, strerror(errno));
	ck_assert_int_gt(getdelim(&text, &capacity, '\0', in), 0);
	fclose(in);
	return text;
}

/* "R1=ctx R10=fp0 fp-8=0" */
static inline const char *values_text(const struct asm_vlog_value *values, uint32_t n)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%d=%s",
					 i ? " " : "", values[i].where < 0 ? "fp" : "R",
					 values[i].where, values[i].text);
	return text;
}
#define BEFORE(log, i) values_text((log)->insns[i].before, (log)->insns[i].nbefore)
#define AFTER(log, i) values_text((log)->insns[i].after, (log)->insns[i].nafter)

/* "15 25 29" */
static inline const char *from_text(const struct asm_vlog_insn *insn)
{
	static char text[400];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < insn->nfrom && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "",
					 insn->from[i]);
	return text;
}

static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

#endif
