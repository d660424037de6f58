/* SPDX-License-Identifier: BSD-2-Clause */
/* From the first count to the last: rounds of a program, intervals, and what ends them. */
#include <errno.h>
#include <math.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/dry_run.h"
#include "stat.h"

/* What is counted if nothing is asked for. Those of a group are scheduled together, so that the
 * quotient of two is right also where counters take turns. */
#define USUAL                                                                                      \
	"%s,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,"                \
	"{cycles,instructions},stalled-cycles-frontend,stalled-cycles-backend,"                    \
	"{branches,branch-misses},{cache-references,cache-misses}"

struct stat_run {
	const struct options *opt;
	const struct stat_options *own;
	struct output out;
	struct stat_view view;
	char *target_name;

	struct rp_event *events;
	size_t nevents;
	bool usual;

	struct target target;
	struct stat_target what;
	struct rp_counters *counters;
	struct stat_rows rows;
	struct stat_figures figures;

	int signals, caught;
	sigset_t blocked;
	uint64_t begin, part; /* of the round, of the interval: CLOCK_MONOTONIC, ns */
	bool written, missing_told, user_told;
};

/* ---- signals */

static int take_signals(struct stat_run *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &s->blocked);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? rp_fail(-errno, "signalfd: %s", strerror(errno)) : 0;
}

static bool look_for_signal(void *ctx)
{
	struct stat_run *s = ctx;
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) == sizeof(info))
		s->caught = (int)info.ssi_signo;
	return s->caught;
}

/* ---- counts */

/* For the next interval. */
static void clear_rows(struct stat_run *s)
{
	for (size_t i = 0; i < s->figures.nrows; i++)
		memset(s->figures.rows[i].sum, 0, s->nevents * sizeof(struct stat_sum));
	s->figures.elapsed = (struct stat_series){ 0 };
}

static int take_counts(struct stat_run *s, uint64_t now)
{
	int err = 0;

	for (size_t i = 0; i < s->nevents && !err; i++)
		err = stat_rows_sum(&s->rows, &s->figures, s->counters, i);
	stat_series_add(&s->figures.elapsed, (double)(now - s->part) / NS_PER_SECOND);
	s->figures.time = (double)(now - s->begin) / NS_PER_SECOND;
	s->part = now;
	return err;
}

/* ---- what leaves */

static int write_figures(struct stat_run *s)
{
	const bool first = !s->written;
	FILE *f = s->out.stream;
	int err;

	s->out.show.part = s->view.interval;
	err = output_begin(&s->out);
	if (err)
		return err;
	s->written = true;
	if (s->own->separator)
		err = stat_write_csv(f, &s->view, &s->figures);
	else if (s->opt->format->json)
		err = stat_write_json(f, &s->view, &s->figures);
	else
		err = stat_write_table(f, &s->view, &s->figures, first);
	if (err)
		return output_failed(&s->out, err);
	return s->view.interval ? output_flush(&s->out) : 0;
}

static int write_interval(struct stat_run *s, uint64_t now)
{
	int err = take_counts(s, now);

	if (!err)
		err = write_figures(s);
	clear_rows(s);
	return err;
}

/* ---- what was opened */

static int parse_events(struct stat_run *s)
{
	const struct record_options *r = &s->opt->record;
	const bool cpus = s->own->all || !(r->program || r->pids.n || r->tids.n || r->comm);
	char text[512];

	s->usual = !s->own->events;
	snprintf(text, sizeof(text), USUAL, cpus || r->cgroup ? "cpu-clock" : "task-clock");
	return rp_events_parse(s->usual ? text : s->own->events, &s->events, &s->nevents);
}

/* Events of the usual list that are not here are named once, not shown. */
static void drop_missing(struct stat_run *s)
{
	size_t n = 0, missing = 0, hardware = 0;

	for (size_t i = 0; i < s->nevents; i++) {
		const bool is_missing =
			rp_counters_state(s->counters, i) == RP_COUNTER_NOT_SUPPORTED;

		hardware += s->events[i].hardware;
		missing += s->events[i].hardware && is_missing;
		if (!is_missing)
			s->events[n++] = s->events[i];
	}
	if (!s->missing_told && missing == hardware)
		rp_log(RP_WARN, "no hardware counters here, as in most virtual machines: what "
				"the kernel counts itself");
	s->missing_told = true;
	s->nevents = n;
}

