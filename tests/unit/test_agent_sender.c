/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sender of the agent does with a window that a server does not take as it is. */
#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/agent/push.h"

enum { SERVICES = 21, MOST = 1 << 20 };

static void order(int socket, const struct push_order *o, const void *data, size_t size)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec part = { .iov_base = (void *)(uintptr_t)o, .iov_len = sizeof(*o) };
	const struct msghdr m = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	ck_assert_int_eq(sendmsg(socket, &m, 0), sizeof(*o));
	close(fd);
}

static void configure(int socket, int port)
{
	const struct push_order o = { .what = PUSH_CONFIGURE };
	char line[64], why[PUSH_WHY];
	struct push_config c;

	push_config_init(&c);
	snprintf(line, sizeof(line), "parca+http://127.0.0.1:%d", port);
	ck_assert_int_eq(push_config_set(&c, "push", line, why), 0);
	order(socket, &o, c.pairs, c.npairs);
	push_config_free(&c);
}

/* Of services "s00x" and so on. */
static void send_window(int socket)
{
	const struct push_order o = { .what = PUSH_SEND, .kind = "cpu" };
	const struct report_value_type type = { "samples", "count" };
	struct report *r;
	char *window;
	size_t size;
	FILE *f = open_memstream(&window, &size);

	ck_assert_int_eq(report_new(&type, 1, &r), 0);
	for (int i = 0; i < SERVICES; i++) {
		char exe[16];
		const struct report_label label = { .key = "exe", .str = exe };
		const uint64_t one = 1;
		const struct report_sample s = { .comm = "c",
						 .pid = 1,
						 .tid = 1,
						 .labels = &label,
						 .nlabels = 1,
						 .values = &one };

		snprintf(exe, sizeof(exe), "s%02dx", i);
		ck_assert_int_eq(report_add(r, &s), 0);
	}
	ck_assert_int_eq(report_write_saved(r, f, NULL), 0);
	fclose(f);
	order(socket, &o, window, size);
	report_free(r);
	free(window);
}

/* ---- the server */

static int listen_at(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(at);
	const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(s, (struct sockaddr *)&at, n), 0);
	ck_assert_int_eq(getsockname(s, (struct sockaddr *)&at, &n), 0);
	ck_assert_int_eq(listen(s, 8), 0);
	*port = ntohs(at.sin_port);
	return s;
}

struct server {
	bool wrong[SERVICES]; /* what it does not take */
	const char *refusal;
	int taken[SERVICES], requests;
};

static const char *judge(struct server *s, const char *body)
{
	char exe[16];

	s->requests++;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < SERVICES; i++) {
			snprintf(exe, sizeof(exe), "\"s%02dx\"", i);
			if (!strstr(body, exe))
				continue;
			if (!pass && s->wrong[i])
				return s->refusal;
			s->taken[i] += pass;
		}
	return "200 OK\r\nContent-Type: application/json";
}

static void serve_one(struct server *s, int client)
{
	static char text[MOST];
	char answer[256];
	size_t have = 0, body = 0;
	const char *end;
	ssize_t n;

	for (;;) {
		n = read(client, text + have, sizeof(text) - 1 - have);
		ck_assert_int_gt(n, 0);
		have += (size_t)n;
		text[have] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		ck_assert_ptr_nonnull(strstr(text, "Content-Length: "));
		body = strtoul(strstr(text, "Content-Length: ") + 16, NULL, 10);
		if ((size_t)(end + 4 - text) + body <= have)
			break;
		if (strstr(text, "100-continue"))
			ck_assert_int_gt(write(client, "HTTP/1.1 100 Continue\r\n\r\n", 25), 0);
	}
	n = snprintf(answer, sizeof(answer),
		     "HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
		     judge(s, end));
	ck_assert_int_eq(write(client, answer, (size_t)n), n);
	close(client);
}

/* What the supervisor is told in the end; progress is said before. */
static struct push_answer serve(struct server *s, int listener, int sender)
{
	struct pollfd fds[] = { { .fd = listener, .events = POLLIN },
				{ .fd = sender, .events = POLLIN } };
	struct push_answer a;
	uint32_t done = 0;

	for (;;) {
		ck_assert_int_gt(poll(fds, 2, 20000), 0);
		if (fds[0].revents)
			serve_one(s, accept(listener, NULL, NULL));
		if (!fds[1].revents)
			continue;
		ck_assert_int_eq(recv(sender, &a, sizeof(a), 0), sizeof(a));
		if (a.outcome != PUSH_PART)
			return a;
		ck_assert_uint_gt(a.done, done);
		done = a.done;
	}
}

static const struct {
	const char *refusal;
	const char *wrong; /* places */
	int least, most;   /* requests */
} cases[] = {
	{ "413 Too Large", "", 1, 1 },
	{ "413 Too Large", "h", 6, 16 },
	{ "413 Too Large\r\nContent-Type: text/html", "a", 6, 16 }, /* as proxies do */
	{ "400 Bad Request", "acegikmoqsu", SERVICES, 2 * SERVICES + 5 },
	{ "400 Bad Request", "abcdefghijklmnopqrstu", SERVICES, SERVICES + 5 },
};

/* What one service has keeps no other from being sent, and none is sent twice. */
START_TEST(refused_by_one)
{
	struct server s = { .refusal = cases[_i].refusal };
	struct push_answer a;
	int sender, listener, port;
	pid_t pid;

	for (const char *c = cases[_i].wrong; *c; c++)
		s.wrong[*c - 'a'] = true;
	ck_assert_int_eq(push_sender_start(&sender, &pid), 0);
	listener = listen_at(&port);
	if (recv(sender, &a, sizeof(a), 0) != sizeof(a)) { /* without libcurl */
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
		return;
	}
	ck_assert_uint_eq(a.outcome, PUSH_READY);
	configure(sender, port);
	send_window(sender);
	a = serve(&s, listener, sender);
	ck_assert_uint_eq(a.done, SERVICES);
	ck_assert_uint_eq(a.refused, strlen(cases[_i].wrong));
	for (int i = 0; i < SERVICES; i++)
		ck_assert_int_eq(s.taken[i], !s.wrong[i]);
	ck_assert_int_ge(s.requests, cases[_i].least);
	ck_assert_int_le(s.requests, cases[_i].most);
	if (a.refused == SERVICES) { /* says nothing of the next one, in whatever order */
		memset(s.wrong + 1, 0, sizeof(s.wrong) - sizeof(*s.wrong));
		send_window(sender);
		a = serve(&s, listener, sender);
		ck_assert_uint_eq(a.done, SERVICES);
		ck_assert_uint_eq(a.refused, 1);
		for (int i = 1; i < SERVICES; i++)
			ck_assert_int_eq(s.taken[i], 1);
	}
	close(listener);
	close(sender);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent_sender");
	TCase *tc = tcase_create("sender");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, refused_by_one, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
