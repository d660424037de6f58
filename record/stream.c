/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the moments that came through the ring to the stream of a report. While recording they are
 * kept by the key of their sample, which is a sample only when the report is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "recording.h"
#include "stream.h"

#define NO_SAMPLE 0

struct stream_key {
	uint64_t hash, with;
	uint64_t pid_tgid; /* 0: its record has not been looked for */
	uint32_t sample;   /* 1 + its number in the report, or NO_SAMPLE */
	/* Where only the weight of all is known: it, their number, and what has been given out. */
	uint64_t weight, count, given, counted;
};

struct kept {
	uint64_t time, weight;
	uint32_t key, count;
	uint16_t cpu, kind;
};

struct record_stream {
	struct hash_map keys; /* of struct stream_key */
	struct kept *kept;
	size_t n, capacity;
	uint64_t missed;
	uint64_t counted; /* the sum of what the moments count, those that were sifted out too */
};

int record_stream_open(struct record_stream **out)
{
	struct record_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->keys = HASH_MAP(struct stream_key, with);
	*out = s;
	return 0;
}

void record_stream_free(struct record_stream *s)
{
	if (!s)
		return;
	rp_hash_free(&s->keys);
	free(s->kept);
	free(s);
}

/* ---- while recording */

int record_stream_moment(struct recording *rec, const struct stack_moment *m)
{
	const uint64_t key[] = { m->hash, m->with };
	struct record_stream *s = rec->stream;
	struct kept *kept;

	if (!s)
		return 0;
	if (s->n == RECORD_MOMENTS) {
		s->missed++;
		return 0;
	}
	if (RP_GROW(s->kept, s->n, s->capacity))
		return -ENOMEM;
	kept = &s->kept[s->n];
	*kept = (struct kept){ .time = m->time,
			       .weight = m->weight,
			       .count = m->count,
			       .cpu = m->cpu,
			       .kind = m->kind };
	if (rp_hash_number(&s->keys, key, &kept->key))
		return -ENOMEM;
	s->n++;
	s->counted += m->count;
	return 0;
}

/* What is to be shown of it; some records say what a thread did in all of its life. */
static bool is_event(const struct recording *rec, const struct stack_record *r)
{
	uint64_t values[REPORT_MAX_VALUES] = { 0 };
	struct stack one = { .record = r };

	if (!rec->during)
		return true;
	memcpy(one.value, r->value, sizeof(one.value));
	memcpy(values, r->value, sizeof(r->value));
	return rec->profiler->values(rec, &one, values);
}

/* Of most records the weight comes later. */
int record_stream_record(struct recording *rec, const struct stack_record *r)
{
	const struct stack_moment m = { .hash = r->hash,
					.time = r->time,
					.weight = r->value[1],
					.count = (uint32_t)r->value[0],
					.cpu = (uint16_t)r->cpu,
					.kind = STACK_MOMENT_AT };

	if (!rec->stream || !r->value[0] || !is_event(rec, r))
		return 0;
	if (!r->time) { /* sent only because the kernel had no place to count it */
		rec->stream->missed++;
		return 0;
	}
	return record_stream_moment(rec, &m);
}

int record_stream_until(struct recording *rec, uint64_t hash, uint64_t with, uint64_t end,
			uint64_t ns, uint32_t count)
{
	const struct stack_moment m = { .hash = hash,
					.with = with,
					.time = end,
					.weight = ns,
					.count = count,
					.cpu = UINT16_MAX,
					.kind = STACK_MOMENT_UNTIL };

	return ns ? record_stream_moment(rec, &m) : 0;
}

/* ---- sifting */

size_t record_stream_count(const struct recording *rec, uint64_t *counted)
{
	if (counted)
		*counted = rec->stream->counted;
	return rec->stream->n;
}

/* 0 as long as the record of its stack has not come. */
static uint64_t thread_of(const struct recording *rec, struct stream_key *key)
{
	const struct stack *stack;

	if (key->pid_tgid)
		return key->pid_tgid;
	stack = record_stacks_find(rec->stacks, key->hash);
	if (stack)
		key->pid_tgid = stack->record->pid_tgid;
	return key->pid_tgid;
}

int record_stream_sift(struct recording *rec, record_sift_fn keep, void *ctx)
{
	struct record_stream *s = rec->stream;
	size_t kept = 0;
	int result = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct kept *k = &s->kept[i];
		struct stream_key *key = (struct stream_key *)s->keys.items + k->key;
		struct stack_moment m = { .hash = key->hash,
					  .with = key->with,
					  .time = k->time,
					  .weight = k->weight,
					  .count = k->count,
					  .cpu = k->cpu,
					  .kind = k->kind };

		if (result >= 0)
			result = keep(ctx, thread_of(rec, key), &m);
		if (!result)
			continue;
		k->time = m.time;
		k->weight = m.weight;
		s->kept[kept++] = *k;
	}
	s->n = kept;
	return result < 0 ? result : 0;
}

