/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace of Perfetto: protos/perfetto/trace/ of github.com/google/perfetto, version 58. In the
 * order of time:
 *
 * - each sample, and each wait when it begins, is a StackSample of its weight and its count;
 * - each wait that is for more than a CPU is a slice of its thread, with what it was for;
 * - where waits are all that keeps threads off the CPUs, they are states of threads as well, and
 *   wake-ups are those of ftrace, from which the viewer draws arrows.
 *
 * The recording knows no clock but that on the wall: it stands for the others.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "perfetto.h"

/* What happens at one time, in this order: nothing begins before what it follows has ended. */
enum mark_kind { MARK_END, MARK_BUSY, MARK_WAIT, MARK_WOKEN, MARK_SAMPLE, MARK_BEGIN };

struct mark {
	uint64_t time;
	uint64_t span : 56, kind : 8;
};

struct marks {
	struct mark *at;
	size_t n, capacity;
};

/* ---- packets */

/* What is in p->message is its only member; p->interned goes with it. */
static void send(struct perfetto *p, uint64_t time, unsigned int field, unsigned int flags)
{
	struct buf *b = &p->packet;
	unsigned char head[1 + VARINT_MAX] = { TRACE_PACKET << 3 | 2 };

	report_buf_reset(b);
	report_proto_add_value(b, PACKET_TIMESTAMP, time);
	if (p->interned.len) {
		report_proto_add_message(b, PACKET_INTERNED_DATA, &p->interned);
		report_buf_reset(&p->interned);
	}
	report_proto_add_message(b, field, &p->message);
	report_proto_add_uint(b, PACKET_SEQUENCE_ID, 1);
	report_proto_add_uint(b, PACKET_SEQUENCE_FLAGS, flags);
	report_buf_reset(&p->message);
	report_out_write(&p->out, head, 1 + report_proto_varint(head + 1, b->len));
	report_out_buf(&p->out, b);
}

/* Keeps clear of what does not fit into 63 bits. */
static uint64_t wall(const struct perfetto *p, uint64_t time)
{
	const uint64_t start = p->t.r->meta.info.start_ns;

	return (start > INT64_MAX / 2 ? INT64_MAX / 2 : start) +
	       (time > INT64_MAX / 2 ? INT64_MAX / 2 : time);
}

static void send_clocks(struct perfetto *p)
{
	static const unsigned int clocks[] = { CLOCK_REALTIME_ID, CLOCK_MONOTONIC_ID,
					       CLOCK_BOOTTIME_ID };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		report_buf_reset(&p->part);
		report_proto_add_uint(&p->part, CLOCK_ID, clocks[i]);
		report_proto_add_value(&p->part, CLOCK_TIMESTAMP, wall(p, 0));
		report_proto_add_message(&p->message, CLOCK_SNAPSHOT_CLOCKS, &p->part);
	}
	send(p, wall(p, 0), PACKET_CLOCK_SNAPSHOT, 0);
}

static void send_system(struct perfetto *p)
{
	const char *release = p->t.r->meta.info.kernel;

	if (!release)
		return;
	report_buf_reset(&p->part);
	report_perfetto_add_text(p, &p->part, UTSNAME_SYSNAME, "Linux");
	report_perfetto_add_text(p, &p->part, UTSNAME_RELEASE, release);
	report_proto_add_message(&p->message, SYSTEM_INFO_UTSNAME, &p->part);
	send(p, wall(p, 0), PACKET_SYSTEM_INFO, 0);
}

static void send_threads(struct perfetto *p)
{
	const struct timeline *t = &p->t;

	for (uint32_t i = 0; i < t->nthreads; i++) {
		const struct timeline_thread *thread = &t->threads[i];
		const char *comm = text(t->r, thread->comm);

		if (!i || thread->pid != t->threads[i - 1].pid) {
			report_buf_reset(&p->part);
			report_proto_add_value(&p->part, PROCESS_PID, (uint32_t)thread->pid);
			report_perfetto_add_text(p, &p->part, PROCESS_CMDLINE, comm);
			report_proto_add_message(&p->message, PROCESS_TREE_PROCESSES, &p->part);
		}
		report_buf_reset(&p->part);
		report_proto_add_value(&p->part, THREAD_TID, (uint32_t)thread->tid);
		report_perfetto_add_text(p, &p->part, THREAD_NAME, comm);
		report_proto_add_value(&p->part, THREAD_TGID, (uint32_t)thread->pid);
		report_proto_add_message(&p->message, PROCESS_TREE_THREADS, &p->part);
	}
	send(p, wall(p, 0), PACKET_PROCESS_TREE, 0);
}

