/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions on samples, "comm=nginx and not symbol~^malloc": report_select(). */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "report.h"

struct filter;

/* 0 and a filter for this profile; -EINVAL: why says what is wrong with the expression. */
int report_filter_new(const struct report *r, const char *expression, struct filter **out,
		      char why[REPORT_WHY]);
bool report_filter_takes(const struct filter *f, uint32_t sample);
void report_filter_free(struct filter *f); /* NULL is fine */

/*
 * A pattern: one or several globs with commas between them, or, with regex, an extended regular
 * expression that is somewhere in the text.
 */
struct pattern;
int report_pattern_new(const char *text, bool regex, struct pattern **out, char why[REPORT_WHY]);
bool report_pattern_fits(const struct pattern *p, const char *text);
void report_pattern_free(struct pattern *p);

/* For each function whether its name, or, with dso, its module fits; to be freed; or NULL. */
bool *report_pattern_functions(const struct report *r, const struct pattern *p, bool dso);

/* What a function and its module are called where they are looked for: "[unknown]" without. */
const char *report_function_name(const struct report *r, uint32_t function);
const char *report_dso_name(const struct report *r, uint32_t function);

#endif
