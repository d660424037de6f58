/* SPDX-License-Identifier: BSD-2-Clause */
/* What the live tests of the loader share: the log kept for reading, and a kernel that lacks
 * something. */
#ifndef TEST_LOADER_H
#define TEST_LOADER_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

#include "quiet.h"

/* All messages since the start of the test, one after the other. */
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

/* The running kernel, except that some bpf(2) commands are unknown to it. */
static uint64_t unknown_commands;

static inline int partial_bpf(int cmd, void *attr, uint32_t size)
{
	long r;

	if (unknown_commands >> cmd & 1)
		return -EINVAL;
	r = syscall(SYS_bpf, cmd, attr, size);
	return r < 0 ? -errno : (int)r;
}

static inline int plain_perf(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			     unsigned long flags)
{
	long r = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);

	return r < 0 ? -errno : (int)r;
}

static inline int plain_ioctl(int fd, unsigned long request, unsigned long arg)
{
	int r = ioctl(fd, request, arg);

	return r < 0 ? -errno : r;
}

static inline void without_commands(uint64_t commands)
{
	static const struct rp_sys partial = { partial_bpf, plain_perf, plain_ioctl };

	unknown_commands = commands;
	rp_sys_replace(&partial);
}

/* Leaves a test, which then counts as skipped. */
#define skip_test(...)                                                                             \
	do {                                                                                       \
		printf("skip %.*s (", (int)strlen(__func__) - 3, __func__);                        \
		printf(__VA_ARGS__);                                                               \
		puts(")");                                                                         \
		return;                                                                            \
	} while (0)

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
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
