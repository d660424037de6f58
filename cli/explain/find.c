/* SPDX-License-Identifier: BSD-2-Clause */
/* Which programs can be explained: rawprof's own by name, those of the course as LESSON/NAME. */
#include <string.h>

#include "examples/table.h"
#include "explain.h"

/* Calls fn on every program with the name that finds it, until it returns true. */
static void each_program(bool (*fn)(void *ctx, const char *name, const struct program_entry *entry),
			 void *ctx)
{
	char name[128];

	for (size_t i = 0; i < rp_program_count; i++)
		if (fn(ctx, rp_program_entries[i].program->name, &rp_program_entries[i]))
			return;
	for (const struct example_lesson *lesson = example_lessons; lesson->name; lesson++) {
		const struct program_entry *const lists[] = { lesson->good, lesson->bad };

		for (size_t i = 0; i < 2; i++)
			for (const struct program_entry *e = lists[i]; e->program; e++) {
				snprintf(name, sizeof(name), "%s/%s", lesson->name,
					 e->program->name);
				if (fn(ctx, name, e))
					return;
			}
	}
}

static bool print_one(void *ctx, const char *name, const struct program_entry *entry)
{
	fprintf(ctx, "  %-32s %-15s %s\n", name, rp_prog_type_name(entry->program->type),
		entry->summary ? entry->summary : "");
	return false;
}

int explain_list(FILE *out)
{
	fputs("Programs that can be explained: rawprof explain NAME\n\n", out);
	each_program(print_one, out);
	if (!example_lessons->name)
		fputs("\nThe programs of the course are not in this file, which was made "
		      "to be small.\n",
		      out);
	return 0;
}

struct search {
	const char *wanted;
	const struct program_entry *found;
	size_t matches;
};

/* The whole name, or a beginning that only one has: "cpu", "05/racy" of 05-counting/racy. */
static bool match(void *ctx, const char *name, const struct program_entry *entry)
{
	struct search *s = ctx;
	const char *slash = strchr(s->wanted, '/'), *its_slash = strchr(name, '/');
	size_t lesson = slash ? (size_t)(slash - s->wanted) : 0;
	bool begins = slash ? its_slash && !strncmp(name, s->wanted, lesson) &&
				      !strncmp(its_slash, slash, strlen(slash))
			    : !strncmp(name, s->wanted, strlen(s->wanted));

	if (!strcmp(name, s->wanted)) {
		s->found = entry;
		s->matches = 1;
		return true;
	}
	if (begins) {
		s->found = entry;
		s->matches++;
	}
	return false;
}

const struct program_entry *explain_find(const char *name)
{
	struct search s = { .wanted = name };

	each_program(match, &s);
	if (s.matches == 1)
		return s.found;
	fprintf(stderr, "rawprof explain: %s '%s'; 'rawprof explain' lists all\n",
		s.matches ? "several programs begin with" : "there is no program", name);
	return NULL;
}
