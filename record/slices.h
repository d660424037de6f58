/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has which ranges of the map unwind_mappings: each process a slice of them. They are for all,
 * and one process may have 2,047, so those of a user's processes have a share.
 */
#ifndef RECORD_SLICES_H
#define RECORD_SLICES_H

#include "map_window.h"
#include "table_room.h"
#include "uid_share.h"

struct reading;

/* Ranges [first, first + capacity) of the map: of a process, or given up (pid 0). */
struct slice {
	uint32_t pid;
	uint32_t first, capacity, count;
	uid_t payer;
	uint32_t paid;	  /* in its share, until it is given up */
	bool is_wiped;	  /* what was in it when it was given up */
	uint64_t left_ns; /* when it was; 0: nobody had it */
};

struct slices {
	int fd; /* of the map */
	struct table_room room;
	struct record_share share;
	struct slice *of;
	size_t n, nleft, capacity; /* nleft: of which nobody has */
	/* By pid, of MAX_PIDS: number in `of` + 1. Its pages appear as they are used. */
	uint32_t *of_pid;
	struct map_window starts_window, ranges_window;
};

/* @s: all zeroes. 0 or -ENOMEM. */
int record_slices_open(struct slices *s, int fd);
void record_slices_close(struct slices *s);
/* NULL: it has none. Slices move when one is made. */
struct slice *record_slice_of(const struct slices *s, uint32_t pid);
/*
 * One that has what was read, which is written. It is nobody's: record_slice_take(). 0; -EDQUOT:
 * its user has no room; -ENOSPC: nobody has; or another negative errno.
 */
int record_slice_make(struct slices *s, const struct reading *r, uid_t payer, struct slice **out);
/* It is the process's, who gives up the one before, if there is one. */
void record_slice_take(struct slices *s, struct slice *slice, uint32_t pid);
void record_slice_give_up(struct slices *s, struct slice *slice);
/* No walk finds anything in it any more. */
void record_slice_wipe(struct slices *s, struct slice *slice);
/* Nobody has any, nor ever had: no walk may use them any more, and all are wiped. */
void record_slices_empty(struct slices *s);

#endif
