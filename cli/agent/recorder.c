/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorder: a process that is one of rawprof's other commands, in windows. What it finds leaves
 * by a pipe, as files that `rawprof report` reads.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent.h"
#include "cli/commands.h"
#include "cli/run.h"

const struct agent_kind agent_kinds[AGENT_KINDS + 1] = {
	{ "cpu", &cpu_command, { NULL } },
	{ "offcpu", &offcpu_command, { NULL } },
	{ "lock", &lock_command, { "--stacks", NULL } },
	{ "mem", &mem_command, { "--faults", NULL } },
	{ "io", &io_command, { "--stacks", NULL } },
	{ 0 },
};

static const struct agent_kind hists[] = {
	{ "io", &io_command, { "--format=prometheus", NULL }, true },
	{ "runq", &offcpu_command, { "--runq", "--format=prometheus", NULL }, true },
	{ "lock", &lock_command, { "--hist=type", "--format=prometheus", NULL }, true },
	{ 0 },
};

static const struct agent_kind *find_kind(const struct agent_kind *list, const char *name)
{
	for (const struct agent_kind *k = list; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

const struct agent_kind *agent_kind(const char *name)
{
	return find_kind(agent_kinds, name);
}

const struct agent_kind *agent_hist(const char *name)
{
	return find_kind(hists, name);
}

/* ---- what it finds */

struct recorder {
	int socket;
	bool is_watched;
	struct agent_labels *labels;
	struct record_share room; /* in a window */
};

static struct recorder *recorder_of(const struct recording *rec)
{
	return options_of(rec)->windows->ctx;
}

static void meet(struct recording *rec, uint32_t pid, uint64_t generation)
{
	agent_labels_meet(recorder_of(rec)->labels, pid, generation);
}

static int label(struct recording *rec, const struct stack_record *r, struct report_sample *sample)
{
	const struct name_owner owner = record_owner(r);

	return agent_labels_add(recorder_of(rec)->labels, owner.pid, (uint32_t)owner.generation,
				sample);
}

static int send_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static void sum_ledger(const struct report_ledger *l, struct agent_window *w)
{
	if (!l)
		return;
	w->fired = l->fired;
	w->kept = l->kept;
	for (size_t i = 0; i < l->nlines; i++)
		*(l->lines[i].fate == REPORT_LOST ? &w->lost : &w->filtered) += l->lines[i].count;
}

static struct agent_window describe(const struct recording *rec, const struct report *report)
{
	const struct report_info *info = report_get_info(report);
	const struct report_cost *cost = &rec->ledger.cost;
	struct agent_window w = {
		.magic = AGENT_WINDOW_MAGIC,
		.samples = (uint32_t)report_samples(report),
		.start_ns = info->start_ns,
		.duration_ns = info->duration_ns,
		.bpf_ns = cost->bpf_ns,
		.cpu_ns = cost->user_cpu_ns + cost->system_cpu_ns,
		.peak_rss = cost->peak_rss_bytes,
	};

	for (unsigned int i = 0; i < report_value_types(report); i++)
		w.value[i] = report_total(report, i);
	sum_ledger(report_get_ledger(report), &w);
	return w;
}

/* Names may be long, and stacks many: whose they are has to leave room for the others. */
static bool take_room(void *ctx, uint64_t of, int32_t pid, uint64_t bytes)
{
	struct recording *rec = ctx;
	struct record_share *room = &recorder_of(rec)->room;
	const uid_t uid = pid > 0 ? record_whose(&rec->whose, (uint32_t)pid) : 0;

	if (room->most != of)
		record_share_empty(room);
	room->most = of;
	if (!bytes)
		return record_share_has_room(room, uid, 1);
	record_share_add(room, uid, bytes);
	return true;
}

static int take_window(void *ctx, struct recording *rec, const struct report *report,
		       const struct report_options *show, uint64_t blind_ns)
{
	struct agent_window w = describe(rec, report);
	const struct recorder *r = ctx;
	char *data = NULL;
	size_t size = 0;
	int err = report_write_within(report, AGENT_MAX_WINDOW, take_room, rec, show, &data, &size);

	recorder_of(rec)->room.most = 0; /* of the next */
	w.blind_ns = blind_ns;
	w.unlabelled = agent_labels_settle(r->labels);
	w.size = size;
	if (!err && size > AGENT_MAX_WINDOW)
		rp_log(RP_ERROR,
		       "a window of %s is lost: it has %zu bytes, more than %u; shorter ones have "
		       "less",
		       rec->profiler->command, size, AGENT_MAX_WINDOW);
	else if (!err)
		err = send_all(r->socket, &w, sizeof(w));
	if (!err && size <= AGENT_MAX_WINDOW)
		err = send_all(r->socket, data, size);
	free(data);
#ifdef __GLIBC__
	malloc_trim(1 << 20);
#endif
	return err;
}

unsigned int agent_recorder_patience = 40;

/*
 * Should it hang when it is asked to end, or when the supervisor is gone, nobody may kill it: it is
 * another user's than the supervisor, who has no rights. So a thread ends it, whatever it does.
 */
static void *await_the_end(void *arg)
{
	const struct recorder *r = arg;
	struct pollfd fd = { .fd = r->socket, .events = POLLIN };

	while (poll(&fd, 1, -1) != 1)
		;
	sleep(agent_recorder_patience);
	_exit(EXIT_FAILED);
}

/* From when rights were given up on, as it has those of whoever starts it. */
static void watch(struct recorder *r)
{
	sigset_t all, before;
	pthread_t thread;

	if (r->is_watched)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->is_watched = !pthread_create(&thread, NULL, await_the_end, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r->is_watched)
		pthread_detach(thread);
}

/* Nothing is ever sent to us: what there is to read is the end. */
static bool is_over(void *ctx)
{
	struct recorder *r = ctx;
	struct pollfd fd = { .fd = r->socket, .events = POLLIN };

	watch(r);
	return poll(&fd, 1, 0) == 1;
}

/* ---- its command line */

#define MAX_ARGS 16
struct words {
	char text[MAX_ARGS][40];
	char *ids; /* a list of any length */
	char *argv[MAX_ARGS + 1];
	int argc;
};

static void add_word(struct words *w, const char *word)
{
	snprintf(w->text[w->argc], sizeof(w->text[0]), "%s", word);
	w->argv[w->argc] = w->text[w->argc];
	w->argc++;
}

static char *list_of(const struct record_ids *ids)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0; f && i < ids->n; i++)
		fprintf(f, "%s%u", i ? "," : "", ids->id[i]);
	return f && !fclose(f) ? text : NULL;
}

