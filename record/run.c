/* SPDX-License-Identifier: BSD-2-Clause */
/* The time of a recording: from the target's start to a deadline, a signal or the target's end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/budget.h"
#include "base/clock.h"
#include "confine.h"
#include "hurry.h"
#include "languages.h"
#include "recording.h"
#include "system.h"

/* ---- signals */

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

static int caught_signal(struct recording *rec)
{
	struct signalfd_siginfo info;

	if (read(rec->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

static bool has_signal(const struct recording *rec)
{
	struct pollfd fd = { .fd = rec->signals, .events = POLLIN };

	return rec->signals >= 0 && poll(&fd, 1, 0) == 1;
}

/* What comes twice within so long meant the same. */
#define SAME_SIGNAL_NS (NS_PER_SECOND / 4)

/*
 * Looks for a signal in the middle of long work; the first one ends the recording. A second one
 * ends rawprof as it would have without us: as soon as it is no longer blocked.
 */
static bool wants_to_stop(void *ctx)
{
	struct recording *rec = ctx;

	record_hurry_tires();
	if (!has_signal(rec))
		return rec->caught;
	if (rec->caught && rp_monotonic_ns() - rec->caught_ns > SAME_SIGNAL_NS) {
		pthread_sigmask(SIG_SETMASK, &rec->blocked, NULL);
		caught_signal(rec); /* unless it was blocked before us too */
		return true;
	}
	if (!rec->caught)
		rec->caught_ns = rp_monotonic_ns();
	rec->caught = caught_signal(rec);
	return rec->caught;
}

int record_take_signals(struct recording *rec)
{
	sigset_t set;

	if (!rec->opt->signals)
		return 0;
	signal_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, &rec->blocked);
	rec->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (rec->signals < 0)
		return rp_fail(-errno, "signalfd: %s", strerror(errno));
	rp_work_watch(wants_to_stop, rec);
	return 0;
}

void record_release_signals(struct recording *rec)
{
	if (rec->signals < 0)
		return;
	while (has_signal(rec))
		wants_to_stop(rec);
	rp_work_watch(NULL, NULL);
	close(rec->signals);
	rec->signals = -1;
	pthread_sigmask(SIG_SETMASK, &rec->blocked, NULL);
}

void record_stop(struct recording *rec)
{
	const uint64_t one = 1;

	if (write(rec->wake, &one, sizeof(one)) < 0)
		return; /* it is set already */
}

/* ---- rings of the profiler's own */

/* By edges: it is of no interest that there is something, but that a program has woken us. */
static int wake_by(struct recording *rec, int fd)
{
	struct epoll_event how = { .events = EPOLLIN | EPOLLET };

	if (rec->rings < 0)
		rec->rings = epoll_create1(EPOLL_CLOEXEC);
	if (rec->rings < 0 || epoll_ctl(rec->rings, EPOLL_CTL_ADD, fd, &how))
		return rp_fail(-errno, "epoll, on a ring buffer: %s", strerror(errno));
	return 0;
}

int record_open_ring(struct recording *rec, unsigned int map, struct rp_ring **out)
{
	const int fd = record_stacks_map(rec->stacks, map);
	int err = rp_ring_open(fd, record_stacks_maps(rec->stacks)[map].max_entries, out);

	return err ? err : wake_by(rec, fd);
}

/* They have woken us; the next time is another one. */
static void take_wakes(const struct recording *rec)
{
	struct epoll_event event;

	while (epoll_wait(rec->rings, &event, 1, 0) > 0)
		;
}

/* ---- waiting */

#define AWAIT_MS 20			  /* for tables, before the ring is looked at; */
#define AWAIT_MOST_NS (3 * NS_PER_SECOND) /*   stacks that lack one later are walked again */

/* How a wait can end. */
enum { WAKE_SIGNAL, WAKE_STOP, WAKE_STACKS, WAKE_SIDEBAND, WAKE_TABLES, WAKE_RINGS, WAKE_TARGET };

static bool all_ended(const struct pollfd *fds, uint32_t n)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < n; i++)
		ended += fds[i].fd < 0;
	return n && ended == n;
}

