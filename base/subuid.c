/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose a range is does not matter: that it is one of somebody's does. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "subuid.h"

#define MOST_TEXT (1 << 20)

/* The number behind a colon. */
static bool take_number(const char **at, uint32_t *out)
{
	unsigned long long number;
	char *end;

	if (**at != ':')
		return false;
	number = strtoull(*at + 1, &end, 10);
	*out = (uint32_t)number;
	if (end == *at + 1 || number > UINT32_MAX)
		return false;
	*at = end;
	return true;
}

/* "alice:100000:65536". Root's own uid is in no range: whoever counts as root has no bounds. */
static bool parse(const char *line, struct subuid_range *out)
{
	line += strcspn(line, ":");
	return take_number(&line, &out->first) && take_number(&line, &out->count) &&
	       (!*line || *line == '\n') && out->first && out->count;
}

void rp_subuids_read(const char *path, struct subuids *out)
{
	FILE *f = fopen(path, "re");
	struct subuid_range range;
	char *line = NULL;
	size_t room = 0;
	ssize_t n, all = 0;

	*out = (struct subuids){ NULL };
	while (f && all < MOST_TEXT && (n = getline(&line, &room, f)) > 0) {
		all += n;
		if (parse(line, &range) && RP_PUSH(out->range, out->n, out->capacity, range))
			break;
	}
	free(line);
	if (f)
		fclose(f);
}

uid_t rp_subuids_first(const struct subuids *all, uid_t uid)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (uid >= all->range[i].first && uid - all->range[i].first < all->range[i].count)
			return all->range[i].first;
	return uid;
}

static int by_first(const void *a, const void *b)
{
	const uint32_t x = ((const struct subuid_span *)a)->first,
		       y = ((const struct subuid_span *)b)->first;

	return x < y ? -1 : x > y;
}

/* Of the @n the two that are nearest to each other are one. */
static void join_nearest(struct subuid_span *span, uint32_t n)
{
	uint32_t at = 1;

	for (uint32_t i = 2; i < n; i++)
		if (span[i].first - span[i - 1].last < span[at].first - span[at - 1].last)
			at = i;
	span[at - 1].last = span[at].last;
	memmove(&span[at], &span[at + 1], (n - at - 1) * sizeof(*span));
}

uint32_t rp_subuids_spans(const struct subuids *all, struct subuid_span *out, uint32_t most)
{
	struct subuid_span *span = calloc(all->n + 1, sizeof(*span));
	uint32_t n = 0, done = 0;

	for (uint32_t i = 0; span && i < all->n; i++) {
		const struct subuid_range *r = &all->range[i];

		if (r->count > 1)
			span[n++] =
				(struct subuid_span){ r->first, r->count - 1 > UINT32_MAX - r->first
									? UINT32_MAX
									: r->first + r->count - 1 };
	}
	if (n)
		qsort(span, n, sizeof(*span), by_first);
	/* Those in front of done are; a gap that was closed is never among the widest again. */
	for (uint32_t i = 0; i < n; i++) {
		struct subuid_span *last = done ? &span[done - 1] : NULL;

		if (last && span[i].first <= last->last) {
			last->last = span[i].last > last->last ? span[i].last : last->last;
			continue;
		}
		span[done++] = span[i];
		if (done > most)
			join_nearest(span, done--);
	}
	if (done)
		memcpy(out, span, done * sizeof(*span));
	free(span);
	return done;
}

static struct subuids machines;

static void read_machines(void)
{
	rp_subuids_read("/etc/subuid", &machines);
}

static const struct subuids *of_machine(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_machines);
	return &machines;
}

uid_t rp_subuid_first(uid_t uid)
{
	return rp_subuids_first(of_machine(), uid);
}

uint32_t rp_subuid_spans(struct subuid_span *out, uint32_t most)
{
	return rp_subuids_spans(of_machine(), out, most);
}
