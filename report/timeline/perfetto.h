/* SPDX-License-Identifier: BSD-2-Clause */
/* What a packet of a Perfetto trace is made of: a message, and what it names for the first time. */
#ifndef REPORT_PERFETTO_H
#define REPORT_PERFETTO_H

#include "report/proto.h"
#include "perfetto_fields.h"
#include "timeline.h"

struct perfetto {
	struct timeline t;
	struct out out;
	struct buf interned; /* InternedData of the next packet */
	struct buf message, part, scratch, packet;
	struct strings strings;
	unsigned char *seen; /* of a string: in which kinds it has an id */
	uint32_t seen_cap;
	struct hash_map mappings, frames, callstacks, tasks, executions;
	int err; /* the first failure that is not the stream's */
};

int report_perfetto_intern_init(struct perfetto *p);
void report_perfetto_intern_free(struct perfetto *p);

/* Each returns the id of something; what is new goes into p->interned. They use p->part. */
uint64_t report_perfetto_event_name(struct perfetto *p, const char *name);
uint64_t report_perfetto_callstack(struct perfetto *p, uint32_t node);
uint64_t report_perfetto_task(struct perfetto *p, const struct timeline_thread *thread);
/* 0: of a CPU that is not known. */
uint64_t report_perfetto_execution(struct perfetto *p, const struct span *span);

/* Text that is UTF-8, as protobuf wants it. */
void report_perfetto_add_text(struct perfetto *p, struct buf *b, unsigned int field, const char *s);

#endif
