/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c: events that only count: some kinds in some places, in groups. Each kind has a
 * descriptor in each place: a task, a CPU, a task on a CPU, or a control group on a CPU.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/budget.h"

struct counter {
	struct rp_event event;
	struct perf_event_attr attr;
	enum rp_counter_state state;
	struct rp_cpus cpus; /* of a PMU that counts for some CPUs on behalf of others */
	bool split;	     /* it did not fit into its group, which has been said */
};

/* fds has a row of nplaces for each event; -1: not open. */
struct rp_counters {
	struct counter *counters;
	size_t n;
	struct rp_counter_place *places;
	size_t nplaces;
	int *fds;
	int cgroup;
	bool by_task;
	bool user_only;
};

static int *fd_at(const struct rp_counters *c, size_t event, size_t place)
{
	return &c->fds[event * c->nplaces + place];
}

/* ---- what is asked of the kernel */

static void set_attr(struct counter *c, const struct rp_counters_options *opt, bool user_only)
{
	const struct rp_event *e = &c->event;
	struct perf_event_attr *a = &c->attr;

	memset(a, 0, sizeof(*a));
	a->type = e->type;
	a->config = e->config;
	a->config1 = e->config1;
	a->config2 = e->config2;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->disabled = 1;
	a->inherit = opt->inherit && opt->ntasks;
	a->inherit_thread = a->inherit && opt->threads;
	a->enable_on_exec = opt->at_exec;
	a->exclude_user = e->exclude_user;
	a->exclude_kernel = e->exclude_kernel || user_only;
	a->exclude_hv = e->exclude_hv || user_only;
	a->exclude_idle = e->exclude_idle;
	a->exclude_host = e->exclude_host;
	a->exclude_guest = e->exclude_guest;
}

/* A group's first event that is open there: the others are scheduled with it. -1: none. */
static int leader_at(const struct rp_counters *c, size_t event, size_t place)
{
	const uint32_t group = c->counters[event].event.group;

	for (size_t i = 0; group && i < event; i++)
		if (c->counters[i].event.group == group && !c->counters[i].split &&
		    *fd_at(c, i, place) >= 0)
			return *fd_at(c, i, place);
	return -1;
}

static int open_once(const struct rp_counters *c, const struct counter *counter,
		     const struct rp_counter_place *place, int leader)
{
	struct perf_event_attr attr = counter->attr;

	attr.pinned = counter->event.pinned && leader < 0; /* a group is, by its first event */
	/* What the first event says of the beginning holds for the group. */
	if (leader >= 0) {
		attr.disabled = 0;
		attr.enable_on_exec = 0;
	}
	return c->cgroup >= 0 ? rp_sys_perf_event_open_cgroup(&attr, c->cgroup, place->cpu, leader)
			      : rp_sys_perf_event_open(&attr, place->task, place->cpu, leader);
}

/* What old kernels do not know is left out: threads alone (5.13). */
static int open_at(struct rp_counters *c, struct counter *counter,
		   const struct rp_counter_place *place, int leader)
{
	int fd = open_once(c, counter, place, leader);

	if (fd == -EMFILE && rp_raise_nofile())
		fd = open_once(c, counter, place, leader);
	if ((fd == -EINVAL || fd == -E2BIG) && counter->attr.inherit_thread) {
		counter->attr.inherit_thread = 0;
		fd = open_once(c, counter, place, leader);
		if (fd >= 0)
			rp_log(RP_INFO, "%s: before Linux 5.13 processes that they start count too",
			       counter->event.name);
		else
			counter->attr.inherit_thread = 1;
	}
	if (fd == -EINVAL && leader >= 0) {
		fd = open_once(c, counter, place, -1);
		if (fd >= 0 && !counter->split)
			rp_log(RP_WARN,
			       "%s does not fit into its group on this processor: it counts by "
			       "itself",
			       counter->event.name);
		counter->split = counter->split || fd >= 0;
	}
	return fd;
}

/* ---- each kind in all places */

/* Not an error, but an answer: such an event is not here. -EINVAL of the generic ones: a processor
 * that has no such kind of access to that cache. */
static bool is_missing(const struct rp_event *e, int err)
{
	if (err == -EINVAL && (e->type == PERF_TYPE_HARDWARE || e->type == PERF_TYPE_HW_CACHE))
		return true;
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENXIO;
}

