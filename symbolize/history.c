/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes over time: events applied in order, and questions answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "history.h"

void sym_history_init(struct sym_history *h, struct sym_strings *strings)
{
	*h = (struct sym_history){ .strings = strings };
	sym_tasks_init(&h->tasks);
}

void sym_history_free(struct sym_history *h)
{
	sym_tasks_free(&h->tasks);
	free(h->events);
	free(h->mappings);
	free(h->snapshots);
	*h = (struct sym_history){ 0 };
}

/* ---- events as they come */

static int add_event(struct sym_history *h, struct sym_event e)
{
	e.seq = h->event_count;
	return RP_PUSH(h->events, h->event_count, h->event_capacity, e);
}

int sym_history_fork(struct sym_history *h, uint64_t time, uint32_t pid, uint32_t ppid)
{
	return add_event(
		h, (struct sym_event){ time, .pid = pid, .type = SYM_EVENT_FORK, .ppid = ppid });
}

int sym_history_exec(struct sym_history *h, uint64_t time, uint32_t pid)
{
	return add_event(h, (struct sym_event){ time, .pid = pid, .type = SYM_EVENT_EXEC });
}

int sym_history_exit(struct sym_history *h, uint64_t time, uint32_t pid)
{
	return add_event(h, (struct sym_event){ time, .pid = pid, .type = SYM_EVENT_EXIT });
}

int sym_history_comm(struct sym_history *h, uint64_t time, uint32_t pid, uint32_t tid,
		     const char *comm)
{
	struct sym_event e = { time, .pid = pid, .type = SYM_EVENT_COMM, .tid = tid };

	e.comm = sym_strings_add(h->strings, comm, strlen(comm));
	return e.comm ? add_event(h, e) : -ENOMEM;
}

static int add_mapping(struct sym_history *h, const struct sym_mapping *m)
{
	return RP_PUSH(h->mappings, h->mapping_count, h->mapping_capacity, *m);
}

int sym_history_mmap(struct sym_history *h, const struct sym_mapping *m)
{
	uint32_t number = h->mapping_count;
	int err = add_mapping(h, m);

	if (!err)
		err = add_event(h, (struct sym_event){ m->time, .pid = m->pid,
						       .type = SYM_EVENT_MMAP, .number = number });
	return err;
}

int sym_history_snapshot(struct sym_history *h, uint64_t time, uint32_t pid, uint64_t born,
			 const char *comm, const struct sym_mapping *m, size_t n)
{
	struct sym_snapshot s = { .born = born, .first = h->mapping_count, .count = n };
	int err;

	s.comm = comm ? sym_strings_add(h->strings, comm, strlen(comm)) : NULL;
	if (comm && !s.comm)
		return -ENOMEM;
	err = RP_GROW(h->snapshots, h->snapshot_count, h->snapshot_capacity);
	for (size_t i = 0; i < n && !err; i++)
		err = add_mapping(h, &m[i]);
	if (!err)
		err = add_event(h, (struct sym_event){ time, .pid = pid, .type = SYM_EVENT_SNAPSHOT,
						       .number = h->snapshot_count });
	if (!err)
		h->snapshots[h->snapshot_count++] = s;
	return err;
}

/* ---- events applied */

