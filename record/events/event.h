/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracepoints by their format files, and what their records say.
 *
 *	struct record_event *event;
 *	int err = record_event_open("sched", "sched_switch", &event);
 *	...
 *	record_event_text(event, record, bytes, &out); // prev_comm="bash" prev_pid=12 ...
 *
 * A record is what a classic tracepoint gives its BPF program as the context: the fields at their
 * places, behind them what has no fixed length. It may be shorter than it should be.
 */
#ifndef RECORD_EVENT_H
#define RECORD_EVENT_H

#include "print_fmt.h"

/* What a field is, for those who show it, and those who compare it. */
enum record_kind {
	RECORD_NUMBER,
	RECORD_TEXT,	/* up to a NUL: char[16], or a string of any length */
	RECORD_POINTER, /* an address of the kernel, or of the program */
	RECORD_DEVICE,	/* major << 20 | minor, as the kernel has it */
	RECORD_NUMBERS, /* an array of them */
	RECORD_BYTES,	/* of no known meaning */
};

struct record_field {
	const char *name, *type; /* as the format has them */
	enum record_kind kind;
	enum print_hint hint;
	uint32_t offset,
		size;  /* in the record; with data_loc or rel_loc of the word that is there */
	uint32_t unit; /* bytes of one number; of a TEXT 1 */
	bool is_signed;
	bool data_loc, rel_loc;
	bool as_number; /* one that has names is printed as a number too */
	const uint32_t *texts;
	uint32_t ntexts; /* expressions that name it: record_print_fmt_text() */
};

struct record_event {
	char *name; /* "sched:sched_switch" */
	struct rp_tp_format format;
	struct record_field *fields; /* without the common ones */
	uint32_t nfields;
	uint32_t bytes; /* of a record without what has no fixed length */
	struct print_field *print;
	struct print_fmt *fmt;
};

/* An address of the kernel to its name; false: it has none. */
typedef bool (*record_symbol_fn)(void *ctx, uint64_t address, struct record_out *out);
struct record_symbols {
	record_symbol_fn name; /* NULL: addresses stay numbers */
	void *ctx;
};

/* 0; -ENOENT and what the loader says, after a message; -ENOMEM. Free with record_event_free(). */
int record_event_open(const char *group, const char *name, struct record_event **out);
/* From the text of a format file, for tests: enumerators of the kernel are not looked up. */
int record_event_parse(const char *text, struct record_event **out);
void record_event_free(struct record_event *event);
const struct record_field *record_event_field(const struct record_event *event, const char *name);

/* Where the data of a field lie; false: beyond the end of the record. */
bool record_field_data(const struct record_field *field, const unsigned char *record, size_t bytes,
		       const unsigned char **data, size_t *size);
/* The number that a field is, sign-extended; false: it is none, or not there. */
bool record_field_number(const struct record_field *field, const unsigned char *record,
			 size_t bytes, uint64_t *out);
/* A value, as people read it, or as JSON; one that is not there is "?", or null. */
void record_field_text(const struct record_event *event, const struct record_field *field,
		       const unsigned char *record, size_t bytes,
		       const struct record_symbols *symbols, struct record_out *out);
void record_field_json(const struct record_event *event, const struct record_field *field,
		       const unsigned char *record, size_t bytes,
		       const struct record_symbols *symbols, struct record_out *out);

#endif
