/* SPDX-License-Identifier: BSD-2-Clause */
/* The user side of the map times (programs/shared/stack.h): when known stacks were sampled. */
#ifndef RECORD_TIMES_H
#define RECORD_TIMES_H

#include "programs/shared/stream.h"

struct record_times;

/* For every moment as it is read; it is gone after the return. 0 or a negative errno. */
typedef int (*stack_moment_fn)(void *ctx, const struct stack_moment *moment);

/* Places in a row for so many samples a second; 0: too many, they go through the ring. */
uint32_t record_times_places(uint64_t freq);

/* fd: of the map, with this shape; it stays the caller's. 0 or a negative errno after a message. */
int record_times_open(int fd, const struct asm_map *map, struct record_times **out);
void record_times_close(struct record_times *t);
/*
 * Hands over what was there at the last call; with all, once no program writes any more, what is
 * there. So often it has to be called: with record_times_places() of a frequency up to 4,096 Hz
 * nothing is lost when a call is three seconds late. 0 or what fn returned.
 */
#define RECORD_TIMES_NS 250000000ull
int record_times_read(struct record_times *t, bool all, stack_moment_fn fn, void *ctx);
/* Samples that were written over before they were read. */
uint64_t record_times_lost(const struct record_times *t);

#endif
