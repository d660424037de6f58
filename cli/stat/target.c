/* SPDX-License-Identifier: BSD-2-Clause */
/* What is counted: threads that there are, a program, CPUs, a control group. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/subuid.h"
#include "record/sampling.h"
#include "record/uid_share.h"
#include "stat.h"

struct tasks {
	pid_t *task;
	size_t n, capacity;
};

/* ---- threads */

/* Calls fn for each directory of /proc/... that is a number. */
static int each_number(const char *path, int (*fn)(void *ctx, uint32_t id), void *ctx)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			err = fn(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(dir);
	return err;
}

static int add_task(void *ctx, uint32_t tid)
{
	struct tasks *t = ctx;

	return RP_PUSH(t->task, t->n, t->capacity, (pid_t)tid);
}

static int add_process(struct tasks *t, uint32_t pid)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	err = each_number(path, add_task, t);
	return err == -ENOENT || err == -ESRCH ? 0 : err; /* it has ended */
}

/* ---- by what threads are called */

struct user_threads {
	uid_t uid;
	size_t n, kept;
};

/* So many of each user are @most at most. */
static size_t part_of_each(const struct hash_map *users, size_t most)
{
	const struct user_threads *u = users->items;
	size_t low = 0, high = most;

	while (low < high) {
		const size_t part = (low + high + 1) / 2;
		size_t sum = 0;

		for (uint32_t i = 0; i < users->count; i++)
			sum += u[i].n < part ? u[i].n : part;
		if (sum <= most)
			low = part;
		else
			high = part - 1;
	}
	return low;
}

size_t stat_threads_keep(struct stat_thread *thread, size_t n, size_t most, int *err)
{
	struct hash_map users = HASH_MAP(struct user_threads, uid);
	size_t kept = 0, part;

	*err = 0;
	for (size_t i = 0; i < n && !*err; i++) {
		struct user_threads *u = rp_hash_add(&users, &thread[i].uid);

		if (u)
			u->n++;
		else
			*err = -ENOMEM;
	}
	part = part_of_each(&users, most);
	for (size_t i = 0; i < n && !*err; i++) {
		struct user_threads *u = rp_hash_find(&users, &thread[i].uid);

		if (u->kept++ < part)
			thread[kept++] = thread[i];
	}
	rp_hash_free(&users);
	return kept;
}

struct by_comm {
	const char *glob;
	struct stat_thread *thread;
	size_t n, capacity;
	uint32_t pid;
	bool is_known; /* whose the process is */
	uid_t uid;
};

static int add_if_named(void *ctx, uint32_t tid)
{
	struct by_comm *c = ctx;
	char path[64], comm[32];

	if (rp_work_is_stopped())
		return -EINTR;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", c->pid, tid);
	if (rp_read_small_file(path, comm, sizeof(comm)) < 0)
		return 0;
	comm[strcspn(comm, "\n")] = '\0';
	if (fnmatch(c->glob, comm, 0))
		return 0;
	if (!c->is_known)
		c->uid = rp_subuid_first(record_share_user(c->pid));
	c->is_known = true;
	return RP_PUSH(c->thread, c->n, c->capacity, (struct stat_thread){ (pid_t)tid, c->uid });
}

