/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that speaks to servers. It gives up everything before it does: root, capabilities,
 * core dumps, files to write, most system calls. What it is to send comes as descriptors, what
 * became of it goes back as answers of one size. The one that the agent starts parses nothing: it
 * starts another that does, and when that one dies, the next.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/rights.h"
#include "push.h"
#include "record/syscalls.h"

/* A window on its way to one destination. */
struct job {
	struct push_call call; /* the first, as what comes back with a result */
	struct sender *sender;
	bool busy;
	int window;
	char kind[sizeof(((struct push_order *)0)->kind) + 1];
	/* Its services; NULL while no more are to be sent, as far as is known: it is read again. */
	struct push_series *series;
	size_t n;
	struct push_request request; /* of count services from at on */
	uint32_t at, count, refused, target;
	uint64_t rejected; /* profiles in what was taken */
};

struct sender {
	int socket;
	struct push_config config;
	struct push_http *http;
	struct job job[PUSH_MAX_TARGETS];
	struct push_symbols *symbols[PUSH_MAX_TARGETS]; /* NULL: it is sent no files */
};

static void answer(struct sender *s, const struct push_answer *a)
{
	if (send(s->socket, a, sizeof(*a), MSG_NOSIGNAL) < 0)
		_exit(0); /* the agent has ended */
}

/* ---- descriptors */

/* A copy, since a file that shrinks under a mapping kills who reads it. NULL: it cannot be read. */
static char *read_all(int fd, size_t *size)
{
	struct stat st;
	char *data = NULL;
	size_t have = 0;
	ssize_t n = 0;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= 0 && st.st_size <= AGENT_MAX_WINDOW)
		data = malloc((size_t)st.st_size + 1);
	while (data && have < (size_t)st.st_size &&
	       (n = pread(fd, data + have, (size_t)st.st_size - have, (off_t)have)) > 0)
		have += (size_t)n;
	if (!data || have < (size_t)st.st_size) {
		free(data);
		return NULL;
	}
	*size = have;
	return data;
}

static ssize_t receive(int socket, struct push_order *order, int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = order, .iov_len = sizeof(*order) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}

/* ---- windows */

static void free_series(struct job *j)
{
	push_series_free(j->series, j->n);
	j->series = NULL;
}

static void end_job(struct sender *s, struct job *j, struct push_answer *a)
{
	a->target = j->target;
	a->done = j->at;
	a->refused = j->refused;
	a->rejected = j->rejected;
	push_request_free(&j->request);
	free_series(j);
	close(j->window);
	*j = (struct job){ 0 };
	answer(s, a);
}

static int read_series(const struct sender *s, struct job *j)
{
	size_t size = 0;
	char *window = read_all(j->window, &size);
	int err = window ? push_window_read(&s->config, window, size, s->symbols[j->target],
					    &j->series, &j->n)
			 : -EIO;

	free(window);
	return err;
}

static int make_request(const struct sender *s, struct job *j)
{
	const struct push_target *t = &s->config.target[j->target];
	int err = j->series ? 0 : read_series(s, j);
	size_t left;

	if (err || j->at >= j->n)
		return err;
	left = j->n - j->at;
	j->count = t->type == PUSH_INGEST ? 1 : j->count < left ? j->count : (uint32_t)left;
	push_request_free(&j->request);
	err = push_request_make(t, j->kind, j->series + j->at, j->count, &j->request);
	if (j->count == left)
		free_series(j);
	return err;
}

static void begin_request(struct sender *s, struct job *j)
{
	struct push_answer a = { .outcome = PUSH_UNABLE };
	int err = make_request(s, j);

	if (!err && j->at >= j->n) {
		a.outcome = PUSH_SENT;
		end_job(s, j, &a);
		return;
	}
	if (!err) {
		err = push_http_begin(s->http, &s->config.target[j->target], &j->request, j);
		a.outcome = err == -ENOMEM ? PUSH_LATER : PUSH_UNABLE;
	}
	if (!err)
		return;
	snprintf(a.reason, sizeof(a.reason), "a window cannot be sent: %s", strerror(-err));
	end_job(s, j, &a);
}

static void take_result(void *call, const struct push_http_result *r);

static void begin_job(struct sender *s, const struct push_order *order, int fd)
{
	struct job *j = &s->job[order->target];

	*j = (struct job){ .call = { take_result },
			   .sender = s,
			   .busy = true,
			   .window = fd,
			   .at = order->from,
			   .count = UINT32_MAX,
			   .target = order->target };
	memcpy(j->kind, order->kind, sizeof(order->kind));
	begin_request(s, j);
}

enum { BAD_REQUEST = 400, TOO_LARGE = 413 };

/* What can be had later, and what never. */
static enum push_outcome outcome_of(const struct push_http_result *r)
{
	const long s = r->status;

	/* A proxy's, a portal's, of another server than was meant; but 413 is said of us. */
	if (r->is_page && s != TOO_LARGE)
		return PUSH_LATER;
	if (s >= 200 && s < 300)
		return PUSH_SENT;
	/* Who may, and where to, can be put right. */
	if (s == 401 || s == 403 || s == 404 || s == 407 || s == 408 || s == 425 || s == 429)
		return PUSH_LATER;
	return s >= 400 && s < 500 ? PUSH_REFUSED : PUSH_LATER;
}

/*
 * What one service is called, or how large it is, keeps no other from being sent: a request that is
 * refused goes again in halves, down to one service; after what is taken comes twice as much. That
 * is two requests for each service at most, and a few.
 */
