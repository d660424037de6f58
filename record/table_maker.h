/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes unwind tables beside the recording, which reads its ring meanwhile: one thread for what
 * files say of themselves, which takes milliseconds, and one for rules that are computed from code,
 * which takes up to a second, or ten on a slow machine.
 */
#ifndef RECORD_TABLE_MAKER_H
#define RECORD_TABLE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

struct record_table_maker;
struct unwind_cache;
struct unwind_table;

/* What was made of a file. */
struct made_table {
	uint64_t number;	    /* as it was ordered */
	struct unwind_table *table; /* NULL: none */
	bool is_computed;
	uid_t owner;		 /* of the file, */
	uint64_t size, spent_ns; /* its size, and the CPU time that it took */
	/* The file, for who is told: rules that were computed once are to be read yet; else -1 */
	int more;
};

/*
 * Files that may wait at a time; and how long after the end what is being made may take, so that
 * the next recording finds it in the cache.
 */
enum { TABLES_WAITING = 256, TABLES_LAST_MS = 1000 };

/* @cache may be NULL; it lives longer. No thread is there before the first order. */
int record_table_maker_open(struct record_table_maker **out, struct unwind_cache *cache);
void record_table_maker_close(struct record_table_maker *m);
/* Can be read from when something was made since record_table_maker_take() had nothing. */
int record_table_maker_fd(const struct record_table_maker *m);
/*
 * The table of the file open as @fd, which stays the caller's. -EAGAIN: too many wait;
 * or another negative errno: there is no thread, nor will there be.
 */
int record_table_maker_order(struct record_table_maker *m, uint64_t number, int fd,
			     bool is_computed);
/* A walk has ended for want of the table that was ordered by this number: it is made next. */
void record_table_maker_hurry(struct record_table_maker *m, uint64_t number);
/* False: nothing more was made. The table, and made.more, are the caller's. */
bool record_table_maker_take(struct record_table_maker *m, struct made_table *out);

#endif
