/* SPDX-License-Identifier: BSD-2-Clause */
/* Who had a pid when: events applied one after the other. */
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
}

void sym_tasks_clear(struct sym_tasks *ts)
{
	for (size_t i = 0; i < ts->slot_count; i++) {
		if (ts->slots[i])
			clear_task(ts->slots[i]);
	}
}

void sym_tasks_free(struct sym_tasks *ts)
{
	sym_tasks_clear(ts);
	for (size_t i = 0; i < ts->slot_count; i++) {
		if (!ts->slots[i])
			continue;
		free(ts->slots[i]->epochs);
		free(ts->slots[i]->names);
		free(ts->slots[i]);
	}
	free(ts->slots);
	*ts = (struct sym_tasks){ 0 };
}

static struct sym_task **find_slot(struct sym_task **slots, size_t n, uint32_t pid)
{
	size_t i = (pid * 2654435761U) & (n - 1);

	while (slots[i] && slots[i]->pid != pid)
		i = (i + 1) & (n - 1);
	return &slots[i];
}

struct sym_task *sym_tasks_find(const struct sym_tasks *ts, uint32_t pid)
{
	return ts->slot_count ? *find_slot(ts->slots, ts->slot_count, pid) : NULL;
}

static int grow_slots(struct sym_tasks *ts)
{
	size_t n = ts->slot_count ? 2 * ts->slot_count : 64;
	struct sym_task **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < ts->slot_count; i++) {
		if (ts->slots[i])
			*find_slot(slots, n, ts->slots[i]->pid) = ts->slots[i];
	}
	free(ts->slots);
	ts->slots = slots;
	ts->slot_count = n;
	return 0;
}

/* NULL: out of memory. */
static struct sym_task *get_task(struct sym_tasks *ts, uint32_t pid)
{
	struct sym_task **slot;

	if (2 * (ts->count + 1) > ts->slot_count && grow_slots(ts))
		return NULL;
	slot = find_slot(ts->slots, ts->slot_count, pid);
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot) {
			(*slot)->pid = pid;
			ts->count++;
		}
	}
	return *slot;
}

static struct sym_epoch *add_epoch(struct sym_task *t, uint64_t time)
{
	struct sym_epoch *p = sym_grow(t->epochs, t->epoch_count, &t->epoch_capacity, sizeof(*p));

	if (!p)
		return NULL;
	t->epochs = p;
	p += t->epoch_count++;
	*p = (struct sym_epoch){ .time = time, .life = { .exited = UINT64_MAX } };
	return p;
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
	struct sym_task *parent = get_task(ts, ppid), *t = get_task(ts, pid);
	struct sym_epoch *e = parent && t ? current_epoch(parent) : NULL;

	if (e)
		e = add_epoch(t, time);
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
	struct sym_name *p = sym_grow(t->names, t->name_count, &t->name_capacity, sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->names = p;
	p[t->name_count++] = name;
	return 0;
}

int sym_tasks_comm(struct sym_tasks *ts, uint64_t time, uint32_t tid, const char *comm)
{
	struct sym_task *t = get_task(ts, tid);

	return t ? add_name(t, (struct sym_name){ time, comm, false }) : -ENOMEM;
}

/* The clock ticks that procfs counts in are coarse; a pid is not used twice within a second. */
static bool is_same_birth(uint64_t a, uint64_t b)
{
	return !a || !b || (a > b ? a - b : b - a) < 1000000000;
}

int sym_tasks_snapshot(struct sym_tasks *ts, uint64_t time, uint32_t pid, uint32_t number,
		       const struct sym_snapshot *s)
{
	struct sym_task *t = get_task(ts, pid);
	struct sym_epoch *e = t ? current_epoch(t) : NULL;
	struct sym_seen *p;
	int err = 0;

	if (e && !is_same_birth(e->life.born, s->born))
		e = add_epoch(t, s->born > e->time && s->born < time ? s->born : time);
	p = e ? sym_grow(e->seen, e->seen_count, &e->seen_capacity, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	e->seen = p;
	p[e->seen_count++] = (struct sym_seen){ time, number };
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
