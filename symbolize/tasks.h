/* SPDX-License-Identifier: BSD-2-Clause */
/* Which process had a pid when, what it was called, and which address space it had. */
#ifndef SYMBOLIZE_TASKS_H
#define SYMBOLIZE_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "space.h"

/*
 * What a process had mapped when it was looked at. It had it before as well, where nothing else is
 * known, so a question about an earlier time may be answered from here.
 */
struct sym_snapshot {
	uint64_t born;
	const char *comm;
	uint32_t first, count; /* mappings, sorted by address */
};

struct sym_seen {
	uint64_t time;
	uint32_t snapshot;
};

/* One process, as one that asks about a time knows it. */
struct sym_life {
	uint64_t born;	 /* when it was forked, to some ms; 0: not known */
	uint64_t exited; /* UINT64_MAX: not that we know */
};

/*
 * A time during which a pid had one address space: it begins with fork, with exec, or with the
 * first that was heard of the pid, and then reaches back to the beginning of time.
 */
struct sym_epoch {
	uint64_t time;
	struct sym_life life;
	uint32_t ppid;	/* of the fork that began this life; 0: none was seen */
	uint32_t event; /* number of the fork or exec that began it; UINT32_MAX: of neither */
	bool inherits;	/* its mappings are the parent's at life.born, beneath its own */
	struct sym_space space;
	struct sym_seen *seen; /* snapshots, in order of time */
	size_t seen_count, seen_capacity;
};

struct sym_name {
	uint64_t time;
	const char *comm;
	bool and_before; /* a snapshot's */
};

/* Epochs and names are in order of time. A thread that is not a leader has names alone. */
struct sym_task {
	uint32_t pid;  /* the key */
	uint64_t last; /* the time of what was applied last */
	struct sym_epoch *epochs;
	size_t epoch_count, epoch_capacity;
	struct sym_name *names;
	size_t name_count, name_capacity;
};

struct sym_tasks {
	struct hash_map by_pid; /* of struct sym_task */
	uint32_t last;		/* found last: the next question is often about it again */
};

void sym_tasks_init(struct sym_tasks *ts);
/* Forgets all, and can be used again. */
void sym_tasks_free(struct sym_tasks *ts);

/* Forgets what happened and keeps the memory. */
void sym_tasks_clear(struct sym_tasks *ts);

struct sym_task *sym_tasks_find(struct sym_tasks *ts, uint32_t pid);
struct sym_epoch *sym_task_epoch_at(const struct sym_task *t, uint64_t time);

/*
 * Whether two times of birth, 0 if not known, can be one process's: procfs tells it in ticks of 10
 * ms, and a pid is not used twice within a second.
 */
static inline bool sym_is_same_birth(uint64_t a, uint64_t b)
{
	return !a || !b || (a > b ? a - b : b - a) < 1000000000;
}

/* What happened, in order of time. 0 or -ENOMEM. */
int sym_tasks_fork(struct sym_tasks *ts, uint64_t time, uint32_t pid, uint32_t ppid);
int sym_tasks_exec(struct sym_tasks *ts, uint64_t time, uint32_t pid);
int sym_tasks_exit(struct sym_tasks *ts, uint64_t time, uint32_t pid);
int sym_tasks_comm(struct sym_tasks *ts, uint64_t time, uint32_t tid, const char *comm);
int sym_tasks_mmap(struct sym_tasks *ts, uint32_t pid, uint32_t mapping);

/* @number is that of @s. */
int sym_tasks_snapshot(struct sym_tasks *ts, uint64_t time, uint32_t pid, uint32_t number,
		       const struct sym_snapshot *s);

#endif
