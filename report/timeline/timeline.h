/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile as what each thread did when, for the formats that show time. */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include "report/write.h"

/* At one time, in this order. */
enum span_kind {
	SPAN_WOKEN,
	SPAN_AT,
	SPAN_WAIT,
	SPAN_REST, /* what a sample has and no moment told: without a time, so at the end */
};

struct span {
	uint64_t start, end; /* ns since the recording began */
	uint64_t weight;     /* of the value type timeline.value; of SPAN_WOKEN the waker's tid */
	uint64_t count;
	uint32_t sample, thread;
	uint16_t cpu; /* REPORT_NO_CPU: not known */
	uint16_t lane;
	uint32_t kind;
};

/*
 * Spans of one lane do not overlap: a thread has more than the first when it waits for several
 * things at once, such as requests of a disk.
 */
struct timeline_thread {
	int32_t pid, tid;
	uint32_t comm; /* a string of the report: its last one */
	uint32_t lanes;
	size_t first, n; /* of its spans */
};

struct timeline {
	const struct report *r;
	struct report_options options; /* resolved */
	struct order order;
	struct span *spans; /* by thread, start, kind, end; then by what they have */
	size_t nspans;
	struct timeline_thread *threads; /* by pid and tid */
	uint32_t nthreads;
	struct hash_map by_tid;
	unsigned int value;  /* what weights are: the stream's, or the one that was asked for */
	uint64_t interval;   /* ns between samples of a running thread; 0: spans of SPAN_AT have no
			       length */
	uint64_t end;	     /* of the recording, or the last moment */
	uint64_t last_start; /* of a span */
};

/* 0, -EINVAL or -ENOMEM; to be freed in any case. */
int report_timeline_make(const struct report *r, const struct report_options *given,
			 struct timeline *t);
void report_timeline_free(struct timeline *t);

/* What a wait was for: its state, operation or type, as the labels of its sample have it; else the
 * command. */
const char *report_timeline_reason(const struct timeline *t, const struct span *span);
/* It waited for nothing but a CPU. */
bool report_timeline_is_runnable(const struct timeline *t, const struct span *span);
/* Waits are all the time that threads are off the CPUs. */
bool report_timeline_has_states(const struct timeline *t);
/* The thread of this tid; NULL: it has no spans. */
const struct timeline_thread *report_timeline_thread(const struct timeline *t, uint64_t tid);

/* Node ids of a stack, root first; how many, at most REPORT_MAX_STACK. */
uint32_t report_timeline_path(const struct report *r, uint32_t node,
			      uint32_t path[REPORT_MAX_STACK]);

/* The value type counts time. */
static inline bool is_time(const struct report *r, unsigned int value)
{
	return !strcmp(text(r, r->types[value].unit), "nanoseconds");
}

#endif
