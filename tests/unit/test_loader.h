/* SPDX-License-Identifier: BSD-2-Clause */
/* What the loader's unit tests share: the log kept for reading, and /proc and /sys of our own. */
#ifndef TEST_LOADER_H
#define TEST_LOADER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/asm.h>

#include "loader/internal.h"

static char log_text[1 << 16];

static inline void keep_log(void *ctx, enum rp_level level, const char *message)
{
	const size_t used = strlen(log_text);

	(void)ctx;
	snprintf(log_text + used, sizeof(log_text) - used, "%d: %s\n", level, message);
}

static inline void capture_log(void)
{
	log_text[0] = '\0';
	rp_log_setup(RP_DEBUG, keep_log, NULL);
}

#define ck_assert_logged(what)                                                                     \
	ck_assert_msg(strstr(log_text, what), "\"%s\" is not in the log:\n%s", what, log_text)
#define ck_assert_not_logged(what)                                                                 \
	ck_assert_msg(!strstr(log_text, what), "\"%s\" is in the log:\n%s", what, log_text)

/* ---- a root directory with the few files that a test needs */

static char root[64];

static inline void put_file(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	if (!*root) {
		strcpy(root, "/tmp/test_loader.XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(root));
		rp_root_replace(root);
	}
	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static inline void remove_root(void)
{
	char command[96];

	rp_root_replace(NULL);
	if (!*root)
		return;
	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
	root[0] = '\0';
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