/* A task that ended, a CPU that went away since they were listed. */
static bool is_gone(int err, const struct rp_counter_place *place)
{
	return err == -ESRCH || (err == -ENODEV && place->cpu >= 0);
}

static void close_event(struct rp_counters *c, size_t event)
{
	for (size_t i = 0; i < c->nplaces; i++)
		if (*fd_at(c, event, i) >= 0) {
			close(*fd_at(c, event, i));
			*fd_at(c, event, i) = -1;
		}
}

static bool counts_at(const struct counter *counter, const struct rp_counter_place *place)
{
	return !counter->cpus.n || rp_cpus_has(&counter->cpus, place->cpu);
}

/* 0, or the first error that is more than a place which has gone. */
static int open_event(struct rp_counters *c, size_t event)
{
	struct counter *counter = &c->counters[event];
	int gone = counter->cpus.n ? 0 : -ENODEV;
	bool open = false;

	for (size_t i = 0; i < c->nplaces; i++) {
		int fd = -1;

		if (!counts_at(counter, &c->places[i]))
			continue;
		if (rp_work_is_stopped())
			return -EINTR;
		fd = open_at(c, counter, &c->places[i], leader_at(c, event, i));
		if (fd >= 0)
			*fd_at(c, event, i) = fd;
		open = open || fd >= 0;
		if (fd < 0 && !is_gone(fd, &c->places[i]))
			return fd;
		gone = fd < 0 ? fd : gone;
	}
	return open ? 0 : gone;
}

static const char *where(const struct rp_counters *c, char text[32])
{
	const struct rp_counter_place *p = c->places;

	if (p->task >= 0)
		snprintf(text, 32, "thread %d", (int)p->task);
	else
		snprintf(text, 32, "CPU %d", p->cpu);
	return text;
}

/* A PMU beside the processors' cores counts whole CPUs, and for some of them on behalf of all. */
static int of_whole_cpus(struct rp_counters *c, struct counter *counter)
{
	if (!counter->cpus.n || (!c->by_task && c->cgroup < 0))
		return 0;
	counter->state = RP_COUNTER_NOT_SUPPORTED;
	rp_log(RP_WARN, "%s counts whole CPUs alone: -a or -C, without a process",
	       counter->event.name);
	return 1;
}

/* Once the kernel has refused its own side, it is left out of all events. */
static int open_as_user(struct rp_counters *c, size_t event, const struct rp_counters_options *opt)
{
	struct counter *counter = &c->counters[event];

	close_event(c, event);
	set_attr(counter, opt, true);
	if (rp_event_is_kernels(&counter->event) || counter->event.exclude_user) {
		counter->state = RP_COUNTER_NOT_PERMITTED;
		c->user_only = true;
		return 0;
	}
	return open_event(c, event);
}

static int open_counter(struct rp_counters *c, size_t event, const struct rp_counters_options *opt)
{
	struct counter *counter = &c->counters[event];
	const bool has_kernel = !counter->event.exclude_kernel;
	char text[32];
	int err;

	if (of_whole_cpus(c, counter))
		return 0;
	set_attr(counter, opt, false);
	err = c->user_only && has_kernel ? -EACCES : open_event(c, event);
	if ((err == -EACCES || err == -EPERM) && has_kernel) {
		const int as_user = open_as_user(c, event, opt);

		c->user_only = c->user_only || !as_user;
		err = as_user == -EACCES || as_user == -EPERM ? err : as_user;
	}
	if (is_missing(&counter->event, err)) {
		close_event(c, event);
		counter->state = RP_COUNTER_NOT_SUPPORTED;
		rp_log(RP_INFO, "%s: %s", counter->event.name, strerror(-err));
		return 0;
	}
	if (!err || err == -EINTR)
		return err;
	return rp_perf_open_failed(err, &counter->attr, counter->event.name, where(c, text));
}

/* ---- places */

