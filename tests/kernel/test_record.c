/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording as an application does it: <rawprof/record.h> alone, no command line. */
#include "test_loader.h"

#include <rawprof/record.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The function that the stacks of this process must show. */
static __attribute__((noinline)) void burn(double for_seconds)
{
	for (double end = seconds() + for_seconds; seconds() < end;)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void *burn_and_stop(void *rec)
{
	burn(1);
	record_stop(rec);
	return NULL;
}

static struct record_options myself(uint32_t *pid)
{
	*pid = (uint32_t)getpid();
	return (struct record_options){ .pids = { pid, 1 }, .freq = 499 };
}

/* Of all samples at least half have the function of that name in their stacks. */
static void ck_assert_seen(struct report *report, const char *name)
{
	char *text = NULL, *line, *rest;
	unsigned long all = 0, with = 0;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert_int_eq(report_write_folded(report, f, NULL), 0);
	fclose(f);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long n = strtoul(strrchr(line, ' ') + 1, NULL, 10);

		all += n;
		with += strstr(line, name) ? n : 0;
	}
	ck_assert_uint_gt(all, 0);
	ck_assert_uint_eq(all, report_total(report, 0));
	ck_assert_uint_ge(2 * with, all);
	free(text);
}

START_TEST(a_thread_of_the_application_stops_it)
{
	uint32_t pid;
	const struct record_options options = myself(&pid);
	double begin = seconds();
	struct recording *rec;
	struct report *report;
	pthread_t thread;

	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn_and_stop, rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	pthread_join(thread, NULL);
	ck_assert(seconds() - begin >= 1);
	ck_assert_int_eq(record_report(rec, &report), 0);
	ck_assert_seen(report, "burn_and_stop");
	ck_assert_int_eq(record_finish(rec), 0);
	report_free(report);
	record_free(rec);
}
END_TEST

struct seen {
	unsigned int events, batches, of_others;
};

static int see(void *ctx, const struct report_event *event)
{
	struct seen *seen = ctx;

	if (!event) {
		seen->batches++;
		return seen->events >= 100 ? -ECANCELED : 0;
	}
	seen->events++;
	seen->of_others += event->pid != getpid();
	return 0;
}

static void *burn_for_long(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE))
		burn(0.05);
	return NULL;
}

/* What the callback returns below 0 ends the recording, and comes back. */
START_TEST(samples_come_one_by_one)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	struct seen seen = { 0 };
	struct recording *rec;
	pthread_t thread;
	int stop = 0;

	options.samples = true;
	options.sample = see;
	options.ctx = &seen;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn_for_long, &stop), 0);
	ck_assert_int_eq(record_run(rec), -ECANCELED);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ck_assert_uint_ge(seen.events, 100);
	ck_assert_uint_ge(seen.batches, 1);
	ck_assert_uint_eq(seen.of_others, 0);
	record_free(rec);
}
END_TEST

START_TEST(signals_stay_the_applications)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	struct recording *rec;
	sigset_t blocked;

	options.duration = 0.1;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	ck_assert(!sigismember(&blocked, SIGINT) && !sigismember(&blocked, SIGTERM));
	ck_assert_int_eq(record_run(rec), 0);
	record_free(rec);

	options.signals = true;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	raise(SIGTERM);
	ck_assert_int_eq(record_run(rec), -EINTR);
	record_free(rec);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	ck_assert(!sigismember(&blocked, SIGINT) && !sigismember(&blocked, SIGTERM));
}
END_TEST

START_TEST(what_cannot_be_recorded_is_said)
{
	char path[] = "/no/such/program", *nowhere[] = { path, NULL };
	uint32_t none = 0x3fffff;
	struct record_options options = { .pids = { &none, 1 } };
	struct recording *rec = NULL;

	capture_log();
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), -ESRCH);
	ck_assert_logged("there is no process 4194303");
	options = (struct record_options){ .event = "no-such-event" };
	ck_assert_int_lt(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_logged("no-such-event");
	ck_assert_ptr_null(rec);

	options = (struct record_options){ .program = nowhere };
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(record_run(rec), -ENOENT);
	ck_assert_logged("cannot run /no/such/program");
	record_free(rec);
	record_free(NULL);
}
END_TEST

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(nothing_stays_open)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	struct recording *rec;
	int before = open_descriptors();

	options.duration = 0.1;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
		if (i)
			ck_assert_int_eq(record_run(rec), 0);
		record_free(rec);
		if (!i) /* what the loader keeps for itself is there from now on */
			before = open_descriptors();
	}
	ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, a_thread_of_the_application_stops_it);
	tcase_add_test(tc, samples_come_one_by_one);
	tcase_add_test(tc, signals_stay_the_applications);
	tcase_add_test(tc, what_cannot_be_recorded_is_said);
	tcase_add_test(tc, nothing_stays_open);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
