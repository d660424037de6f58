/* SPDX-License-Identifier: BSD-2-Clause */
/* An order is one piece of memory from its file to its table: what was made is never lost. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/unwind.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/lack.h"
#include "table_maker.h"

enum { READ, COMPUTED, LANES };

struct order {
	struct order *next;
	int fd;
	struct made_table made;
};

/* First in, first out. */
struct orders {
	struct order *first, **last;
};

struct lane {
	struct record_table_maker *maker;
	bool is_computed;
	bool is_running; /* it has a thread */
	pthread_t thread;
	struct orders waiting;
};

struct record_table_maker {
	struct unwind_cache *cache;
	int event;
	pthread_mutex_t lock; /* of all that follows, and of the lanes */
	pthread_cond_t ordered;
	struct lane lane[LANES];
	struct orders made;
	uint32_t nwaiting;
	bool is_closing;
	uint64_t give_up_ns; /* once it is closing */
};

static void put(struct orders *q, struct order *o)
{
	o->next = NULL;
	*q->last = o;
	q->last = &o->next;
}

static struct order *get(struct orders *q)
{
	struct order *o = q->first;

	if (o)
		q->first = o->next;
	if (!q->first)
		q->last = &q->first;
	return o;
}

static void free_orders(struct orders *q)
{
	struct order *o;

	while ((o = get(q))) {
		if (o->fd >= 0)
			close(o->fd);
		if (o->made.more >= 0)
			close(o->made.more);
		unwind_table_free(o->made.table);
		free(o);
	}
}

/* ---- in the threads */

static bool is_given_up(void *maker)
{
	struct record_table_maker *m = maker;
	bool is_over;

	pthread_mutex_lock(&m->lock);
	is_over = m->is_closing && rp_monotonic_ns() > m->give_up_ns;
	pthread_mutex_unlock(&m->lock);
	return is_over;
}

static void make(struct lane *l, struct order *o)
{
	struct unwind_cache *c = l->maker->cache;
	const uint64_t began = rp_thread_cpu_ns();
	bool has_more = false;
	struct stat st;
	int err = l->is_computed ? unwind_cache_table(c, &o->made.table, o->fd, true, NULL)
				 : unwind_cache_first(c, &o->made.table, o->fd, &has_more);

	o->made.spent_ns = rp_thread_cpu_ns() - began;
	if (!fstat(o->fd, &st)) {
		o->made.owner = st.st_uid;
		o->made.size = (uint64_t)st.st_size;
	}
	if (err)
		o->made.table = NULL;
	rp_lack_file(has_more ? 0 : err, o->fd);
	if (has_more)
		o->made.more = o->fd;
	else
		close(o->fd);
	o->fd = -1;
}

static void tell(const struct record_table_maker *m)
{
	const uint64_t one = 1;

	if (write(m->event, &one, sizeof(one)) < 0)
		return; /* it is set already */
}

static void *work(void *lane)
{
	struct lane *l = lane;
	struct record_table_maker *m = l->maker;
	struct order *o;

	prctl(PR_SET_NAME, "rawprof-tables");
	rp_work_watch(is_given_up, m);
	pthread_mutex_lock(&m->lock);
	while (!m->is_closing) {
		o = get(&l->waiting);
		if (!o) {
			pthread_cond_wait(&m->ordered, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		make(l, o);
		pthread_mutex_lock(&m->lock);
		m->nwaiting--;
		put(&m->made, o);
		tell(m);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* ---- in the recording */

int record_table_maker_open(struct record_table_maker **out, struct unwind_cache *cache)
{
	struct record_table_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->event < 0) {
		free(m);
		return -errno;
	}
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->ordered, NULL);
	m->cache = cache;
	m->made.last = &m->made.first;
	for (int i = 0; i < LANES; i++) {
		m->lane[i].maker = m;
		m->lane[i].is_computed = i == COMPUTED;
		m->lane[i].waiting.last = &m->lane[i].waiting.first;
	}
	*out = m;
	return 0;
}

void record_table_maker_close(struct record_table_maker *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->give_up_ns = rp_monotonic_ns() + TABLES_LAST_MS * (NS_PER_SECOND / 1000);
	m->is_closing = true;
	pthread_cond_broadcast(&m->ordered);
	pthread_mutex_unlock(&m->lock);
	for (int i = 0; i < LANES; i++) {
		if (m->lane[i].is_running)
			pthread_join(m->lane[i].thread, NULL);
		free_orders(&m->lane[i].waiting);
	}
	free_orders(&m->made);
	pthread_cond_destroy(&m->ordered);
	pthread_mutex_destroy(&m->lock);
	close(m->event);
	free(m);
}

int record_table_maker_fd(const struct record_table_maker *m)
{
	return m->event;
}

/* Signals are for the threads that were there before. */
static int start(struct lane *l)
{
	sigset_t all, before;
	int err;

	if (l->is_running)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&l->thread, NULL, work, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	l->is_running = !err;
	return err == EAGAIN ? -ENOMEM : -err;
}

int record_table_maker_order(struct record_table_maker *m, uint64_t number, int fd,
			     bool is_computed)
{
	struct lane *l = &m->lane[is_computed ? COMPUTED : READ];
	struct order *o;
	int err = 0;

	pthread_mutex_lock(&m->lock);
	if (m->nwaiting == TABLES_WAITING)
		err = -EAGAIN;
	pthread_mutex_unlock(&m->lock);
	if (!err)
		err = start(l);
	if (err)
		return err;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->made.number = number;
	o->made.more = -1;
	o->made.is_computed = is_computed;
	o->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (o->fd < 0) {
		free(o);
		return -errno;
	}
	pthread_mutex_lock(&m->lock);
	m->nwaiting++;
	put(&l->waiting, o);
	pthread_cond_broadcast(&m->ordered);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

/* Its place in the queue is the next one's of the one before. */
static void put_first(struct orders *q, uint64_t number)
{
	struct order **at = &q->first, *o;

	while (*at && (*at)->made.number != number)
		at = &(*at)->next;
	o = *at;
	if (!o || at == &q->first)
		return;
	*at = o->next;
	if (q->last == &o->next)
		q->last = at;
	o->next = q->first;
	q->first = o;
}

void record_table_maker_hurry(struct record_table_maker *m, uint64_t number)
{
	pthread_mutex_lock(&m->lock);
	for (int i = 0; i < LANES; i++)
		put_first(&m->lane[i].waiting, number);
	pthread_mutex_unlock(&m->lock);
}

bool record_table_maker_take(struct record_table_maker *m, struct made_table *out)
{
	struct order *o;
	uint64_t n;

	pthread_mutex_lock(&m->lock);
	o = get(&m->made);
	if (!o && read(m->event, &n, sizeof(n)) < 0)
		n = 0; /* nor was anything told */
	pthread_mutex_unlock(&m->lock);
	if (!o)
		return false;
	*out = o->made;
	free(o);
	return true;
}
