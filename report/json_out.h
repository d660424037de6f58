/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of JSON objects (RFC 8259) with their commas, and the members that every
 * document has: info, ledger, cost; their shapes are in json.c.
 */
#ifndef REPORT_JSON_OUT_H
#define REPORT_JSON_OUT_H

#include <rawprof/hist.h>

#include "meta.h"

struct json_out {
	struct out out;
	bool first; /* no member of the innermost object written yet */
};

void report_json_key(struct json_out *j, const char *name);
void report_json_open(struct json_out *j);
void report_json_close(struct json_out *j);
void report_json_text(struct json_out *j, const char *name, const char *s); /* nothing if NULL */
void report_json_number(struct json_out *j, const char *name, uint64_t v);
void report_json_known(struct json_out *j, const char *name, uint64_t v); /* nothing if 0 */
void report_json_double(struct json_out *j, const char *name,
			double v); /* nothing unless positive */
void report_json_address(struct json_out *j, const char *name, uint64_t v); /* "0x..." */

const char *report_json_unit(enum report_unit unit); /* "nanoseconds", "bytes", …; NULL: none */
void report_json_info(struct json_out *j, const struct report_info *info);
void report_json_meta(struct json_out *j, const struct report_meta *meta); /* ledger, cost */

#endif