static int make_words(struct words *w, const struct agent_options *own,
		      const struct agent_kind *kind)
{
	char value[40];

	add_word(w, kind->name);
	for (const char *const *arg = kind->args; *arg; arg++)
		add_word(w, *arg);
	if (kind->command->takes & TAKES_SAMPLING) {
		snprintf(value, sizeof(value), "--freq=%llu",
			 (unsigned long long)(own->freq ? own->freq : 99));
		add_word(w, value);
	}
	if (kind->text) {
		snprintf(value, sizeof(value), "--interval=%g", own->window ? own->window : 10);
		add_word(w, value);
		add_word(w, "--quiet");
	}
	if (own->sample_ns && kind->command == &offcpu_command && !kind->text) {
		snprintf(value, sizeof(value), "--sample=%.6f", (double)own->sample_ns / 1e6);
		add_word(w, value);
	}
	if (!kind->text && agent_label_wanted(own->labels, AGENT_GO_LABELS))
		add_word(w, "--go-labels");
	if (!kind->text && agent_label_wanted(own->labels, AGENT_GOROUTINES))
		add_word(w, "--goroutines");
	if (!kind->text && agent_label_wanted(own->labels, AGENT_CONTEXT))
		add_word(w, "--thread-context");
	if (!kind->text && agent_label_wanted(own->labels, AGENT_TRACE_IDS))
		add_word(w, "--trace-ids");
	if (own->pids.n) {
		w->ids = list_of(&own->pids);
		if (!w->ids)
			return -ENOMEM;
		add_word(w, "--pid");
		w->argv[w->argc++] = w->ids;
	}
	if (own->cgroup) {
		add_word(w, "--cgroup");
		w->argv[w->argc++] = (char *)(uintptr_t)own->cgroup;
	}
	w->argv[w->argc] = NULL;
	return 0;
}

/* It stays for months, and what a window takes for a moment is to go back. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

static int run_recorder(const struct options *opt, const struct agent_kind *kind, int socket)
{
	const struct agent_options *own = opt->own;
	struct recorder r = {
		.socket = socket,
		.labels = agent_labels_new(own->labels, own->max_series ? own->max_series : 1000),
		.room = RECORD_SHARE(0, "size of a window"),
	};
	const struct run_windows windows = { .seconds = own->window ? own->window : 10,
					     .take = kind->text ? NULL : take_window,
					     .is_over = is_over,
					     .meet = kind->text ? NULL : meet,
					     .label = kind->text ? NULL : label,
					     .ctx = &r };
	struct options mine = { .command = kind->name, .windows = &windows };
	struct words words = { .argc = 0 };
	int status = !r.labels || make_words(&words, own, kind) ? EXIT_FAILED : -1;

	if (status < 0)
		status = options_parse(&mine, words.argc, words.argv, kind->command);
	give_back_memory();
	mine.verbosity = kind->text ? -1 : opt->verbosity;
	mine.advice_off = true;
	if (status < 0 && kind->text && dup2(socket, STDOUT_FILENO) < 0)
		status = EXIT_FAILED;
	if (status < 0)
		status = kind->command->run(&mine);
	options_free(&mine, kind->command);
	free(words.ids);
	agent_labels_free(r.labels);
	record_share_free(&r.room);
	return status;
}

void agent_close_others(int socket)
{
	enum { MAX_OPEN = 256 };

	for (int fd = STDERR_FILENO + 1; fd < MAX_OPEN; fd++)
		if (fd != socket)
			close(fd);
}

int agent_recorder_start(const struct options *opt, const struct agent_kind *kind, int *pipe,
			 pid_t *pid)
{
	char name[16];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return rp_fail(-errno, "socketpair: %s", strerror(errno));
	*pid = fork();
	if (!*pid) {
		snprintf(name, sizeof(name), "rawprof-%s", kind->name);
		prctl(PR_SET_NAME, name);
		agent_close_others(pair[1]);
		_exit(run_recorder(opt, kind, pair[1]));
	}
	close(pair[1]);
	if (*pid < 0) {
		close(pair[0]);
		return rp_fail(-errno, "fork: %s", strerror(errno));
	}
	*pipe = pair[0];
	return 0;
}
