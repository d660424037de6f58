/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server of one page, for Prometheus. It shares its thread with the rest of the supervisor: no
 * read or write waits, and a client has some seconds for all that it does. When as many are
 * connected as there is room for, others wait in the kernel for a moment: then who has been there
 * the longest goes. Of a request only its first line matters; what is behind the head is not read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/clock.h"

#define PATIENCE_NS (5 * NS_PER_SECOND)
#define MAX_HEAD 4096
#define BACKLOG 128 /* that wait in the kernel */

struct client {
	int socket;	/* -1: there is none */
	uint64_t since; /* CLOCK_MONOTONIC; 0: there is none */
	char head[MAX_HEAD];
	size_t have;
	char *answer; /* NULL: the request is not whole yet */
	size_t size, sent;
};

struct agent_http {
	int socket;
	int (*page)(void *ctx, FILE *out);
	void *ctx;
	struct client client[AGENT_HTTP_CLIENTS];
};

/* ---- the socket */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:9499", "[::1]:9499"; numbers alone, as names would be asked of a server. */
static int parse_address(const char *text, union address *out)
{
	const char *colon = strrchr(text, ':');
	const size_t n = colon ? (size_t)(colon - text) : 0;
	unsigned long port;
	char host[64], *end;

	if (!n || n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	port = strtoul(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end || !port || port > 65535)
		return -EINVAL;
	*out = (union address){ .v4 = { .sin_family = AF_INET, .sin_port = htons(port) } };
	if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1)
		return 0;
	if (*host != '[' || host[n - 1] != ']')
		return -EINVAL;
	host[n - 1] = '\0';
	*out = (union address){ .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) } };
	return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1 ? 0 : -EINVAL;
}

bool agent_http_address_ok(const char *text)
{
	union address address;

	return !parse_address(text, &address);
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

int agent_http_open(const char *address, int (*page)(void *ctx, FILE *out), void *ctx,
		    struct agent_http **out)
{
	struct agent_http *h = calloc(1, sizeof(*h));
	union address at;
	const int yes = 1;
	int err = h ? parse_address(address, &at) : -ENOMEM;

	if (err) {
		free(h);
		return rp_fail(err, "--metrics %s: %s", address, strerror(-err));
	}
	h->page = page;
	h->ctx = ctx;
	for (size_t i = 0; i < AGENT_HTTP_CLIENTS; i++)
		h->client[i].socket = -1;
	h->socket = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->socket >= 0)
		setsockopt(h->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (h->socket < 0 || bind(h->socket, &at.any, sizeof(at)) || listen(h->socket, BACKLOG))
		err = rp_fail(-errno, "cannot listen on %s: %s", address, strerror(errno));
	else if (!is_loopback(&at))
		rp_log(RP_WARN, "%s is not on loopback: whoever reaches it can read the metrics",
		       address);
	if (err)
		agent_http_close(h);
	else
		*out = h;
	return err;
}

static void drop(struct client *c)
{
	if (c->socket >= 0)
		close(c->socket);
	free(c->answer);
	*c = (struct client){ .socket = -1 };
}

void agent_http_close(struct agent_http *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < AGENT_HTTP_CLIENTS; i++)
		drop(&h->client[i]);
	if (h->socket >= 0)
		close(h->socket);
	free(h);
}

/* ---- one request */

static bool asks_for(const char *head, const char *path)
{
	const size_t n = strlen(path);

	if (strncmp(head, "GET ", 4) || strncmp(head + 4, path, n))
		return false;
	return head[4 + n] == ' ' || head[4 + n] == '?';
}

static int make_answer(struct agent_http *h, struct client *c)
{
	const bool found = asks_for(c->head, "/metrics");
	char *body = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&body, &size), *all;
	int err = f && found ? h->page(h->ctx, f) : 0;

	if (!f || fclose(f) || err) {
		free(body);
		return -ENOMEM;
	}
	all = open_memstream(&c->answer, &c->size);
	if (all) {
		fprintf(all,
			"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
			"Content-Length: %zu\r\nConnection: close\r\n\r\n",
			found			      ? "200 OK"
			: strncmp(c->head, "GET ", 4) ? "405 Method Not Allowed"
						      : "404 Not Found",
			size);
		fwrite(body, 1, size, all);
	}
	free(body);
	return all && !fclose(all) ? 0 : -ENOMEM;
}

static void read_head(struct agent_http *h, struct client *c)
{
	const ssize_t n = recv(c->socket, c->head + c->have, MAX_HEAD - 1 - c->have, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->have += (size_t)n;
	c->head[c->have] = '\0';
	if (strstr(c->head, "\r\n\r\n")) {
		if (make_answer(h, c))
			drop(c);
	} else if (c->have == MAX_HEAD - 1) {
		drop(c);
	}
}

static void write_answer(struct client *c)
{
	const ssize_t n = send(c->socket, c->answer + c->sent, c->size - c->sent,
			       MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->sent += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->sent == c->size)
		drop(c);
}

/* ---- among others */

/* A free place, or that of the client that has been there the longest. */
static struct client *place(struct agent_http *h)
{
	struct client *first = h->client;

	for (size_t i = 1; i < AGENT_HTTP_CLIENTS; i++)
		if (h->client[i].since < first->since)
			first = &h->client[i];
	return first;
}

size_t agent_http_poll(struct agent_http *h, struct pollfd fds[AGENT_HTTP_FDS])
{
	const uint64_t now = rp_monotonic_ns();
	bool room;

	if (!h)
		return 0;
	for (size_t i = 0; i < AGENT_HTTP_CLIENTS; i++) {
		struct client *c = &h->client[i];

		if (c->socket >= 0 && now - c->since > PATIENCE_NS)
			drop(c);
		fds[1 + i] =
			(struct pollfd){ .fd = c->socket, .events = c->answer ? POLLOUT : POLLIN };
	}
	room = now - place(h)->since > AGENT_HTTP_GRACE_MS * 1000000ull;
	fds[0] = (struct pollfd){ .fd = room ? h->socket : -1, .events = POLLIN };
	return AGENT_HTTP_FDS;
}

static void take_client(struct agent_http *h)
{
	const int s = accept4(h->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c = place(h);

	if (s < 0)
		return;
	drop(c);
	c->socket = s;
	c->since = rp_monotonic_ns();
}

void agent_http_serve(struct agent_http *h, const struct pollfd fds[AGENT_HTTP_FDS])
{
	if (!h)
		return;
	for (size_t i = 0; i < AGENT_HTTP_CLIENTS; i++) {
		struct client *c = &h->client[i];

		if (c->socket < 0 || c->socket != fds[1 + i].fd || !fds[1 + i].revents)
			continue;
		if (c->answer)
			write_answer(c);
		else
			read_head(h, c);
	}
	if (fds[0].revents)
		take_client(h);
}
