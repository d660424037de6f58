/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads by a thread that can be left behind. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/clock.h"
#include "base/lack.h"

enum { USER = 1000, USERS = 8 };

struct job {
	struct rp_aside job;
	int fd; /* a byte is read of it */
	char byte;
};

static int ends[2];
static atomic_int dropped;

static void setup(void)
{
	ck_assert_int_eq(pipe(ends), 0);
}

static void read_byte(struct rp_aside *job)
{
	struct job *j = (struct job *)job;

	if (read(j->fd, &j->byte, 1) != 1)
		j->byte = '!';
}

static void drop(struct rp_aside *job)
{
	free(job);
	dropped++;
}

static int read_as(uid_t uid, char *byte)
{
	struct job *j = malloc(sizeof(*j));
	int err;

	*j = (struct job){ .job = { read_byte, drop }, .fd = ends[0] };
	err = rp_read_aside(&j->job, uid, "a test");
	if (!err) {
		*byte = j->byte;
		free(j);
	}
	return err;
}

static void put(const char *bytes, size_t n)
{
	ck_assert_int_eq(write(ends[1], bytes, n), (ssize_t)n);
}

START_TEST(what_is_there_is_read)
{
	char byte = 0;

	put("abc", 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(read_as(USER, &byte), 0);
		ck_assert_int_eq(byte, 'a' + i);
	}
	ck_assert_int_eq(dropped, 0);
}
END_TEST

/* The first waits; afterwards nobody asks what is the user's, and others are read. */
START_TEST(one_that_waits_is_left)
{
	const uint64_t began = rp_monotonic_ns();
	struct rp_lacks lacks;
	uint64_t later;
	char byte = 0;

	ck_assert_int_eq(read_as(USER, &byte), -EBUSY);
	later = rp_monotonic_ns();
	ck_assert_uint_ge(later - began, NS_PER_SECOND);
	ck_assert_int_eq(dropped, 0); /* it is being read */
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(read_as(USER, &byte), -EBUSY);
	ck_assert_int_eq(dropped, 1000);
	lacks = rp_lacks_take();
	ck_assert_uint_eq(lacks.n, 1001);
	ck_assert_int_eq(lacks.err, -EBUSY);
	ck_assert_str_eq(lacks.what, "a test");

	put("xy", 2); /* the first byte is its, be it the one that comes first */
	ck_assert_int_eq(read_as(USER + 1, &byte), 0);
	while (dropped < 1001)
		usleep(1000);
	ck_assert_int_eq(read_as(USER, &byte), -EBUSY); /* for a while */
	put("z", 1);
	ck_assert_int_eq(read_as(USER + 1, &byte), 0);
	ck_assert_int_eq(byte, 'z');
}
END_TEST

static void *wait_as(void *uid)
{
	char byte;

	return (void *)(intptr_t)read_as((uid_t)(uintptr_t)uid, &byte);
}

START_TEST(many_users_keep_it)
{
	pthread_t threads[USERS + 2];
	char byte;

	for (uintptr_t i = 0; i < USERS + 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_as, (void *)(USER + i)), 0);
	for (int i = 0; i < USERS + 2; i++) {
		void *err;

		pthread_join(threads[i], &err);
		ck_assert_int_eq((intptr_t)err, -EBUSY);
	}
	ck_assert_int_eq(read_as(2000, &byte), -EBUSY);
	put("abcdefghij", USERS + 2);
	while (dropped < USERS + 3)
		usleep(1000);
	put("k", 1);
	ck_assert_int_eq(read_as(2000, &byte), 0);
}
END_TEST

/* Then nobody else reads: which thread it was tells. */
static pthread_t reader;

static void note_reader(struct rp_aside *job)
{
	reader = pthread_self();
	read_byte(job);
}

START_TEST(not_before_it_may)
{
	struct job j = { .job = { note_reader, drop }, .fd = ends[0] };

	put("ab", 2);
	rp_aside_allow(false);
	ck_assert_int_eq(rp_read_aside(&j.job, USER, "a test"), 0);
	ck_assert(pthread_equal(reader, pthread_self()));
	rp_aside_allow(true);
	ck_assert_int_eq(rp_read_aside(&j.job, USER, "a test"), 0);
	ck_assert(!pthread_equal(reader, pthread_self()));
	ck_assert_int_eq(j.byte, 'b');
}
END_TEST

START_TEST(after_a_fork)
{
	char byte = 0;
	int status;
	pid_t pid;

	put("ab", 2);
	ck_assert_int_eq(read_as(USER, &byte), 0);
	pid = fork();
	if (!pid)
		_exit(read_as(USER, &byte) || byte != 'b');
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static uint64_t waited(void (*wait)(void))
{
	const uint64_t before = rp_aside_ns();
	struct rp_wait w;

	rp_wait_begin(&w);
	wait();
	rp_wait_end(&w);
	return rp_aside_ns() - before;
}

static void sleep_a_while(void)
{
	usleep(50000);
}

static void do_nothing(void)
{
}

/* By whoever reads itself, and by a thread that reads for it. */
START_TEST(waits_are_counted)
{
	const uint64_t before = rp_aside_ns();
	char byte;

	ck_assert_uint_ge(waited(sleep_a_while), 50000000);
	ck_assert_uint_eq(waited(do_nothing), 0);
	if (!fork()) {
		usleep(100000);
		put("x", 1);
		_exit(0);
	}
	ck_assert_int_eq(read_as(USER, &byte), 0);
	ck_assert_uint_ge(rp_aside_ns() - before, 120000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("aside");
	TCase *tc = tcase_create("aside");
	SRunner *r = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_is_there_is_read);
	tcase_add_test(tc, one_that_waits_is_left);
	tcase_add_test(tc, many_users_keep_it);
	tcase_add_test(tc, not_before_it_may);
	tcase_add_test(tc, after_a_fork);
	tcase_add_test(tc, waits_are_counted);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
