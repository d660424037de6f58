/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the fields of an event to those of an expression: numbers, strings, the elements of arrays,
 * and the names that the format has for values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/grow.h"
#include "filter.h"
#include "record/events/print_expr.h"
#include "trace.h"

/* Elements of an array that have names. */
#define MOST_ELEMENTS 16

/* ---- names of values */

static int add_value(struct trace_filter *f, const char *name, int64_t value)
{
	return RP_PUSH(f->values, f->nvalues, f->values_room,
		       (struct record_filter_value){ name, value });
}

/* The tables of an expression that stands for a field: of a choice those of both sides. */
static int add_tables(struct trace_filter *f, const struct print_fmt *fmt, uint32_t at, int depth)
{
	const struct print_node *node = &fmt->nodes[at];
	int err = 0;

	if (node->op == PRINT_CHOICE && depth < 8) {
		err = add_tables(f, fmt, node->b, depth + 1);
		return err ? err : add_tables(f, fmt, node->c, depth + 1);
	}
	if (node->op != PRINT_FLAGS && node->op != PRINT_SYMBOLIC)
		return 0;
	for (int64_t i = 0; !err && i < node->value; i++) {
		const struct print_row *row = &fmt->rows[node->b + i];

		err = add_value(f, row->name, (int64_t)row->value);
	}
	return err;
}

/* What a system call returns: ret == -ENOENT. */
static int add_errnos(struct trace_filter *f)
{
	int err = 0;

	for (int i = 1; !err && i < 134; i++)
		if (strerrorname_np(i))
			err = add_value(f, strerrorname_np(i), i);
	return err;
}

static bool is_return(const struct record_event *event, const struct record_field *field)
{
	return !strcmp(event->format.group, "syscalls") && !strcmp(field->name, "ret");
}

/* The values are counted now and pointed to when all are there: they may move until then. */
static int add_names(struct trace_filter *f, const struct record_event *event,
		     const struct record_field *from, struct record_filter_field *to)
{
	const size_t first = f->nvalues;
	int err = 0;

	for (uint32_t i = 0; !err && i < from->ntexts; i++)
		err = add_tables(f, event->fmt, from->texts[i], 0);
	if (!err && is_return(event, from))
		err = add_errnos(f);
	to->nvalues = f->nvalues - first;
	return err;
}

/* ---- fields */

/* A string of the program that makes a system call or passes a USDT probe; the kernel's own strings
 * are in the record. */
static bool is_user_string(const struct record_event *event, const struct record_field *field)
{
	const char *group = event->format.group;

	return (!strcmp(group, "syscalls") || !strcmp(group, "usdt")) && field->size == 8 &&
	       (!strcmp(field->type, "const char *") || !strcmp(field->type, "char *"));
}

static enum record_filter_kind kind_of(const struct record_event *event,
				       const struct record_field *field)
{
	switch (field->kind) {
	case RECORD_TEXT:
		return field->data_loc	? RECORD_FILTER_DATA_LOC
		       : field->rel_loc ? RECORD_FILTER_REL_LOC
					: RECORD_FILTER_CHARS;
	case RECORD_NUMBER:
	case RECORD_DEVICE:
		return RECORD_FILTER_NUMBER;
	case RECORD_POINTER:
		return is_user_string(event, field) ? RECORD_FILTER_USER_STRING
						    : RECORD_FILTER_NUMBER;
	default:
		return RECORD_FILTER_OTHER;
	}
}

static int add_elements(struct trace_filter *f, const struct record_field *field)
{
	int err = 0;

	if (field->kind != RECORD_NUMBERS || field->data_loc || field->rel_loc || !field->unit)
		return 0;
	for (uint32_t i = 0; !err && i < field->size / field->unit && i < MOST_ELEMENTS; i++) {
		const struct record_filter_field element = { .kind = RECORD_FILTER_NUMBER,
							     .is_signed = field->is_signed,
							     .offset = field->offset +
								       i * field->unit,
							     .size = field->unit };
		char *name;

		if (asprintf(&name, "%s[%u]", field->name, i) < 0)
			return -ENOMEM;
		err = RP_PUSH(f->names, f->nnames, f->names_room, name);
		if (err)
			free(name);
		else
			err = RP_PUSH(f->fields, f->nfields, f->fields_room, element);
		if (!err)
			f->fields[f->nfields - 1].name = name;
	}
	return err;
}

/* Of a function: it may be said in ms. */
static bool is_duration(const struct record_event *event, const struct record_field *field)
{
	return !strcmp(event->format.group, "func") && !strcmp(field->name, "duration");
}

static int add_field(struct trace_filter *f, const struct record_event *event,
		     const struct record_field *from)
{
	struct record_filter_field to = { .name = from->name,
					  .kind = kind_of(event, from),
					  .is_signed = from->is_signed,
					  .offset = from->offset,
					  .size = from->size,
					  .unit_ns = is_duration(event, from) };
	int err = add_names(f, event, from, &to);

	if (!err)
		err = RP_PUSH(f->fields, f->nfields, f->fields_room, to);
	return err ? err : add_elements(f, from);
}

