/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h: numbers for people, and any bytes made safe for a terminal, JSON and XML. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <rawprof/report.h>

#include "buf.h"

#define NUMBER_SIZE 32

/* Each fills s and returns it. */
char *text_number(uint64_t v, char s[NUMBER_SIZE]);    /* 1,234,567 */
char *text_duration(uint64_t ns, char s[NUMBER_SIZE]); /* 12.3 ms: three digits and a unit */
char *text_bytes(uint64_t bytes, char s[NUMBER_SIZE]); /* 12.3 MiB */
char *text_weight(uint64_t v, const char *unit,
		  char s[NUMBER_SIZE]); /* by pprof's name of the unit */
char *text_figure(uint64_t v, enum report_unit unit,
		  char s[NUMBER_SIZE]); /* REPORT_UNIT_ID is bare */
char *text_real(double v, enum report_unit unit,
		char s[NUMBER_SIZE]);		    /* 12.3 MiB; 12.3%; 0.25; 1,234 */
double text_percent(uint64_t part, uint64_t whole); /* 0 if whole is */

/*
 * "1,234 samples", "1 sample": events is a plural, which may go on behind the word (times on a CPU), made printable.
 * Two of them (switches and samples) stay as they are.
 */
void add_events(struct buf *b, uint64_t n, const char *events);

/*
 * Takes one character from *s, which is not at its end, and puts its printable form into out:
 * itself, or \n, \t, \x1b for a control character, \xff for a byte that is not UTF-8. No terminal
 * is moved by the result and every reader of UTF-8 takes it. Returns the length of out; *columns,
 * if wanted, how wide it is.
 */
#define UNIT_SIZE 8
size_t text_unit(const char **s, char out[UNIT_SIZE], unsigned int *columns);

/* How many bytes at s are printable ASCII, thus their own printable form. */
size_t text_plain(const char *s);

unsigned int text_columns(const char *s); /* width of the printable form */

/* Appends the printable form. `from`, if not 0, is written as `to`. */
void buf_clean(struct buf *b, const char *s, char from, char to);
/* The same, at most `columns` wide: what is too long loses its middle, for which `dots` stands. */
void buf_elide(struct buf *b, const char *s, unsigned int columns, const char *dots);

/* The same for a function: template arguments and parameters go first, "run<...>(...)". */
void buf_shorten(struct buf *b, const char *name, unsigned int columns, const char *dots);

void out_clean(struct out *o, const char *s);
void out_json(struct out *o, const char *s); /* in quotes; NULL is null. Bytes that are not UTF-8
						become \xff (as text) */
void out_xml(struct out *o, const char *s);  /* for content and for attributes in either quotes */

const char *text_base(const char *path); /* behind the last slash, if anything is there */

#endif