static void add_counter(struct perfetto *p, struct buf *b, unsigned int field, unsigned int value)
{
	const struct report *r = p->t.r;
	const char *unit = text(r, r->types[value].unit);
	struct buf counter = { 0 };

	report_perfetto_add_text(p, &counter, COUNTER_NAME, text(r, r->types[value].type));
	if (is_time(r, value))
		report_proto_add_uint(&counter, COUNTER_UNIT, UNIT_NANOSECONDS);
	else if (!strcmp(unit, "bytes") || !strcmp(unit, "count"))
		report_proto_add_uint(&counter, COUNTER_UNIT,
				      *unit == 'b' ? UNIT_BYTES : UNIT_COUNT);
	else
		report_perfetto_add_text(p, &counter, COUNTER_UNIT_TEXT, unit);
	report_proto_add_message(b, field, &counter);
	report_buf_free(&counter);
}

/* Begins the sequence whose ids all later packets use. */
static void send_defaults(struct perfetto *p)
{
	const char *command = p->t.r->meta.info.command;
	struct buf source = { 0 };

	report_buf_puts(&source, "rawprof.");
	report_buf_puts(&source, command ? command : "samples");
	report_buf_reset(&p->part);
	report_perfetto_add_text(p, &p->part, SAMPLE_DEFAULTS_SOURCE,
				 source.err ? "rawprof" : source.s);
	report_buf_free(&source);
	add_counter(p, &p->part, SAMPLE_DEFAULTS_PRIMARY, p->t.value);
	if (p->t.value)
		add_counter(p, &p->part, SAMPLE_DEFAULTS_FOLLOWERS, 0);
	report_proto_add_message(&p->message, DEFAULTS_STACK_SAMPLE, &p->part);
	send(p, wall(p, 0), PACKET_DEFAULTS, SEQUENCE_CLEARED);
}

/* ---- tracks */

/* Of a thread's lane; 0 is no track. */
static uint64_t track(uint32_t thread, uint32_t lane)
{
	return ((uint64_t)thread << 16 | lane) + 1;
}

static void send_track(struct perfetto *p, const struct timeline_thread *thread, uint32_t lane)
{
	const uint32_t number = (uint32_t)(thread - p->t.threads);

	report_proto_add_uint(&p->message, TRACK_UUID, track(number, lane));
	if (lane) {
		report_perfetto_add_text(p, &p->message, TRACK_NAME, "at the same time");
		report_proto_add_uint(&p->message, TRACK_PARENT, track(number, 0));
	} else {
		report_buf_reset(&p->part);
		report_proto_add_value(&p->part, TRACK_THREAD_PID, (uint32_t)thread->pid);
		report_proto_add_value(&p->part, TRACK_THREAD_TID, (uint32_t)thread->tid);
		report_perfetto_add_text(p, &p->part, TRACK_THREAD_NAME,
					 text(p->t.r, thread->comm));
		report_proto_add_message(&p->message, TRACK_THREAD, &p->part);
	}
	send(p, wall(p, 0), PACKET_TRACK_DESCRIPTOR, 0);
}

static void send_tracks(struct perfetto *p)
{
	for (uint32_t i = 0; i < p->t.nthreads; i++)
		for (uint32_t lane = 0; lane < p->t.threads[i].lanes; lane++)
			send_track(p, &p->t.threads[i], lane);
}

static void add_annotations(struct perfetto *p, const struct span *s)
{
	const struct report *r = p->t.r;
	const struct label_set *set = labels_of(r, sample_of(r, s->sample)->label_set);
	struct buf value = { 0 };

	for (uint64_t i = 0; i < set->count; i++) {
		report_buf_reset(&p->part);
		report_buf_reset(&value);
		report_add_label_value(&value, r, &set->labels[i], 0);
		p->err = p->err ? p->err : value.err;
		report_perfetto_add_text(p, &p->part, ANNOTATION_NAME, text(r, set->labels[i].key));
		report_perfetto_add_text(p, &p->part, ANNOTATION_TEXT, p->err ? "" : value.s);
		report_proto_add_message(&p->message, EVENT_ANNOTATIONS, &p->part);
	}
	report_buf_free(&value);
}