/* Names of values are pointed to when all of them are there. */
static void point_to_values(struct trace_filter *f)
{
	size_t first = 0;

	for (size_t i = 0; i < f->nfields; i++) {
		f->fields[i].values = f->fields[i].nvalues ? f->values + first : NULL;
		first += f->fields[i].nvalues;
	}
}

static int add_fields(struct trace_filter *f, const struct record_event *event)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < event->nfields; i++)
		err = add_field(f, event, &event->fields[i]);
	point_to_values(f);
	return err;
}

/* ---- system calls: struct trace_call, with its texts behind it */

static int add_arg(struct trace_filter *f, const struct record_arg *a, uint32_t number,
		   uint32_t text_bytes, uint32_t *texts)
{
	const bool text = a->kind == RECORD_ARG_TEXT || a->kind == RECORD_ARG_BYTES;
	struct record_filter_field to = { .name = a->name,
					  .kind = RECORD_FILTER_NUMBER,
					  .is_signed = a->is_signed,
					  .offset = (uint32_t)offsetof(struct trace_call, args) +
						    8 * number,
					  .size = a->size };
	const size_t first = f->nvalues;
	int err = 0;

	if (text && *texts < TRACE_TEXTS) {
		to.kind = RECORD_FILTER_CHARS;
		to.offset = (uint32_t)sizeof(struct trace_call) + *texts * text_bytes;
		to.size = text_bytes;
		++*texts;
	}
	for (size_t i = 0; !err && a->names; i++) {
		uint64_t value;
		const char *name = record_call_name(a->names, i, &value);

		if (!name)
			break;
		err = add_value(f, name, (int64_t)value);
	}
	to.nvalues = f->nvalues - first;
	return err ? err : RP_PUSH(f->fields, f->nfields, f->fields_room, to);
}

static int add_call(struct trace_filter *f, const struct trace_event *e, uint32_t text_bytes)
{
	struct record_filter_field ret = { .name = "ret",
					   .kind = RECORD_FILTER_NUMBER,
					   .is_signed = true,
					   .offset = offsetof(struct trace_call, ret),
					   .size = 8 };
	const struct record_filter_field duration = { .name = "duration",
						      .kind = RECORD_FILTER_NUMBER,
						      .offset =
							      offsetof(struct trace_call, duration),
						      .size = 8,
						      .unit_ns = 1 };
	uint32_t texts = 0;
	int err = 0;

	for (uint32_t i = 0; !err && e->kind != TRACE_EXIT && i < e->call->nargs; i++)
		err = add_arg(f, &e->call->arg[i], i, text_bytes, &texts);
	if (!err && e->kind != TRACE_ENTER) {
		const size_t before = f->nvalues;

		err = add_errnos(f);
		ret.nvalues = f->nvalues - before;
		if (!err)
			err = RP_PUSH(f->fields, f->nfields, f->fields_room, ret);
	}
	if (!err && e->kind == TRACE_WHOLE)
		err = RP_PUSH(f->fields, f->nfields, f->fields_room, duration);
	point_to_values(f);
	return err;
}

/* ---- all of it */

static int place(const struct trace_filter *f, const struct rp_program *program,
		 struct asm_insn **out)
{
	const struct asm_part *part;
	int err = record_filter_compile(f->filter, &part);

	if (err)
		return err;
	*out = record_filter_place(program->code.lines, program->code.nlines, part);
	return *out ? 0 : -ENOMEM;
}

int trace_filter_make(const char *text, const struct record_event *event,
		      const struct rp_program *program, struct trace_filter *out)
{
	struct trace_filter f = { 0 };
	int err = add_fields(&f, event);

	if (!err)
		err = record_filter_new("--filter", text, event->name, f.fields, f.nfields,
					&f.filter);
	if (!err)
		err = place(&f, program, &f.lines);
	if (err)
		trace_filter_free(&f);
	else
		*out = f;
	return err;
}

int trace_filter_make_call(const char *text, const struct trace_event *event, uint32_t text_bytes,
			   const struct rp_program *const programs[TRACE_CALL_PROGRAMS],
			   struct trace_filter *out)
{
	struct trace_filter f = { 0 };
	int err = add_call(&f, event, text_bytes);

	if (!err)
		err = record_filter_new("--filter", text, event->name, f.fields, f.nfields,
					&f.filter);
	for (size_t i = 0; !err && i < TRACE_CALL_PROGRAMS; i++)
		err = place(&f, programs[i], &f.call_lines[i]);
	if (!err)
		f.of_result = record_filter_names(f.filter, "ret") ||
			      record_filter_names(f.filter, "duration");
	if (err)
		trace_filter_free(&f);
	else
		*out = f;
	return err;
}

void trace_filter_free(struct trace_filter *f)
{
	record_filter_free(f->filter);
	for (size_t i = 0; i < f->nnames; i++)
		free(f->names[i]);
	free(f->names);
	free(f->fields);
	free(f->values);
	free(f->lines);
	for (size_t i = 0; i < TRACE_CALL_PROGRAMS; i++)
		free(f->call_lines[i]);
	*f = (struct trace_filter){ 0 };
}
