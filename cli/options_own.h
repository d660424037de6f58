/* SPDX-License-Identifier: BSD-2-Clause */
/* How the values of a command's own options are read; for options.c. */
#ifndef CLI_OPTIONS_OWN_H
#define CLI_OPTIONS_OWN_H

#include <getopt.h>

#include "options.h"

/* A decimal number from least to most, and nothing else. */
bool option_number(const char *text, uint64_t least, uint64_t most, uint64_t *out);

/* Puts a value where the option says. text NULL: a flag. False: it makes no sense. */
bool own_take(void *values, const struct own_option *own, const char *text);
/* What it wants, for a person: "a number". */
const char *own_wants(const struct own_option *own);
/* Keeps in *best whichever name is nearer to the word that somebody mistyped, if it is near at all. */
void nearest_of(const char *word, const char *name, const char **best);
/*
 * Whether it is the word before optind that getopt_long() refused, as a long option. In the middle of letters (-vyq)
 * optind has not gone on, and the word is one that it took before.
 */
bool option_is_long(const char *word, bool lacks_value);
/*
 * What is wrong with a long option that getopt_long() refused, for a person: there is none of this name, perhaps one
 * that is near, or it takes no value. word: as it was given, "--fromat=svg"; optopt still as getopt left it.
 */
#define OPTION_WRONG 256
void option_wrong(char text[OPTION_WRONG], const char *word, const struct option *options);
/* NULL: none has it. */
const struct own_option *own_by_letter(const struct own_option *own, int letter);

#endif