static int open_counters(struct stat_run *s)
{
	const struct record_options *r = &s->opt->record;
	struct rp_counters_options opt = {
		.events = s->events,
		.nevents = s->nevents,
		.cpus = s->what.cpus.n ? &s->what.cpus : NULL,
		.tasks = s->what.ntasks ? s->what.tasks : NULL,
		.ntasks = s->what.ntasks,
		.cgroup = s->what.cgroup,
		.inherit = !r->tids.n && !s->own->per_thread,
		.threads = r->pids.n != 0,
		.at_exec = r->program && s->what.ntasks,
	};

	return rp_counters_open(&opt, &s->counters);
}

/* Nothing at all can be counted. */
static int check_states(const struct stat_run *s)
{
	for (size_t i = 0; i < s->nevents; i++)
		if (rp_counters_state(s->counters, i) == RP_COUNTER_COUNTS)
			return 0;
	if (s->opt->record.cgroup)
		return rp_fail(-ENOENT,
			       "nothing can be counted of the control group %s: it is of a "
			       "hierarchy without perf_event",
			       s->opt->record.cgroup);
	return 0;
}

/* Without what the machine lacks: opened anew, where there is more than that. */
static int open_usual(struct stat_run *s)
{
	const size_t all = s->nevents;
	int err = open_counters(s);

	if (err || !s->usual)
		return err;
	drop_missing(s);
	if (s->nevents == all || !s->nevents) {
		s->nevents = all;
		return 0;
	}
	rp_counters_close(s->counters);
	s->counters = NULL;
	return open_counters(s);
}

static void tell_user_only(struct stat_run *s)
{
	char text[16] = "?";

	if (s->user_told || !rp_counters_user_only(s->counters))
		return;
	s->user_told = true;
	rp_read_small_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	rp_log(RP_WARN,
	       "kernel.perf_event_paranoid is %s: of the kernel's own work nothing is counted; "
	       "`sysctl kernel.perf_event_paranoid=1`, CAP_PERFMON or root shows it",
	       text);
}

static int open_places(struct stat_run *s)
{
	int err = record_target_open(&s->target, &s->opt->record);

	if (!err)
		err = stat_target_open(s->opt, s->target.child, &s->what);
	if (!err)
		err = open_usual(s);
	if (!err)
		err = check_states(s);
	if (err)
		return err;
	tell_user_only(s);
	s->figures.events = s->events;
	s->figures.n = s->nevents;
	return stat_rows_note(&s->rows, &s->figures, s->own, s->counters);
}

/* Of many threads it takes a while, which a signal ends. */
static int open_round(struct stat_run *s)
{
	int err;

	rp_work_watch(look_for_signal, s);
	err = open_places(s);
	rp_work_watch(NULL, NULL);
	return err;
}

static void close_round(struct stat_run *s)
{
	rp_counters_close(s->counters);
	s->counters = NULL;
	stat_target_close(&s->what);
	stat_rows_forget(&s->rows);
}

/* ---- waiting */

/* 1: it is over. */
static int wait_once(struct stat_run *s, struct pollfd *fds, uint64_t deadline)
{
	const uint64_t now = rp_monotonic_ns();
	const uint64_t left = deadline > now ? deadline - now : 0;
	const struct timespec t = { .tv_sec = (time_t)(left / NS_PER_SECOND),
				    .tv_nsec = (long)(left % NS_PER_SECOND) };
	uint32_t ended = 0;

	if (ppoll(fds, 1 + s->target.npidfds, deadline == UINT64_MAX ? NULL : &t, NULL) < 0 &&
	    errno != EINTR)
		return rp_fail(-errno, "poll: %s", strerror(errno));
	look_for_signal(s);
	for (uint32_t i = 1; i <= s->target.npidfds; i++) {
		if (fds[i].revents)
			fds[i].fd = -1;
		ended += fds[i].fd < 0;
	}
	return s->caught || (s->target.npidfds && ended == s->target.npidfds);
}

static uint64_t interval_ns(const struct stat_run *s)
{
	return s->own->interval_ms ? s->own->interval_ms * 1000000
				   : (uint64_t)(s->opt->record.interval * NS_PER_SECOND);
}

static int wait_until_over(struct stat_run *s)
{
	const uint64_t interval = interval_ns(s);
	const double duration = s->opt->record.duration;
	uint64_t next = interval ? s->begin + interval : UINT64_MAX;
	const uint64_t end =
		duration > 0 ? s->begin + (uint64_t)(duration * NS_PER_SECOND) : UINT64_MAX;
	struct pollfd *fds = calloc(1 + s->target.npidfds, sizeof(*fds));
	int over = 0;

	if (!fds)
		return -ENOMEM;
	fds[0] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	for (uint32_t i = 0; i < s->target.npidfds; i++)
		fds[i + 1] = (struct pollfd){ .fd = s->target.pidfd[i], .events = POLLIN };
	while (!over) {
		over = wait_once(s, fds, next < end ? next : end);
		const uint64_t now = rp_monotonic_ns();

		if (!over && now >= end)
			over = 1;
		if (!over && now >= next) {
			over = write_interval(s, now);
			next += interval * ((now - next) / interval + 1);
		}
	}
	free(fds);
	return over < 0 ? over : 0;
}

