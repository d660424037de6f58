/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording as an application does it: <rawprof/record.h> alone, no command line. */
#include "test_loader.h"

#include <linux/btf.h>

#include <rawprof/record.h>

#include "base/clock.h"

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

/*
 * Of all samples at least half have the function of that name in their stacks; a quarter, where
 * rules computed from the code of the test, whose own samples they are, take an emulated CPU as
 * long.
 */
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
	ck_assert_uint_ge((getenv("VM_EMULATED") ? 4 : 2) * with, all);
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

/* Each sample has its time, in order and within the recording; together they are the sums. */
START_TEST(a_stream_says_when)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	const struct report_moment *m;
	uint64_t count = 0, weight = 0;
	double begin = seconds(), took;
	struct recording *rec;
	struct report *report;
	pthread_t thread;
	size_t n;

	options.stream = true;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn_and_stop, rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	pthread_join(thread, NULL);
	took = seconds() - begin;
	ck_assert_int_eq(record_report(rec, &report), 0);
	m = report_moments(report, &n);
	ck_assert_uint_gt(n, 10);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(m[i].kind, REPORT_AT);
		ck_assert_uint_lt(m[i].cpu, (unsigned int)rp_cpus_possible());
		ck_assert(!i || m[i].time_ns >= m[i - 1].time_ns);
		count += m[i].count;
		weight += m[i].weight;
	}
	ck_assert((double)m[n - 1].time_ns < took * 1e9);
	ck_assert_uint_gt(m[n - 1].time_ns, m[0].time_ns);
	ck_assert_uint_eq(count, report_total(report, 0));
	ck_assert_uint_eq(weight, report_total(report, 1));
	ck_assert_int_eq(record_finish(rec), 0);
	report_free(report);
	record_free(rec);
}
END_TEST

static bool timers_are_known(void)
{
	const struct rp_btf *btf;

	return !rp_btf_kernel(&btf) && rp_btf_find(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) > 0;
}

/* The time of a sample by a timer is when it was due: whole periods lie between two of a CPU. */
START_TEST(a_timer_says_when_it_was_due)
{
	enum { HZ = 499, CPUS = 4096 };
	const uint64_t period = NS_PER_SECOND / HZ;
	static uint64_t last[CPUS];
	uint32_t pid;
	struct record_options options = myself(&pid);
	const struct report_moment *m;
	size_t n, whole = 0, pairs = 0;
	struct recording *rec;
	struct report *report;
	pthread_t thread;

	if (!timers_are_known())
		return;
	options.stream = true;
	options.software_event = true;
	options.freq = HZ;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn_and_stop, rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(record_report(rec, &report), 0);
	m = report_moments(report, &n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_lt(m[i].cpu, CPUS);
		pairs += last[m[i].cpu] != 0;
		whole += last[m[i].cpu] && (m[i].time_ns - last[m[i].cpu]) % period == 0;
		last[m[i].cpu] = m[i].time_ns;
	}
	ck_assert_uint_gt(pairs, 10);
	ck_assert_uint_gt(whole, pairs / 2); /* the kernel may stop a timer and start it again */
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

/* "12 samples fired = 9 kept + ...": the numbers of the ledger that a report has. */
static void read_ledger(struct report *report, unsigned long *kept)
{
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	ck_assert_int_eq(report_write_table(report, f, NULL), 0);
	fclose(f);
	at = strstr(text, " fired = ");
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_null(strstr(text, "does not close"));
	*kept = 0;
	for (at += strlen(" fired = "); *at == ',' || (*at >= '0' && *at <= '9'); at++)
		if (*at != ',')
			*kept = 10 * *kept + (unsigned long)(*at - '0');
	free(text);
}

static int count(void *ctx, const struct report_event *event)
{
	*(unsigned int *)ctx += event != NULL;
	return 0;
}

/* What came last, when the recording was over already, is handed over as well. */
START_TEST(no_sample_is_missing)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	struct recording *rec;
	struct report *report;
	pthread_t thread;
	unsigned int events = 0;
	unsigned long kept;

	options.samples = true;
	options.sample = count;
	options.ctx = &events;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn_and_stop, rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(record_report(rec, &report), 0);
	read_ledger(report, &kept);
	ck_assert_uint_gt(events, 0);
	ck_assert_uint_eq(events, kept);
	report_free(report);
	record_free(rec);
}
END_TEST

