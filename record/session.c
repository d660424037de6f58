/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "system.h"
#include "session.h"

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

static int take_signals(struct session *s)
{
	sigset_t set;

	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? rp_fail(-errno, "signalfd: %s", strerror(errno)) : 0;
}

static int caught_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

static void release_signals(struct session *s)
{
	sigset_t set;

	if (s->signals < 0)
		return;
	while (caught_signal(s)) /* what came twice within a moment meant the same */
		;
	close(s->signals);
	s->signals = -1;
	signal_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/*
 * The symbolizer holds every file that gave a name. Only after the program to be profiled has been forked, which is
 * to find the limits as they were.
 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int use_debuginfod(struct session *s)
{
	int err = sym_user_use_debuginfod(s->user);

	switch (err) {
	case -EDESTADDRREQ:
		return rp_fail(err, "--debuginfod: DEBUGINFOD_URLS names no server (sudo drops it: "
				    "sudo --preserve-env=DEBUGINFOD_URLS)");
	case -ELIBACC:
		return rp_fail(err, "--debuginfod: libdebuginfod.so.1 cannot be loaded; Debian and "
				    "Ubuntu have it in the package libdebuginfod1");
	case -ENOSYS:
		return rp_fail(err,
			       "--debuginfod: this rawprof is a static program, which can load "
			       "no library; use the other one, or debuginfod-find");
	}
	return err;
}

/* Names that nobody had are no fault; servers that cannot be asked are, and files that cannot be read. */
static void tell_of_debug_files(const struct session *s)
{
	struct sym_debuginfod_stats stats;
	const char *path;
	size_t n;

	if (!s->user)
		return;
	n = sym_user_unreadable_source(s->user, &path);
	if (n)
		rp_log(RP_WARN,
		       "no source lines of %s%s: the debug data is damaged, or packed as this libdw cannot "
		       "read it (zstd needs elfutils 0.189)",
		       path, n > 1 ? " and others" : "");
	stats = sym_user_debuginfod_stats(s->user);
	if (stats.asked)
		rp_log(stats.error ? RP_WARN : RP_INFO,
		       "debuginfod: %u files asked for, %u found%s%s", stats.asked, stats.found,
		       stats.error ? "; the last error: " : "",
		       stats.error ? strerror(-stats.error) : "");
}

static int open_symbolizer(struct session *s)
{
	const struct sym_kernel_source source = record_ksym_source(&s->ksym);
	int err = sym_kernel_open(&s->kernel, &source);

	if (!err)
		err = sym_user_open(&s->user, NULL);
	if (!err && s->opt->debuginfod)
		err = use_debuginfod(s);
	return err ? err : sym_demangler_open(&s->demangler);
}

void record_session_init(struct session *s, const struct options *opt)
{
	*s = (struct session){ .opt = opt, .signals = -1, .stats = -1 };
	s->target.gate = s->target.exec_error = -1;
	record_ksym_init(&s->ksym);
}

int record_session_open(struct session *s)
{
	/*
	 * No build ids: as long as one event asks for them, the kernel (6.18 too) says of the mmap records of all
	 * other events that they have one, and a perf that records at the same time stumbles over its own data.
	 */
	const struct rp_side_options side = { .build_ids = false };
	int err;

	s->wall_offset = rp_wall_offset_ns();
	err = record_target_open(&s->target, s->opt);
	raise_file_limit();
	if (!err)
		err = take_signals(s);
	if (!err)
		err = open_symbolizer(s);
	if (!err)
		err = rp_sideband_open(&side, &s->side);
	if (err)
		return err;
	s->stats = rp_stats_enable();
	return 0;
}

/* ---- what processes do ----------------------------------------------------------------------------------- */

/* A process that ran before we looked: nobody tells of its mappings, so they are read. */
static int read_process(struct session *s, uint32_t pid)
{
	int err;

	if (!rp_id_set_add(&s->known, pid))
		return 0;
	err = sym_user_snapshot(s->user, pid, rp_monotonic_ns());
	return err == -ENOMEM ? err : 0; /* gone, or not ours: its frames stay addresses */
}

static int on_mmap(struct session *s, const struct rp_side_event *e)
{
	struct sym_mmap m = {
		.time = e->time,
		.pid = e->pid,
		.prot = e->mmap.prot,
		.start = e->mmap.start,
		.len = e->mmap.len,
		.pgoff = e->mmap.pgoff,
		.dev_major = e->mmap.maj,
		.dev_minor = e->mmap.min,
		.inode = e->mmap.ino,
		.build_id_size = e->mmap.build_id_size,
		.filename = e->mmap.path,
	};
	int err;

	if (s->feed)
		unwind_feed_changed(s->feed, e->pid);
	memcpy(m.build_id, e->mmap.build_id, sizeof(m.build_id));
	err = sym_user_mmap(s->user, &m);
	if (err && err != -EINVAL)
		return err;
	return s->work && s->work->mapped ? s->work->mapped(s->work->ctx, e) : 0;
}

static int on_comm(struct session *s, const struct rp_side_event *e)
{
	if (e->comm.exec) {
		rp_id_set_add(&s->known, e->pid);
		if (s->feed)
			unwind_feed_executed(s->feed, e->pid);
	}
	return sym_user_comm(s->user, e->time, e->pid, e->tid, e->comm.comm, e->comm.exec);
}

bool record_session_follows(const struct session *s, uint32_t pid)
{
	return s->target.child &&
	       (pid == (uint32_t)s->target.child || rp_id_set_has(&s->family, pid));
}

static int on_fork(struct session *s, const struct rp_side_event *e)
{
	int err;

	if (e->pid == e->fork.ppid)
		return 0; /* a thread */
	if (record_session_follows(s, e->fork.ppid))
		rp_id_set_add(&s->family, e->pid);
	err = read_process(s, e->fork.ppid); /* what the child inherits */
	if (!err)
		err = sym_user_fork(s->user, e->time, e->pid, e->fork.ppid);
	rp_id_set_add(&s->known, e->pid);
	return err;
}

/* Whether others live on after the main thread: the directory has a link for each thread, beside its own. */
static bool has_threads(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return !stat(path, &st) && st.st_nlink > 3;
}

static int on_end(struct session *s, const struct rp_side_event *e)
{
	if (e->pid != e->tid || has_threads(e->pid))
		return 0;
	if (s->feed)
		unwind_feed_ended(s->feed, e->pid);
	return sym_user_exit(s->user, e->time, e->pid);
}

static int on_side_event(void *ctx, const struct rp_side_event *e)
{
	switch (e->type) {
	case RP_SIDE_MMAP:
		return on_mmap(ctx, e);
	case RP_SIDE_COMM:
		return on_comm(ctx, e);
	case RP_SIDE_FORK:
		return on_fork(ctx, e);
	case RP_SIDE_EXIT:
		return on_end(ctx, e);
	default:
		return 0;
	}
}

void record_session_saw(struct session *s, uint32_t pid, uint64_t generation)
{
	if (rp_id_set_add(&s->met, pid | generation << 32)) {
		rp_id_set_add(&s->fresh, pid);
		rp_id_set_add(&s->sampled, pid);
	}
}

/* While they live: the next look may be too late for a file that ends with its process. */
static int hold_fresh(struct session *s)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < rp_id_set_count(&s->fresh); i++) {
		uint32_t pid = (uint32_t)rp_id_set_at(&s->fresh, i);

		err = read_process(s, pid);
		if (s->feed)
			unwind_feed_process(s->feed, pid);
		if (!err && sym_user_keep(s->user, pid) == -ENOMEM)
			err = -ENOMEM;
	}
	rp_id_set_free(&s->fresh);
	if (s->feed)
		unwind_feed_refresh(s->feed);
	return err;
}

