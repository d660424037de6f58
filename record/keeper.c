/* SPDX-License-Identifier: BSD-2-Clause */
/* A request is a packet: the number of a duty and its data, with a descriptor if there is one. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <rawprof/loader.h>

#include "base/rights.h"
#include "keeper.h"

struct record_keeper {
	pid_t pid;
	int socket;
	pthread_mutex_t lock; /* who has sent a request waits for its result */
	bool ready;	      /* it has said that its rights are given up */
};

struct request {
	uint32_t duty;
	char data[RECORD_KEEPER_DATA];
};

/* Room for one descriptor beside a packet, aligned as the macros of cmsg(3) want it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- in the keeper */

/* There is room for two, because of the alignment: none but the first is kept. */
static int take_first(const unsigned char *bytes, size_t n)
{
	int first = -1, fd;

	for (size_t i = n; i-- > 0; first = fd) {
		if (first >= 0)
			close(first);
		memcpy(&fd, bytes + i * sizeof(fd), sizeof(fd));
	}
	return first;
}

static ssize_t receive(int socket, struct request *r, int *fd)
{
	union control control;
	struct iovec part = { .iov_base = r, .iov_len = sizeof(*r) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		*fd = take_first(CMSG_DATA(c), (c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	return n;
}

static void __attribute__((noreturn)) keep(int socket, const struct record_duty *duties, size_t n)
{
	struct request r;
	ssize_t size;
	int fd;

	while ((size = receive(socket, &r, &fd)) >= (ssize_t)sizeof(r.duty)) {
		const struct record_duty *d = r.duty < n ? duties + r.duty : NULL;
		int32_t result = -EINVAL;

		if (d)
			result = d->run(d->ctx, r.data, (size_t)size - sizeof(r.duty), fd);
		if (fd >= 0)
			close(fd);
		if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) < 0)
			break;
	}
	for (size_t i = 0; i < n; i++)
		if (duties[i].end)
			duties[i].end(duties[i].ctx);
	_exit(0);
}

/*
 * Root may write where its files belong to others, as in the directory of the user whom sudo ran it
 * for; capabilities of the program's file are not for writing.
 */
static int give_up_rights(void)
{
	const uint64_t writes = 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_FOWNER;

	return rp_give_up_rights(geteuid() ? 0 : writes);
}

/* What ends the recording by hand is not for the keeper: it ends when the recording has. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
}

/* The first thing it says is whether it has given up its rights: record_keeper_ready(). */
static void __attribute__((noreturn)) begin(int socket, const struct record_duty *duties, size_t n)
{
	const int32_t result = give_up_rights();

	if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) < 0 || result)
		_exit(1);
	keep(socket, duties, n);
}

/* ---- in the recording */

int record_keeper_start(const struct record_duty *duties, size_t n, struct record_keeper **out)
{
	struct record_keeper *k = malloc(sizeof(*k));
	int pair[2], err = 0;

	if (!k)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = rp_fail(-errno, "socketpair: %s", strerror(errno));
		free(k);
		return err;
	}
	k->ready = false;
	pthread_mutex_init(&k->lock, NULL);
	k->pid = fork();
	if (!k->pid) {
		close(pair[0]); /* else the keeper would not see the recording end */
		ignore_signals();
		prctl(PR_SET_NAME, "rawprof-keeper");
		begin(pair[1], duties, n);
	}
	if (k->pid < 0)
		err = rp_fail(-errno, "fork: %s", strerror(errno));
	close(pair[1]);
	k->socket = pair[0];
	if (err) {
		close(k->socket);
		free(k);
		return err;
	}
	*out = k;
	return 0;
}

static int send_request(const struct record_keeper *k, const struct request *r, size_t size, int fd)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)r, .iov_len = size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(fd)) };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(k->socket, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int receive_result(const struct record_keeper *k)
{
	int32_t result;
	ssize_t n;

	do
		n = recv(k->socket, &result, sizeof(result), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(result) ? result : -ECONNRESET;
}

int record_keeper_pid(const struct record_keeper *k)
{
	return k->pid;
}

static int get_ready(struct record_keeper *k)
{
	int err = k->ready ? 0 : receive_result(k);

	k->ready = !err;
	return err ? rp_fail(err,
			     "rawprof-keeper, the process that writes, cannot give up its "
			     "rights: %s",
			     strerror(-err))
		   : 0;
}

int record_keeper_ready(struct record_keeper *k)
{
	int err;

	pthread_mutex_lock(&k->lock);
	err = get_ready(k);
	pthread_mutex_unlock(&k->lock);
	return err;
}

int record_keeper_ask(struct record_keeper *k, unsigned int duty, const void *data, size_t size,
		      int fd)
{
	struct request r = { .duty = duty };
	int err;

	if (size > sizeof(r.data))
		return -EMSGSIZE;
	if (size)
		memcpy(r.data, data, size);
	pthread_mutex_lock(&k->lock);
	err = get_ready(k);
	if (!err)
		err = send_request(k, &r, sizeof(r.duty) + size, fd);
	if (err == -EPIPE)
		err = -ECONNRESET;
	if (!err)
		err = receive_result(k);
	pthread_mutex_unlock(&k->lock);
	return err;
}

void record_keeper_close(struct record_keeper *k)
{
	if (!k)
		return;
	close(k->socket);
	while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(k);
}
