/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that read, one for each who waits for them, and users who have kept one. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "aside.h"
#include "clock.h"
#include "file.h"
#include "lack.h"
#include "subuid.h"

/* Who have kept a reader: if each of them still does, no user is looked at. */
enum { USERS = 8 };
#define PATIENCE_NS NS_PER_SECOND /* mostly it takes microseconds */
#define MOST_PATIENCE 30	  /*   on a machine that has no time for it */
#define ALONE_NS (30 * NS_PER_SECOND)
#define WAIT_NS (NS_PER_SECOND / 1000) /* shorter ones are nobody's fault */
#define SPIN_NS (3 * WAIT_NS)	       /* of CPU time, which is counted as such, too */

struct reader {
	struct reader *next;
	pthread_cond_t ordered, done;
	struct rp_aside *job; /* NULL: it waits for one */
	struct user *left_by; /* NULL: whoever gave the job waits for it */
	uint64_t spent_ns;    /* on the last job: CPU time, or all if it was kept waiting */
	pid_t thread;	      /* its number */
};

struct user {
	uid_t uid;
	uint32_t readers; /* that have not come back */
	uint64_t until_ns;
};

/* Of all that follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reader *idle;
static struct user users[USERS];
static atomic_bool not_yet;

static _Thread_local uint64_t spent_ns;

/* ---- users */

/* Theirs, or one that may become it; NULL: all are in use. */
static struct user *find_user(uid_t uid)
{
	struct user *other = NULL;

	for (int i = 0; i < USERS; i++) {
		if (users[i].until_ns && users[i].uid == uid)
			return &users[i];
		if (!users[i].readers && (!other || users[i].until_ns < other->until_ns))
			other = &users[i];
	}
	return other;
}

static bool is_left_alone(uid_t uid)
{
	const struct user *u = find_user(uid);

	return !u || (u->uid == uid && (u->readers || u->until_ns > rp_monotonic_ns()));
}

static struct user *leave_alone(uid_t uid)
{
	struct user *u = find_user(uid);

	if (!u)
		u = users; /* others came first meanwhile: one of them waits for this one, too */
	else if (u->uid != uid)
		*u = (struct user){ .uid = uid };
	u->readers++;
	u->until_ns = rp_monotonic_ns() + ALONE_NS;
	return u;
}

/* ---- in the thread */

static void *read_jobs(void *ctx)
{
	struct reader *r = ctx;
	struct rp_aside *job;
	uint64_t waited, began;
	struct rp_wait wait;

	prctl(PR_SET_NAME, "rawprof-aside");
	pthread_mutex_lock(&lock);
	r->thread = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!r->job)
			pthread_cond_wait(&r->ordered, &lock);
		job = r->job;
		pthread_mutex_unlock(&lock);
		began = rp_thread_cpu_ns();
		waited = spent_ns;
		rp_wait_begin(&wait);
		job->read(job);
		rp_wait_end(&wait);
		r->spent_ns = rp_thread_cpu_ns() - began + spent_ns - waited;
		pthread_mutex_lock(&lock);
		r->job = NULL;
		if (r->left_by)
			break;
		pthread_cond_signal(&r->done);
	}
	r->left_by->readers--;
	pthread_mutex_unlock(&lock);
	job->drop(job);
	free(r);
	return NULL;
}

/* ---- outside of it */

/* A process that was forked has no threads but one. */
static void forget_all(void)
{
	pthread_mutex_init(&lock, NULL);
	idle = NULL;
	memset(users, 0, sizeof(users));
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_all);
}

static int start(struct reader *r)
{
	pthread_attr_t detached;
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &detached, read_jobs, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
	return -err;
}

/* 0 or a negative errno. */
static int get_reader(struct reader **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_condattr_t monotonic;
	struct reader *r = idle;
	int err;

	pthread_once(&once, watch_forks);
	*out = r;
	if (r) {
		idle = r->next;
		return 0;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->ordered, &monotonic);
	pthread_cond_init(&r->done, &monotonic);
	err = start(r);
	if (err)
		free(r);
	*out = err ? NULL : r;
	return err;
}

/* False: it only lacks a CPU, or nobody can tell. */
static bool is_blocked(const struct reader *r)
{
	char path[64], text[256];
	const char *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)r->thread);
	if (!r->thread || rp_read_small_file(path, text, sizeof(text)) < 0)
		return false;
	state = strstr(text, ") ");
	return state && state[2] != 'R';
}

/* False: it has not come back, and waits for something; or has not in a very long time. */
static bool wait_for(struct reader *r)
{
	bool is_over = false;

	for (int i = 0; r->job && !is_over && i < MOST_PATIENCE; i++) {
		const uint64_t end = rp_monotonic_ns() + PATIENCE_NS;
		const struct timespec until = { .tv_sec = (time_t)(end / NS_PER_SECOND),
						.tv_nsec = (long)(end % NS_PER_SECOND) };

		while (r->job && !pthread_cond_timedwait(&r->done, &lock, &until))
			;
		if (!r->job)
			break;
		pthread_mutex_unlock(&lock); /* or it could be that it waits for this */
		is_over = is_blocked(r);
		pthread_mutex_lock(&lock);
	}
	return !r->job;
}

static int read_by(struct reader *r, struct rp_aside *job, uid_t uid)
{
	r->job = job;
	pthread_cond_signal(&r->ordered);
	if (wait_for(r)) {
		spent_ns += r->spent_ns;
		r->next = idle;
		idle = r;
		return 0;
	}
	r->left_by = leave_alone(uid);
	return -EBUSY;
}

int rp_read_aside(struct rp_aside *job, uid_t uid, const char *what)
{
	struct reader *r = NULL;
	int err;

	if (not_yet) {
		job->read(job);
		return 0;
	}
	uid = rp_subuid_first(uid);
	pthread_mutex_lock(&lock);
	err = is_left_alone(uid) ? -EBUSY : get_reader(&r);
	if (r)
		err = read_by(r, job, uid);
	pthread_mutex_unlock(&lock);
	if (!r)
		job->drop(job);
	if (err)
		rp_lack(err, what);
	return err;
}

void rp_aside_allow(bool may)
{
	not_yet = !may;
}

/* How often it gave up its CPU because it had to wait, not because its time was over. */
static long times_blocked(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void rp_wait_begin(struct rp_wait *w)
{
	w->blocked = times_blocked();
	w->cpu_ns = rp_thread_cpu_ns();
	w->began_ns = rp_monotonic_ns();
}

uint64_t rp_wait_end(const struct rp_wait *w)
{
	const uint64_t took = rp_monotonic_ns() - w->began_ns, cpu = rp_thread_cpu_ns() - w->cpu_ns;

	if (took < WAIT_NS)
		return 0;
	if (times_blocked() == w->blocked)
		return cpu < SPIN_NS ? 0 : cpu;
	spent_ns += took;
	return took;
}

uint64_t rp_aside_ns(void)
{
	return spent_ns;
}
