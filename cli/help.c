/* SPDX-License-Identifier: BSD-2-Clause */
/* What help, completion and the man page say of options comes from their rows. */
#include <string.h>

#include "commands.h"
#include "option_rows.h"

#define LIST(name) &name##_command,
const struct command *const commands[] = { COMMANDS(LIST) NULL };

const struct command *command_by_name(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

#define HELP_WIDTH 100
#define HELP_COLUMN 27
#define HELP_TEXT 1024 /* of one option */

static const char *const group_titles[OPTION_GROUPS] = {
	[OPTION_VIEW] = "View",
	[OPTION_TARGET] = "Target",
	[OPTION_SAMPLING] = "Sampling",
	[OPTION_OUTPUT] = "Output",
};

static const char *arg_of(const struct taken_option *t)
{
	return t->says->arg ? t->says->arg : t->row->arg;
}

static const char *words_of(const struct taken_option *t)
{
	return t->says->words ? t->says->words : t->row->words;
}

static void describe(const struct taken_option *t, char text[HELP_TEXT])
{
	const char *words = words_of(t);

	snprintf(text, HELP_TEXT, "%s", t->says->help);
	if (words && t->row->arg && !strchr(arg_of(t), '|')) {
		strcat(text, ": ");
		option_join(text, HELP_TEXT, words, ", ", ", ");
	}
}

/* Breaks lines between words; each but the first begins at indent. */
static void print_wrapped(FILE *out, const char *text, int indent)
{
	int column = indent;

	while (*text) {
		const int len = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + len > HELP_WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		}
		column += fprintf(out, "%s%.*s", column > indent ? " " : "", len, text);
		for (text += len; *text == ' ' || *text == '\n'; text++)
			if (*text == '\n') {
				fputc('\n', out);
				column = indent;
			}
	}
	fputc('\n', out);
}

/* ---- rawprof help COMMAND */

/* "-t, -L, --tid" */
static void name_option(const struct taken_option *t, const char *between, char text[HELP_TEXT])
{
	const char letters[] = { t->row->letter, t->row->alias, '\0' };
	size_t n = 0;

	*text = '\0';
	for (const char *letter = letters; *letter; letter++)
		n += (size_t)snprintf(text + n, HELP_TEXT - n, "%s-%c", n ? between : "", *letter);
	if (!t->unnamed)
		snprintf(text + n, HELP_TEXT - n, "%s--%s", n ? between : "", t->row->name);
}

static void print_option(FILE *out, const struct taken_option *t)
{
	char text[HELP_TEXT];
	int column;

	name_option(t, ", ", text);
	column = fprintf(out, "%*s%s", t->row->letter ? 2 : 6, "", text);
	if (t->row->arg)
		column += fprintf(out, " %s", arg_of(t));
	if (column >= HELP_COLUMN)
		column = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", HELP_COLUMN - column, "");
	describe(t, text);
	print_wrapped(out, text, HELP_COLUMN);
}

void help_print(const struct command *c, FILE *out)
{
	struct taken_option taken[MAX_OPTIONS];
	const size_t n = options_taken(c, taken);

	fprintf(out, "Usage: rawprof %s%s%s [OPTIONS]%s\n\n", c->name,
		c->words		  ? " "
		: c->takes & TAKES_SECOND ? " A B"
		: c->takes & TAKES_NAME	  ? " [PROGRAM]"
					  : "",
		c->words ? c->words : "",
		c->takes & TAKES_TARGET ? " [SECONDS] [-- PROGRAM ARGS...]" : "");
	print_wrapped(out, c->about, 0);
	for (int group = 0; group < OPTION_GROUPS; group++) {
		bool begun = false;

		for (size_t i = 0; i < n; i++) {
			if ((int)taken[i].says->group != group || !taken[i].says->help)
				continue;
			if (!begun)
				fprintf(out, "\n%s\n", group_titles[group]);
			begun = true;
			print_option(out, &taken[i]);
		}
	}
	if (c->examples)
		fprintf(out, "\nExamples\n%s", c->examples);
}

/* ---- for completion and the man page */

void help_list(const struct command *c, FILE *out)
{
	static const struct command every = { .takes = ~0u };
	struct taken_option taken[MAX_OPTIONS];
	const size_t n = options_taken(c ? c : &every, taken);

	for (size_t i = 0; i < n; i++) {
		const struct taken_option *t = &taken[i];
		const char *arg = t->row->arg ? arg_of(t) : "", *words = words_of(t);
		char names[HELP_TEXT], text[HELP_TEXT] = "";

		name_option(t, " ", names);
		if (t->says->help)
			describe(t, text);
		fprintf(out, "%s:%s:%s:%s:%s:%s\n", names, arg, words ? words : "",
			t->own || t->says != t->row ? "own" : "", group_titles[t->says->group],
			text);
	}
}
