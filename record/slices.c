/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices of the ranges of all processes. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rawprof/loader.h>
#include "base/clock.h"
#include "base/grow.h"

#include "slices.h"
#include "tables_read.h"

/* Slices are multiples of this, so that what one process leaves another can use. */
#define SLICE_STEP 8

/* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_PIDS (4u << 20)

/* A walk that began before a slice was given up may read it so long; walks take microseconds. */
#define GRACE_NS (NS_PER_SECOND / 10)

/* Of generation 0, which is no process's. Never written; const would lie in the file. */
static struct unwind_mapping nobodys[READING_RANGES + SLICE_STEP];

int record_slices_open(struct slices *s, int fd)
{
	s->fd = fd;
	s->share = RECORD_SHARE(UNWIND_MAPPINGS, "room for mappings of processes");
	s->share.parts = 8;
	s->of_pid = mmap(NULL, MAX_PIDS * sizeof(*s->of_pid), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->of_pid == MAP_FAILED) {
		s->of_pid = NULL;
		return -ENOMEM;
	}
	return record_table_room_open(&s->room, UNWIND_MAPPINGS);
}

void record_slices_close(struct slices *s)
{
	if (s->of_pid)
		munmap(s->of_pid, MAX_PIDS * sizeof(*s->of_pid));
	record_window_close(&s->starts_window);
	record_window_close(&s->ranges_window);
	record_table_room_free(&s->room);
	record_share_free(&s->share);
	free(s->of);
}

struct slice *record_slice_of(const struct slices *s, uint32_t pid)
{
	uint32_t number = pid < MAX_PIDS ? s->of_pid[pid] : 0;

	return number ? &s->of[number - 1] : NULL;
}

void record_slice_wipe(struct slices *s, struct slice *slice)
{
	slice->is_wiped = !record_window_write(
		&s->ranges_window, s->fd, offsetof(struct unwind_mappings, range[slice->first]),
		nobodys, slice->capacity * sizeof(nobodys[0]));
}

/* Its place is another's only later: whoever has it made anew needs no room for two of it. */
static void pay_back(struct slices *s, struct slice *slice)
{
	record_share_give(&s->share, slice->payer, slice->paid);
	slice->paid = 0;
}

/*
 * The place of those that were given up long enough ago is free. Children of their last processes
 * may use it yet: none may find new starts with old ranges.
 */
static void reclaim(struct slices *s, uint64_t grace_ns)
{
	const uint64_t now = rp_monotonic_ns();

	for (size_t i = s->nleft ? s->n : 0; i--;) {
		struct slice *slice = &s->of[i];

		if (slice->pid || now - slice->left_ns < grace_ns)
			continue;
		if (!slice->is_wiped)
			record_slice_wipe(s, slice);
		if (!slice->is_wiped)
			continue;
		record_table_room_give(&s->room, slice->first, slice->capacity);
		pay_back(s, slice);
		*slice = s->of[--s->n]; /* which has been looked at */
		s->nleft--;
		if (slice->pid)
			s->of_pid[slice->pid] = (uint32_t)i + 1;
	}
}

static bool take_room(struct slices *s, struct slice *slice)
{
	if (record_table_room_take(&s->room, slice->capacity, &slice->first))
		return true;
	if (!s->nleft)
		return false;
	/* So much was given up at once that it has to be waited for. */
	rp_quiesce();
	reclaim(s, 0);
	return record_table_room_take(&s->room, slice->capacity, &slice->first);
}

static int write_slice(struct slices *s, const struct slice *slice, const struct reading *r)
{
	const int err = record_window_write(&s->starts_window, s->fd,
					    offsetof(struct unwind_mappings, start[slice->first]),
					    r->start, r->n * sizeof(r->start[0]));

	return err ? err
		   : record_window_write(&s->ranges_window, s->fd,
					 offsetof(struct unwind_mappings, range[slice->first]),
					 r->range, r->n * sizeof(r->range[0]));
}

int record_slice_make(struct slices *s, const struct reading *r, uid_t payer, struct slice **out)
{
	struct slice new = { .capacity = (r->n + SLICE_STEP - 1) / SLICE_STEP * SLICE_STEP,
			     .count = r->n,
			     .payer = payer };

	if (r->pid >= MAX_PIDS)
		return -EINVAL;
	reclaim(s, GRACE_NS);
	if (!record_share_has_room(&s->share, payer, new.capacity))
		return -EDQUOT;
	if (RP_GROW(s->of, s->n, s->capacity))
		return -ENOMEM;
	if (!take_room(s, &new))
		return -ENOSPC;
	new.paid = new.capacity;
	record_share_add(&s->share, payer, new.paid);
	*out = &s->of[s->n++];
	**out = new;
	s->nleft++;
	return write_slice(s, *out, r);
}

void record_slice_take(struct slices *s, struct slice *slice, uint32_t pid)
{
	struct slice *old = record_slice_of(s, pid);

	if (old)
		record_slice_give_up(s, old);
	s->nleft--;
	slice->pid = pid;
	s->of_pid[pid] = (uint32_t)(slice - s->of) + 1;
}

void record_slice_give_up(struct slices *s, struct slice *slice)
{
	s->of_pid[slice->pid] = 0;
	slice->pid = 0;
	slice->left_ns = rp_monotonic_ns();
	s->nleft++;
	pay_back(s, slice);
}

void record_slices_empty(struct slices *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->of_pid[s->of[i].pid] = 0;
	s->n = s->nleft = 0;
	record_share_empty(&s->share);
	/* Without memory there is less room than there could be. */
	(void)!record_table_room_open(&s->room, UNWIND_MAPPINGS);
}
