/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes over time: which had a pid, what it was called, what it had mapped. */
#ifndef SYMBOLIZE_HISTORY_H
#define SYMBOLIZE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/symbolize.h>

#include "strings.h"
#include "tasks.h"

/*
 * Events are kept as they came. At a question, those that are new are sorted and applied; if
 * one of them is older than what was applied to its task before, all are applied again. Mappings
 * and snapshots keep their numbers.
 */
struct sym_history {
	struct sym_event *events;
	size_t event_count, event_capacity, applied;
	bool disordered;	      /* those that were applied, but not those of one task */
	struct sym_mapping *mappings; /* of mmap events and of snapshots */
	size_t mapping_count, mapping_capacity;
	struct sym_snapshot *snapshots;
	size_t snapshot_count, snapshot_capacity;
	struct sym_tasks tasks;
	struct sym_strings *strings; /* the owner's */
};

void sym_history_init(struct sym_history *h, struct sym_strings *strings);
void sym_history_free(struct sym_history *h);

/* Events, as in rawprof/symbolize.h. 0 or -ENOMEM. */
int sym_history_fork(struct sym_history *h, uint64_t time, uint32_t pid, uint32_t ppid);
int sym_history_exec(struct sym_history *h, uint64_t time, uint32_t pid);
int sym_history_exit(struct sym_history *h, uint64_t time, uint32_t pid);
int sym_history_comm(struct sym_history *h, uint64_t time, uint32_t pid, uint32_t tid,
		     const char *comm);
int sym_history_mmap(struct sym_history *h, const struct sym_mapping *m);

/*
 * A snapshot: a process that was @born (0: not known) and called @comm (NULL: not known), and its
 * @n mappings in order of address. .time of each must be @time.
 */
int sym_history_snapshot(struct sym_history *h, uint64_t time, uint32_t pid, uint64_t born,
			 const char *comm, const struct sym_mapping *m, size_t n);

/*
 * What @pid had mapped at @addr at @time. @life is filled in if the pid was known then at all, else
 * zeroed. -ENOENT, -ENOMEM.
 */
int sym_history_find(struct sym_history *h, uint32_t pid, uint64_t time, uint64_t addr,
		     struct sym_mapping *m, struct sym_life *life);

/* Pruning is to leave what sym_history_find() answers to this. -ENOENT, -ENOMEM. */
int sym_history_use(struct sym_history *h, uint32_t pid, uint64_t time, uint64_t addr);

/* Forgets all that sym_history_use() was told. */
void sym_history_unuse(struct sym_history *h);

/* The name of @tid at @time, or NULL. */
const char *sym_history_comm_at(struct sym_history *h, uint32_t tid, uint64_t time);

/* Calls @fn on each mapping that the process with @pid made itself since its last exec. */
int sym_history_each(struct sym_history *h, uint32_t pid,
		     int (*fn)(void *ctx, const struct sym_mapping *m), void *ctx);

/* It is of another file: @m is one that sym_history_each() has shown. */
void sym_history_of_file(struct sym_history *h, const struct sym_mapping *m, uint32_t file);

/* As in rawprof/symbolize.h. */
int sym_history_prune(struct sym_history *h, uint64_t before,
		      enum sym_wanted (*wanted)(void *ctx, uint32_t pid), void *ctx);

/* ---- between the files of the history, and for who forgets what it has numbers of */

enum sym_event_type {
	SYM_EVENT_FORK,
	SYM_EVENT_EXEC,
	SYM_EVENT_EXIT,
	SYM_EVENT_MMAP,
	SYM_EVENT_COMM,
	SYM_EVENT_SNAPSHOT,
};

struct sym_event {
	uint64_t time;
	uint32_t seq; /* among events of one time, the order in which they came */
	uint32_t pid; /* the process; of COMM, the process of the thread */
	uint8_t type; /* enum sym_event_type */
	bool used;    /* something will be asked of the time that it begins */
	uint32_t tid; /* of COMM: the thread that it is about */
	union {
		uint32_t ppid;
		uint32_t number; /* of the mapping, or of the snapshot */
		const char *comm;
	};
};

/* Generations that a question is passed on to: without an exec nothing honest has more. */
enum { SYM_ANCESTORS = 64 };

/* Applies all events. -ENOMEM */
int sym_history_update(struct sym_history *h);
/* Puts those that were applied in order. */
void sym_history_sort(struct sym_history *h);

#endif
