/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of programs/shared/published.h: which processes publish labels and where, and the
 * labels that have come.
 */
#ifndef RECORD_PUBLISHED_H
#define RECORD_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>

#include <rawprof/report.h>
#include "programs/shared/published.h"

struct record_published;
struct stack_record;
struct sym_object;
struct sym_proc_map;

/*
 * goid: the number of the goroutine, too. seen: the descriptor of that map, which stays the
 * caller's. -ENOMEM.
 */
int record_published_open(struct record_published **out, int seen, bool goid);
void record_published_close(struct record_published *p);

/*
 * Code of a process is mapped: if its file is a program of Go of a version that is known, *out says
 * where labels are. open(ctx) opens the file the first time.
 */
void record_published_mapped(struct record_published *p, const struct sym_proc_map *m,
			     int (*open)(void *ctx), void *ctx, struct published_process *out);

/* What came through the ring. 0, -ENOMEM, -EBADMSG. */
int record_published_take(struct record_published *p, const struct published_labels *labels);

/*
 * Adds the labels that the record has to the sample, but for keys that it has. What the sample
 * points to from then on is good until the next call.
 */
void record_published_add(struct record_published *p, const struct stack_record *r,
			  struct report_sample *sample);

/* ---- go_file.c */

/* The minor number of the version of Go that has made the file, 1.24 is 24; 0: none has. */
unsigned int record_go_version(const struct sym_object *o);
/* Where g is from the thread pointer. False: it cannot be known. */
bool record_go_tls(struct sym_object *o, int64_t *out);

#endif
