/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process beside the recording that keeps the right to write files, for one that is about to give
 * it up (confine.h). It parses nothing: it does one of a few things that were named when it was
 * started, when it is asked to, and what is to be done at the end, however the recording ends.
 */
#ifndef RECORD_KEEPER_H
#define RECORD_KEEPER_H

#include <stddef.h>

/* One thing that the keeper does. */
struct record_duty {
	/*
	 * In the keeper: the state of the process is that of record_keeper_start(). @data, @size
	 * bytes, and @fd, -1 if there is none, are what was sent; @fd is closed afterwards. Its
	 * result is that of record_keeper_ask().
	 */
	int (*run)(void *ctx, const void *data, size_t size, int fd);
	/* In the keeper, when the recording closes it or ends in any way. May be NULL. */
	void (*end)(void *ctx);
	void *ctx;
};

struct record_keeper;

/* Forks. The @n duties are known by their numbers; the array must live as long as the keeper. */
int record_keeper_start(const struct record_duty *duties, size_t n, struct record_keeper **out);

#define RECORD_KEEPER_DATA 256 /* bytes at most that go with a request */

int record_keeper_pid(const struct record_keeper *k);

/* Waits until it has given up what it does not need: 0, or a negative errno after a message. */
int record_keeper_ready(struct record_keeper *k);
/* What the duty returned; -ECONNRESET: the keeper is gone. Threads wait for each other. */
int record_keeper_ask(struct record_keeper *k, unsigned int duty, const void *data, size_t size,
		      int fd);

/* Waits until the duties' ends are done. */
void record_keeper_close(struct record_keeper *k);

#endif
