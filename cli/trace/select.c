/* SPDX-License-Identifier: BSD-2-Clause */
/* From words of the command line to events: names, parts of names, globs. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "record/probes/syscalls.h"
#include "trace.h"

static bool is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

/* Nothing is taken twice; a whole call has its beginning in it. */
static bool is_chosen(const struct trace_events *events, const char *name)
{
	for (size_t i = 0; i < events->n; i++)
		if (!strcmp(events->event[i].name, name))
			return true;
	return false;
}

static void free_event(struct trace_event *event)
{
	record_event_free(event->record);
	record_call_free(event->call);
	free(event->name);
}

static int push(struct trace_events *events, struct trace_event *event)
{
	int err =
		event->name ? RP_PUSH(events->event, events->n, events->capacity, *event) : -ENOMEM;

	if (err)
		free_event(event);
	else
		events->ncalls += event->call != NULL;
	return err;
}

static int add_tracepoint(struct trace_events *events, const char *group, const char *name)
{
	struct trace_event event = { .kind = TRACE_TRACEPOINT };
	int err;

	if (events->n - events->ncalls == TRACE_MOST_EVENTS)
		return rp_fail(-E2BIG, "these are more than %d events: name fewer",
			       TRACE_MOST_EVENTS);
	err = record_event_open(group, name, &event.record);
	if (err)
		return err;
	event.name = strdup(event.record->name);
	return push(events, &event);
}

/* ---- system calls */

/* The number of the call that the kernel's events have this name for; -1: there is none. */
static int number_of(const char *event)
{
	for (uint32_t nr = 0; nr < TRACE_CALLS; nr++) {
		const char *name = record_syscall_name(nr);

		if (name && !strcmp(record_call_event(name), event))
			return (int)nr;
	}
	return -1;
}

static int add_call(struct trace_events *events, enum trace_kind kind, uint32_t number)
{
	static const char *const prefixes[] = { [TRACE_ENTER] = "syscalls:sys_enter_",
						[TRACE_EXIT] = "syscalls:sys_exit_",
						[TRACE_WHOLE] = "syscall:" };
	const char *name = record_syscall_name(number);
	struct trace_event event = { .kind = kind };
	int err;

	if (asprintf(&event.name, "%s%s", prefixes[kind],
		     kind == TRACE_WHOLE ? name : record_call_event(name)) < 0)
		return -ENOMEM;
	if (is_chosen(events, event.name)) {
		free(event.name);
		return 0;
	}
	err = record_call_open(number, name, &event.call);
	if (err) {
		free(event.name);
		return err;
	}
	return push(events, &event);
}

/* "syscall:" and a name or glob. */
static int add_calls(struct trace_events *events, const char *glob)
{
	const char *near = NULL;
	unsigned int best = 4;
	size_t found = 0;
	int err = 0;

	for (uint32_t nr = 0; !err && nr < TRACE_CALLS; nr++) {
		const char *name = record_syscall_name(nr);
		const unsigned int far = name ? rp_name_distance(glob, name) : best;

		if (name && !fnmatch(glob, name, 0)) {
			err = add_call(events, TRACE_WHOLE, nr);
			found++;
		}
		if (far < best) {
			best = far;
			near = name;
		}
	}
	if (err || found)
		return err;
	return rp_fail(-ENOENT, "this machine has no system call '%s'%s%s%s", glob,
		       near ? "; did you mean syscall:" : "", near ? near : "", near ? "?" : "");
}

static int add(struct trace_events *events, const char *group, const char *name)
{
	const bool enters = !strncmp(name, "sys_enter_", 10),
		   exits = !strncmp(name, "sys_exit_", 9);
	int number = -1;
	char full[512];

	snprintf(full, sizeof(full), "%s:%s", group, name);
	if (is_chosen(events, full))
		return 0;
	if (!strcmp(group, "syscalls") && (enters || exits))
		number = number_of(name + (enters ? 10 : 9));
	if (number < 0)
		return add_tracepoint(events, group, name);
	return add_call(events, enters ? TRACE_ENTER : TRACE_EXIT, (uint32_t)number);
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
	for (uint32_t nr = 0; nr < TRACE_CALLS; nr++)
		if (record_syscall_name(nr) && !strcmp(record_syscall_name(nr), word))
			snprintf(n.name, sizeof(n.name), "syscall:%s", word);
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
	if (!strncmp(word, "syscall:", 8))
		return add_calls(events, word + 8);
	return each_event(word, add_event, events);
}

void trace_events_free(struct trace_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free_event(&events->event[i]);
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

static int list_calls(const char *glob)
{
	struct trace_events events = { 0 };
	int err = add_calls(&events, glob);

	for (size_t i = 0; !err && i < events.n; i++) {
		const struct record_call *call = events.event[i].call;

		printf("%s\n", events.event[i].name);
		for (uint32_t a = 0; a < call->nargs; a++)
			printf("    %-24s %s\n", call->arg[a].name, call->arg[a].type);
		printf("    %-24s %s\n    %-24s %s\n", "ret", "long", "duration", "ns");
	}
	trace_events_free(&events);
	return err;
}

int trace_list(const char *word)
{
	if (!strncmp(word, "syscall:", 8))
		return list_calls(word + 8);
	return each_event(word, list_event, NULL);
}
