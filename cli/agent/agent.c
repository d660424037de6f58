/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof agent: the supervisor. It starts the recorders, gives up all rights, and from then on
 * takes windows from their pipes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/clock.h"
#include "base/rights.h"
#include "cli/commands.h"
#include "push.h"

/* After the end is asked for: to name what the last window has, and to hand it over. */
#define PATIENCE_NS (30 * NS_PER_SECOND)
/* And then, to send it. */
#define FLUSH_NS (5 * NS_PER_SECOND)

/* A recorder, and what has come from it so far of the next window. */
struct source {
	const struct agent_kind *kind;
	int socket; /* -1: it has ended */
	pid_t pid;
	struct agent_window head;
	size_t have; /* bytes of head, then of data */
	char *data;
	uint64_t windows;
	/* all windows so far, in the members that are sums */
	struct agent_window sum;
	struct agent_text *text; /* of one that prints; else NULL */
};

struct agent {
	const struct options *opt;
	struct source source[AGENT_MAX_KINDS];
	size_t n;
	struct agent_store *store;
	struct agent_metrics *metrics;
	struct agent_http *http; /* NULL: nobody asks */
	struct push *push;	 /* NULL: there are no destinations */
	int signals;
	bool stopping;
	uint64_t stop_ns; /* CLOCK_MONOTONIC, when patience ends, or the duration; 0: never */
	int status;
};

/* ---- windows */

static void add_up(struct agent_window *sum, const struct agent_window *w)
{
	sum->duration_ns += w->duration_ns;
	sum->blind_ns += w->blind_ns;
	sum->kept += w->kept;
	sum->filtered += w->filtered;
	sum->lost += w->lost;
	sum->bpf_ns += w->bpf_ns;
	sum->cpu_ns += w->cpu_ns;
	sum->peak_rss = w->peak_rss;
	sum->unlabelled = w->unlabelled;
}

static int take_window(struct agent *a, struct source *s)
{
	const struct agent_window *w = &s->head;
	int err = agent_store_put(a->store, s->kind->name, w, s->data);
	char name[AGENT_FILE_NAME];

	if (!err && a->push) {
		agent_store_name(s->kind->name, w->start_ns, name);
		push_window(a->push, name, s->kind->name, w->start_ns, w->size);
	}
	s->windows++;
	add_up(&s->sum, w);
	if (err)
		rp_log(RP_ERROR, "a window of %s is lost: it cannot be written: %s", s->kind->name,
		       strerror(-err));
	else
		rp_log(RP_INFO, "%s: %.1f s, %llu events, %llu kept, %llu lost, %llu bytes",
		       s->kind->name, (double)w->duration_ns / NS_PER_SECOND,
		       (unsigned long long)w->fired, (unsigned long long)w->kept,
		       (unsigned long long)w->lost, (unsigned long long)w->size);
	free(s->data);
	s->data = NULL;
	s->have = 0;
	return 0;
}

static void ask_to_stop(struct agent *a)
{
	a->stopping = true;
	a->stop_ns = rp_monotonic_ns() + PATIENCE_NS;
	for (size_t i = 0; i < a->n; i++)
		if (a->source[i].socket >= 0)
			shutdown(a->source[i].socket, SHUT_WR);
}

/* How a recorder goes: asked to, or not. */
static void reap(struct agent *a, struct source *s)
{
	int status = 0;

	close(s->socket);
	s->socket = -1;
	free(s->data);
	s->data = NULL;
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (a->stopping && !status)
		return;
	a->status = EXIT_FAILED;
	rp_log(RP_ERROR, "the recorder of %s has ended (%s %d)%s", s->kind->name,
	       WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       s->windows && !a->stopping ? "; the others go on" : "");
	if (!s->windows && !a->stopping) /* what cannot be recorded here is known at once */
		ask_to_stop(a);
}