/* What comes next, CLOCK_MONOTONIC, ns; UINT64_MAX: never. */
struct deadlines {
	uint64_t tick, step;  /* looks at what changes, so often; */
	uint64_t part, pause; /* a part of a series */
	uint64_t times;	      /* the map of samples' times is read */
	uint64_t end;
};

static uint64_t next_drain(const struct deadlines *d)
{
	uint64_t first = d->tick < d->part ? d->tick : d->part;

	return first < d->end ? first : d->end;
}

/* Until something wakes us, but no longer than max_ns. */
static int wait_until(const struct recording *rec, struct pollfd *fds, uint64_t then,
		      uint64_t max_ns)
{
	const uint64_t now = rp_monotonic_ns();
	uint64_t left = then > now ? then - now : 0;
	struct timespec t;

	left = left < max_ns ? left : max_ns;
	left = rec->caught ? 0 : left; /* while something else was done */
	t = (struct timespec){ .tv_sec = (time_t)(left / NS_PER_SECOND),
			       .tv_nsec = (long)(left % NS_PER_SECOND) };
	if (ppoll(fds, WAKE_TARGET + rec->target.npidfds, &t, NULL) < 0 && errno != EINTR)
		return rp_fail(-errno, "poll: %s", strerror(errno));
	return 0;
}

static bool is_over(struct recording *rec, struct pollfd *fds, uint64_t now, uint64_t end)
{
	struct pollfd *target = fds + WAKE_TARGET;

	wants_to_stop(rec);
	for (uint32_t i = 0; i < rec->target.npidfds; i++)
		if (target[i].revents)
			target[i].fd = -1;
	return now >= end || rec->caught || fds[WAKE_STOP].revents ||
	       all_ended(target, rec->target.npidfds);
}

static void show_progress(struct recording *rec, bool last)
{
	if (rec->opt->progress)
		rec->opt->progress(rec->opt->ctx,
				   (double)(rp_monotonic_ns() - rec->begin_ns) / NS_PER_SECOND,
				   rec->seen, last);
}

int record_tick(struct recording *rec)
{
	int err = 0;

	show_progress(rec, false);
	rec->rereads = rec->astray = 0;
	rec->wall_offset = rp_wall_offset_ns();
	if (rec->side)
		rp_sideband_hotplug(rec->side);
	if (rec->profiler->tick)
		err = rec->profiler->tick(rec);
	if (!err && rec->during)
		err = record_during_tick(rec);
	return err ? err : record_look_again(rec);
}

/* What is due by now, of what has just been drained. */
static int keep_deadlines(struct recording *rec, struct deadlines *d, uint64_t now)
{
	int err = 0;

	if (now >= d->tick) {
		d->tick = now + d->step;
		err = record_tick(rec);
		if (!err && rec->profiler->runs_often)
			err = record_watch_runs(rec);
	}
	if (!err && d->pause && now >= d->part) {
		d->part += d->pause * ((now - d->part) / d->pause + 1);
		err = rec->profiler->interval(rec);
	}
	return err;
}

static struct deadlines first_deadlines(const struct recording *rec, bool often)
{
	const bool looks = often || rec->profiler->runs_often;
	struct deadlines d = { .step = looks ? NS_PER_SECOND / 10 : NS_PER_SECOND,
			       .part = UINT64_MAX,
			       .times = UINT64_MAX,
			       .end = UINT64_MAX };

