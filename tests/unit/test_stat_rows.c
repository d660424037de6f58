/* SPDX-License-Identifier: BSD-2-Clause */
/* `rawprof stat` of as many threads as a user likes: rows, whose are counted, and how it ends. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/budget.h"
#include "cli/stat/stat.h"
#include "slower.h"

enum { THREADS = 30000, EVENTS = 4, FIRST = 5000000 }; /* there are no such numbers */

static unsigned int asked;

/* The first is there and counts nothing, all others have ended. */
static int open_one(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		    unsigned long flags)
{
	(void)attr;
	(void)cpu;
	(void)group;
	(void)flags;
	asked++;
	return pid == FIRST ? open("/dev/zero", O_RDONLY | O_CLOEXEC) : -ESRCH;
}

static int refuse(int cmd, void *attr, uint32_t size)
{
	(void)cmd;
	(void)attr;
	(void)size;
	return -EPERM;
}

static int allow(int fd, unsigned long request, unsigned long arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	return 0;
}

static int open_counters(struct rp_event **events, struct rp_counters **out)
{
	static const struct rp_sys sys = { .bpf = refuse,
					   .perf_event_open = open_one,
					   .ioctl = allow };
	static pid_t tids[THREADS];
	struct rp_counters_options opt = { .tasks = tids, .ntasks = THREADS, .cgroup = -1 };

	asked = 0;
	rp_sys_replace(&sys);
	for (int i = 0; i < THREADS; i++)
		tids[i] = FIRST + i;
	ck_assert_int_eq(rp_events_parse("task-clock,context-switches,page-faults,minor-faults",
					 events, &opt.nevents),
			 0);
	ck_assert_uint_eq(opt.nevents, EVENTS);
	opt.events = *events;
	return rp_counters_open(&opt, out);
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Each with a row of its own: what they cost is as many as there are, not their square. */
START_TEST(many_threads_have_rows)
{
	const struct stat_options own = { .per_thread = true };
	struct stat_figures f = { .n = EVENTS };
	struct stat_rows rows = { 0 };
	struct rp_counters *counters;
	struct rp_event *events;
	double begin;

	ck_assert_int_eq(open_counters(&events, &counters), 0);
	begin = cpu_seconds();
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(stat_rows_note(&rows, &f, &own, counters), 0);
		ck_assert_uint_eq(f.nrows, THREADS);
		for (size_t i = 0; i < EVENTS; i++)
			ck_assert_int_eq(stat_rows_sum(&rows, &f, counters, i), 0);
		stat_rows_forget(&rows);
	}
	ck_assert_double_lt(cpu_seconds() - begin, 3 * (double)slower());
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(f.rows[i].task, FIRST + i);
		ck_assert_uint_eq(f.rows[i].sum[EVENTS - 1].runs, 2);
	}
	stat_rows_free(&rows, &f);
	rp_counters_close(counters);
	free(events);
	rp_sys_replace(NULL);
}
END_TEST

static bool at_once(void *ctx)
{
	return ++*(unsigned int *)ctx > 100;
}

START_TEST(a_signal_ends_the_opening)
{
	struct rp_counters *counters;
	struct rp_event *events;
	unsigned int looks = 0;

	rp_work_watch(at_once, &looks);
	ck_assert_int_eq(open_counters(&events, &counters), -EINTR);
	rp_work_watch(NULL, NULL);
	ck_assert_uint_eq(asked, 100);
	free(events);
	rp_sys_replace(NULL);
}
END_TEST

static size_t of_user(const struct stat_thread *t, size_t n, uid_t uid)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t[i].uid == uid;
	return sum;
}

/* Whoever calls 35,000 threads as another's are called takes nothing from those. */
START_TEST(each_user_has_a_part)
{
	static struct stat_thread t[45000];
	size_t n = 0, kept;
	int err;

	for (int i = 0; i < 35000; i++)
		t[n++] = (struct stat_thread){ FIRST + i, 1000 };
	for (int i = 0; i < 100; i++)
		t[n++] = (struct stat_thread){ 2 * FIRST + i, 1001 };
	for (int i = 0; i < 3000; i++)
		t[n++] = (struct stat_thread){ 3 * FIRST + i, 0 };
	kept = stat_threads_keep(t, n, STAT_THREADS, &err);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(kept, STAT_THREADS);
	ck_assert_uint_eq(of_user(t, kept, 1001), 100);
	ck_assert_uint_eq(of_user(t, kept, 0), (STAT_THREADS - 100) / 2);
	for (size_t i = 1; i < kept; i++)
		ck_assert_int_gt(t[i].tid, t[i - 1].tid);
	/* one that is alone has all that there is; few are all kept */
	for (n = 0; n < 5000; n++)
		t[n] = (struct stat_thread){ FIRST + (pid_t)n, 1000 };
	ck_assert_uint_eq(stat_threads_keep(t, n, STAT_THREADS, &err), STAT_THREADS);
	ck_assert_uint_eq(stat_threads_keep(t, 7, STAT_THREADS, &err), 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stat_rows");
	TCase *tc = tcase_create("stat_rows");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, many_threads_have_rows);
	tcase_add_test(tc, a_signal_ends_the_opening);
	tcase_add_test(tc, each_user_has_a_part);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