/* What a recorder says is believed no more than it has to be. */
static int check_head(struct source *s)
{
	if (s->head.magic != AGENT_WINDOW_MAGIC || s->head.size > AGENT_MAX_WINDOW || !s->head.size)
		return -EBADMSG;
	s->data = malloc(s->head.size);
	return s->data ? 0 : -ENOMEM;
}

static int read_text(struct agent *a, struct source *s)
{
	char text[8192];
	const ssize_t n = recv(s->socket, text, sizeof(text), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	s->windows = 1;
	agent_metrics_take(a->metrics, s->text, text, (size_t)n);
	return 0;
}

static int read_source(struct agent *a, struct source *s)
{
	const bool in_head = s->have < sizeof(s->head);
	const size_t at = in_head ? s->have : s->have - sizeof(s->head);
	char *to = in_head ? (char *)&s->head + at : s->data + at;
	const size_t want = (in_head ? sizeof(s->head) : s->head.size) - at;
	const ssize_t n = recv(s->socket, to, want, MSG_DONTWAIT);
	int err = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	s->have += (size_t)n;
	if ((size_t)n < want)
		return 0;
	err = in_head ? check_head(s) : take_window(a, s);
	return err;
}

/* ---- metrics */

/* A counter for each recorder of windows, in units of which there are so many in what is kept. */
static void print_sums(const struct agent *a, FILE *out, const char *name, const char *type,
		       const char *help, size_t member, double unit)
{
	agent_metrics_head(out, name, type, help);
	for (size_t i = 0; i < a->n; i++) {
		const struct source *s = &a->source[i];
		uint64_t value;

		if (s->text)
			continue;
		memcpy(&value, (const char *)s + member, sizeof(value));
		fprintf(out, "rawprof_agent_%s{profile=\"%s\"} %.17g\n", name, s->kind->name,
			(double)value / unit);
	}
}

static void print_store(const struct agent *a, FILE *out)
{
	const struct agent_store_state s = agent_store_state(a->store);

	agent_metrics_head(out, "files", "gauge", "windows in the directory");
	fprintf(out, "rawprof_agent_files %llu\n", (unsigned long long)s.files);
	agent_metrics_head(out, "file_bytes", "gauge", "what they take");
	fprintf(out, "rawprof_agent_file_bytes %llu\n", (unsigned long long)s.bytes);
	agent_metrics_head(out, "files_removed_total", "counter",
			   "windows that were too old or too many");
	fprintf(out, "rawprof_agent_files_removed_total %llu\n", (unsigned long long)s.removed);
	agent_metrics_head(out, "files_failed_total", "counter",
			   "windows that could not be written");
	fprintf(out, "rawprof_agent_files_failed_total %llu\n", (unsigned long long)s.failed);
}

static int print_page(void *ctx, FILE *out)
{
	const struct agent *a = ctx;
	struct rusage u;

#define SUM(name, type, help, member, unit)                                                        \
	print_sums(a, out, name, type, help, offsetof(struct source, member), unit)
	SUM("windows_total", "counter", "windows that were recorded", windows, 1);
	SUM("events_kept_total", "counter", "events that are in them", sum.kept, 1);
	SUM("events_filtered_total", "counter", "events that were not asked for", sum.filtered, 1);
	SUM("events_lost_total", "counter", "events that are missing from them", sum.lost, 1);
	SUM("recorded_seconds_total", "counter", "time that they cover", sum.duration_ns, 1e9);
	SUM("blind_seconds_total", "counter", "time between them", sum.blind_ns, 1e9);
	SUM("bpf_seconds_total", "counter", "run time of BPF programs", sum.bpf_ns, 1e9);
	SUM("recorder_cpu_seconds_total", "counter", "CPU time of recorders", sum.cpu_ns, 1e9);
	SUM("recorder_peak_memory_bytes", "gauge", "peak memory of recorders", sum.peak_rss, 1);
	SUM("unlabelled_total", "counter", "processes without labels, as there are too many",
	    sum.unlabelled, 1);
#undef SUM
	getrusage(RUSAGE_SELF, &u);
	agent_metrics_head(out, "cpu_seconds_total", "counter", "CPU time of the supervisor");
	fprintf(out, "rawprof_agent_cpu_seconds_total %.6f\n",
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	print_store(a, out);
	push_print_metrics(a->push, out);
	agent_metrics_print(a->metrics, out);
	return ferror(out) ? -EIO : 0;
}

/* ---- from the beginning to the end */

static int start_list(struct agent *a, const char *names,
		      const struct agent_kind *(*find)(const char *name))
{
	char list[128], *rest = list, *word;
	int err = 0;

	snprintf(list, sizeof(list), "%s", names);
	while (!err && (word = strsep(&rest, ","))) {
		struct source *s = &a->source[a->n];

		s->kind = find(word);
		s->socket = -1;
		if (s->kind->text && !(s->text = calloc(1, sizeof(*s->text))))
			return -ENOMEM;
		err = agent_recorder_start(a->opt, s->kind, &s->socket, &s->pid);
		a->n += !err;
	}
	return err;
}

static int start_recorders(struct agent *a)
{
	const struct agent_options *own = a->opt->own;
	int err = start_list(a, own->profiles ? own->profiles : "cpu", agent_kind);

	if (!err && own->metrics)
		err = start_list(a, own->hists ? own->hists : "io,runq", agent_hist);
	return err;
}

static int take_signals(struct agent *a)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->signals < 0 ? rp_fail(-errno, "signalfd: %s", strerror(errno)) : 0;
}

/* 0, or a negative errno after a message; -EINVAL: of what they say. */
static int read_config(const struct agent_options *own, struct push_config *c)
{
	int err = push_config_read(c, own->config, own->push);

	if (!err && own->config && !c->ntargets)
		err = rp_fail(-EINVAL, "%s has no destination: a line 'push = TYPE+URL'",
			      own->config);
	return err;
}

/* What was wrong with a new configuration is said, and the old one stays. */
static void reload(struct agent *a)
{
	const struct agent_options *own = a->opt->own;
	struct push_config c;

	if (!a->push || !own->config)
		return;
	if (read_config(own, &c))
		rp_log(RP_WARN, "%s changes nothing: destinations stay as they were", own->config);
	else
		push_configure(a->push, &c);
	push_config_free(&c);
}

/* The second time it ends at once. */
static bool take_signal(struct agent *a)
{
	struct signalfd_siginfo info;

	if (read(a->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGHUP) {
		reload(a);
		return false;
	}
	if (a->stopping)
		return true;
	ask_to_stop(a);
	return false;
}

/* What the supervisor does takes no right but that of the files' owner. */
static int give_up_rights(void)
{
	const struct rlimit none = { 0, 0 };
	int err = setrlimit(RLIMIT_CORE, &none) ? -errno : rp_give_up_rights(0);

	return err ? rp_fail(err, "cannot give up rights: %s", strerror(-err)) : 0;
}

static size_t poll_list(const struct agent *a, struct pollfd *fds)
{
	size_t left = 0;

	fds[0] = (struct pollfd){ .fd = a->signals, .events = POLLIN };
	for (size_t i = 0; i < a->n; i++) {
		fds[1 + i] = (struct pollfd){ .fd = a->source[i].socket, .events = POLLIN };
		left += a->source[i].socket >= 0;
	}
	return left;
}

static int time_left_ms(const struct agent *a, const struct pollfd *clients)
{
	const uint64_t now = rp_monotonic_ns();
	int left = !a->http	     ? -1 /* to look at clients that do nothing: */
		   : clients->fd < 0 ? AGENT_HTTP_GRACE_MS
				     : 1000;
	const int due = push_due_ms(a->push);

	if (due >= 0 && (left < 0 || due < left))
		left = due;
	if (a->stop_ns && (left < 0 || now + (uint64_t)left * 1000000 > a->stop_ns))
		left = a->stop_ns > now ? (int)((a->stop_ns - now) / 1000000 + 1) : 0;
	return left;
}

/* Until all recorders have ended. */
static int supervise(struct agent *a)
{
	struct pollfd fds[1 + AGENT_MAX_KINDS + 1 + AGENT_HTTP_FDS];

	while (poll_list(a, fds)) {
		struct pollfd *sender = fds + 1 + a->n, *clients = sender + 1;
		const size_t nclients = agent_http_poll(a->http, clients);
		int n;

		*sender = push_poll(a->push);
		n = poll(fds, 1 + a->n + 1 + nclients, time_left_ms(a, clients));
		if (n < 0 && errno != EINTR)
			return rp_fail(-errno, "poll: %s", strerror(errno));
		if (fds[0].revents && take_signal(a))
			return 0;
		for (size_t i = 0; i < a->n; i++)
			if (a->source[i].socket >= 0 && fds[1 + i].revents &&
			    (a->source[i].text ? read_text : read_source)(a, &a->source[i]))
				reap(a, &a->source[i]);
		push_serve(a->push, sender->revents);
		agent_http_serve(a->http, clients);
		if (!a->stop_ns || a->stop_ns > rp_monotonic_ns())
			continue;
		if (a->stopping)
			return rp_fail(-ETIME, "a recorder does not end: its last window is lost");
		ask_to_stop(a);
	}
	return 0;
}

/* What destinations take at once they get; the rest waits for the next start. */
static void flush(struct agent *a)
{
	const uint64_t end = rp_monotonic_ns() + FLUSH_NS;

	while (push_hurry(a->push) && rp_monotonic_ns() < end) {
		struct pollfd fds[2] = { push_poll(a->push),
					 { .fd = a->signals, .events = POLLIN } };

		push_serve(a->push, false);
		poll(fds, 2, 100);
		if (fds[1].revents && take_signal(a))
			return;
		push_serve(a->push, fds[0].revents);
	}
}

static int open_push(struct agent *a, struct push_config *c)
{
	const char *why;

	if (!c->ntargets)
		return 0;
	if (!push_can_send(&why))
		return rp_fail(-ENOSYS, "%s", why);
	return push_open(c, agent_store_dir(a->store), &a->push);
}

static int start(struct agent *a, struct push_config *c)
{
	const struct agent_options *own = a->opt->own;
	int err = agent_store_open(own->dir ? own->dir : AGENT_DIR, own->keep_bytes, own->keep_time,
				   &a->store);

	if (!err && own->metrics)
		err = agent_http_open(own->metrics, print_page, a, &a->http);
	a->metrics = agent_metrics_new();
	if (!err && !a->metrics)
		err = -ENOMEM;
	if (!err)
		err = open_push(a, c);
	if (!err)
		err = start_recorders(a);
	if (!err)
		err = take_signals(a);
	if (!err)
		err = give_up_rights();
	if (!err && own->duration > 0)
		a->stop_ns = rp_monotonic_ns() + (uint64_t)(own->duration * NS_PER_SECOND);
	return err;
}

int agent_run(const struct options *opt)
{
	struct agent a = { .opt = opt, .signals = -1 };
	const unsigned long errors = rp_log_errors();
	struct push_config config;
	int err;

	if (opt->dry_run) /* the others have rows of their own */
		return cpu_command.run(opt);
	err = read_config(opt->own, &config);
	if (err) {
		push_config_free(&config);
		return err == -EINVAL ? EXIT_USAGE : command_failed(opt->command, err, errors);
	}
	err = start(&a, &config);
	push_config_free(&config);
	if (!err)
		err = supervise(&a);
	if (!err)
		flush(&a);
	for (size_t i = 0; i < a.n; i++) {
		if (a.source[i].socket >= 0)
			close(a.source[i].socket);
		free(a.source[i].data);
		free(a.source[i].text);
	}
	if (a.signals >= 0)
		close(a.signals);
	push_close(a.push);
	agent_http_close(a.http);
	agent_metrics_free(a.metrics);
	agent_store_close(a.store);
	return err ? command_failed(opt->command, err, errors) : a.status;
}
