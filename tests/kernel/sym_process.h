/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of real processes share: a directory, a program, children that run it. */
#ifndef TESTS_SYM_PROCESS_H
#define TESTS_SYM_PROCESS_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

static char dir[] = "/tmp/test_sym_process.XXXXXX";
static struct sym_user *user;

static inline uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline const char *in_dir(const char *name)
{
	static char paths[4][512];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/*
 * tests/kernel/sym_child.c, compiled with @flags. A machine without a compiler has them ready in
 * $SYM_CHILDREN, each called after its flags, without spaces, or child0 (tests/vm/vm.mk).
 */
static inline void build(const char *name, const char *flags)
{
	const char *ready = getenv("SYM_CHILDREN");
	char command[1024], joined[128] = "";

	for (size_t n = 0; *flags && ready && n + 1 < sizeof(joined); flags++)
		if (*flags != ' ')
			joined[n++] = *flags;
	if (ready)
		snprintf(command, sizeof(command), "rm -f %s && cp %s/child%s %s", in_dir(name),
			 ready, *joined ? joined : "0", in_dir(name));
	else
		snprintf(command, sizeof(command), "gcc -O1 %s -o %s tests/kernel/sym_child.c",
			 flags, in_dir(name));
	ck_assert_int_eq(system(command), 0);
}

struct child {
	pid_t pid;
	uint64_t known, qsort;
};

static inline struct child start(const char *path, int (*prepare)(void))
{
	struct child c = { 0 };
	char text[64] = "";
	int out[2];

	ck_assert_int_eq(pipe(out), 0);
	c.pid = fork();
	ck_assert_int_ge(c.pid, 0);
	if (!c.pid) {
		dup2(out[1], 1);
		close(out[0]);
		if (!prepare || !prepare())
			execl(path, path, NULL);
		_exit(127);
	}
	close(out[1]);
	ck_assert_int_gt(read(out[0], text, sizeof(text) - 1), 0);
	close(out[0]);
	ck_assert_int_eq(sscanf(text, "%" SCNx64 " %" SCNx64, &c.known, &c.qsort), 2);
	return c;
}

static inline void stop(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static inline void ck_frame(const struct child *c, uint64_t addr, const char *name,
			    const char *path)
{
	struct sym_frame f;

	sym_user_lookup(user, c->pid, now(), addr + 1, false, &f);
	ck_assert_int_eq(f.kind, SYM_USER);
	ck_assert_msg(f.name && !strcmp(f.name, name), "%s instead of %s in %s", f.name, name,
		      f.module);
	ck_assert_uint_eq(f.offset, 1);
	if (path)
		ck_assert_str_eq(f.module, path);
}

static inline void setup(void)
{
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
}

static inline void teardown(void)
{
	sym_user_close(user);
}

/* Runs the tests of @t, each in a process of its own. */
static inline int run_all(Suite *s, TCase *t)
{
	SRunner *r = srunner_create(s);
	char command[64];
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