static void take_result(void *call, const struct push_http_result *r)
{
	struct job *j = call;
	struct sender *s = j->sender;
	const enum push_outcome outcome = outcome_of(r);
	struct push_answer a = { .outcome = outcome,
				 .target = j->target,
				 .http = (uint32_t)r->status,
				 .retry_after = r->retry_after };
	uint64_t rejected;

	snprintf(a.reason, sizeof(a.reason), "%s",
		 r->is_page ? "the answer is a page for people" : r->reason);
	if (outcome == PUSH_LATER) {
		end_job(s, j, &a);
		return;
	}
	if (outcome == PUSH_SENT && s->config.target[j->target].type == PUSH_OTLP &&
	    push_partial(r->answer, r->size, &rejected, a.reason))
		j->rejected += rejected; /* it is not to be asked again for these */
	if (j->count > 1 && (r->status == BAD_REQUEST || r->status == TOO_LARGE)) {
		j->count /= 2;
		begin_request(s, j);
		return;
	}
	a.bytes = j->request.size;
	j->refused += outcome == PUSH_REFUSED ? j->count : 0;
	j->at += j->count;
	j->count <<= outcome == PUSH_SENT;
	if (j->at >= j->n) {
		end_job(s, j, &a);
		return;
	}
	a.outcome = outcome == PUSH_REFUSED ? PUSH_REFUSED : PUSH_PART;
	a.done = j->at;
	a.refused = j->refused;
	if (a.outcome == PUSH_PART)
		answer(s, &a);
	begin_request(s, j);
}

/* ---- orders */

/* As a push_wants_fn. */
static bool ask_for_file(void *ctx, const struct push_target *t, const char *build_id,
			 const char *path)
{
	struct sender *s = ctx;
	struct push_answer a = { .outcome = build_id ? PUSH_WANTS : PUSH_HAS,
				 .target = (uint32_t)(t - s->config.target) };

	if (build_id) {
		snprintf(a.build_id, sizeof(a.build_id), "%s", build_id);
		snprintf(a.path, sizeof(a.path), "%s", path);
	} else {
		a.bytes = push_symbols_size(s->symbols[a.target]);
	}
	answer(s, &a);
	return true;
}

/* For another configuration there is another process, which has nothing under way. */
static int configure(struct sender *s, int fd)
{
	char why[PUSH_WHY];
	size_t size = 0;
	char *pairs;
	int err;

	if (s->config.npairs)
		_exit(1);
	pairs = read_all(fd, &size);
	err = pairs ? 0 : -EIO;
	push_config_init(&s->config);
	if (!err)
		err = push_config_unpack(&s->config, pairs, size, why);
	free(pairs);
	for (size_t i = 0; !err && i < s->config.ntargets; i++)
		if (s->config.target[i].debuginfo)
			s->symbols[i] =
				push_symbols_new(&s->config.target[i], s->http, ask_for_file, s);
	return err;
}

static int take_order(struct sender *s)
{
	struct push_order order;
	int fd, err = 0;
	const ssize_t n = receive(s->socket, &order, &fd);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != sizeof(order))
		_exit(0); /* the agent has ended */
	if (order.what == PUSH_CONFIGURE)
		err = configure(s, fd);
	else if (order.what == PUSH_FILE && order.target < s->config.ntargets && fd >= 0) {
		push_symbols_file(s->symbols[order.target], fd);
		fd = -1;
	} else if (order.what == PUSH_SEND && order.target < s->config.ntargets &&
		   !s->job[order.target].busy) {
		begin_job(s, &order, fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static void do_due(const struct sender *s)
{
	for (size_t i = 0; i < s->config.ntargets; i++)
		push_symbols_go(s->symbols[i]);
}

static void __attribute__((noreturn)) send_windows(int socket)
{
	struct sender s = { .socket = socket };
	const struct push_answer ready = { .outcome = PUSH_READY };
	struct push_http_result r;
	int err = push_http_new(&s.http);

	if (err)
		_exit(err == -ELIBACC ? 3 : 2);
	err = record_filter_sender(); /* before anything of others is read */
	if (err && err != -ENOSYS)
		_exit(4);
	answer(&s, &ready);
	err = 0;
	while (!err) {
		err = push_http_wait(s.http, socket, 60000);
		if (!err)
			err = take_order(&s);
		do_due(&s);
		while (!err && push_http_next(s.http, &r)) {
			((struct push_call *)r.ctx)->done(r.ctx, &r);
			do_due(&s);
		}
	}
	_exit(1);
}

/* ---- without rights */

static int give_up_rights(void)
{
	const struct rlimit none = { 0, 0 };
	int err = rp_leave_root();

	if (!err)
		err = rp_give_up_rights(0);
	if (!err && (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_FSIZE, &none)))
		err = -errno;
	return err;
}

/* One that dies at once is not started at once again. */
static void __attribute__((noreturn)) keep_sending(int socket)
{
	int status = 0;

	for (;;) {
		const pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			send_windows(socket);
		}
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 1)
			_exit(WEXITSTATUS(status));
		sleep(1);
	}
}

static void take_no_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
}

int push_sender_start(int *socket, pid_t *pid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return rp_fail(-errno, "socketpair: %s", strerror(errno));
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_NAME, "rawprof-sender");
		agent_close_others(pair[1]);
		take_no_signals();
		if (give_up_rights())
			_exit(4);
		keep_sending(pair[1]);
	}
	close(pair[1]);
	*socket = pair[0];
	if (*pid < 0) {
		close(pair[0]);
		return rp_fail(-errno, "fork: %s", strerror(errno));
	}
	return 0;
}
