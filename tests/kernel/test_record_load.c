/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording when things are hard: signals in the middle of long work. */
#include "test_loader.h"

#include <rawprof/record.h>

#include "base/budget.h"

/* Work that would go on for minutes: hundreds of GB to look at. */
#define LONG_WORK (1ULL << 38)
#define STEP 4096

struct busy {
	int kills;	/* signals to be sent to this process, */
	int pause_us;	/*   one after the other */
	bool gave_up;	/* the work, for that */
	unsigned calls; /* of the function below */
};

static bool work_for_long(void)
{
	struct rp_work work = rp_work_for(LONG_WORK, 1);

	for (uint64_t i = 0; i < LONG_WORK / STEP; i++)
		if (!rp_work_spend(&work, STEP))
			return false;
	return true;
}

/* Called once a second by a recording that is under way, which has blocked the signals. */
static void be_busy(void *ctx, double seconds, uint64_t stacks, bool last)
{
	struct busy *busy = ctx;

	(void)seconds;
	(void)stacks;
	if (last || busy->calls++)
		return;
	for (int i = 0; i < busy->kills; i++) {
		kill(getpid(), SIGINT);
		busy->gave_up = !work_for_long();
		usleep(busy->pause_us);
	}
}

static int record_busily(struct busy *busy)
{
	const struct record_options options = {
		.duration = 300, .signals = true, .progress = be_busy, .ctx = busy
	};
	struct recording *rec;
	struct report *report = NULL;
	int err = record_new(&record_cpu, &options, &rec);

	if (!err)
		err = record_run(rec);
	if (!err)
		err = record_report(rec, &report);
	if (!err)
		report_free(report);
	record_free(rec);
	return err;
}

/* The work is given up, the recording ends long before its time, and the report is there. */
START_TEST(a_signal_in_long_work)
{
	struct busy busy = { .kills = 1 };

	ck_assert_int_eq(record_busily(&busy), 0);
	ck_assert(busy.gave_up);
	ck_assert_uint_eq(busy.calls, 1);
}
END_TEST

/* What comes again at once meant the same. */
START_TEST(the_same_signal_twice)
{
	struct busy busy = { .kills = 2 };

	ck_assert_int_eq(record_busily(&busy), 0);
	ck_assert(busy.gave_up);
}
END_TEST

/* A second one ends the process as it would if there were no recording. */
START_TEST(a_second_signal_in_long_work)
{
	struct busy busy = { .kills = 2, .pause_us = 500000 };
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		signal(SIGINT, SIG_DFL); /* libcheck has one of its own */
		_exit(record_busily(&busy) ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGINT);
}
END_TEST

/* Afterwards long work is nobody's business, and signals are as they were. */
START_TEST(work_after_a_recording)
{
	struct rp_work work = rp_work_for(1 << 30, 1);
	struct busy busy = { .kills = 1 };
	sigset_t blocked;

	ck_assert_int_eq(record_busily(&busy), 0);
	ck_assert(rp_work_spend(&work, 1 << 29));
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
	ck_assert_int_eq(sigismember(&blocked, SIGINT), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record_load");
	TCase *t = tcase_create("kernel");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_signal_in_long_work);
	tcase_add_test(t, the_same_signal_twice);
	tcase_add_test(t, a_second_signal_in_long_work);
	tcase_add_test(t, work_after_a_recording);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