static int look_into_process(void *ctx, uint32_t pid)
{
	struct by_comm *c = ctx;
	char path[64];
	int err;

	c->pid = pid;
	c->is_known = false;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	err = each_number(path, add_if_named, c);
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

static int keep_some(struct by_comm *c)
{
	const size_t all = c->n;
	int err;

	if (all <= STAT_THREADS)
		return 0;
	c->n = stat_threads_keep(c->thread, all, STAT_THREADS, &err);
	if (!err)
		rp_log(RP_WARN,
		       "%zu threads are called as `%s' says: %zu are counted, as many of each "
		       "user; -p counts all of a process",
		       all, c->glob, c->n);
	return err;
}

static int find_by_comm(const char *glob, struct tasks *t)
{
	struct by_comm c = { .glob = glob };
	int err = each_number("/proc", look_into_process, &c);

	if (err && err != -EINTR)
		err = rp_fail(err, "cannot list processes: %s", strerror(-err));
	if (!err)
		err = c.n ? keep_some(&c)
			  : rp_fail(-ESRCH, "no thread is called as `%s' says", glob);
	for (size_t i = 0; i < c.n && !err; i++)
		err = add_task(t, (uint32_t)c.thread[i].tid);
	free(c.thread);
	return err;
}

static int find_tasks(const struct options *opt, pid_t child, struct tasks *t)
{
	const struct record_options *r = &opt->record;
	const struct stat_options *own = opt->own;
	int err = 0;

	if (child && !own->all && !r->cgroup)
		return add_task(t, (uint32_t)child);
	for (uint32_t i = 0; i < r->pids.n && !err; i++)
		err = add_process(t, r->pids.id[i]);
	for (uint32_t i = 0; i < r->tids.n && !err; i++)
		err = add_task(t, r->tids.id[i]);
	if (!err && r->comm)
		return find_by_comm(r->comm, t);
	if (!err && !t->n && r->pids.n)
		return rp_fail(-ESRCH, "process %u has ended", r->pids.id[0]);
	return err;
}

/* ---- CPUs */

/* Those that are asked for and online; each counter wants a CPU that is there. */
static int find_cpus(const struct options *opt, struct rp_cpus *out)
{
	const struct stat_options *own = opt->own;
	struct rp_cpus online, asked;
	int n = 0, err;

	if (!opt->record.cpus)
		return own->per_cpu ? rp_cpus_online(out) : 0;
	err = record_cpus(opt->record.cpus, &asked);
	if (err)
		return err;
	err = rp_cpus_online(&online);
	if (err) {
		rp_cpus_free(&asked);
		return err;
	}
	for (int i = 0; i < asked.n; i++)
		if (rp_cpus_has(&online, asked.cpu[i]))
			asked.cpu[n++] = asked.cpu[i];
		else
			rp_log(RP_WARN, "CPU %d is not online: skipped", asked.cpu[i]);
	asked.n = n;
	rp_cpus_free(&online);
	*out = asked;
	return 0;
}

/* ---- a control group */

/* As it is, or as systemd-cgls prints it: from the root of the hierarchy. */
static int open_cgroup(const char *path, int *out)
{
	static const char *const below[] = { "", "/sys/fs/cgroup/", "/sys/fs/cgroup/unified/",
					     "/sys/fs/cgroup/perf_event/" };
	char full[4096];
	int fd = -1;

	for (size_t i = 0; i < sizeof(below) / sizeof(*below) && fd < 0; i++) {
		snprintf(full, sizeof(full), "%s%s", below[i], path);
		fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return rp_fail(-errno, "control group %s: %s", path, strerror(errno));
	*out = fd;
	return 0;
}

/* ---- all of it */

int stat_target_open(const struct options *opt, pid_t child, struct stat_target *out)
{
	struct stat_target t = { .cgroup = -1 };
	struct tasks tasks = { 0 };
	int err = find_tasks(opt, child, &tasks);

	if (!err)
		err = find_cpus(opt, &t.cpus);
	if (!err && opt->record.cgroup)
		err = open_cgroup(opt->record.cgroup, &t.cgroup);
	t.tasks = tasks.task;
	t.ntasks = tasks.n;
	if (err)
		stat_target_close(&t);
	else
		*out = t;
	return err;
}

void stat_target_close(struct stat_target *t)
{
	rp_cpus_free(&t->cpus);
	free(t->tasks);
	if (t->cgroup >= 0)
		close(t->cgroup);
	*t = (struct stat_target){ .cgroup = -1 };
}

static void put_ids(FILE *f, const char *one, const char *many, const struct record_ids *ids)
{
	fprintf(f, "%s ", ids->n == 1 ? one : many);
	for (uint32_t i = 0; i < ids->n; i++)
		fprintf(f, "%s%u", i ? ", " : "", ids->id[i]);
}

char *stat_target_name(const struct options *opt)
{
	const struct record_options *r = &opt->record;
	const struct stat_options *own = opt->own;
	size_t size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (r->cgroup)
		fprintf(f, "control group %s", r->cgroup);
	else if (r->pids.n)
		put_ids(f, "process", "processes", &r->pids);
	else if (r->tids.n)
		put_ids(f, "thread", "threads", &r->tids);
	else if (r->comm)
		fprintf(f, "threads called %s", r->comm);
	else if (own->all || !r->program)
		fputs("the whole machine", f);
	if (r->program && (own->all || r->cgroup))
		fputs(" while ", f);
	for (char **word = r->program; word && *word; word++)
		fprintf(f, "%s%s", word == r->program ? "" : " ", *word);
	if (r->program && (own->all || r->cgroup))
		fputs(" ran", f);
	if (r->cpus)
		fprintf(f, ", on CPUs %s", r->cpus);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