/* Code that nobody can place, garbage that looks like a stack: reading the mappings again does not always help. */
#define MAX_REREADS 100

void record_session_lost_way(struct session *s, uint32_t pid)
{
	if (!s->feed || s->rereads == MAX_REREADS)
		return;
	s->rereads++;
	unwind_feed_lost(s->feed, pid);
}

/*
 * Samples first, then the side-band: what a sample needs was written before it, so it is there by now. Order
 * does not matter to the symbolizer, which sorts.
 */
static int drain(struct session *s, const struct session_work *work)
{
	int err = work->drain(work->ctx);

	if (!err)
		err = rp_sideband_drain(s->side, true, on_side_event, s);
	if (err >= 0)
		err = hold_fresh(s);
	if (!err && work->drained)
		err = work->drained(work->ctx);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "out of memory while recording");
	return err;
}

/* --samples names them as they come; a report names them at the end. */
static bool will_be_named(void *ctx, uint32_t pid)
{
	const struct session *s = ctx;

	return !s->opt->samples && rp_id_set_has(&s->sampled, pid);
}

/* So much is always remembered: 2 MB. */
#define EVENTS_REMEMBERED 16384

/*
 * Recordings may go on for days, and most processes live for milliseconds, without a sample. Before anything is
 * forgotten all that happened until then is read.
 */
