/* SPDX-License-Identifier: BSD-2-Clause */
/* --filter: an expression for each of the events, in the program that sends its records. */
#ifndef CLI_TRACE_FILTER_H
#define CLI_TRACE_FILTER_H

#include <rawprof/program.h>

#include "record/events/event.h"
#include "record/filter/filter.h"

#define TRACE_CALL_PROGRAMS 3 /* that have to do with one system call */
struct trace_filter {
	struct record_filter_field *fields;
	struct record_filter_value *values; /* of all fields */
	size_t nfields, nvalues, fields_room, values_room;
	char **names; /* that were made: args[2] */
	size_t nnames, names_room;
	struct record_filter *filter;
	struct asm_insn *lines; /* of the program, with the filter in it; of a system call: */
	struct asm_insn *call_lines[TRACE_CALL_PROGRAMS];
	bool of_result; /* it is about what the call returns */
};

/*
 * The expression over the fields of this event, and the program's lines with it; they belong to
 * *out. 0, or a negative errno after a message.
 */
int trace_filter_make(const char *text, const struct record_event *event,
		      const struct rp_program *program, struct trace_filter *out);
struct trace_event;
/* The same of a system call with texts of so many bytes. */
int trace_filter_make_call(const char *text, const struct trace_event *event, uint32_t text_bytes,
			   const struct rp_program *const programs[TRACE_CALL_PROGRAMS],
			   struct trace_filter *out);
void trace_filter_free(struct trace_filter *filter);

#endif
