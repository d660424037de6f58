/* SPDX-License-Identifier: BSD-2-Clause */
/* Which programs can be explained: rawprof's own by name, those of the course as LESSON/NAME. */
#include <string.h>

#include "base/text.h"
#include "examples/table.h"
#include "explain.h"
#include "programs/registry.h"

/* Calls fn on every program with the name that finds it, until it returns true. */
static void each_program(bool (*fn)(void *ctx, const char *name, const struct rp_program *entry),
			 void *ctx)
{
	const struct rp_program *p;
	char name[128];

	for (size_t i = 0; (p = rp_program_number(i)); i++)
		if (fn(ctx, p->code.name, p))
			return;
	for (const struct example_lesson *lesson = example_lessons; lesson->name; lesson++) {
		const struct lesson_program *const lists[] = { lesson->good, lesson->bad };

		for (size_t i = 0; i < 2; i++)
			for (const struct lesson_program *l = lists[i]; l->program; l++) {
				const struct rp_program shown = { .code = *l->program,
								  .maps = l->maps,
								  .nmaps = l->nmaps,
								  .summary = l->summary };

				snprintf(name, sizeof(name), "%s/%s", lesson->name,
					 l->program->name);
				if (fn(ctx, name, &shown))
					return;
			}
	}
}

static bool print_one(void *ctx, const char *name, const struct rp_program *entry)
{
	fprintf(ctx, "  %-32s %-15s %s\n", name, rp_prog_type_name(entry->code.type),
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
	struct rp_program *found;
	size_t matches;
};

/* The whole name, or a beginning that only one has: "cpu", "05/racy" of 05-counting/racy. */
static bool match(void *ctx, const char *name, const struct rp_program *entry)
{
	struct search *s = ctx;
	const char *slash = strchr(s->wanted, '/'), *its_slash = strchr(name, '/');
	size_t lesson = slash ? (size_t)(slash - s->wanted) : 0;
	bool begins = slash ? its_slash && !strncmp(name, s->wanted, lesson) &&
				      !strncmp(its_slash, slash, strlen(slash))
			    : !strncmp(name, s->wanted, strlen(s->wanted));

	if (!strcmp(name, s->wanted)) {
		*s->found = *entry;
		s->matches = 1;
		return true;
	}
	if (begins) {
		*s->found = *entry;
		s->matches++;
	}
	return false;
}

/* A command's own name is its first program: "cpu", although cpu_event begins so too. */
static bool is_list_of(const char *name, struct rp_program *out)
{
	static const char *const names[] = {
#define LIST_NAME(name) #name,
		RP_PROGRAM_LISTS(LIST_NAME)
#undef LIST_NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name)) {
			*out = *rp_program_lists[i];
			return true;
		}
	return false;
}

bool explain_find(const char *name, struct rp_program *out)
{
	struct search s = { .wanted = name, .found = out };

	each_program(match, &s);
	if (s.matches > 1 && is_list_of(name, out))
		return true;
	if (s.matches == 1)
		return true;
	rp_text_print(stderr, "rawprof explain: %s '%s'; 'rawprof explain' lists all\n",
		      s.matches ? "several programs begin with" : "there is no program", name);
	return false;
}