static void send_event(struct perfetto *p, uint64_t time, const struct span *s, unsigned int type)
{
	if (type != EVENT_END) {
		const uint64_t name =
			report_perfetto_event_name(p, report_timeline_reason(&p->t, s));
		const uint64_t stack =
			report_perfetto_callstack(p, sample_of(p->t.r, s->sample)->node);

		report_proto_add_uint(&p->message, EVENT_NAME_IID, name);
		report_proto_add_uint(&p->message, EVENT_CALLSTACK_IID, stack);
		report_perfetto_add_text(p, &p->message, EVENT_CATEGORIES, "wait");
		add_annotations(p, s);
	}
	report_proto_add_uint(&p->message, EVENT_TYPE, type);
	report_proto_add_uint(&p->message, EVENT_TRACK_UUID, track(s->thread, s->lane));
	send(p, wall(p, time), PACKET_TRACK_EVENT, SEQUENCE_NEEDS);
}

/* ---- samples */

static void send_sample(struct perfetto *p, uint64_t time, const struct span *s)
{
	const uint64_t task = report_perfetto_task(p, &p->t.threads[s->thread]);
	const uint64_t place = s->kind == SPAN_AT ? report_perfetto_execution(p, s) : 0;
	const uint64_t stack = report_perfetto_callstack(p, sample_of(p->t.r, s->sample)->node);

	report_proto_add_uint(&p->message, STACK_SAMPLE_TASK_IID, task);
	report_proto_add_uint(&p->message, STACK_SAMPLE_EXECUTION_IID, place);
	report_proto_add_uint(&p->message, STACK_SAMPLE_CALLSTACK_IID, stack);
	report_proto_add_value(&p->message, STACK_SAMPLE_WEIGHT, s->weight);
	if (p->t.value) {
		report_buf_reset(&p->part);
		report_proto_add_varint(&p->part, s->count);
		report_proto_add_message(&p->message, STACK_SAMPLE_FOLLOWER_WEIGHTS, &p->part);
	}
	send(p, wall(p, time), PACKET_STACK_SAMPLE, SEQUENCE_NEEDS);
}

/* ---- states of threads */

static bool is_uninterruptible(const struct perfetto *p, const struct span *s)
{
	const char *reason = report_timeline_reason(&p->t, s);

	return !strcmp(reason, "disk") || !strcmp(reason, "lock");
}

/* kind: MARK_WAIT, or MARK_BUSY when the thread is on a CPU again. */
static void send_state(struct perfetto *p, uint64_t time, const struct span *s, unsigned int kind)
{
	const struct timeline_thread *thread = &p->t.threads[s->thread];
	const bool running = kind == MARK_BUSY && s->cpu != REPORT_NO_CPU;
	unsigned int state = STATE_RUNNABLE;

	if (running)
		state = STATE_RUNNING;
	else if (kind == MARK_WAIT && !report_timeline_is_runnable(&p->t, s))
		state = is_uninterruptible(p, s) ? STATE_DISK_SLEEP : STATE_SLEEP;
	if (running)
		report_proto_add_value(&p->message, TASK_STATE_CPU, s->cpu);
	report_perfetto_add_text(p, &p->message, TASK_STATE_COMM, text(p->t.r, thread->comm));
	report_proto_add_value(&p->message, TASK_STATE_TID, (uint32_t)thread->tid);
	report_proto_add_uint(&p->message, TASK_STATE_STATE, state);
	send(p, wall(p, time), PACKET_TASK_STATE, 0);
}

static void send_woken(struct perfetto *p, uint64_t time, const struct span *s)
{
	const struct timeline_thread *thread = &p->t.threads[s->thread];
	/* The reader wants a CPU, and refuses all from its 1024th. */
	const unsigned int cpu = s->cpu < 1024 ? s->cpu : 0;
	struct buf event = { 0 };

	report_buf_reset(&p->part);
	report_perfetto_add_text(p, &p->part, WAKING_COMM, text(p->t.r, thread->comm));
	report_proto_add_value(&p->part, WAKING_PID, (uint32_t)thread->tid);
	report_proto_add_value(&p->part, WAKING_SUCCESS, 1);
	report_proto_add_value(&p->part, WAKING_CPU, cpu);
	report_proto_add_value(&event, FTRACE_EVENT_TIMESTAMP, wall(p, time));
	report_proto_add_value(&event, FTRACE_EVENT_PID, (uint32_t)s->weight);
	report_proto_add_message(&event, FTRACE_EVENT_SCHED_WAKING, &p->part);
	report_proto_add_value(&p->message, FTRACE_CPU, cpu);
	report_proto_add_message(&p->message, FTRACE_EVENT, &event);
	report_buf_free(&event);
	send(p, wall(p, time), PACKET_FTRACE_EVENTS, 0);
}

