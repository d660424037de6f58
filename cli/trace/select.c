/* SPDX-License-Identifier: BSD-2-Clause */
/* From words of the command line to events: names, parts of names, globs. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace.h"

static bool is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

static bool is_chosen(const struct trace_events *events, const char *group, const char *name)
{
	for (size_t i = 0; i < events->n; i++)
		if (!strcmp(events->event[i]->format.group, group) &&
		    !strcmp(events->event[i]->format.event, name))
			return true;
	return false;
}

static int add(struct trace_events *events, const char *group, const char *name)
{
	struct record_event *event;
	int err;

	if (is_chosen(events, group, name))
		return 0;
	if (events->n == TRACE_MOST_EVENTS)
		return rp_fail(-E2BIG, "these are more than %d events: name fewer",
			       TRACE_MOST_EVENTS);
	err = record_event_open(group, name, &event);
	if (err)
		return err;
	err = RP_PUSH(events->event, events->n, events->capacity, event);
	if (err)
		record_event_free(event);
	return err;
}

/* The names that match a glob, in the order of the alphabet. */
struct names {
	char **name;
	size_t n, capacity;
};

static int keep_name(void *ctx, const char *group, const char *event)
{
	struct names *names = ctx;
	char *name;
	int err;

	/* Formats of what other tracers write, which are no events. */
	if (!strcmp(group, "ftrace"))
		return 0;
	if (asprintf(&name, "%s:%s", group, event) < 0)
		return -ENOMEM;
	err = RP_PUSH(names->name, names->n, names->capacity, name);
	if (err)
		free(name);
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
}

static int find(const char *word, struct names *names)
{
	char glob[512];
	int err;

	snprintf(glob, sizeof(glob), "%s%s", strchr(word, ':') ? "" : "*:", word);
	err = rp_tp_each(glob, keep_name, names);
	if (names->n)
		qsort(names->name, names->n, sizeof(*names->name), compare);
	return err < 0 ? err : 0;
}

/* ---- none, or several where one was meant */

struct nearest {
	const char *word;
	unsigned int best;
	char name[256];
};

static int nearer(void *ctx, const char *group, const char *event)
{
	struct nearest *n = ctx;
	const unsigned int far = rp_name_distance(n->word, event);

	if (far < n->best) {
		n->best = far;
		snprintf(n->name, sizeof(n->name), "%s:%s", group, event);
	}
	return 0;
}

static int none(const char *word)
{
	struct nearest n = { .word = word, .best = 4 };
	const char *colon = strchr(word, ':');
	char group[128];

	if (colon && !is_glob(word)) { /* says which is nearest */
		struct rp_tp_format format;

		snprintf(group, sizeof(group), "%.*s", (int)(colon - word), word);
		return rp_tp_format(group, colon + 1, &format);
	}
	if (is_glob(word))
		return rp_fail(-ENOENT,
			       "no event matches '%s': `rawprof trace --list '*:*'` shows "
			       "all that there are",
			       word);
	rp_tp_each("*", nearer, &n);
	return rp_fail(-ENOENT, "this kernel has no event '%s'%s%s%s", word,
		       *n.name ? "; did you mean " : "", n.name, *n.name ? "?" : "");
}

static int several(const char *word, const struct names *names)
{
	return rp_fail(-EINVAL, "'%s' is the name of %zu events: %s, %s%s", word, names->n,
		       names->name[0], names->name[1], names->n > 2 ? ", ..." : "");
}

/* ---- all of it */

static int each_event(const char *word, int (*fn)(void *ctx, const char *group, const char *event),
		      void *ctx)
{
	struct names names = { 0 };
	int err = find(word, &names);

	if (!err && !names.n)
		err = none(word);
	else if (!err && !is_glob(word) && !strchr(word, ':') && names.n > 1)
		err = several(word, &names);
	for (size_t i = 0; !err && i < names.n; i++) {
		char *colon = strchr(names.name[i], ':');

		*colon = '\0';
		err = fn(ctx, names.name[i], colon + 1);
	}
	free_names(&names);
	return err;
}

static int add_event(void *events, const char *group, const char *event)
{
	return add(events, group, event);
}

int trace_select(struct trace_events *events, const char *word)
{
	return each_event(word, add_event, events);
}

void trace_events_free(struct trace_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		record_event_free(events->event[i]);
	free(events->event);
}

/* ---- --list */

static int list_event(void *ctx, const char *group, const char *name)
{
	struct record_event *event;
	int err = record_event_open(group, name, &event);

	(void)ctx;
	if (err)
		return err;
	printf("%s\n", event->name);
	for (uint32_t i = 0; i < event->nfields; i++)
		printf("    %-24s %s\n", event->fields[i].name, event->fields[i].type);
	record_event_free(event);
	return 0;
}

int trace_list(const char *word)
{
	return each_event(word, list_event, NULL);
}
