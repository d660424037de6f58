/* SPDX-License-Identifier: BSD-2-Clause */
/* From moments and sums to spans: sorted, with lengths, what has no time at the end. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "timeline.h"

/* ---- threads */

struct thread_key {
	int32_t pid, tid;
};
SET_ELEMENT(struct thread_key, 2 * 4);

/* Samples of all threads of a process together are shown as its first. */
static struct thread_key key_of(const struct sample *s)
{
	return (struct thread_key){ s->pid, s->tid ? s->tid : s->pid };
}

/* Of processes that had the same tid one after the other, the one with the highest pid. */
struct tid_entry {
	int32_t tid;
	uint32_t thread;
};

static int by_key(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int list_threads(struct timeline *t)
{
	struct hash_map seen = HASH_SET(struct thread_key);
	int err = 0;

	for (uint32_t i = 0; i < t->r->samples.count && !err; i++) {
		struct thread_key key = key_of(sample_of(t->r, i));
		uint32_t number;

		err = rp_hash_number(&seen, &key, &number);
	}
	t->threads = calloc((size_t)seen.count + 1, sizeof(*t->threads));
	if (!t->threads)
		err = -ENOMEM;
	for (uint32_t i = 0; i < seen.count && !err; i++) {
		const struct thread_key *key = (const struct thread_key *)seen.items + i;

		t->threads[t->nthreads++] =
			(struct timeline_thread){ .pid = key->pid, .tid = key->tid, .lanes = 1 };
	}
	rp_hash_free(&seen);
	if (!err)
		qsort(t->threads, t->nthreads, sizeof(*t->threads), by_key);
	t->by_tid = HASH_SET(int32_t);
	t->by_tid.size = sizeof(struct tid_entry);
	for (uint32_t i = 0; i < t->nthreads && !err; i++) {
		struct tid_entry *entry = rp_hash_add(&t->by_tid, &t->threads[i].tid);

		if (!entry)
			err = -ENOMEM;
		else
			entry->thread = i;
	}
	return err;
}

static uint32_t thread_of(const struct timeline *t, uint32_t sample)
{
	const struct thread_key key = key_of(sample_of(t->r, sample));
	const struct timeline_thread wanted = { .pid = key.pid, .tid = key.tid };
	const struct timeline_thread *found =
		bsearch(&wanted, t->threads, t->nthreads, sizeof(wanted), by_key);

	return (uint32_t)(found - t->threads);
}

const struct timeline_thread *report_timeline_thread(const struct timeline *t, uint64_t tid)
{
	const int32_t key = (int32_t)tid;
	const struct tid_entry *entry = tid > INT32_MAX ? NULL : rp_hash_find(&t->by_tid, &key);

	return entry ? &t->threads[entry->thread] : NULL;
}

/* ---- spans */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What the moments of a sample are, together. */
struct told {
	uint64_t count, weight;	      /* of all */
	uint64_t at_count, at_weight; /* of points of time */
	uint64_t shared, given;
};

static void add_moments(struct timeline *t, const struct report_moment *m, size_t n,
			struct told *all)
{
	for (size_t i = 0; i < n; i++) {
		struct told *told = &all[m[i].sample];
		struct span *s = &t->spans[t->nspans++];

		*s = (struct span){ .start = m[i].time_ns,
				    .end = m[i].time_ns,
				    .weight = m[i].weight,
				    .count = m[i].count,
				    .sample = m[i].sample,
				    .cpu = m[i].cpu,
				    .kind = m[i].kind == REPORT_AT	? SPAN_AT
					    : m[i].kind == REPORT_UNTIL ? SPAN_WAIT
									: SPAN_WOKEN };
		if (s->end > t->end)
			t->end = s->end;
		if (s->kind == SPAN_WOKEN)
			continue;
		told->count = add_saturating(told->count, s->count);
		told->weight = add_saturating(told->weight, s->weight);
		if (s->kind == SPAN_WAIT) {
			s->start = less(s->end, s->weight);
			continue;
		}
		told->at_count = add_saturating(told->at_count, s->count);
		told->at_weight = add_saturating(told->at_weight, s->weight);
	}
}

/*
 * Samples whose weight was known only in the end, as the time of a thread on its CPUs is, have
 * equal parts of it: the first k of n have k / n, so that their sum is exact.
 */
static void share_weight(struct timeline *t, struct told *all)
{
	for (size_t i = 0; i < t->nspans; i++) {
		struct span *s = &t->spans[i];
		struct told *told = &all[s->sample];
		const uint64_t counts = value_of(t->r, s->sample, 0);
		const uint64_t weight = value_of(t->r, s->sample, t->value);
		uint64_t before = told->given;

		if (s->kind != SPAN_AT || told->at_weight || told->at_count > counts ||
		    told->weight || !s->count)
			continue;
		told->shared += s->count;
		told->given = (uint64_t)((unsigned __int128)weight * told->shared / counts);
		s->weight = told->given - before;
	}
}

static void add_rest(struct timeline *t, const struct told *all)
{
	for (uint32_t i = 0; i < t->r->samples.count; i++) {
		const uint64_t count = less(value_of(t->r, i, 0), all[i].count);
		const uint64_t weight =
			less(value_of(t->r, i, t->value), all[i].weight + all[i].given);

		if (count || weight)
			t->spans[t->nspans++] = (struct span){ .start = t->end,
							       .end = t->end,
							       .weight = weight,
							       .count = count,
							       .sample = i,
							       .cpu = REPORT_NO_CPU,
							       .kind = SPAN_REST };
	}
}

static int add_spans(struct timeline *t)
{
	const struct report *r = t->r;
	const unsigned int asked = t->options.weight;
	const struct report_moment *moments = NULL;
	struct told *told;
	size_t n = 0;

	/* The count is in every moment, of the others one. */
	t->value = asked || !r->stream->present ? asked : r->stream->value;
	if (r->stream->present && t->value == r->stream->value)
		moments = report_moments(r, &n);
	t->end = r->meta.info.duration_ns;
	t->spans = malloc((n + r->samples.count + 1) * sizeof(*t->spans));
	told = calloc((size_t)r->samples.count + 1, sizeof(*told));
	if (t->spans && told) {
		add_moments(t, moments, n, told);
		share_weight(t, told);
		add_rest(t, told);
	}
	free(told);
	return t->spans && told ? 0 : -ENOMEM;
}

/* Spans that are equal here are equal in all that is written. */
static int by_start(const void *a, const void *b, void *rank_of_sample)
{
	const struct span *x = a, *y = b;
	const uint32_t *rank = rank_of_sample;

	COMPARE(x->thread, y->thread);
	COMPARE(x->start, y->start);
	COMPARE(x->kind, y->kind);
	COMPARE(x->end, y->end);
	COMPARE(rank[x->sample], rank[y->sample]);
	COMPARE(x->weight, y->weight);
	COMPARE(x->count, y->count);
	COMPARE(x->cpu, y->cpu);
	return 0;
}

static int sort_spans(struct timeline *t)
{
	const uint32_t n = t->r->samples.count;
	uint32_t *rank = malloc(((size_t)n + 1) * sizeof(*rank));

	if (!rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t sample = t->order.samples[i];

		rank[sample] = i;
		t->threads[thread_of(t, sample)].comm = sample_of(t->r, sample)->comm;
	}
	for (size_t i = 0; i < t->nspans; i++)
		t->spans[i].thread = thread_of(t, t->spans[i].sample);
	qsort_r(t->spans, t->nspans, sizeof(*t->spans), by_start, rank);
	free(rank);
	for (size_t i = 0; i < t->nspans; i++) {
		struct timeline_thread *thread = &t->threads[t->spans[i].thread];

		if (!thread->n++)
			thread->first = i;
		if (t->spans[i].start > t->last_start)
			t->last_start = t->spans[i].start;
		thread->comm = sample_of(t->r, t->spans[i].sample)->comm;
	}
	return 0;
}

/* ---- lengths and lanes */

/* A sample holds until the next one, if that comes when it should. */
static void extend_samples(struct timeline *t)
{
	const struct span *next = NULL;

	for (size_t i = t->nspans; t->interval && i--;) {
		struct span *s = &t->spans[i];

		if (next && next->thread != s->thread)
			next = NULL;
		if (s->kind == SPAN_AT)
			s->end = next && next->start - s->start <= t->interval / 2 * 3
					 ? next->start
					 : s->start + t->interval;
		if (s->kind == SPAN_AT || s->kind == SPAN_WAIT)
			next = s;
	}
}

#define MAX_LANES 256 /* what a thread waits for at a time; each is a row */

static int choose_lanes(struct timeline *t)
{
	uint64_t *until = NULL;
	uint32_t capacity = 0;
	int err = 0;

	for (size_t i = 0; i < t->nspans && !err; i++) {
		struct span *s = &t->spans[i];
		struct timeline_thread *thread = &t->threads[s->thread];
		uint32_t lane = 0;

		if (i == thread->first) {
			err = RP_GROW(until, 0, capacity);
			if (err)
				break;
			until[0] = 0;
		}
		if (s->start == s->end)
			continue;
		while (lane < thread->lanes && until[lane] > s->start)
			lane++;
		if (lane == MAX_LANES) /* it has a time, and no length that would not overlap */
			s->end = s->start, lane = 0;
		else if (lane == thread->lanes)
			err = RP_GROW(until, thread->lanes++, capacity);
		s->lane = (uint16_t)lane;
		if (!err && s->end > s->start)
			until[lane] = s->end;
	}
	free(until);
	return err;
}

static uint64_t interval(const struct report_info *info)
{
	const char *unit = info->period_type.unit;

	if (info->period && unit && !strcmp(unit, "nanoseconds"))
		return info->period < REPORT_MOMENT_LAST ? info->period : REPORT_MOMENT_LAST;
	return info->rate_asked >= 1e-3 && info->rate_asked <= 1e9
		       ? (uint64_t)(1e9 / info->rate_asked)
		       : 0;
}

int report_timeline_make(const struct report *r, const struct report_options *given,
			 struct timeline *t)
{
	int err;

	*t = (struct timeline){ .r = r };
	err = report_options_resolve(r, given, &t->options);
	if (!err)
		err = report_order_make(r, true, &t->order);
	if (!err)
		err = list_threads(t);
	if (!err)
		err = add_spans(t);
	if (!err)
		err = sort_spans(t);
	if (err)
		return err;
	t->interval = interval(&r->meta.info);
	extend_samples(t);
	return choose_lanes(t);
}

void report_timeline_free(struct timeline *t)
{
	report_order_free(&t->order);
	rp_hash_free(&t->by_tid);
	free(t->spans);
	free(t->threads);
}

/* ---- what spans are */

static const char *label(const struct timeline *t, const struct span *span, const char *key)
{
	const struct label *l = label_by_key(t->r, sample_of(t->r, span->sample)->label_set, key);

	return l ? text(t->r, l->str) : NULL;
}

const char *report_timeline_reason(const struct timeline *t, const struct span *span)
{
	static const char *const keys[] = { "state", "op", "type" };
	const char *command = t->r->meta.info.command;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *reason = label(t, span, keys[i]);

		if (reason)
			return reason;
	}
	return command ? command : "wait";
}

bool report_timeline_is_runnable(const struct timeline *t, const struct span *span)
{
	const char *state = label(t, span, "state");

	return state && !strcmp(state, "runnable");
}

bool report_timeline_has_states(const struct timeline *t)
{
	const char *command = t->r->meta.info.command;

	return command && (!strcmp(command, "wall") || !strcmp(command, "offcpu"));
}

uint32_t report_timeline_path(const struct report *r, uint32_t node,
			      uint32_t path[REPORT_MAX_STACK])
{
	uint32_t n = 0, at;

	for (at = node; at; at = r->nodes[at].parent)
		n++;
	at = node;
	for (uint32_t i = n; i--; at = r->nodes[at].parent)
		path[i] = at;
	return n;
}