	d.tick = rec->begin_ns + d.step;
	if (rec->profiler->interval)
		d.pause = (uint64_t)(rec->opt->interval * NS_PER_SECOND);
	if (d.pause)
		d.part = rec->begin_ns + d.pause;
	if (rec->config.times_mask)
		d.times = rec->begin_ns + RECORD_TIMES_NS;
	if (rec->opt->duration)
		d.end = rec->begin_ns + (uint64_t)(rec->opt->duration * NS_PER_SECOND);
	return d;
}

/* In how many ns to drain whatever else happens: what processes map and execute is of interest. */
static uint64_t next_look(struct recording *rec)
{
	const uint64_t by_tables = rec->tables ? record_tables_urgent(rec->tables) : UINT64_MAX;
	const uint64_t by_languages = record_languages_urgent(rec);

	return by_languages < by_tables ? by_languages : by_tables;
}

/*
 * Until the end. Samples are counted in the kernel and the ring wakes us when it fills, so there is
 * little to do; what is printed as it comes is looked for ten times a second.
 */
static int wait_and_drain(struct recording *rec, struct pollfd *fds)
{
	const bool often = rec->opt->samples || rec->profiler->often;
	struct deadlines d = first_deadlines(rec, often);

	for (;;) {
		uint64_t urgent = next_look(rec);
		uint64_t drain = next_drain(&d), next = d.times < drain ? d.times : drain;
		int err = wait_until(rec, fds, next, urgent);
		uint64_t now = rp_monotonic_ns();

		if (err || is_over(rec, fds, now, d.end))
			return err;
		if (fds[WAKE_RINGS].revents)
			take_wakes(rec);
		if (fds[WAKE_STACKS].revents || fds[WAKE_SIDEBAND].revents ||
		    fds[WAKE_TABLES].revents || fds[WAKE_RINGS].revents || often ||
		    urgent != UINT64_MAX || now >= drain)
			err = record_drain(rec);
		if (!err && now >= d.times) {
			d.times = now + RECORD_TIMES_NS;
			err = record_stacks_read_times(rec->stacks);
		}
		if (!err)
			err = keep_deadlines(rec, &d, now);
		record_forget_ended(rec);
		if (err < 0)
			return err;
	}
}

int record_await_tables(struct recording *rec)
{
	const uint64_t until = rp_monotonic_ns() + AWAIT_MOST_NS;
	struct pollfd fd = { .fd = rec->tables ? record_tables_fd(rec->tables) : -1,
			     .events = POLLIN };
	int err = 0;

	while (!err && fd.fd >= 0 && record_tables_are_busy(rec->tables) && !wants_to_stop(rec) &&
	       rp_monotonic_ns() < until) {
		poll(&fd, 1, AWAIT_MS);
		err = record_drain(rec);
	}
	return err;
}

/* ---- from the beginning to the end */

static int on_loaded(void *ctx, pid_t pid)
{
	struct recording *rec = ctx;

	if (rec->tables) /* before any of it runs, so that no walk comes too early */
		record_tables_publish(rec->tables, (uint32_t)pid);
	return rec->profiler->loaded ? rec->profiler->loaded(rec, pid) : 0;
}

int record_start_events(struct recording *rec)
{
	const struct record_profiler *profiler = rec->profiler;
	int err = profiler->attach ? 0 : record_attach_list(rec, profiler->programs);

	return !err && profiler->start ? profiler->start(rec) : err;
}

int record_begin(struct recording *rec)
{
	int err;

	rec->begun = true;
	rec->begin_ns = rp_monotonic_ns();
	rec->busy_ns = record_busy_ns();
	err = record_start_events(rec);
	if (!err)
		err = record_languages_load(rec);
	if (!err && rec->tables)
		record_tables_make_beside(rec->tables);
	return !err && rec->profiler->begin ? rec->profiler->begin(rec) : err;
}

static int start(struct recording *rec)
{
	int err = record_start_events(rec);

	if (!err)
		err = record_hurry_end();
	if (!err && rec->profiler->stop_at_loads)
		err = record_target_start_watched(&rec->target, rec->opt, on_loaded, rec);
	else if (!err)
		err = record_target_start(&rec->target, rec->opt);
	if (!err)
		rp_log(RP_INFO, "recording");
	return err;
}

