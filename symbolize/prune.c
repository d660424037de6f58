/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A history without what will not be asked about. All events are gone through in order, each
 * belongs to a life, and a life is kept, kept from its last exec on, or dropped; then what is left
 * is applied anew.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "history.h"

enum { NONE = UINT32_MAX };

/* Of a process that maps more than this what is gone again is told by its snapshots. */
#define MANY_MAPPINGS 512
/* And of one that has mapped this much since nobody can tell: its user has no time left for it. */
#define TOO_MANY_MAPPINGS 8192

/*
 * A time during which a pid was one process. Lives are in order of their first event, so a parent
 * comes before its children.
 */
struct life {
	uint32_t pid;
	uint32_t parent;   /* the life that it was forked from, or NONE */
	uint32_t exec;	   /* its last exec before the time given: number of the event, or NONE */
	uint32_t snapshot; /* the last one: number of the event, or NONE */
	uint32_t mappings; /* that events told of, */
	uint32_t since;	   /*   and since the last snapshot */
	bool is_used;	   /* by what will be asked */
	bool has_ended;	   /* before that time; else it is kept from .exec on */
	enum sym_wanted wanted;
	uint8_t heirs; /* so many generations below may ask it for what they inherited */
};

struct pruning {
	const struct sym_history *h;
	uint64_t before;
	struct life *lives;
	size_t count, capacity;
	uint32_t *life_of;	/* of each event */
	struct hash_map latest; /* of struct latest */
};

/* The latest life of a pid. */
struct latest {
	uint32_t pid, life;
};

/* NONE: out of memory. */
static uint32_t begin_life(struct pruning *p, uint32_t pid, uint32_t parent)
{
	struct latest *latest = rp_hash_add(&p->latest, &pid);

	if (!latest ||
	    RP_PUSH(p->lives, p->count, p->capacity,
		    (struct life){ .pid = pid, .parent = parent, .exec = NONE, .snapshot = NONE }))
		return NONE;
	return latest->life = p->count - 1;
}

static uint32_t current_life(struct pruning *p, uint32_t pid)
{
	const struct latest *latest = rp_hash_find(&p->latest, &pid);

	return latest ? latest->life : begin_life(p, pid, NONE);
}

/* The mappings of an event; returns how many. */
static uint32_t mappings_of(const struct sym_history *h, const struct sym_event *e, uint32_t *first)
{
	if (e->type == SYM_EVENT_SNAPSHOT) {
		*first = h->snapshots[e->number].first;
		return h->snapshots[e->number].count;
	}
	*first = e->number;
	return e->type == SYM_EVENT_MMAP;
}

static uint32_t count_used(const struct sym_history *h, const struct sym_event *e)
{
	uint32_t first, n = mappings_of(h, e, &first), used = 0;

	for (uint32_t j = 0; j < n; j++)
		used += h->mappings[first + j].used;
	return used;
}

/* The life that event @i belongs to, which may begin with it. */
static uint32_t place(struct pruning *p, uint32_t i)
{
	const struct sym_event *e = &p->h->events[i];
	uint32_t life =
		e->type == SYM_EVENT_FORK ? current_life(p, e->ppid) : current_life(p, e->pid);
	uint32_t first;

	if (life == NONE)
		return life;
	if (e->type == SYM_EVENT_FORK) {
		p->lives[life].has_ended = false;
		life = begin_life(p, e->pid, life);
		if (life != NONE)
			p->lives[life].is_used = e->used;
		return life;
	}
	if (e->type == SYM_EVENT_SNAPSHOT && p->lives[life].has_ended)
		life = begin_life(p, e->pid, NONE); /* whose fork was not seen */
	if (life == NONE)
		return life;
	p->lives[life].since += e->type == SYM_EVENT_MMAP;
	if (e->type == SYM_EVENT_SNAPSHOT) {
		p->lives[life].snapshot = i;
		p->lives[life].since = 0;
	}
	p->lives[life].mappings += mappings_of(p->h, e, &first);
	p->lives[life].is_used |= e->used || count_used(p->h, e);
	if (e->time >= p->before)
		return life;
	/* What does anything after its end, as forking above, had threads that lived on. */
	p->lives[life].has_ended = e->type == SYM_EVENT_EXIT;
	if (e->type == SYM_EVENT_EXEC)
		p->lives[life].exec = i;
	return life;
}

/* It is passed on SYM_ANCESTORS times, and no further. */
static uint8_t heirs_of_parent(const struct life *l)
{
	if (!l->has_ended && l->exec == NONE)
		return SYM_ANCESTORS;
	return l->heirs ? l->heirs - 1 : 0;
}

/*
 * Children before their parents: one that is kept, or that goes on without an exec behind it, has
 * the mappings of its parent.
 */
static void judge(struct pruning *p, enum sym_wanted (*wanted)(void *ctx, uint32_t pid), void *ctx)
{
	for (size_t i = p->count; i-- > 0;) {
		struct life *l = &p->lives[i], *parent;

		if (l->wanted != SYM_WANTED)
			l->wanted = wanted(ctx, l->pid);
		if (l->wanted == SYM_WANTED_USED && !l->is_used)
			l->wanted = SYM_NOT_WANTED;
		if (l->parent == NONE)
			continue;
		parent = &p->lives[l->parent];
		if (l->wanted == SYM_WANTED)
			parent->wanted = SYM_WANTED;
		if (parent->heirs < heirs_of_parent(l))
			parent->heirs = heirs_of_parent(l);
	}
}

