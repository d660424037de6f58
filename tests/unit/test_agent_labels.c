/* SPDX-License-Identifier: BSD-2-Clause */
/* Combinations of labels: what one user has of them, and what is forgotten. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/report.h>

#include "cli/agent/agent.h"

#define USER 54321
#define STAYS "stays"

static char dir[] = "/tmp/test_agent_labelsXXXXXX";
static struct agent_labels *labels;
static pid_t child[8];
static size_t nchildren;

static void copy_self(const char *path)
{
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char part[65536];
	ssize_t n;

	ck_assert(from >= 0 && to >= 0);
	while ((n = read(from, part, sizeof(part))) > 0)
		ck_assert_int_eq(write(to, part, (size_t)n), n);
	close(from);
	close(to);
}

/* A process of that user whose program has that name, once it runs it. */
static pid_t start(uid_t user, const char *name)
{
	int pipes[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(link("program", name), 0);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!setuid(user))
			execl(name, name, STAYS, NULL);
		_exit(1);
	}
	ck_assert_int_gt(pid, 0);
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	return child[nchildren++] = pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void ck_exe(pid_t pid, const char *exe)
{
	struct report_sample sample = { 0 };

	ck_assert_int_eq(agent_labels_add(labels, (uint32_t)pid, 1, &sample), 0);
	ck_assert_uint_eq(sample.nlabels, exe != NULL);
	if (exe)
		ck_assert_str_eq(sample.labels[0].str, exe);
}

START_TEST(one_user_does_not_take_all)
{
	labels = agent_labels_new("exe", 2);
	ck_exe(start(USER, "a"), "a");
	ck_exe(start(USER, "b"), "b");
	ck_exe(start(USER, "c"), NULL);
	ck_exe(start(USER + 1, "d"), "d");
	ck_exe(start(0, "e"), "e"); /* beside what users have */
	ck_exe(start(0, "f"), "f");
	ck_exe(start(0, "g"), NULL);
	ck_exe(child[0], "a");
	ck_assert_uint_eq(agent_labels_settle(labels), 2);
}
END_TEST

START_TEST(sets_of_ended_processes_are_forgotten)
{
	labels = agent_labels_new("exe", 3);
	ck_exe(start(USER, "a"), "a");
	ck_exe(start(USER, "b"), "b");
	ck_exe(start(USER + 1, "d"), "d");
	ck_exe(start(USER, "c"), NULL);
	end(child[0]);
	ck_assert_uint_eq(agent_labels_settle(labels), 1);
	/* There may be samples of it yet; then the one that had no labels is asked again. */
	ck_exe(child[0], "a");
	ck_exe(child[3], NULL);
	ck_assert_uint_eq(agent_labels_settle(labels), 1);
	ck_exe(child[3], "c");
	ck_exe(child[1], "b");
	ck_exe(child[2], "d");
	/* Without want of room nothing is forgotten. */
	end(child[1]);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(agent_labels_settle(labels), 1);
	ck_exe(child[1], "b");
}
END_TEST

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(!chdir(dir) && !chmod(dir, 0755));
	copy_self("program");
}

static void clean_up(void)
{
	char command[64];

	while (nchildren)
		end(child[--nchildren]);
	agent_labels_free(labels);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

int main(int argc, char **argv)
{
	Suite *s = suite_create("agent_labels");
	TCase *t = tcase_create("agent_labels");
	SRunner *r;
	int failed;

	if (argc > 1 && !strcmp(argv[1], STAYS))
		return pause();
	if (geteuid()) {
		printf("skip: processes of other users need root\n");
		return 0;
	}
	tcase_add_checked_fixture(t, set_up, clean_up);
	tcase_add_test(t, one_user_does_not_take_all);
	tcase_add_test(t, sets_of_ended_processes_are_forgotten);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
