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

/* A string of the program that makes a system call; the kernel's own strings are in the record. */
static bool is_user_string(const struct record_event *event, const struct record_field *field)
{
	return !strcmp(event->format.group, "syscalls") && field->size == 8 &&
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

static int add_field(struct trace_filter *f, const struct record_event *event,
		     const struct record_field *from)
{
	struct record_filter_field to = { .name = from->name,
					  .kind = kind_of(event, from),
					  .is_signed = from->is_signed,
					  .offset = from->offset,
					  .size = from->size };
	int err = add_names(f, event, from, &to);

	if (!err)
		err = RP_PUSH(f->fields, f->nfields, f->fields_room, to);
	return err ? err : add_elements(f, from);
}

static int add_fields(struct trace_filter *f, const struct record_event *event)
{
	size_t first = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < event->nfields; i++)
		err = add_field(f, event, &event->fields[i]);
	for (size_t i = 0; !err && i < f->nfields; i++) {
		f->fields[i].values = f->fields[i].nvalues ? f->values + first : NULL;
		first += f->fields[i].nvalues;
	}
	return err;
}

/* ---- all of it */

int trace_filter_make(const char *text, const struct record_event *event,
		      const struct rp_program *program, struct trace_filter *out)
{
	struct trace_filter f = { 0 };
	const struct asm_part *part;
	int err = add_fields(&f, event);

	if (!err)
		err = record_filter_new("--filter", text, event->name, f.fields, f.nfields,
					&f.filter);
	if (!err)
		err = record_filter_compile(f.filter, &part);
	if (!err) {
		f.lines = record_filter_place(program->code.lines, program->code.nlines, part);
		err = f.lines ? 0 : -ENOMEM;
	}
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
	*f = (struct trace_filter){ 0 };
}
