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
#include "base/id_set.h"
#include "programs/shared/published.h"

struct record_published;
struct stack_record;
struct sym_object;
struct mapped_file;

struct published_wanted {
	bool go, goid;	   /* labels of goroutines, and the number of each */
	bool context, ids; /* contexts of threads, and trace and span of each */
};
/* seen: the descriptor of that map, which stays the caller's. -ENOMEM. */
int record_published_open(struct record_published **out, int seen,
			  const struct published_wanted *wanted);
void record_published_close(struct record_published *p);

/*
 * Code of a process is mapped: if its file is a program of Go of a version that is known, *out says
 * where labels are. The file is opened the first time.
 */
void record_published_mapped(struct record_published *p, const struct mapped_file *file,
			     struct published_process *out);

/* Whether what came through the ring is a struct published_labels, or published_context. */
bool record_published_is(const void *data, size_t size);
/* Takes it. 0, -ENOMEM, -EBADMSG. */
int record_published_take(struct record_published *p, const void *published);

/*
 * Adds the labels that the record has to the sample, but for keys that it has, and then those that
 * its process has. What the sample points to from then on is good until the next call.
 */
void record_published_add(struct record_published *p, const struct stack_record *r,
			  struct report_sample *sample);

/* Between two windows, whose samples have their labels. */
void record_published_settle(struct record_published *p);

/* Of processes, whose mappings were read, which may publish contexts: context.h. p may be NULL. */
struct reading;
void record_published_read(struct record_published *p, struct reading *reading);
void record_published_ended(struct record_published *p, uint32_t pid);
struct record_looks;
void record_published_due(struct record_published *p, struct record_looks *looks,
			  struct id_set *changed);
/* At most @otherwise. */
uint64_t record_published_urgent(const struct record_published *p, uint64_t otherwise);

/* ---- go_file.c */

/* The minor number of the version of Go that has made the file, 1.24 is 24; 0: none has. */
unsigned int record_go_version(const struct sym_object *o);
/* Where g is from the thread pointer. False: it cannot be known. */
bool record_go_tls(struct sym_object *o, int64_t *out);

#endif
