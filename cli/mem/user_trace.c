/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem --trace: every call of the allocator as it comes, with its caller. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/text.h"
#include "user.h"
#include "record/names.h"

/* Calls wait for the next drain: by then the files of a new process are known and named. */
struct mem_trace {
	struct recording *rec;
	struct rp_ring *ring;
	struct mem_event *waiting;
	size_t n, capacity;
};

int mem_trace_open(struct recording *rec, struct mem_trace **out)
{
	struct mem_trace *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (t) {
		t->rec = rec;
		err = rp_ring_open(record_stacks_map(rec->stacks, MEM_MAP_TRACE),
				   record_stacks_maps(rec->stacks)[MEM_MAP_TRACE].max_entries,
				   &t->ring);
	}
	if (err)
		mem_trace_close(t);
	else
		*out = t;
	return err;
}

void mem_trace_close(struct mem_trace *t)
{
	if (!t)
		return;
	rp_ring_close(t->ring);
	free(t->waiting);
	free(t);
}

static int keep(void *ctx, const void *data, size_t size)
{
	struct mem_trace *t = ctx;
	const struct mem_event *e = data;

	if (size != sizeof(*e))
		return -EBADMSG;
	if (RP_PUSH(t->waiting, t->n, t->capacity, *e))
		return -ENOMEM;
	record_saw(t->rec, (uint32_t)(e->ids >> 32), 0);
	return 0;
}

/* ---- a line */

static void print_time(FILE *f, uint64_t wall_ns)
{
	char text[REPORT_CLOCK_TEXT];

	report_clock(wall_ns, text);
	fprintf(f, "%s  ", text);
}

/* "realloc(0x5581c0, 64) = 0x5581f0" */
static void print_call(FILE *f, const struct mem_event *e)
{
	fprintf(f, "%s(", mem_function_name(e->function));
	if (e->call != MEM_POSIX_MEMALIGN && (e->pointer || !e->size))
		fprintf(f, "%#" PRIx64, e->pointer);
	if (e->call == MEM_FREE || e->call == MEM_DELETE) {
		fputs(")", f);
		return;
	}
	if (e->call == MEM_REALLOC || e->call == MEM_REALLOCARRAY)
		fprintf(f, "%s, ", e->pointer ? "" : "0");
	fprintf(f, "%" PRIu64 ") = %#" PRIx64, e->size, e->result);
}

static int print_caller(struct mem_trace *t, FILE *f, const struct mem_event *e)
{
	const struct name_owner owner = { .pid = (uint32_t)(e->ids >> 32), .time = e->time };
	struct name_frames frames = { 0 };
	int err = record_names_stack(t->rec, &owner, &e->caller, 1, NAMES_RETURN, &frames);

	if (!err && frames.n && frames.frame[0].name)
		err = rp_text_print(f, "  %s", frames.frame[0].name);
	else
		fprintf(f, "  %#" PRIx64, e->caller);
	free(frames.frame);
	return err;
}

static int print_one(struct mem_trace *t, const struct mem_event *e)
{
	FILE *f = output_of(t->rec)->stream;
	int err;

	print_time(f, e->time + t->rec->wall_offset);
	err = rp_text_print(f, "%.16s %u/%u  ", e->comm, (uint32_t)(e->ids >> 32),
			    (uint32_t)e->ids);
	print_call(f, e);
	if (!err)
		err = print_caller(t, f, e);
	fputc('\n', f);
	return err ? err : ferror(f) ? output_flush(output_of(t->rec)) : 0;
}

/* ---- all of them */

static int print_waiting(struct mem_trace *t)
{
	int err = 0;

	for (size_t i = 0; !err && i < t->n; i++)
		if (record_comm_wanted(t->rec, t->waiting[i].comm)) {
			err = print_one(t, &t->waiting[i]);
			t->rec->handed_over++;
		} else {
			t->rec->not_wanted++;
		}
	if (!err && t->n)
		err = output_flush(output_of(t->rec));
	t->n = 0;
	return output_failed(output_of(t->rec), err);
}

int mem_trace_drain(struct mem_trace *t)
{
	int err = print_waiting(t);
	int n = err ? err : rp_ring_drain(t->ring, keep, t);

	return n < 0 ? n : 0;
}

int mem_trace_finish(struct mem_trace *t)
{
	int err = mem_trace_drain(t);

	return err ? err : print_waiting(t);
}
