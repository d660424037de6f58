/* SPDX-License-Identifier: BSD-2-Clause */
/* The priority of the start: who has it, and that it ends. */
#include "test_loader.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/hurry.h"

static void *note_policy(void *policy)
{
	*(int *)policy = sched_getscheduler(0);
	return NULL;
}

/* Runs @what in a child, whose status tells. */
static int in_child(int (*what)(void))
{
	const pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(what());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int policy(void)
{
	return sched_getscheduler(0);
}

/* The target is started by a child of this process, and tables are made by its threads. */
START_TEST(test_only_this_thread)
{
	pthread_t thread;
	int of_thread = -1;

	record_hurry();
	if (sched_getscheduler(0) == SCHED_OTHER)
		skip_test("there are no real-time priorities for this process");
	ck_assert_int_eq(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK);
	ck_assert_int_eq(in_child(policy), SCHED_OTHER);
	ck_assert_int_eq(pthread_create(&thread, NULL, note_policy, &of_thread), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(of_thread, SCHED_OTHER);

	ck_assert_int_eq(record_hurry_end(), 0);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), 0);
	ck_assert_int_eq(record_hurry_end(), 0);
}
END_TEST

/* Whoever is recorded may have files that are much work before all is attached. */
START_TEST(test_long_work_has_it_no_more)
{
	record_hurry();
	if (sched_getscheduler(0) == SCHED_OTHER)
		skip_test("there are no real-time priorities for this process");
	usleep(110000);
	record_hurry_tires();
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	ck_assert_int_eq(record_hurry_end(), 0);
}
END_TEST

static int of_nice(void)
{
	if (setpriority(PRIO_PROCESS, 0, 5))
		return 100;
	record_hurry();
	return sched_getscheduler(0) || record_hurry_end() || getpriority(PRIO_PROCESS, 0) != 5;
}

static int of_batch(void)
{
	const struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_BATCH, &none))
		return 100;
	record_hurry();
	return sched_getscheduler(0) != SCHED_BATCH || record_hurry_end();
}

static int of_user(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_RTPRIO, &none) || setuid(65534))
		return 100;
	record_hurry();
	return sched_getscheduler(0) || record_hurry_end();
}

/* By a limit of the user's, who cannot take the flag back. */
static int of_limit(void)
{
	const struct rlimit one = { 1, 1 };

	if (setrlimit(RLIMIT_RTPRIO, &one))
		return 0; /* nobody here may raise it */
	if (setuid(65534))
		return 100;
	record_hurry();
	if (sched_getscheduler(0) == SCHED_OTHER)
		return 0; /* groups have real-time priorities of their own */
	return record_hurry_end() || (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_OTHER;
}

START_TEST(test_what_was_asked_for_stays)
{
	ck_assert_int_eq(in_child(of_nice), 0);
	ck_assert_int_eq(in_child(of_batch), 0);
	ck_assert_int_eq(in_child(of_user), 0);
	ck_assert_int_eq(in_child(of_limit), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hurry");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, test_only_this_thread);
	tcase_add_test(tc, test_long_work_has_it_no_more);
	tcase_add_test(tc, test_what_was_asked_for_stays);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
