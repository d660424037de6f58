/* SPDX-License-Identifier: BSD-2-Clause */
/* The text exposition format 0.0.4, as histograms and grids need it. */
#ifndef REPORT_PROMETHEUS_H
#define REPORT_PROMETHEUS_H

#include <rawprof/hist.h>

#include "buf.h"

/* [A-Za-z_][A-Za-z0-9_]* */
bool report_prometheus_name(const char *s);

/* "# HELP name text" and "# TYPE name type". */
void report_prometheus_head(struct out *o, const char *name, const char *help, const char *type);

/* key="value", behind a comma unless it is the first. Different values stay different, whatever
 * bytes they have. */
void report_prometheus_label(struct out *o, bool *first, const char *key, const char *value);

/* "_seconds", "_bytes", "_percent" or "". */
const char *report_prometheus_suffix(enum report_unit unit);

/* The value in its base unit, all its digits: seconds, bytes. */
void report_prometheus_value(struct out *o, uint64_t v, enum report_unit unit);
void report_prometheus_real(struct out *o, double v, enum report_unit unit);

#endif
