/* SPDX-License-Identifier: BSD-2-Clause */
/* perf.c: sets of perf events of one kind: one for each CPU that is online, or for each of some
 * threads. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Where one event runs: a CPU (or -1) and a thread (or -1). */
struct slot {
	int fd, cpu;
	pid_t task;
	uint64_t enabled_ns; /* when its CPU was last looked at */
};

/*
 * slots are what is open now. When a CPU goes, its event's counts go to `gone` and its slot away,
 * since an event does not come back with its CPU.
 */
struct rp_perf {
	struct rp_event event;
	struct perf_event_attr attr;
	struct slot *slots;
	int n, capacity;
	pid_t *tasks;
	size_t ntasks;
	bool follow;	     /* all online CPUs, also later ones */
	struct rp_cpus cpus; /* as they were at first, if follow */
	int prog_fd;
	bool running;
	struct rp_perf_counts gone;
};

static void set_attr(struct rp_perf *p, const struct rp_perf_options *opt)
{
	struct perf_event_attr *a = &p->attr;

	memset(a, 0, sizeof(*a));
	a->type = p->event.type;
	a->config = p->event.config;
	a->config1 = p->event.config1;
	a->config2 = p->event.config2;
	a->freq = opt->freq != 0;
	a->sample_period = opt->freq ? opt->freq : opt->period;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->inherit = opt->inherit && opt->ntasks;
	a->disabled = opt->disabled || opt->enable_on_exec;
	a->enable_on_exec = opt->enable_on_exec;
	a->exclude_user = opt->exclude_user || p->event.exclude_user;
	a->exclude_kernel = opt->exclude_kernel || p->event.exclude_kernel;
	a->exclude_hv = opt->exclude_kernel || p->event.exclude_hv;
	a->exclude_idle = p->event.exclude_idle;
	a->exclude_host = p->event.exclude_host;
	a->exclude_guest = p->event.exclude_guest;
	a->precise_ip = p->event.precise & 3;
	a->pinned = p->event.pinned;
}

/* ---- opening */

static int open_event(const struct rp_perf *p, pid_t task, int cpu)
{
	int fd = rp_sys_perf_event_open(&p->attr, task, cpu, -1);

	if (fd == -EMFILE && rp_raise_nofile())
		fd = rp_sys_perf_event_open(&p->attr, task, cpu, -1);
	return fd;
}

static int set_program(const struct rp_perf *p, int fd, int prog_fd)
{
	const int err = rp_sys_ioctl(fd, PERF_EVENT_IOC_SET_BPF, (unsigned long)prog_fd);

	if (err == -EINVAL)
		return rp_fail(
			err,
			"the kernel takes no BPF program on event %s: it must be of type perf "
			"event, on an event that samples",
			p->event.name);
	if (err == -EEXIST)
		return rp_fail(err, "event %s has a program already", p->event.name);
	return err ? rp_fail(err, "cannot attach to event %s: %s", p->event.name, strerror(-err))
		   : 0;
}

