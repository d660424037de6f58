/* SPDX-License-Identifier: BSD-2-Clause */
/* The agent's page for Prometheus, while others hold connections that say nothing. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/agent/agent.h"

enum { SILENT = 100 };

static int page(void *ctx, FILE *out)
{
	(void)ctx;
	return fputs("moon 1\n", out) < 0;
}

static struct sockaddr_in address;

/* On a port that is free. */
static struct agent_http *open_page(void)
{
	const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(address);
	struct agent_http *h;
	char text[32];

	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	ck_assert_int_eq(bind(probe, (struct sockaddr *)&address, n), 0);
	ck_assert_int_eq(getsockname(probe, (struct sockaddr *)&address, &n), 0);
	close(probe);
	snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(address.sin_port));
	ck_assert_int_eq(agent_http_open(text, page, NULL, &h), 0);
	return h;
}

static int connect_to(void)
{
	const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert(!connect(s, (struct sockaddr *)&address, sizeof(address)) ||
		  errno == EINPROGRESS);
	return s;
}

/* As the supervisor does, once. */
static void serve(struct agent_http *h)
{
	struct pollfd fds[AGENT_HTTP_FDS];
	const size_t n = agent_http_poll(h, fds);

	poll(fds, n, fds[0].fd < 0 ? AGENT_HTTP_GRACE_MS : 100);
	agent_http_serve(h, fds);
}

/* 0: not yet. */
static ssize_t answer_of(int client, char answer[512])
{
	static const char get[] = "GET /metrics HTTP/1.1\r\n\r\n";
	static bool asked;
	ssize_t n;

	if (!asked)
		asked = send(client, get, strlen(get), MSG_NOSIGNAL) > 0;
	n = asked ? recv(client, answer, 511, MSG_DONTWAIT) : 0;
	answer[n > 0 ? n : 0] = '\0';
	return n > 0 || errno != EAGAIN ? n : 0;
}

START_TEST(silent_clients_go)
{
	const uint64_t end = rp_monotonic_ns() + 8 * NS_PER_SECOND;
	struct agent_http *h = open_page();
	int silent[SILENT], client;
	char answer[512] = "";

	for (int i = 0; i < SILENT; i++)
		silent[i] = connect_to();
	client = connect_to();
	while (!*answer && rp_monotonic_ns() < end) {
		serve(h);
		ck_assert_int_ge(answer_of(client, answer), 0);
	}
	ck_assert_msg(strstr(answer, "200 OK") && strstr(answer, "moon 1"), "'%s'", answer);
	for (int i = 0; i < SILENT; i++)
		close(silent[i]);
	close(client);
	agent_http_close(h);
}
END_TEST

/* One that is slow goes for nobody but those who wait. */
START_TEST(slow_clients_stay)
{
	struct agent_http *h = open_page();
	int client[AGENT_HTTP_CLIENTS];
	char answer[512];

	for (int i = 0; i < AGENT_HTTP_CLIENTS; i++)
		client[i] = connect_to();
	for (const uint64_t end = rp_monotonic_ns() + NS_PER_SECOND; rp_monotonic_ns() < end;)
		serve(h);
	for (int i = 0; i < AGENT_HTTP_CLIENTS; i++) {
		ck_assert_int_eq(recv(client[i], answer, 1, MSG_DONTWAIT), -1);
		ck_assert_int_eq(errno, EAGAIN);
		close(client[i]);
	}
	agent_http_close(h);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_http");
	TCase *tc = tcase_create("http");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, silent_clients_go);
	tcase_add_test(tc, slow_clients_stay);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
