/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for people, and any bytes made safe for a terminal, JSON and XML. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <rawprof/hist.h>

#include "base/text.h"
#include "buf.h"

#define NUMBER_SIZE 32

/* Each fills s and returns it. */
char *report_text_number(uint64_t v, char s[NUMBER_SIZE]);    /* 1,234,567 */
char *report_text_duration(uint64_t ns, char s[NUMBER_SIZE]); /* 12.3 ms: three digits and a unit */
char *report_text_bytes(uint64_t bytes, char s[NUMBER_SIZE]); /* 12.3 MiB */
char *report_text_weight(uint64_t v, const char *unit,
			 char s[NUMBER_SIZE]); /* by pprof's name of the unit */
char *report_text_figure(uint64_t v, enum report_unit unit,
			 char s[NUMBER_SIZE]); /* REPORT_UNIT_ID is bare */
char *report_text_real(double v, enum report_unit unit,
		       char s[NUMBER_SIZE]);		   /* 12.3 MiB; 12.3%; 0.25; 1,234 */
double report_text_percent(uint64_t part, uint64_t whole); /* 0 if whole is */

/*
 * "1,234 samples", "1 sample": events is a plural, which may go on behind the word (times on a
 * CPU), made printable. Two of them (switches and samples) stay as they are.
 */
void report_add_events(struct buf *b, uint64_t n, const char *events);

unsigned int report_text_columns(const char *s); /* width of the printable form */

/* Appends the printable form. `from`, if not 0, is written as `to`. */
void report_buf_clean(struct buf *b, const char *s, char from, char to);
/* At most `columns` of it: what is too long loses its middle, for which `dots` stands. */
void report_buf_elide(struct buf *b, const char *s, unsigned int columns, const char *dots);

/* The elided name of a function: template arguments and parameters go first, "run<...>(...)". */
void report_buf_shorten(struct buf *b, const char *name, unsigned int columns, const char *dots);

void report_out_clean(struct out *o, const char *s);
void report_out_json(struct out *o,
		     const char *s); /* in quotes; NULL is null. Bytes that are not UTF-8
						become \xff (as text) */
void report_out_xml(struct out *o,
		    const char *s); /* for content and for attributes in either quotes */

const char *report_text_base(const char *path); /* behind the last slash, if anything is there */

#endif
