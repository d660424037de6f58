/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the unwinder in the kernel which tables hold for which addresses of which process. A process is read when
 * it is first met and again when it has mapped more; its ranges are written to a fresh place and then published by
 * one update of the map unwind_procs, so that the program sees either the old or the new.
 */
#ifndef CLI_UNWIND_FEED_H
#define CLI_UNWIND_FEED_H

#include "base/id_set.h"
#include "unwind_store.h"

struct unwind_feed;

/* fds: the maps of programs.h, which stay the caller's. 0 or a negative errno after a message. */
struct unwind_feed_maps {
	int procs, ranges, index, rules, rows;
};
int unwind_feed_open(struct unwind_feed **out, const struct unwind_feed_maps *maps);
void unwind_feed_close(struct unwind_feed *f);

/* Reads the mappings of a process and publishes them. A process that is gone, or not ours to read, is skipped. */
void unwind_feed_process(struct unwind_feed *f, uint32_t pid);
/*
 * Digests beforehand what a program that is about to be started will map for certain: its file, if it was found, and
 * the C library, which is ours too.
 */
void unwind_feed_expect(struct unwind_feed *f, const char *path);

/* It has executed a program; the next thing it does is to map libraries. */
void unwind_feed_executed(struct unwind_feed *f, uint32_t pid);
/* In how many nanoseconds to look at the side-band again, whatever else happens; UINT64_MAX: no hurry. */
uint64_t unwind_feed_hurry(struct unwind_feed *f);
/* It has mapped something, or has ended: of interest if it was fed before. */
void unwind_feed_changed(struct unwind_feed *f, uint32_t pid);
void unwind_feed_ended(struct unwind_feed *f, uint32_t pid);
/* A walk came to code of it that no table is known for. */
void unwind_feed_lost(struct unwind_feed *f, uint32_t pid);
/* Reads those again that have changed, or where a walk was lost. */
void unwind_feed_refresh(struct unwind_feed *f);

#endif