static int forget_ended(struct session *s, const struct session_work *work)
{
	uint64_t before = rp_monotonic_ns();
	int err = 0;

	if (sym_user_events(s->user) < s->most_events + EVENTS_REMEMBERED)
		return 0;
	err = drain(s, work);
	if (!err)
		sym_user_prune(s->user, before, will_be_named, s); /* or later, without memory */
	s->most_events = 2 * sym_user_events(s->user);
	return err;
}

int record_session_settle(struct session *s)
{
	int err = rp_sideband_drain(s->side, true, on_side_event, s);

	if (err >= 0)
		err = hold_fresh(s);
	if (rp_sideband_lost(s->side))
		rp_log(RP_WARN, "%llu records about processes were lost: some may lack names",
		       (unsigned long long)rp_sideband_lost(s->side));
	return err;
}

/* ---- time ------------------------------------------------------------------------------------------------- */

static void progress(const struct session *s, const struct session_work *work, bool last)
{
	static bool shown;

	if (s->opt->verbosity < 0 || s->opt->samples || !isatty(STDERR_FILENO))
		return;
	if (!last) {
		fprintf(stderr, "\r\033[Krecording: %.0f s, %llu stacks; Ctrl-C ends",
			(double)(rp_monotonic_ns() - s->begin_ns) / NS_PER_SECOND,
			(unsigned long long)work->samples(work->ctx));
		shown = true;
	} else if (shown) {
		fputs("\r\033[K", stderr);
	}
	fflush(stderr);
}

/* How a wait can end. */
enum { WAKE_SIGNAL, WAKE_WORK, WAKE_SIDEBAND, WAKE_TARGET };

static bool all_ended(const struct pollfd *fds, uint32_t n)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < n; i++)
		ended += fds[i].fd < 0;
	return n && ended == n;
}

static uint64_t earliest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t first = a < b ? a : b;

	return first < c ? first : c;
}

/* Until something wakes us, but no longer than @most_ns. */
static int wait_until(const struct session *s, struct pollfd *fds, uint64_t then, uint64_t most_ns)
{
	const uint64_t now = rp_monotonic_ns();
	uint64_t left = then > now ? then - now : 0;
	struct timespec t;

	left = left < most_ns ? left : most_ns;
	t = (struct timespec){ .tv_sec = (time_t)(left / NS_PER_SECOND),
			       .tv_nsec = (long)(left % NS_PER_SECOND) };
	if (ppoll(fds, WAKE_TARGET + s->target.npidfds, &t, NULL) < 0 && errno != EINTR)
		return rp_fail(-errno, "poll: %s", strerror(errno));
	return 0;
}

/*
 * Until the end. Samples are counted in the kernel and the ring wakes us when it fills, so there is little to
 * do; --samples, which prints them as they come, looks ten times a second.
 */