/* Of a process that maps without end what is gone again is told by its snapshot, if it has one. */
static bool is_flooded(const struct life *l, uint32_t i)
{
	if (l->since > TOO_MANY_MAPPINGS)
		return i != l->snapshot;
	return l->mappings > MANY_MAPPINGS && l->snapshot != NONE && i < l->snapshot;
}

/* How much of an event is left: of a mapping or a snapshot it may be what was used. */
enum left { NOTHING, USED, ALL };

static enum left what_is_left(const struct pruning *p, uint32_t i)
{
	const struct life *l = &p->lives[p->life_of[i]];
	const struct sym_event *e = &p->h->events[i];
	bool of_mappings = e->type == SYM_EVENT_MMAP || e->type == SYM_EVENT_SNAPSHOT;

	if (l->wanted == SYM_WANTED)
		return ALL;
	if (l->heirs || (!l->has_ended && (l->exec == NONE || i >= l->exec)))
		return of_mappings && is_flooded(l, i) ? USED : ALL;
	if (l->wanted == SYM_NOT_WANTED || (e->type == SYM_EVENT_EXEC && !e->used))
		return NOTHING;
	return of_mappings ? USED : ALL;
}

/* ---- what is left */

struct rest {
	struct sym_event *events;
	struct sym_mapping *mappings;
	struct sym_snapshot *snapshots;
	uint32_t event_count, mapping_count, snapshot_count;
};

static int make_room(const struct pruning *p, struct rest *r)
{
	size_t events = 0, mappings = 0, snapshots = 0;

	for (uint32_t i = 0; i < p->h->event_count; i++) {
		const struct sym_event *e = &p->h->events[i];
		enum left left = what_is_left(p, i);
		uint32_t first;

		if (left == NOTHING)
			continue;
		events++;
		mappings += left == ALL ? mappings_of(p->h, e, &first) : count_used(p->h, e);
		snapshots += e->type == SYM_EVENT_SNAPSHOT;
	}
	r->events = malloc((events + 1) * sizeof(*r->events));
	r->mappings = malloc((mappings + 1) * sizeof(*r->mappings));
	r->snapshots = malloc((snapshots + 1) * sizeof(*r->snapshots));
	if (r->events && r->mappings && r->snapshots)
		return 0;
	free(r->events);
	free(r->mappings);
	free(r->snapshots);
	return -ENOMEM;
}

static void take(const struct pruning *p, struct rest *r, uint32_t i)
{
	struct sym_event e = p->h->events[i];
	enum left left = what_is_left(p, i);
	uint32_t first, n, to = r->mapping_count;

	n = left == NOTHING ? 0 : mappings_of(p->h, &e, &first);
	for (uint32_t j = 0; j < n; j++)
		if (left == ALL || p->h->mappings[first + j].used)
			r->mappings[r->mapping_count++] = p->h->mappings[first + j];
	if (left == NOTHING || (left == USED && r->mapping_count == to))
		return;
	if (e.type == SYM_EVENT_MMAP)
		e.number = to;
	if (e.type == SYM_EVENT_SNAPSHOT) {
		struct sym_snapshot s = p->h->snapshots[e.number];

		s.first = to;
		s.count = r->mapping_count - to;
		r->snapshots[r->snapshot_count] = s;
		e.number = r->snapshot_count++;
	}
	e.seq = r->event_count;
	r->events[r->event_count++] = e;
}

static void replace(struct sym_history *h, const struct rest *r)
{
	free(h->events);
	free(h->mappings);
	free(h->snapshots);
	sym_tasks_free(&h->tasks);
	h->events = r->events;
	h->mappings = r->mappings;
	h->snapshots = r->snapshots;
	h->event_count = r->event_count;
	h->mapping_count = r->mapping_count;
	h->snapshot_count = r->snapshot_count;
	h->event_capacity = r->event_count + 1;
	h->mapping_capacity = r->mapping_count + 1;
	h->snapshot_capacity = r->snapshot_count + 1;
	h->applied = 0;
}

static int sort_lives(struct pruning *p)
{
	p->life_of = malloc((p->h->event_count + 1) * sizeof(*p->life_of));
	if (!p->life_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->h->event_count; i++) {
		p->life_of[i] = place(p, i);
		if (p->life_of[i] == NONE)
			return -ENOMEM;
	}
	return 0;
}

int sym_history_prune(struct sym_history *h, uint64_t before,
		      enum sym_wanted (*wanted)(void *ctx, uint32_t pid), void *ctx)
{
	struct pruning p = { .h = h, .before = before, .latest = HASH_MAP(struct latest, pid) };
	struct rest rest = { 0 };
	int err = sym_history_update(h);

	sym_history_sort(h);
	if (!err)
		err = sort_lives(&p);
	if (!err) {
		judge(&p, wanted, ctx);
		err = make_room(&p, &rest);
	}
	if (!err) {
		for (uint32_t i = 0; i < h->event_count; i++)
			take(&p, &rest, i);
		replace(h, &rest);
	}
	if (err) { /* they may be in another order now */
		sym_tasks_clear(&h->tasks);
		h->applied = 0;
	}
	free(p.lives);
	free(p.life_of);
	rp_hash_free(&p.latest);
	return err;
}