/* The options of the caller are gone when it runs; it runs and is reported once. */
START_TEST(a_recording_runs_once)
{
	struct recording *rec;
	struct report *report = NULL;

	{
		uint32_t pid;
		struct record_options *options = malloc(sizeof(*options));

		*options = myself(&pid);
		options->pids.n = 0;
		options->duration = 0.2;
		ck_assert_int_eq(record_new(&record_cpu, options, &rec), 0);
		memset(options, 0xff, sizeof(*options));
		free(options);
	}
	capture_log();
	ck_assert_int_eq(record_report(rec, &report), -EINVAL);
	ck_assert_int_eq(record_run(rec), 0);
	ck_assert_int_eq(record_run(rec), -EALREADY);
	ck_assert_logged("a recording runs once");
	ck_assert_int_eq(record_report(rec, &report), 0);
	ck_assert_int_eq(record_report(rec, &report), -EALREADY);
	report_free(report);
	record_free(rec);
}
END_TEST

START_TEST(options_that_make_no_sense)
{
	char *none[] = { NULL }, path[] = "/bin/true", *program[] = { path, NULL };
	uint32_t pid = (uint32_t)getpid();
	const struct {
		struct record_options options;
		const char *says;
	} bad[] = {
		{ { .samples = true }, "samples want a function" },
		{ { .program = none }, "no name to run" },
		{ { .program = program, .pids = { &pid, 1 } }, "either program" },
		{ { .pids = { &pid, 1 }, .tids = { &pid, 1 } }, "either pids or tids" },
		{ { .duration = -1 }, "not below 0" },
		{ { .interval = 1 }, "no parts of a series" },
		{ { .freq = 99, .period = 10 }, "either freq or period" },
		{ { .event = "cpu-clock", .software_event = true }, "either event" },
		{ { .user_only = true, .kernel_only = true }, "no stacks at all" },
		{ { .max_stack = { 5000, 0 } }, "at most 4096" },
		{ { .max_stack = { 1000, 25 } }, "at most 1024" },
		{ { .max_stack = { 0, 25 } }, "without two innermost" },
	};
	struct recording *rec = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		capture_log();
		ck_assert_int_eq(record_new(&record_cpu, &bad[i].options, &rec), -EINVAL);
		ck_assert_logged(bad[i].says);
		ck_assert_ptr_null(rec);
	}
}
END_TEST

/* A program that has gone before it began is an error, not a signal for the application. */
START_TEST(a_program_that_was_killed_before_it_began)
{
	char path[] = "/bin/true", *program[] = { path, NULL };
	struct record_options options = { .program = program };
	char children[128], list[64] = "";
	struct recording *rec;
	int fd;

	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	fd = open(children, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, list, sizeof(list) - 1), 0);
	close(fd);
	kill(atoi(list), SIGKILL);
	usleep(100000);
	capture_log();
	ck_assert_int_eq(record_run(rec), -ECHILD);
	ck_assert_logged("/bin/true ended before it began");
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

	sigaddset(&blocked, SIGINT); /* what was blocked before stays so */
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	record_free(rec);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	ck_assert(sigismember(&blocked, SIGINT) && !sigismember(&blocked, SIGTERM));
}
END_TEST

START_TEST(limits_stay_the_applications)
{
	uint32_t pid;
	struct record_options options = myself(&pid);
	struct rlimit before = { 0 }, after;
	struct recording *rec;

	getrlimit(RLIMIT_NOFILE, &before);
	before.rlim_cur = 200;
	setrlimit(RLIMIT_NOFILE, &before);
	options.duration = 0.1;
	ck_assert_int_eq(record_new(&record_cpu, &options, &rec), 0);
	ck_assert_int_eq(record_run(rec), 0);
	record_free(rec);
	getrlimit(RLIMIT_NOFILE, &after);
	ck_assert_uint_eq(after.rlim_cur, 200);
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
	tcase_add_test(tc, no_sample_is_missing);
	tcase_add_test(tc, a_recording_runs_once);
	tcase_add_test(tc, options_that_make_no_sense);
	tcase_add_test(tc, a_program_that_was_killed_before_it_began);
	tcase_add_test(tc, signals_stay_the_applications);
	tcase_add_test(tc, limits_stay_the_applications);
	tcase_add_test(tc, what_cannot_be_recorded_is_said);
	tcase_add_test(tc, nothing_stays_open);
	tcase_add_test(tc, a_stream_says_when);
	tcase_add_test(tc, a_timer_says_when_it_was_due);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