static int apply(struct sym_history *h, const struct sym_event *ev)
{
	struct sym_tasks *ts = &h->tasks;

	switch (ev->type) {
	case SYM_EVENT_FORK:
		return sym_tasks_fork(ts, ev->time, ev->pid, ev->ppid);
	case SYM_EVENT_EXEC:
		return sym_tasks_exec(ts, ev->time, ev->pid);
	case SYM_EVENT_EXIT:
		return sym_tasks_exit(ts, ev->time, ev->pid);
	case SYM_EVENT_MMAP:
		return sym_tasks_mmap(ts, ev->pid, ev->number);
	case SYM_EVENT_COMM:
		return sym_tasks_comm(ts, ev->time, ev->tid, ev->comm);
	case SYM_EVENT_SNAPSHOT:
		return sym_tasks_snapshot(ts, ev->time, ev->pid, ev->number,
					  &h->snapshots[ev->number]);
	}
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct sym_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void sort_events(struct sym_event *e, size_t n)
{
	size_t i = 1;

	while (i < n && compare_events(&e[i - 1], &e[i]) < 0)
		i++;
	if (i < n)
		qsort(e, n, sizeof(*e), compare_events);
}

/* The task that an event changes: the order of events of different ones does not matter. */
static uint32_t subject(const struct sym_event *e)
{
	return e->type == SYM_EVENT_COMM ? e->tid : e->pid;
}

/* Whether something later has been applied to its task. */
static bool is_late(struct sym_history *h, const struct sym_event *e)
{
	const struct sym_task *t = sym_tasks_find(&h->tasks, subject(e));

	return t && t->last > e->time;
}

static int apply_next(struct sym_history *h)
{
	const struct sym_event *e = &h->events[h->applied];
	struct sym_task *t;
	int err = apply(h, e);

	if (err)
		return err;
	t = sym_tasks_find(&h->tasks, subject(e));
	t->last = e->time;
	if (e->type == SYM_EVENT_FORK || e->type == SYM_EVENT_EXEC)
		t->epochs[t->epoch_count - 1].event = (uint32_t)h->applied;
	h->applied++;
	return 0;
}

void sym_history_sort(struct sym_history *h)
{
	if (h->disordered)
		sort_events(h->events, h->event_count);
	h->disordered = false;
}

int sym_history_update(struct sym_history *h)
{
	struct sym_event *new;
	int err = 0;

	if (h->applied == h->event_count)
		return 0;
	new = h->events + h->applied;
	sort_events(new, h->event_count - h->applied);
	if (h->applied && compare_events(new - 1, new) > 0)
		h->disordered = true;
	while (h->applied < h->event_count && !err) {
		if (is_late(h, &h->events[h->applied])) {
			sym_history_sort(h);
			sym_tasks_clear(&h->tasks);
			h->applied = 0;
		}
		err = apply_next(h);
	}
	return err;
}

/* ---- questions */

/* The mapping of @addr among those of a snapshot, which do not overlap. */
static const struct sym_mapping *find_seen(const struct sym_history *h,
					   const struct sym_snapshot *s, uint64_t addr)
{
	const struct sym_mapping *m = s->count ? h->mappings + s->first : NULL;
	size_t lo = 0, hi = s->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < m[lo - 1].end ? &m[lo - 1] : NULL;
}

/*
 * What @e had itself at @time. What a later snapshot saw was there before, unless an event between
 * the two tells when it came.
 */
static int find_own(const struct sym_history *h, struct sym_epoch *e, uint64_t time, uint64_t addr,
		    uint32_t *out)
{
	uint32_t number;
	int err = sym_space_find(&e->space, h->mappings, time, addr, &number);

	if (!err)
		*out = number;
	for (size_t i = 0; i < e->seen_count && err == -ENOENT; i++) {
		const struct sym_mapping *m;

		if (e->seen[i].time <= time)
			continue;
		m = find_seen(h, &h->snapshots[e->seen[i].snapshot], addr);
		if (!m)
			continue;
		err = sym_space_find(&e->space, h->mappings, m->time - 1, addr, &number);
		if (!err)
			return -ENOENT;
		if (err == -ENOENT) {
			*out = (uint32_t)(m - h->mappings);
			err = 0;
		}
	}
	return err;
}

/* The number of the mapping. With @use what leads to it is marked. */
static int find(struct sym_history *h, uint32_t pid, uint64_t time, uint64_t addr, bool use,
		uint32_t *number, struct sym_life *life)
{
	struct sym_epoch *e;
	int err;

	*life = (struct sym_life){ 0 };
	err = sym_history_update(h);
	if (err)
		return err;
	e = sym_task_epoch_at(sym_tasks_find(&h->tasks, pid), time);
	if (e)
		*life = e->life;
	err = -ENOENT;
	for (int i = 0; e && err == -ENOENT && i < SYM_ANCESTORS; i++) {
		err = find_own(h, e, time, addr, number);
		if (use && e->event != UINT32_MAX)
			h->events[e->event].used = true;
		if (!e->inherits)
			break;
		time = e->life.born;
		e = sym_task_epoch_at(sym_tasks_find(&h->tasks, e->ppid), time);
	}
	return err;
}

int sym_history_find(struct sym_history *h, uint32_t pid, uint64_t time, uint64_t addr,
		     struct sym_mapping *m, struct sym_life *life)
{
	uint32_t number;
	int err = find(h, pid, time, addr, false, &number, life);

	if (!err)
		*m = h->mappings[number];
	return err;
}

int sym_history_use(struct sym_history *h, uint32_t pid, uint64_t time, uint64_t addr)
{
	struct sym_life life;
	uint32_t number;
	int err = find(h, pid, time, addr, true, &number, &life);

	if (!err)
		h->mappings[number].used = true;
	return err;
}

void sym_history_unuse(struct sym_history *h)
{
	for (size_t i = 0; i < h->event_count; i++)
		h->events[i].used = false;
	for (size_t i = 0; i < h->mapping_count; i++)
		h->mappings[i].used = false;
}

/* The name that @tid said itself, in the life that began at @born. */
static const char *own_name(const struct sym_task *t, uint64_t born, uint64_t time)
{
	size_t lo = 0, hi = t->name_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->names[mid].time <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && t->names[lo - 1].time >= born)
		return t->names[lo - 1].comm;
	if (lo < t->name_count && t->names[lo].and_before)
		return t->names[lo].comm;
	return NULL;
}

const char *sym_history_comm_at(struct sym_history *h, uint32_t tid, uint64_t time)
{
	const char *comm = NULL;

	if (sym_history_update(h))
		return NULL;
	for (int i = 0; !comm && i < SYM_ANCESTORS; i++) {
		const struct sym_task *t = sym_tasks_find(&h->tasks, tid);
		const struct sym_epoch *e = sym_task_epoch_at(t, time);

		if (!t)
			break;
		comm = own_name(t, e && e->ppid ? e->life.born : 0, time);
		if (!e || !e->ppid)
			break;
		tid = e->ppid;
		time = e->life.born;
	}
	return comm;
}

int sym_history_each(struct sym_history *h, uint32_t pid,
		     int (*fn)(void *ctx, const struct sym_mapping *m), void *ctx)
{
	const struct sym_task *t;
	int ret = sym_history_update(h);

	t = ret ? NULL : sym_tasks_find(&h->tasks, pid);
	if (t && t->epoch_count) {
		const struct sym_space *s = &t->epochs[t->epoch_count - 1].space;

		for (uint32_t i = 0; i < s->count && !ret; i++)
			ret = fn(ctx, &h->mappings[s->maps[i]]);
	}
	return ret;
}

void sym_history_of_file(struct sym_history *h, const struct sym_mapping *m, uint32_t file)
{
	h->mappings[m - h->mappings].file = file;
}
