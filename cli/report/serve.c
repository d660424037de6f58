/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof report --serve: hands a profile to profiler.firefox.com, which runs in the browser and
 * fetches it from here. Only who knows the address gets it: a port of 127.0.0.1 and a path of 128
 * random bits; and only that site's pages may read the answer.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/clock.h"
#include "report.h"

#define SITE "https://profiler.firefox.com"
#define PATIENCE_S 5   /* for a client that says or takes nothing */
#define CROWDED_MS 100 /* for one that says nothing while others wait, */
#define CROWD 8	       /*   and a twentieth of it if so many do */
#define NS_PER_MS (NS_PER_SECOND / 1000)
#define MAX_REQUEST 16384 /* bytes of its head */

struct server {
	const char *data;
	size_t size;
	int socket;
	char path[64]; /* "/TOKEN/profile.json" */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int make_path(struct server *s)
{
	unsigned char random[16];
	char *at = s->path;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return rp_fail(-EIO, "no random numbers: %s", strerror(errno));
	*at++ = '/';
	for (size_t i = 0; i < sizeof(random); i++, at += 2)
		snprintf(at, 3, "%02x", random[i]);
	strcpy(at, "/profile.json");
	return 0;
}

static int listen_here(struct server *s, unsigned int *port)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(here);

	s->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&here, sizeof(here)) ||
	    listen(s->socket, SOMAXCONN) || getsockname(s->socket, (struct sockaddr *)&here, &size))
		return rp_fail(-errno, "cannot listen on 127.0.0.1: %s", strerror(errno));
	*port = ntohs(here.sin_port);
	return 0;
}

/* ---- one client */

static void send_all(int client, const char *data, size_t size)
{
	while (size) {
		const ssize_t n = send(client, data, size, MSG_NOSIGNAL);

		if (n <= 0 && (errno != EINTR || stopped))
			return;
		data += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
}

static void answer(int client, const char *status, const char *headers, const char *body,
		   size_t size)
{
	char head[512];
	const int n = snprintf(head, sizeof(head),
			       "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
			       "Cache-Control: no-store\r\n%s\r\n",
			       status, size, headers);

	send_all(client, head, (size_t)n);
	send_all(client, body, size);
	shutdown(client, SHUT_WR);
}

/* "GET /TOKEN/profile.json ": how long that takes does not tell where it differs. */
static bool asks_for(const char *request, const char *method, const char *path)
{
	const size_t skip = strlen(method), n = strlen(path);
	unsigned char differs = 0;

	if (strncmp(request, method, skip) || strlen(request + skip) < n + 1)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(request[skip + i] ^ path[i]);
	return !differs && request[skip + n] == ' ';
}

/* How long a client may say nothing while others wait. A browser's has spoken before its turn. */
static uint64_t crowded_ns(const struct server *s)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	/* Of a socket that listens, tcpi_unacked is how many wait. */
	getsockopt(s->socket, IPPROTO_TCP, TCP_INFO, &info, &size);
	return CROWDED_MS * NS_PER_MS / (info.tcpi_unacked > CROWD ? 20 : 1);
}

/* Until it says something; false: its time, which is from @since, is over. */
static bool wait_for(const struct server *s, int client, uint64_t since)
{
	struct pollfd fds[] = { { .fd = client, .events = POLLIN },
				{ .fd = s->socket, .events = POLLIN } };

	while (!stopped) {
		const bool crowded = poll(&fds[1], 1, 0) > 0;
		const uint64_t patience = crowded ? crowded_ns(s) : PATIENCE_S * NS_PER_SECOND;
		const uint64_t passed = rp_monotonic_ns() - since;

		if (passed >= patience ||
		    poll(fds, crowded ? 1 : 2, (int)((patience - passed) / NS_PER_MS) + 1) < 0)
			return false;
		if (fds[0].revents)
			return true;
	}
	return false;
}

/* A client that sends a byte now and then has no more time than one that sends none. */
static bool read_head(const struct server *s, int client, char request[MAX_REQUEST])
{
	const uint64_t begin = rp_monotonic_ns();
	size_t n = 0;

	while (n < MAX_REQUEST - 1 && wait_for(s, client, begin)) {
		const ssize_t got = recv(client, request + n, MAX_REQUEST - 1 - n, 0);

		if (got <= 0)
			return false;
		n += (size_t)got;
		request[n] = '\0';
		if (strstr(request, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void serve_client(const struct server *s, int client)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	char request[MAX_REQUEST];

	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!read_head(s, client, request))
		return;
	if (asks_for(request, "GET ", s->path))
		answer(client, "200 OK",
		       "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n"
		       "Access-Control-Allow-Origin: " SITE "\r\n",
		       s->data, s->size);
	else if (asks_for(request, "OPTIONS ", s->path)) /* may a page ask this machine? */
		answer(client, "204 No Content",
		       "Access-Control-Allow-Origin: " SITE "\r\n"
		       "Access-Control-Allow-Methods: GET\r\n"
		       "Access-Control-Allow-Private-Network: true\r\n",
		       "", 0);
	else
		answer(client, "404 Not Found", "", "", 0);
}

/* ---- until Ctrl-C */

static int serve_clients(const struct server *s)
{
	const struct sigaction on_signal = { .sa_handler = stop };
	struct pollfd listening = { .fd = s->socket, .events = POLLIN };
	sigset_t ending, before;

	/* They come while it waits, for a client or for what one has to say. */
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, &before);
	sigdelset(&before, SIGINT);
	sigdelset(&before, SIGTERM);
	sigaction(SIGINT, &on_signal, NULL);
	sigaction(SIGTERM, &on_signal, NULL);
	while (!stopped) {
		int client;

		if (ppoll(&listening, 1, NULL, &before) < 0) {
			if (errno != EINTR)
				return rp_fail(-errno, "poll: %s", strerror(errno));
			continue;
		}
		client = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (client < 0)
			return rp_fail(-errno, "accept: %s", strerror(errno));
		sigprocmask(SIG_SETMASK, &before, NULL);
		serve_client(s, client);
		sigprocmask(SIG_BLOCK, &ending, NULL);
		close(client);
	}
	return 0;
}

int report_serve(const char *data, size_t size, bool quiet)
{
	struct server s = { .data = data, .size = size, .socket = -1 };
	unsigned int port = 0;
	int err = make_path(&s);

	if (!err)
		err = listen_here(&s, &port);
	if (!err) {
		/* Percent-encoded, as a part of a path. */
		printf(SITE "/from-url/http%%3A%%2F%%2F127.0.0.1%%3A%u", port);
		for (const char *at = s.path; *at; at++)
			printf(*at == '/' ? "%%2F" : "%c", *at);
		putchar('\n');
		if (fflush(stdout))
			err = rp_fail(-errno, "cannot write the address: %s", strerror(errno));
	}
	if (!err) {
		if (!quiet)
			fputs("open this address in a browser on this machine; Ctrl-C ends it\n",
			      stderr);
		err = serve_clients(&s);
	}
	if (s.socket >= 0)
		close(s.socket);
	return err;
}