/* ---- for the report */

/* NULL: no moment has come of it. */
static struct stream_key *find_key(const struct recording *rec, uint64_t hash, uint64_t with)
{
	const uint64_t key[] = { hash, with };

	return rec->stream ? rp_hash_find(&rec->stream->keys, key) : NULL;
}

void record_stream_sample(struct recording *rec, uint64_t hash, uint64_t with, uint32_t sample)
{
	struct stream_key *k = find_key(rec, hash, with);

	if (k)
		k->sample = 1 + sample;
}

void record_stream_share(struct recording *rec, uint64_t hash, uint64_t with, uint64_t count,
			 uint64_t weight)
{
	struct stream_key *k = find_key(rec, hash, with);

	if (k) {
		k->count = count;
		k->weight = weight;
	}
}

/* The first k of n have k / n of it, so that rounding leaves their sum exact. */
static uint64_t share(struct stream_key *k, uint32_t count)
{
	const uint64_t before = k->given;

	k->counted = k->counted + count < k->count ? k->counted + count : k->count;
	k->given = (uint64_t)((unsigned __int128)k->weight * k->counted / k->count);
	return k->given - before;
}

/* A moment's values are made into those of the report as the sums are. */
static void weigh(const struct recording *rec, const struct stream_key *key, unsigned int type,
		  struct kept *m)
{
	struct stack one = { .value = { m->count, m->weight } };
	uint64_t values[REPORT_MAX_VALUES] = { m->count, m->weight };
	const struct stack *stack;

	if (m->kind != STACK_MOMENT_AT || !rec->profiler->values || rec->profiler->samples)
		return;
	stack = record_stacks_find(rec->stacks, key->hash);
	if (!stack)
		return;
	one.record = stack->record;
	if (!rec->profiler->values(rec, &one, values))
		return;
	m->count = values[0] < UINT32_MAX ? (uint32_t)values[0] : UINT32_MAX;
	m->weight = values[type];
}

static uint64_t since(uint64_t time, uint64_t begin)
{
	if (time < begin)
		return 0;
	return time - begin < REPORT_MOMENT_LAST ? time - begin : REPORT_MOMENT_LAST;
}

static int add(struct recording *rec, struct report *report, unsigned int type, struct kept *m)
{
	struct stream_key *key = (struct stream_key *)rec->stream->keys.items + m->key;
	struct report_moment moment = {
		.time_ns = since(m->time, rec->begin_ns),
		.cpu = m->cpu < REPORT_NO_CPU ? m->cpu : REPORT_NO_CPU,
		.kind = m->kind,
	};

	if (key->sample == NO_SAMPLE) /* it was not wanted, or came too late */
		return 0;
	weigh(rec, key, type, m);
	if (key->count)
		m->weight = share(key, m->count);
	moment.sample = key->sample - 1;
	moment.count = m->count;
	moment.weight = m->weight;
	return report_add_moment(report, &moment);
}

/* What the kernel could not send; the counter is among those that all profilers have. */
static uint64_t untimed(const struct recording *rec)
{
	struct program_stats *stats =
		calloc(1, record_stacks_maps(rec->stacks)[STACK_MAP_STATS].value_size);
	uint64_t n = 0;

	if (stats && !record_stacks_stats(rec->stacks, stats))
		n = stats->untimed;
	free(stats);
	return n;
}

int record_stream_fill(struct recording *rec, struct report *report)
{
	struct record_stream *s = rec->stream;
	unsigned int type;
	size_t ntypes;
	int err;

	if (!s || !rec->opt->stream)
		return 0;
	rec->profiler->types(rec, &ntypes);
	type = ntypes > 1;
	s->missed += untimed(rec) + record_stacks_lost_times(rec->stacks);
	if (s->missed && !rec->during) /* else the ledger has them */
		rp_log(RP_WARN,
		       "the times of %llu events are not known: they are in the sums alone",
		       (unsigned long long)s->missed);
	err = report_set_stream(report, type, s->missed);
	for (size_t i = 0; !err && i < s->n; i++)
		err = add(rec, report, type, &s->kept[i]);
	/* It may be large, and is in the report now. */
	free(s->kept);
	s->kept = NULL;
	s->n = s->capacity = 0;
	return err;
}