static int add_places(struct rp_counters *c, const struct rp_counters_options *opt,
		      const struct rp_cpus *cpus)
{
	const size_t ntasks = opt->ntasks ? opt->ntasks : 1, ncpus = cpus ? (size_t)cpus->n : 1;
	struct rp_counter_place *place;

	c->nplaces = ntasks * ncpus;
	c->places = calloc(c->nplaces, sizeof(*c->places));
	c->fds = malloc(c->nplaces * c->n * sizeof(*c->fds));
	if (!c->places || !c->fds)
		return -ENOMEM;
	place = c->places;
	for (size_t t = 0; t < ntasks; t++)
		for (size_t i = 0; i < ncpus; i++)
			*place++ = (struct rp_counter_place){ opt->ntasks ? opt->tasks[t] : -1,
							      cpus ? cpus->cpu[i] : -1 };
	for (size_t i = 0; i < c->nplaces * c->n; i++)
		c->fds[i] = -1;
	return 0;
}

static int read_cpumask(struct counter *counter)
{
	char path[128], *text;
	int err;

	if (!*counter->event.pmu)
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpumask",
		 counter->event.pmu);
	if (rp_read_file(path, &text))
		return 0;
	err = *text && *text != '\n' ? rp_cpus_parse(text, &counter->cpus) : 0;
	free(text);
	return err == -ENOMEM ? err : 0;
}

static int open_all(struct rp_counters *c, const struct rp_counters_options *opt)
{
	struct rp_cpus online = { 0 };
	const struct rp_cpus *cpus = opt->cpus;
	int err = 0;

	if (!cpus && !opt->ntasks) {
		err = rp_cpus_online(&online);
		cpus = &online;
	}
	if (!err)
		err = add_places(c, opt, cpus);
	rp_cpus_free(&online);
	for (size_t i = 0; i < c->n && !err; i++) {
		c->counters[i].event = opt->events[i];
		err = read_cpumask(&c->counters[i]);
	}
	for (size_t i = 0; i < c->n && !err; i++)
		err = open_counter(c, i, opt);
	return err;
}

int rp_counters_open(const struct rp_counters_options *opt, struct rp_counters **out)
{
	struct rp_counters *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->cgroup = opt->cgroup;
	c->by_task = opt->ntasks;
	c->counters = calloc(opt->nevents, sizeof(*c->counters));
	if (c->counters) {
		c->n = opt->nevents;
		err = open_all(c, opt);
	}
	if (err)
		rp_counters_close(c);
	else
		*out = c;
	return err;
}

/* ---- using */

/* Events of a group are switched by its first one, and by themselves where they are alone. */
static int control(const struct rp_counters *c, unsigned long request)
{
	for (size_t i = 0; i < c->n * c->nplaces; i++) {
		const int err = c->fds[i] < 0 ? 0 : rp_sys_ioctl(c->fds[i], request, 0);

		if (err)
			return rp_fail(err, "cannot switch event %s %s: %s",
				       c->counters[i / c->nplaces].event.name,
				       request == PERF_EVENT_IOC_ENABLE ? "on" : "off",
				       strerror(-err));
	}
	return 0;
}

int rp_counters_enable(struct rp_counters *c)
{
	return control(c, PERF_EVENT_IOC_ENABLE);
}

int rp_counters_disable(struct rp_counters *c)
{
	return control(c, PERF_EVENT_IOC_DISABLE);
}

enum rp_counter_state rp_counters_state(const struct rp_counters *c, size_t event)
{
	return c->counters[event].state;
}

bool rp_counters_user_only(const struct rp_counters *c)
{
	return c->user_only;
}

size_t rp_counters_places(const struct rp_counters *c)
{
	return c->nplaces;
}

struct rp_counter_place rp_counters_place(const struct rp_counters *c, size_t place)
{
	return c->places[place];
}

int rp_counters_read(const struct rp_counters *c, size_t event, size_t place,
		     struct rp_perf_counts *out)
{
	const int fd = *fd_at(c, event, place);
	uint64_t now[3] = { 0 };
	ssize_t n = 0;

	if (fd >= 0)
		do
			n = read(fd, now, sizeof(now));
		while (n < 0 && errno == EINTR);
	if (n < 0)
		return rp_fail(-errno, "cannot read event %s: %s", c->counters[event].event.name,
			       strerror(errno));
	/* An event in error state (its pinned counter was taken away) reads as end of file. */
	*out = n == sizeof(now) ? (struct rp_perf_counts){ now[0], now[1], now[2] }
				: (struct rp_perf_counts){ 0 };
	return 0;
}

void rp_counters_close(struct rp_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (c->fds)
			close_event(c, i);
		rp_cpus_free(&c->counters[i].cpus);
	}
	free(c->counters);
	free(c->places);
	free(c->fds);
	free(c);
}
