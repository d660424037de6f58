/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process had a pid when: events applied one after the other. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "tasks.h"

static void clear_task(struct sym_task *t)
{
	for (size_t i = 0; i < t->epoch_count; i++) {
		sym_space_clear(&t->epochs[i].space);
		free(t->epochs[i].seen);
	}
	t->epoch_count = t->name_count = 0;
	t->last = 0;
}

static struct sym_task *task(const struct sym_tasks *ts, uint32_t i)
{
	return (struct sym_task *)ts->by_pid.items + i;
}

void sym_tasks_init(struct sym_tasks *ts)
{
	ts->by_pid = HASH_MAP(struct sym_task, pid);
}

void sym_tasks_clear(struct sym_tasks *ts)
{
	for (uint32_t i = 0; i < ts->by_pid.count; i++)
		clear_task(task(ts, i));
}

void sym_tasks_free(struct sym_tasks *ts)
{
	sym_tasks_clear(ts);
	for (uint32_t i = 0; i < ts->by_pid.count; i++) {
		free(task(ts, i)->epochs);
		free(task(ts, i)->names);
	}
	rp_hash_free(&ts->by_pid);
}

struct sym_task *sym_tasks_find(struct sym_tasks *ts, uint32_t pid)
{
	if (ts->last >= ts->by_pid.count || task(ts, ts->last)->pid != pid) {
		struct sym_task *t = rp_hash_find(&ts->by_pid, &pid);

		if (!t)
			return NULL;
		ts->last = t - task(ts, 0);
	}
	return task(ts, ts->last);
}

/* NULL: out of memory. Other tasks may move. */
static struct sym_task *get_task(struct sym_tasks *ts, uint32_t pid)
{
	return rp_hash_add(&ts->by_pid, &pid);
}

static struct sym_epoch *add_epoch(struct sym_task *t, uint64_t time)
{
	const struct sym_epoch e = { .time = time,
				     .life = { .exited = UINT64_MAX },
				     .event = UINT32_MAX };

	return RP_PUSH(t->epochs, t->epoch_count, t->epoch_capacity, e)
		       ? NULL
		       : &t->epochs[t->epoch_count - 1];
}

/*
 * The epoch that goes on. An exit does not end it: threads may outlive the leader, and its last
 * samples may come later.
 */
static struct sym_epoch *current_epoch(struct sym_task *t)
{
	return t->epoch_count ? &t->epochs[t->epoch_count - 1] : add_epoch(t, 0);
}

int sym_tasks_fork(struct sym_tasks *ts, uint64_t time, uint32_t pid, uint32_t ppid)
{
	struct sym_task *parent = get_task(ts, ppid), *t;
	struct sym_epoch *e = parent ? current_epoch(parent) : NULL;

	t = e ? get_task(ts, pid) : NULL;
	e = t ? add_epoch(t, time) : NULL;
	if (!e)
		return -ENOMEM;
	e->life.born = time;
	e->ppid = ppid;
	e->inherits = true;
	return 0;
}

int sym_tasks_exec(struct sym_tasks *ts, uint64_t time, uint32_t pid)
{
	struct sym_task *t = get_task(ts, pid);
	struct sym_life life = { .exited = UINT64_MAX };
	struct sym_epoch *e;
	uint32_t ppid = 0;

	if (!t)
		return -ENOMEM;
	if (t->epoch_count) {
		e = &t->epochs[t->epoch_count - 1];
		if (e->life.exited == UINT64_MAX) {
			life = e->life;
			ppid = e->ppid;
		}
	}
	e = add_epoch(t, time);
	if (!e)
		return -ENOMEM;
	e->life = life;
	e->ppid = ppid;
	return 0;
}

int sym_tasks_exit(struct sym_tasks *ts, uint64_t time, uint32_t pid)
{
	struct sym_task *t = get_task(ts, pid);
	struct sym_epoch *e = t ? current_epoch(t) : NULL;

	if (!e)
		return -ENOMEM;
	if (e->life.exited == UINT64_MAX)
		e->life.exited = time;
	return 0;
}

int sym_tasks_mmap(struct sym_tasks *ts, uint32_t pid, uint32_t mapping)
{
	struct sym_task *t = get_task(ts, pid);
	struct sym_epoch *e = t ? current_epoch(t) : NULL;

	return e ? sym_space_add(&e->space, mapping) : -ENOMEM;
}

static int add_name(struct sym_task *t, struct sym_name name)
{
	return RP_PUSH(t->names, t->name_count, t->name_capacity, name);
}

int sym_tasks_comm(struct sym_tasks *ts, uint64_t time, uint32_t tid, const char *comm)
{
	struct sym_task *t = get_task(ts, tid);

	return t ? add_name(t, (struct sym_name){ time, comm, false }) : -ENOMEM;
}

int sym_tasks_snapshot(struct sym_tasks *ts, uint64_t time, uint32_t pid, uint32_t number,
		       const struct sym_snapshot *s)
{
	struct sym_task *t = get_task(ts, pid);
	struct sym_epoch *e = t ? current_epoch(t) : NULL;
	int err;

	if (e && !sym_is_same_birth(e->life.born, s->born))
		e = add_epoch(t, s->born > e->time && s->born < time ? s->born : time);
	if (!e)
		return -ENOMEM;
	err = RP_PUSH(e->seen, e->seen_count, e->seen_capacity, (struct sym_seen){ time, number });
	if (err)
		return err;
	if (!e->life.born)
		e->life.born = s->born;
	for (uint32_t i = 0; i < s->count && !err; i++)
		err = sym_space_add(&e->space, s->first + i);
	if (!err && s->comm)
		err = add_name(t, (struct sym_name){ time, s->comm, true });
	return err;
}

struct sym_epoch *sym_task_epoch_at(const struct sym_task *t, uint64_t time)
{
	size_t lo = 0, hi = t ? t->epoch_count : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->epochs[mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &t->epochs[lo - 1] : NULL;
}
