/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder of the agent that hangs: it goes by itself, as nobody has the right to kill it. */
#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "cli/agent/agent.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run.h"

/* Looks at its socket as recordings do, once; then never again. */
static int hang(const struct options *opt)
{
	opt->windows->is_over(opt->windows->ctx);
	if (write(STDOUT_FILENO, "", 1) != 1)
		return EXIT_FAILURE;
	for (;;)
		pause();
}

/* In the kernel, where signals are not looked at but that which kills: until the child ends. */
static int hang_in_the_kernel(const struct options *opt)
{
	opt->windows->is_over(opt->windows->ctx);
	if (write(STDOUT_FILENO, "", 1) != 1)
		return EXIT_FAILURE;
	if (!vfork()) {
		for (int i = 0; i < 100; i++)
			usleep(100000);
		_exit(0);
	}
	return EXIT_SUCCESS;
}

static const struct command hanging[] = {
	{ .name = "io", .takes = TAKES_INTERVAL, .run = hang },
	{ .name = "io", .takes = TAKES_INTERVAL, .run = hang_in_the_kernel },
};

/* Asked to end as the supervisor does, or by its death. */
START_TEST(one_that_hangs_ends)
{
	const struct agent_kind kind = { "io", &hanging[_i / 2], { NULL }, .text = true };
	struct agent_options own = { 0 };
	const struct options opt = { .own = &own };
	int socket, status;
	pid_t pid;
	char byte;

	agent_recorder_patience = 1;
	ck_assert_int_eq(agent_recorder_start(&opt, &kind, &socket, &pid), 0);
	ck_assert_int_eq(read(socket, &byte, 1), 1);
	if (_i % 2)
		ck_assert_int_eq(close(socket), 0);
	else
		ck_assert_int_eq(shutdown(socket, SHUT_WR), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), EXIT_FAILED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_recorder");
	TCase *tc = tcase_create("recorder");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, one_that_hangs_ends, 0, 4);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
