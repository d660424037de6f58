/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes have a virtual machine of Java: children of this one, which looks like one. One
 * user's do not take the places of all.
 */
#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/jvm.h"
#include "record/mapped_file.h"
#include "record/name_share.h"
#include "symbolize/proc.h"

#define main fakejvm_main
int main(int argc, char **argv);
#include "../workloads/fakejvm.c"
#undef main

#define MOST_OF_USER (JVM_PROCESSES / 4)

extern const Elf64_Ehdr __ehdr_start;

static struct name_share *share;
static struct record_jvm *j;
static pid_t children[MOST_OF_USER + 8];
static size_t nchildren;
static int processes;

static void setup(void)
{
	nchildren = 0;
	processes = memfd_create("processes", MFD_CLOEXEC);
	ck_assert(processes >= 0);
	ck_assert(!ftruncate(processes, sizeof(struct jvm_process) * JVM_PROCESSES));
	ck_assert(!record_name_share_open(&share));
	ck_assert(!record_jvm_open(&j, processes, share));
	if (!heaps_at[0])
		make_heap("circle");
}

static void teardown(void)
{
	record_jvm_close(j);
	record_name_share_close(share);
	close(processes);
	for (size_t i = 0; i < nchildren; i++)
		kill(children[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* @how: what it says of its file, instead of what is so. */
static uint32_t begin(uid_t uid, const char *how)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert(!pipe(ready));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (how)
			tell_others_lies(how);
		if (uid != getuid() && setresuid(uid, uid, uid))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	children[nchildren++] = pid;
	return (uint32_t)pid;
}

static int open_itself(void *unused)
{
	(void)unused;
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

/* Its number + 1; 0: it is native. */
static uint32_t look_at_file(uint32_t pid, uint64_t inode)
{
	const struct sym_proc_map map = { .path = "/usr/lib/libjvm.so", .inode = inode };
	const struct mapped_file file = { { .inode = inode }, &map, open_itself, NULL };
	const uint64_t base = (uintptr_t)&__ehdr_start;
	bool early = false;

	return record_jvm_mapped(j, pid, &file, __ehdr_start.e_type == ET_DYN ? base : 0, &early);
}

static uint32_t look_at(uint32_t pid)
{
	return look_at_file(pid, 7);
}

/* Who is not root is all users. */
static uid_t user(uid_t uid)
{
	return getuid() ? getuid() : uid;
}

START_TEST(one_user_has_a_part_of_the_places)
{
	uint32_t pid = 0;

	for (size_t i = 0; i < MOST_OF_USER; i++) {
		pid = begin(user(4242), NULL);
		ck_assert_uint_eq(look_at(pid), i + 1);
	}
	ck_assert_uint_eq(look_at(begin(user(4242), NULL)), 0);
	ck_assert_uint_eq(look_at(pid), MOST_OF_USER); /* again */
	record_jvm_ended(j, children[3]);
	ck_assert_uint_eq(look_at(begin(user(4242), NULL)), 4);
	if (getuid())
		return;
	ck_assert_uint_eq(look_at(begin(4243, NULL)), MOST_OF_USER + 1);
	ck_assert_uint_eq(look_at(begin(0, NULL)), MOST_OF_USER + 2);
}
END_TEST

START_TEST(what_one_says_of_its_file)
{
	const uint32_t liar = begin(user(4242), _i ? "empty" : "aside");

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(look_at(liar) != 0, !_i);
	if (getuid())
		return;
	ck_assert_uint_ne(look_at(begin(4243, NULL)), 0);
	ck_assert_uint_ne(look_at(begin(0, NULL)), 0);
	ck_assert_uint_eq(look_at(begin(4242, NULL)), 0);
}
END_TEST

/* Its user reads new files until there is no time for that: what is known of the others stays. */
START_TEST(without_time)
{
	const uint32_t pid = begin(user(4242), NULL), other = begin(user(4242), NULL);
	uint64_t inode = 8;

	if (!user(4242)) /* who has all the time */
		return;
	ck_assert_uint_eq(look_at(pid), 1);
	while (look_at_file(other, inode) && inode < 1000000)
		inode++;
	ck_assert_uint_lt(inode, 1000000);
	ck_assert_uint_eq(look_at(pid), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jvm process");
	TCase *tests = tcase_create("jvm process");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, one_user_has_a_part_of_the_places);
	tcase_add_loop_test(tests, what_one_says_of_its_file, 0, 2);
	tcase_add_test(tests, without_time);
	tcase_set_timeout(tests, 60);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
