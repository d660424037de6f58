/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes made fit to be printed. Names of processes, files, functions and control groups are
 * what their makers like: escape sequences for the terminal, line breaks, half of a character.
 * Everything that is printed and was not written by rawprof goes through here.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define RP_TEXT_UNIT 8 /* bytes that the form of one character has at most, with a NUL */

/*
 * Takes one character from *@s, which is not at its end, and puts its printable form into @out:
 * itself, or \n, \t, \x1b for a control character, \xff for a byte that is not UTF-8. No terminal
 * is moved by the result and every reader of UTF-8 takes it. Returns the length of @out;
 * *@columns, if wanted, is how wide it is.
 */
size_t rp_text_unit(const char **s, char out[RP_TEXT_UNIT], unsigned int *columns);
/* As rp_text_unit(), the form that stands for the character within the quotes of JSON. */
size_t rp_text_json_unit(const char **s, char out[RP_TEXT_UNIT]);

/* How many bytes at @s are printable ASCII, thus their own printable form. */
size_t rp_text_plain(const char *s);

/*
 * As vasprintf(), but what the arguments say is made printable. Line breaks and tabs of @fmt itself
 * stay what they are. NULL: out of memory.
 */
char *rp_text_format(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
/* As rp_text_format(), to a stream, which knows its own errors. 0, or -ENOMEM: "?" is printed. */
int rp_text_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The printable form of a text of several lines: line breaks and tabs stay. NULL: no memory. */
char *rp_text_lines(const char *s);
/* dcgettext(3) of a program that has no translations: the message. The static file has it. */
char *rp_text_untranslated(const char *domain, const char *message, int category);
/* In quotes. Bytes that are not UTF-8 become \xff (as text). */
void rp_text_print_json(FILE *f, const char *s);

#endif