static int wait_and_drain(struct session *s, const struct session_work *work, struct pollfd *fds)
{
	uint64_t end = s->opt->duration ? s->begin_ns + (uint64_t)(s->opt->duration * NS_PER_SECOND)
					: UINT64_MAX;
	const bool often = s->opt->samples || work->mapped || work->often;
	uint64_t step = often ? NS_PER_SECOND / 10 : NS_PER_SECOND;
	uint64_t next_tick = s->begin_ns + step, now;
	uint64_t pause = work->interval ? (uint64_t)(s->opt->interval * NS_PER_SECOND) : 0;
	uint64_t next_report = pause ? s->begin_ns + pause : UINT64_MAX;

	for (;;) {
		uint64_t hurry = s->feed ? unwind_feed_hurry(s->feed) : UINT64_MAX;
		int err = wait_until(s, fds, earliest(next_tick, next_report, end), hurry);

		if (err)
			return err;
		now = rp_monotonic_ns();
		if (fds[WAKE_SIGNAL].revents)
			s->caught = caught_signal(s);
		for (uint32_t i = 0; i < s->target.npidfds; i++)
			if (fds[WAKE_TARGET + i].revents)
				fds[WAKE_TARGET + i].fd = -1;
		if (now >= end || s->caught || all_ended(fds + WAKE_TARGET, s->target.npidfds))
			return 0;
		if (fds[WAKE_WORK].revents || fds[WAKE_SIDEBAND].revents || often ||
		    hurry != UINT64_MAX)
			err = drain(s, work);
		if (!err && now >= next_tick) {
			next_tick = now + step;
			progress(s, work, false);
			s->rereads = 0;
			s->wall_offset = rp_wall_offset_ns();
			if (work->tick)
				err = work->tick(work->ctx);
			if (!err)
				err = forget_ended(s, work);
		}
		if (!err && now >= next_report) {
			next_report += pause * ((now - next_report) / pause + 1);
			err = drain(s, work);
			if (!err)
				err = work->interval(work->ctx);
		}
		if (err < 0)
			return err;
	}
}

int record_session_record(struct session *s, const struct session_work *work)
{
	uint32_t n = WAKE_TARGET + s->target.npidfds;
	struct pollfd *fds = calloc(n, sizeof(*fds));
	int err;

	if (!fds)
		return -ENOMEM;
	fds[WAKE_SIGNAL] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
	fds[WAKE_WORK] = (struct pollfd){ .fd = work->wake_fd, .events = POLLIN };
	fds[WAKE_SIDEBAND] = (struct pollfd){ .fd = rp_sideband_fd(s->side), .events = POLLIN };
	for (uint32_t i = 0; i < s->target.npidfds; i++)
		fds[WAKE_TARGET + i] =
			(struct pollfd){ .fd = s->target.pidfd[i], .events = POLLIN };

	s->work = work;
	s->caught = caught_signal(s);
	s->begin_ns = rp_monotonic_ns();
	s->busy_ns = record_busy_ns();
	err = s->caught ? -EINTR : work->start(work->ctx);
	if (!err && work->loaded)
		err = record_target_start_watched(&s->target, s->opt, work->loaded, work->ctx);
	else if (!err)
		err = record_target_start(&s->target, s->opt);
	if (!err)
		rp_log(RP_INFO, "recording");
	if (!err)
		err = wait_and_drain(s, work, fds);
	s->end_ns = rp_monotonic_ns();
	s->busy_ns = record_busy_ns() - s->busy_ns;
	progress(s, work, true);
	release_signals(s); /* from now on Ctrl-C means what it always means */
	free(fds);
	return err;
}

int record_session_finish(struct session *s)
{
	return record_target_finish(&s->target);
}

void record_session_close(struct session *s)
{
	record_target_close(&s->target);
	release_signals(s);
	rp_sideband_close(s->side);
	tell_of_debug_files(s);
	sym_user_close(s->user);
	sym_kernel_close(s->kernel);
	sym_demangler_close(s->demangler);
	record_ksym_close(&s->ksym);
	if (s->stats >= 0)
		close(s->stats);
	rp_id_set_free(&s->known);
	rp_id_set_free(&s->family);
	rp_id_set_free(&s->met);
	rp_id_set_free(&s->fresh);
	rp_id_set_free(&s->sampled);
}