static int add_slot(struct rp_perf *p, int fd, pid_t task, int cpu)
{
	struct slot *more;

	if (p->n == p->capacity) {
		more = realloc(p->slots, ((size_t)p->capacity * 2 + 8) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->slots = more;
		p->capacity = p->capacity * 2 + 8;
	}
	p->slots[p->n++] = (struct slot){ fd, cpu, task, 0 };
	return 0;
}

static const char *place(pid_t task, int cpu, char text[32])
{
	snprintf(text, 32, task >= 0 ? "thread %d" : "CPU %d", task >= 0 ? (int)task : cpu);
	return text;
}

/* A CPU may go offline, and a thread end, between the list and the call: both are skipped. */
static bool may_skip(int err, pid_t task, int cpu)
{
	if (task >= 0)
		return err == -ESRCH;
	return cpu >= 0 && (err == -ENODEV || err == -EINVAL);
}

static int open_at(struct rp_perf *p, pid_t task, int cpu, int *skipped)
{
	const int fd = open_event(p, task, cpu);
	char where[32];
	int err;

	if (fd < 0) {
		*skipped = fd;
		if (may_skip(fd, task, cpu))
			rp_log(RP_DEBUG, "%s skipped: %s", place(task, cpu, where), strerror(-fd));
		return may_skip(fd, task, cpu) ? 0 : fd;
	}
	err = add_slot(p, fd, task, cpu);
	if (err)
		close(fd);
	return err;
}

static int open_cpus(struct rp_perf *p, const struct rp_cpus *cpus, pid_t task, int *skipped)
{
	int err = 0;

	for (int i = 0; i < cpus->n && !err; i++)
		err = open_at(p, task, cpus->cpu[i], skipped);
	return err;
}

static void close_slots(struct rp_perf *p)
{
	for (int i = 0; i < p->n; i++)
		close(p->slots[i].fd);
	p->n = 0;
}

/* Open everywhere that was asked for. Opening nowhere at all is an error: the last reason. */
static int open_all(struct rp_perf *p, const struct rp_cpus *cpus)
{
	int err = 0, skipped = -ESRCH;

	if (!p->ntasks)
		err = open_cpus(p, cpus, -1, &skipped);
	for (size_t i = 0; i < p->ntasks && !err; i++)
		err = cpus ? open_cpus(p, cpus, p->tasks[i], &skipped)
			   : open_at(p, p->tasks[i], -1, &skipped);
	if (!err && !p->n)
		err = skipped;
	if (err)
		close_slots(p);
	return err;
}

static bool is_missing_hardware(const struct rp_perf *p, int err)
{
	return p->event.hardware && (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV);
}

static int fall_back(struct rp_perf *p, const struct rp_perf_options *opt,
		     const struct rp_cpus *cpus)
{
	const struct rp_event clock = { .name = "cpu-clock",
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK };

	if (opt->freq)
		rp_log(RP_WARN,
		       "perf_event_open(%s): this machine has no such hardware counter; using "
		       "cpu-clock instead",
		       p->event.name);
	else
		rp_log(RP_WARN,
		       "perf_event_open(%s): this machine has no such hardware counter; using "
		       "cpu-clock instead, one sample every %llu ns",
		       p->event.name, (unsigned long long)opt->period);
	p->event = clock;
	set_attr(p, opt);
	return open_all(p, cpus);
}

static int check_rate(const struct rp_perf_options *opt)
{
	const struct perf_event_attr attr = { .freq = 1, .sample_freq = opt->freq };

	if (opt->freq && rp_perf_max_rate() > 0 && opt->freq > (uint64_t)rp_perf_max_rate())
		return rp_perf_open_failed(-EINVAL, &attr, opt->event.name, "all CPUs");
	return 0;
}

static void warn_absent(const struct rp_perf *p, const struct rp_cpus *cpus)
{
	for (int i = 0, j = 0; cpus && !p->ntasks && i < cpus->n; i++) {
		if (j < p->n && p->slots[j].cpu == cpus->cpu[i])
			j++;
		else if (cpus->cpu[i] >= rp_cpus_possible())
			rp_log(RP_WARN, "there is no CPU %d: skipped", cpus->cpu[i]);
		else
			rp_log(p->follow ? RP_INFO : RP_WARN, "CPU %d is not online: skipped",
			       cpus->cpu[i]);
	}
}

static int open_with(struct rp_perf *p, const struct rp_perf_options *opt)
{
	const struct rp_cpus *cpus = p->follow ? &p->cpus : opt->cpus;
	const bool sampling = opt->freq || opt->period;
	char where[32];
	int err;

	set_attr(p, opt);
	err = open_all(p, cpus);
	if (is_missing_hardware(p, err) && sampling && !opt->no_fallback)
		err = fall_back(p, opt, cpus);
	if (!err)
		warn_absent(p, cpus);
	else if (!(is_missing_hardware(p, err) &&
		   !sampling)) /* a counter that is not there is an answer */
		rp_perf_open_failed(err, &p->attr, p->event.name,
				    p->ntasks	      ? place(opt->tasks[0], -1, where)
				    : cpus && cpus->n ? place(-1, cpus->cpu[0], where)
						      : "CPU");
	return err;
}

int rp_perf_open(const struct rp_perf_options *opt, struct rp_perf **out)
{
	struct rp_perf *p;
	int err;

	err = check_rate(opt);
	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->event = opt->event;
	p->prog_fd = -1;
	p->running = !opt->disabled && !opt->enable_on_exec;
	p->follow = !opt->cpus && !opt->ntasks;
	p->ntasks = opt->ntasks;
	p->tasks = malloc((opt->ntasks + 1) * sizeof(*p->tasks));
	err = p->tasks ? 0 : -ENOMEM;
	if (!err && opt->ntasks)
		memcpy(p->tasks, opt->tasks, opt->ntasks * sizeof(*p->tasks));
	if (!err && p->follow)
		err = rp_cpus_online(&p->cpus);
	if (!err)
		err = open_with(p, opt);
	if (err)
		rp_perf_close(p);
	else
		*out = p;
	return err;
}

/* ---- using */

int rp_perf_attach(struct rp_perf *p, int prog_fd)
{
	int err = 0;

	for (int i = 0; i < p->n && !err; i++)
		err = set_program(p, p->slots[i].fd, prog_fd);
	if (!err)
		p->prog_fd = prog_fd;
	return err;
}

static int control(const struct rp_perf *p, unsigned long request)
{
	int err = 0;

	for (int i = 0; i < p->n && !err; i++)
		err = rp_sys_ioctl(p->slots[i].fd, request, 0);
	return err ? rp_fail(err, "cannot switch event %s %s: %s", p->event.name,
			     request == PERF_EVENT_IOC_ENABLE ? "on" : "off", strerror(-err))
		   : 0;
}

int rp_perf_enable(struct rp_perf *p)
{
	p->running = true;
	return control(p, PERF_EVENT_IOC_ENABLE);
}

int rp_perf_disable(struct rp_perf *p)
{
	p->running = false;
	return control(p, PERF_EVENT_IOC_DISABLE);
}

static int read_event(int fd, struct rp_perf_counts *out)
{
	uint64_t now[3];
	ssize_t n;

	do
		n = read(fd, now, sizeof(now));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*out = (struct rp_perf_counts){ 0 };
	/* An event in error state (its pinned counter was taken away) reads as end of file. */
	if (n == sizeof(now))
		*out = (struct rp_perf_counts){ now[0], now[1], now[2] };
	return 0;
}

static int read_slot(const struct slot *s, struct rp_perf_counts *sum)
{
	struct rp_perf_counts now;
	int err = read_event(s->fd, &now);

	if (err)
		return err;
	sum->value += now.value;
	sum->enabled_ns += now.enabled_ns;
	sum->running_ns += now.running_ns;
	return 0;
}

bool rp_event_stands_still(int fd, uint64_t *enabled_ns)
{
	struct rp_perf_counts now;

	if (read_event(fd, &now))
		return false;
	if (now.enabled_ns && now.enabled_ns == *enabled_ns)
		return true;
	*enabled_ns = now.enabled_ns;
	return false;
}

int rp_perf_read(const struct rp_perf *p, struct rp_perf_counts *out)
{
	struct rp_perf_counts sum = p->gone;
	int err = 0;

	for (int i = 0; i < p->n && !err; i++)
		err = read_slot(&p->slots[i], &sum);
	if (!err)
		*out = sum;
	return err;
}

const struct rp_event *rp_perf_event(const struct rp_perf *p)
{
	return &p->event;
}

int rp_perf_count(const struct rp_perf *p)
{
	return p->n;
}

void rp_perf_close(struct rp_perf *p)
{
	if (!p)
		return;
	close_slots(p);
	free(p->slots);
	free(p->tasks);
	rp_cpus_free(&p->cpus);
	free(p);
}

/* ---- CPUs that come and go */

/*
 * Of those that are there, too, an event may be over: its CPU went and came back since it was
 * looked at, as all but one do when a machine is suspended.
 */
static bool is_over(struct rp_perf *p, struct slot *slot, const struct rp_cpus *now)
{
	return !rp_cpus_has(now, slot->cpu) ||
	       (p->running && rp_event_stands_still(slot->fd, &slot->enabled_ns));
}

static void drop_absent(struct rp_perf *p, const struct rp_cpus *now)
{
	int n = 0;

	for (int i = 0; i < p->n; i++) {
		if (!is_over(p, &p->slots[i], now)) {
			p->slots[n++] = p->slots[i];
			continue;
		}
		rp_log(RP_INFO, "CPU %d went offline", p->slots[i].cpu);
		read_slot(&p->slots[i], &p->gone);
		close(p->slots[i].fd);
	}
	p->n = n;
}

static bool has_slot(const struct rp_perf *p, int cpu)
{
	for (int i = 0; i < p->n; i++)
		if (p->slots[i].cpu == cpu)
			return true;
	return false;
}

static int join(struct rp_perf *p, int cpu)
{
	int skipped = 0, err = open_at(p, -1, cpu, &skipped);

	if (err || skipped)
		return err;
	if (p->prog_fd >= 0)
		err = set_program(p, p->slots[p->n - 1].fd, p->prog_fd);
	if (!err && p->attr.disabled && p->running)
		err = rp_sys_ioctl(p->slots[p->n - 1].fd, PERF_EVENT_IOC_ENABLE, 0);
	rp_log(RP_INFO, "CPU %d came online and joins", cpu);
	return err ? err : 1;
}

int rp_perf_hotplug(struct rp_perf *p)
{
	struct rp_cpus now;
	int joined = 0, err;

	if (!p->follow)
		return 0;
	err = rp_cpus_online(&now);
	if (err)
		return err;
	drop_absent(p, &now);
	for (int i = 0; i < now.n && err >= 0; i++) {
		if (has_slot(p, now.cpu[i]))
			continue;
		err = join(p, now.cpu[i]);
		if (err == -EACCES || err == -EPERM)
			err = 0; /* since rights were given up: left out, as has been said */
		joined += err > 0;
	}
	rp_cpus_free(&now);
	return err < 0 ? err : joined;
}
