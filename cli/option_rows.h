/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a command's options, common and its own: for parsing and for help. */
#ifndef CLI_OPTION_ROWS_H
#define CLI_OPTION_ROWS_H

#include "options.h"

extern const struct option_row common_options[]; /* ends with a NULL name */

/* An option that a command takes. */
struct taken_option {
	const struct option_row *row;
	const struct option_row *says; /* which group, help and words it has there: often row */
	bool own;		       /* its value goes to options.own */
	bool unnamed;  /* its long name is that of an own option: the letter is left */
	bool is_given; /* a list, so far */
};
#define MAX_OPTIONS 80
/* The command's own, then common ones, in the order of their tables. Returns how many. */
size_t options_taken(const struct command *command, struct taken_option taken[MAX_OPTIONS]);

/*
 * Puts a value where the row says, in the struct at values. False: it makes no sense, or errno is
 * ENOMEM.
 */
bool option_take(void *values, const struct option_row *row, const char *text);
/* What it wants, for a person: "a number from 1 to 1023", "fp or eh". */
#define OPTION_WANTS 256
void option_wants(const struct option_row *row, char text[OPTION_WANTS]);
bool option_seconds(const char *text, double *out);
bool option_percent(const char *text, double *out);
/* Appends words with that between them, and last before the last one. */
void option_join(char *text, size_t size, const char *words, const char *between, const char *last);

/* Keeps in *best the name that is nearer to a mistyped word, if it is near at all. */
void nearest_of(const char *word, const char *name, const char **best);

#endif
