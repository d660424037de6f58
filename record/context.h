/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that publish what they are and what their threads work on, by OpenTelemetry's proposals
 * 4719 and 4947: where a process has the variable that leads to a thread's record, what the numbers
 * of its attributes are called, and what it says of itself.
 */
#ifndef RECORD_CONTEXT_H
#define RECORD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id_set.h"
#include "otel_context.h"
#include "programs/shared/published.h"

struct record_context;
struct sym_proc_map;

/* ids: trace and span of a record, too. -ENOMEM. */
int record_context_open(struct record_context **out, bool ids);
void record_context_close(struct record_context *c);
bool record_context_has_ids(const struct record_context *c);

/* It is where a process context is, by its name. */
bool record_context_is_at(const struct sym_proc_map *m);

/*
 * The mappings of a process were read; its context is at @at, 0: it has none. Unless another kind
 * is there already *out says where its threads have their records. What is not there yet is looked
 * for again some times, each five times as long after the one before.
 */
void record_context_found(struct record_context *c, uint32_t pid, uint64_t at,
			  struct published_process *out);
void record_context_ended(struct record_context *c, uint32_t pid);
/*
 * Adds the processes that are to be read again to @changed; asks those that are known. Looks that
 * take long are paid for by @looks, which may be NULL.
 */
struct record_looks;
void record_context_due(struct record_context *c, struct record_looks *looks,
			struct id_set *changed);
/* In how many ns one may be; UINT64_MAX: none. */
uint64_t record_context_urgent(const struct record_context *c);

/*
 * A record of that process, which began then (struct stack_record), has attributes with numbers up
 * to this: names that are new are read, but not more often than twice a second.
 */
void record_context_met(struct record_context *c, uint32_t pid, uint64_t start_time, uint32_t most);
/* What that number is called; NULL: not known. Good until the next call of one of the above. */
const char *record_context_key(const struct record_context *c, uint32_t pid, uint64_t start_time,
			       uint32_t number);
/* What the process says of itself; NULL: nothing. */
const char *record_context_text(struct record_context *c, uint32_t pid, uint64_t start_time,
				enum otel_text which);

#endif