static int confine(struct recording *rec)
{
	const struct record_profiler *profiler = rec->profiler;
	const struct record_confine what = { .child = rec->target.child,
					     .attaches = profiler->mapped || profiler->loaded ||
							 (profiler->attaches_again &&
							  rec->opt->interval > 0),
					     .forks = rec->opt->lines || rec->opt->inlined,
					     .loads = rec->languages_wait,
					     .network = rec->opt->debuginfod };
	int err = 0;

	if (rec->opt->confine) {
		record_ksym_prepare(&rec->ksym);
		err = rec->keeper ? record_keeper_ready(rec->keeper) : 0;
		if (!err)
			err = record_confine(&what);
	}
	rp_aside_allow(true);
	return err;
}

static struct pollfd *poll_list(const struct recording *rec)
{
	uint32_t n = WAKE_TARGET + rec->target.npidfds;
	struct pollfd *fds = calloc(n, sizeof(*fds));

	if (!fds)
		return NULL;
	fds[WAKE_SIGNAL].fd = rec->signals;
	fds[WAKE_STOP].fd = rec->wake;
	fds[WAKE_STACKS].fd = record_stacks_map(rec->stacks, STACK_MAP_EVENTS);
	fds[WAKE_SIDEBAND].fd = rec->side ? rp_sideband_fd(rec->side) : -1;
	fds[WAKE_TABLES].fd = -1;
	fds[WAKE_RINGS].fd = rec->rings;
	for (uint32_t i = 0; i < rec->target.npidfds; i++)
		fds[WAKE_TARGET + i].fd = rec->target.pidfd[i];
	for (uint32_t i = 0; i < n; i++)
		fds[i].events = POLLIN;
	return fds;
}

/* -EINTR when a signal came before it began. Once it is over, signals do what they always do. */
static int run_until_end(struct recording *rec)
{
	struct pollfd *fds = poll_list(rec);
	int err;

	if (!fds)
		return rp_fail(-ENOMEM, "out of memory for a recording");
	rec->begun = true;
	wants_to_stop(rec);
	rec->begin_ns = rp_monotonic_ns();
	rec->busy_ns = record_busy_ns();
	err = rec->caught ? -EINTR : start(rec);
	wants_to_stop(rec); /* start() may have ended for that */
	if (!err)
		err = record_languages_begin(rec);
	if (!err)
		err = confine(rec);
	if (!err && rec->tables) {
		record_tables_make_beside(rec->tables);
		fds[WAKE_TABLES].fd = record_tables_fd(rec->tables);
	}
	if (!err && rec->profiler->begin)
		err = rec->profiler->begin(rec);
	if (!err)
		err = wait_and_drain(rec, fds);
	rec->end_ns = rp_monotonic_ns();
	rec->busy_ns = record_busy_ns() - rec->busy_ns;
	show_progress(rec, true);
	record_release_signals(rec);
	free(fds);
	return err;
}

int record_run(struct recording *rec)
{
	int err = rec->begun ? rp_fail(-EALREADY, "a recording runs once") : run_until_end(rec);

	if (!err && rec->profiler->stop)
		err = rec->profiler->stop(rec);
	if (!err) {
		if (rec->during)
			record_during_stop(rec);
		record_detach_list(rec, NULL);
		rp_quiesce();
		err = record_stacks_finish(rec->stacks);
	}
	if (!err)
		err = record_settle(rec);
	if (!err)
		err = record_rewalk(rec);
	if (!err && rec->opt->samples) /* what the last drain brought */
		err = record_samples_hand_over(rec);
	if (!err && rec->profiler->collect)
		err = rec->profiler->collect(rec);
	if (!err && rec->during)
		err = record_during_finish(rec);
	return err;
}
