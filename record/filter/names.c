/* SPDX-License-Identifier: BSD-2-Clause */
/* Names: of fields of the event, of its thread, and of values of fields. */
#include <string.h>

#include <rawprof/loader.h>

#include "record/filter/tree.h"

/* What the thread is asked for; in capitals where the event has a field of that name. */
static const struct record_filter_field of_thread[] = {
	{ "comm", RECORD_FILTER_COMM },		 { "COMM", RECORD_FILTER_COMM },
	{ "pid", RECORD_FILTER_PID, .size = 4 }, { "PID", RECORD_FILTER_PID, .size = 4 },
	{ "tid", RECORD_FILTER_TID, .size = 4 }, { "TID", RECORD_FILTER_TID, .size = 4 },
	{ "cpu", RECORD_FILTER_CPU, .size = 4 }, { "CPU", RECORD_FILTER_CPU, .size = 4 },
	{ "uid", RECORD_FILTER_UID, .size = 4 }, { "UID", RECORD_FILTER_UID, .size = 4 },
};
#define OF_THREAD (sizeof(of_thread) / sizeof(of_thread[0]))

static const struct record_filter_field *find(const struct record_filter_field *fields, size_t n,
					      const char *name, size_t length)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(fields[i].name) == length && !memcmp(fields[i].name, name, length))
			return &fields[i];
	return NULL;
}

const struct record_filter_field *record_filter_field_named(
	const struct record_filter_field *fields, size_t n, const char *name, size_t length)
{
	const struct record_filter_field *field = find(fields, n, name, length);

	return field ? field : find(of_thread, OF_THREAD, name, length);
}

/* Keeps the nearer of two names; a name is near if no more than a third of it is different. */
static void consider(const char *wanted, const char *name, const char **near, unsigned int *best)
{
	const unsigned int distance = rp_name_distance(wanted, name);

	if (distance < *best && distance <= 1 + strlen(wanted) / 3) {
		*best = distance;
		*near = name;
	}
}

const char *record_filter_near_field(const struct record_filter_field *fields, size_t n,
				     const char *name)
{
	unsigned int best = (unsigned int)-1;
	const char *near = NULL;

	for (size_t i = 0; i < n; i++)
		consider(name, fields[i].name, &near, &best);
	for (size_t i = 0; i < OF_THREAD; i++)
		consider(name, of_thread[i].name, &near, &best);
	return near;
}

const struct record_filter_value *record_filter_value_named(const struct record_filter_field *field,
							    const char *name)
{
	for (size_t i = 0; i < field->nvalues; i++)
		if (!strcmp(field->values[i].name, name))
			return &field->values[i];
	return NULL;
}

const char *record_filter_near_value(const struct record_filter_field *field, const char *name)
{
	unsigned int best = (unsigned int)-1;
	const char *near = NULL;

	for (size_t i = 0; i < field->nvalues; i++)
		consider(name, field->values[i].name, &near, &best);
	return near;
}
