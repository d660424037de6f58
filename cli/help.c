/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of options comes from their rows: help, the lists of the man page, completion. */
#include <ctype.h>
#include <string.h>

#include "commands.h"
#include "option_rows.h"

#define HELP_WIDTH 100
#define HELP_COLUMN 27
#define HELP_TEXT 512 /* of one option */

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

/* ---- rawprof help COMMAND ---- */

static void print_option(FILE *out, const struct taken_option *t)
{
	const struct option_row *row = t->row;
	char left[64] = "      ", text[HELP_TEXT];
	size_t n = 6;

	if (row->letter)
		n = (size_t)snprintf(left, sizeof(left), "  -%c%s", row->letter,
				     t->unnamed ? "" : ", ");
	if (row->alias)
		n += (size_t)snprintf(left + n, sizeof(left) - n, "-%c, ", row->alias);
	if (!t->unnamed)
		n += (size_t)snprintf(left + n, sizeof(left) - n, "--%s", row->name);
	if (row->arg)
		snprintf(left + n, sizeof(left) - n, " %s", arg_of(t));
	fprintf(out, "%-*s", HELP_COLUMN, left);
	if (strlen(left) >= HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	describe(t, text);
	print_wrapped(out, text, HELP_COLUMN);
}

void help_print(const struct command *c, FILE *out)
{
	struct taken_option taken[MAX_OPTIONS];
	const size_t n = options_taken(c, taken);

	fprintf(out, "Usage: rawprof %s%s [OPTIONS]%s\n\n", c->name,
		c->takes & TAKES_NAME ? " [PROGRAM]" : "",
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

/* ---- the man page ---- */

static void print_roff(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
}

/* Lines of at most 100 columns, none of which roff takes for a request. */
static void print_roff_text(FILE *out, const char *text)
{
	int column = 0;

	while (*text) {
		const size_t len = strcspn(text, " ");
		char word[HELP_TEXT];

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (column && column + 1 + (int)len > HELP_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		fputs(column ? " " : *word == '.' || *word == '\'' ? "\\&" : "", out);
		print_roff(out, word);
		column += 1 + (int)len;
		text += len + (text[len] == ' ');
	}
	fputc('\n', out);
}

static void print_man_option(FILE *out, const struct taken_option *t)
{
	const char *arg = t->row->arg ? arg_of(t) : NULL;
	char text[HELP_TEXT];

	fputs(".IP \"", out);
	if (t->row->letter)
		fprintf(out, "\\fB\\-%c\\fR%s", t->row->letter, t->unnamed ? "" : ", ");
	if (t->row->alias)
		fprintf(out, "\\fB\\-%c\\fR, ", t->row->alias);
	if (!t->unnamed) {
		fputs("\\fB\\-\\-", out);
		print_roff(out, t->row->name);
		fputs("\\fR", out);
	}
	if (arg) /* EH|FP are words to be written so, LIST stands for something */
		fprintf(out, " \\f%c%s\\fR", isupper((unsigned char)*arg) ? 'I' : 'B', arg);
	fputs("\" 7\n", out);
	describe(t, text);
	*text = (char)toupper((unsigned char)*text);
	strcat(text, ".");
	print_roff_text(out, text);
}

void help_man(const struct command *c, FILE *out)
{
	static const struct command everything = { .takes = ~0u };
	struct taken_option taken[MAX_OPTIONS];
	const size_t n = options_taken(c ? c : &everything, taken);

	for (int group = 0; group < OPTION_GROUPS; group++) {
		if (!c && group != OPTION_VIEW)
			fprintf(out, ".SS %s\n", group_titles[group]);
		for (size_t i = 0; i < n; i++)
			if ((int)taken[i].says->group == group && taken[i].says->help &&
			    (!c || taken[i].own || taken[i].says != taken[i].row))
				print_man_option(out, &taken[i]);
	}
}

/* ---- completion ---- */

void help_words(const struct command *c, FILE *out)
{
	struct taken_option taken[MAX_OPTIONS];
	const size_t n = options_taken(c, taken);

	for (size_t i = 0; i < n; i++) {
		const struct taken_option *t = &taken[i];
		const char *arg = t->row->arg ? arg_of(t) : "", *words = words_of(t);

		if (t->row->letter)
			fprintf(out, "-%c ", t->row->letter);
		if (t->row->alias)
			fprintf(out, "-%c ", t->row->alias);
		fprintf(out, "%s%s:%s:%s\n", t->unnamed ? "" : "--", t->unnamed ? "" : t->row->name,
			arg, words ? words : "");
	}
}
