/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder of the agent that hangs: it goes by itself, as nobody has the right to kill it. */
#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "cli/agent/agent.h"
#include "cli/commands.h"
#include "cli/options.h"

enum { NOT_TOLD = 77, TOO_EARLY, NO_SUCH_PATIENCE };

static uint32_t left(void)
{
	struct itimerval timer;

	return getitimer(ITIMER_REAL, &timer) ? 0 : (uint32_t)timer.it_value.tv_sec;
}

/* Says that it is there, and never looks at its socket again. */
static int hang(const struct options *opt)
{
	(void)opt;
	if (left())
		return TOO_EARLY;
	if (write(STDOUT_FILENO, "", 1) != 1)
		return EXIT_FAILURE;
	for (int i = 0; !left(); i++) {
		if (i == 10000)
			return NOT_TOLD;
		usleep(1000);
	}
	if (left() >= AGENT_RECORDER_PATIENCE || left() < AGENT_RECORDER_PATIENCE - 10)
		return NO_SUCH_PATIENCE;
	/* The test has less. */
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 10000 } }, NULL);
	for (;;)
		pause();
}

static const struct command hanging = { .name = "io", .takes = TAKES_INTERVAL, .run = hang };
static const struct agent_kind kind = { "io", &hanging, { NULL }, .text = true };

/* Asked to end as the supervisor does, or by its death. */
START_TEST(one_that_hangs_ends)
{
	struct agent_options own = { 0 };
	const struct options opt = { .own = &own };
	int socket, status;
	pid_t pid;
	char byte;

	ck_assert_int_eq(agent_recorder_start(&opt, &kind, &socket, &pid), 0);
	ck_assert_int_eq(read(socket, &byte, 1), 1);
	if (_i)
		ck_assert_int_eq(close(socket), 0);
	else
		ck_assert_int_eq(shutdown(socket, SHUT_WR), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status), "status %d", WEXITSTATUS(status));
	ck_assert_int_eq(WTERMSIG(status), SIGALRM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_recorder");
	TCase *tc = tcase_create("recorder");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, one_that_hangs_ends, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