/* ---- a round */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int count_round(struct stat_run *s)
{
	struct rusage before, after;
	uint64_t end;
	int err = 0;

	getrusage(RUSAGE_CHILDREN, &before);
	s->begin = s->part = rp_monotonic_ns();
	if (!s->opt->record.program || !s->what.ntasks)
		err = rp_counters_enable(s->counters);
	if (!err)
		err = record_target_start(&s->target, &s->opt->record);
	if (!err)
		err = wait_until_over(s);
	end = rp_monotonic_ns();
	if (err)
		return err;
	if (s->opt->record.program) {
		s->view.exit_status = record_target_finish(&s->target);
		getrusage(RUSAGE_CHILDREN, &after);
		stat_series_add(&s->figures.user,
				seconds(after.ru_utime) - seconds(before.ru_utime));
		stat_series_add(&s->figures.system,
				seconds(after.ru_stime) - seconds(before.ru_stime));
	}
	/* What processes that it left behind do is not of interest any more. */
	err = rp_counters_disable(s->counters);
	return err ? err : take_counts(s, end);
}

static int count(struct stat_run *s)
{
	const unsigned int rounds = s->own->repeat ? s->own->repeat : 1;
	int err = 0;

	for (unsigned int i = 0; i < rounds && !err && !s->caught; i++) {
		err = open_round(s);
		if (!err)
			err = count_round(s);
		close_round(s);
		record_target_close(&s->target);
		s->target = (struct target){ .ready = -1, .gate = -1, .exec_error = -1 };
	}
	if (err == -EINTR && s->caught && s->figures.elapsed.n)
		err = 0; /* the rounds before it */
	return err ? err : write_figures(s);
}

/* ---- from the options to the exit status */

static int dry_run(struct stat_run *s, struct dry_run *out)
{
	size_t hardware = 0, counted = 0;

	out->err = parse_events(s);
	if (!out->err)
		out->err = open_counters(s);
	for (size_t i = 0; !out->err && i < s->nevents; i++)
		if (rp_counters_state(s->counters, i) == RP_COUNTER_COUNTS) {
			counted++;
			hardware += s->events[i].hardware;
		}
	if (!out->err)
		snprintf(out->counts, sizeof(out->counts), "counts by perf_event: %zu of %zu%s",
			 counted, s->nevents, hardware ? "" : ", without hardware counters");
	rp_counters_close(s->counters);
	free(s->events);
	return out->err ? EXIT_FAILED : EXIT_DONE;
}

static int open_all(struct stat_run *s)
{
	int err = output_open(&s->out, s->opt, RECORD_LINES);

	if (!err)
		err = parse_events(s);
	s->target_name = err ? NULL : stat_target_name(s->opt);
	if (!err && !s->target_name)
		err = -ENOMEM;
	s->view = (struct stat_view){ .opt = s->opt,
				      .own = s->own,
				      .target = s->target_name,
				      .interval = interval_ns(s) != 0 };
	return err ? err : take_signals(s);
}

int stat_run(const struct options *opt)
{
	struct stat_run s = { .opt = opt,
			      .own = opt->own,
			      .signals = -1,
			      .target = { .ready = -1, .gate = -1, .exec_error = -1 },
			      .what = { .cgroup = -1 } };
	const unsigned long errors = rp_log_errors();
	int err, status;

	if (opt->dry_run)
		return dry_run(&s, opt->dry_run);
	err = open_all(&s);
	if (!err)
		err = count(&s);
	err = output_close(&s.out, err);
	if (!err && opt->output && opt->verbosity >= 0)
		fprintf(stderr, "wrote %s\n", opt->output);
	status = err == -EPIPE		     ? EXIT_SIGNAL + SIGPIPE
		 : err == -EINTR && s.caught ? EXIT_SIGNAL + s.caught
		 : err			     ? EXIT_FAILED
					     : s.view.exit_status;
	if (err && status < EXIT_SIGNAL)
		command_failed(opt->command, err, errors);
	record_target_close(&s.target);
	close_round(&s);
	stat_rows_free(&s.rows, &s.figures);
	free(s.events);
	free(s.target_name);
	if (s.signals >= 0) {
		close(s.signals);
		sigprocmask(SIG_SETMASK, &s.blocked, NULL);
	}
	return status;
}
