/* SPDX-License-Identifier: BSD-2-Clause */
/* When the stacks of a recording weighed more, for a report with a stream. */
#ifndef RECORD_STREAM_H
#define RECORD_STREAM_H

#include <rawprof/report.h>

#include "programs/shared/stream.h"

struct recording;
struct record_stream;

/* So many are kept, 32 bytes each; the rest is counted. */
#define RECORD_MOMENTS (2u << 20)

/* 0 or -ENOMEM. record_stream_free() takes NULL. */
int record_stream_open(struct record_stream **out);
void record_stream_free(struct record_stream *s);

/* All below: nothing without rec->stream, and 0 or -ENOMEM. */

/* What came through the ring: a stack's record, which may weigh something, or a moment. */
int record_stream_record(struct recording *rec, const struct stack_record *record);
int record_stream_moment(struct recording *rec, const struct stack_moment *moment);
/* A wait that goes on when the recording ends, for so many ns by then. */
int record_stream_until(struct recording *rec, uint64_t hash, uint64_t with, uint64_t end,
			uint64_t ns, uint32_t count);
/* How many there are now, and the sum of all that they ever counted. */
size_t record_stream_count(const struct recording *rec, uint64_t *counted);
/*
 * Calls keep with each moment and the process << 32 | thread that it is of, 0 if that is not known
 * yet: 1 to keep it, with the time and weight that it has put there; 0 to drop it; a negative errno
 * ends it, and is returned.
 */
typedef int (*record_sift_fn)(void *ctx, uint64_t pid_tgid, struct stack_moment *m);
int record_stream_sift(struct recording *rec, record_sift_fn keep, void *ctx);
/* The moments of this stack, and what it is told by beside, belong to that sample of the report. */
void record_stream_sample(struct recording *rec, uint64_t hash, uint64_t with, uint32_t sample);
/* Their weight is known only together: each gets its share. */
void record_stream_share(struct recording *rec, uint64_t hash, uint64_t with, uint64_t count,
			 uint64_t weight);
/* All samples have been added: gives the report the moments of those that are in it. */
int record_stream_fill(struct recording *rec, struct report *report);

#endif