/* ---- the order of time */

static void push(struct perfetto *p, struct marks *m, uint64_t time, size_t span,
		 enum mark_kind kind)
{
	const struct mark mark = { .time = time, .span = span, .kind = kind };

	if (!p->err)
		p->err = RP_PUSH(m->at, m->n, m->capacity, mark);
}

static void add_slice(struct perfetto *p, struct marks *m, size_t i)
{
	const struct span *s = &p->t.spans[i];

	if (report_timeline_is_runnable(&p->t, s))
		return;
	push(p, m, s->start, i, MARK_BEGIN);
	if (s->end > s->start)
		push(p, m, s->end, i, MARK_END);
}

/* Between waits threads run. Whoever was woken waits for a CPU already. */
static void add_states(struct perfetto *p, struct marks *m, const struct timeline_thread *thread)
{
	uint64_t until = 0;
	size_t wait = SIZE_MAX;
	bool known = false;

	for (size_t i = thread->first; i < thread->first + thread->n; i++) {
		const struct span *s = &p->t.spans[i];
		const uint64_t start = s->start > until ? s->start : until;
		const bool is_woken = i > thread->first && s[-1].kind == SPAN_WOKEN &&
				      s[-1].start == start && report_timeline_is_runnable(&p->t, s);

		if (s->kind == SPAN_AT && !known)
			push(p, m, s->start, i, MARK_BUSY);
		known |= s->kind == SPAN_AT;
		if (s->kind != SPAN_WAIT || s->end <= start)
			continue;
		if (wait != SIZE_MAX && until < start)
			push(p, m, until, wait, MARK_BUSY);
		if (!is_woken)
			push(p, m, start, i, MARK_WAIT);
		until = s->end;
		wait = i;
		known = true;
	}
	if (wait != SIZE_MAX && until < p->t.end)
		push(p, m, until, wait, MARK_BUSY);
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->span < y->span ? -1 : x->span > y->span;
}

static void list_marks(struct perfetto *p, struct marks *m)
{
	const bool has_states = report_timeline_has_states(&p->t);

	for (size_t i = 0; i < p->t.nspans; i++) {
		const struct span *s = &p->t.spans[i];

		push(p, m, s->start, i, s->kind == SPAN_WOKEN ? MARK_WOKEN : MARK_SAMPLE);
		if (s->kind == SPAN_WAIT)
			add_slice(p, m, i);
	}
	for (uint32_t i = 0; has_states && i < p->t.nthreads; i++)
		add_states(p, m, &p->t.threads[i]);
	if (!p->err && m->n)
		qsort(m->at, m->n, sizeof(*m->at), by_time);
}

static void send_marks(struct perfetto *p, const struct marks *m)
{
	for (size_t i = 0; i < m->n && !p->err && !p->out.err; i++) {
		const struct mark *mark = &m->at[i];
		const struct span *s = &p->t.spans[mark->span];

		switch ((enum mark_kind)mark->kind) {
		case MARK_END:
			send_event(p, mark->time, s, EVENT_END);
			break;
		case MARK_BEGIN:
			send_event(p, mark->time, s,
				   s->end > s->start ? EVENT_BEGIN : EVENT_INSTANT);
			break;
		case MARK_BUSY:
		case MARK_WAIT:
			send_state(p, mark->time, s, mark->kind);
			break;
		case MARK_WOKEN:
			send_woken(p, mark->time, s);
			break;
		case MARK_SAMPLE:
			send_sample(p, mark->time, s);
		}
	}
}

int report_write_perfetto(const struct report *r, FILE *file, const struct report_options *options)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	struct marks marks = { 0 };
	int err;

	if (!p)
		return -ENOMEM;
	p->out.file = file;
	err = report_timeline_make(r, options, &p->t);
	if (!err)
		err = report_perfetto_intern_init(p);
	if (!err) {
		send_clocks(p);
		send_system(p);
		send_threads(p);
		send_defaults(p);
		send_tracks(p);
		list_marks(p, &marks);
		send_marks(p, &marks);
		err = p->err ? p->err : report_out_end(&p->out);
	}
	free(marks.at);
	report_perfetto_intern_free(p);
	report_timeline_free(&p->t);
	report_buf_free(&p->interned);
	report_buf_free(&p->message);
	report_buf_free(&p->part);
	report_buf_free(&p->scratch);
	report_buf_free(&p->packet);
	free(p);
	return err;
}
