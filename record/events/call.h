/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls: what their arguments are called, and how they read.
 *
 * Names and types come from the format files of syscalls:sys_enter_*, which call some by another
 * name than programs do: newstat is stat.
 */
#ifndef RECORD_CALL_H
#define RECORD_CALL_H

#include "out.h"

#define RECORD_CALL_ARGS 6

enum record_arg_kind {
	RECORD_ARG_NUMBER,
	RECORD_ARG_POINTER,
	RECORD_ARG_TEXT,  /* the address of a string */
	RECORD_ARG_BYTES, /* the address of so many bytes as the next argument says */
	RECORD_ARG_OCTAL, /* a mode */
	RECORD_ARG_FILE,  /* a descriptor, or AT_FDCWD */
	RECORD_ARG_NAMED, /* flags, or one of several values: names */
};

struct record_call_names; /* call_names.c */

struct record_arg {
	char *name, *type;
	enum record_arg_kind kind;
	uint8_t size; /* of a number, bytes */
	bool is_signed;
	const struct record_call_names *names;
};

struct record_call {
	uint32_t number;
	const char *name; /* "openat" */
	struct record_arg arg[RECORD_CALL_ARGS];
	uint32_t nargs;
	bool returns_address; /* mmap, brk */
};

/* What the kernel's events call it: "newstat" for stat. */
const char *record_call_event(const char *name);
/* 0 or -ENOMEM. One whose arguments nobody knows has none. name lives longer than the call. */
int record_call_open(uint32_t number, const char *name, struct record_call **out);
void record_call_free(struct record_call *call);

/*
 * A text that was read: bytes with its NUL, below 0 if it was not; room: how many there was room
 * for.
 */
struct record_call_text {
	const char *text;
	int bytes, room;
	uint64_t whole; /* bytes that there are, of RECORD_ARG_BYTES */
};
void record_arg_text(const struct record_arg *arg, uint64_t value,
		     const struct record_call_text *text, struct record_out *out);
void record_arg_json(const struct record_arg *arg, uint64_t value,
		     const struct record_call_text *text, struct record_out *out);
/* An argument that only counts with others: the mode of open without O_CREAT. */
bool record_arg_is_idle(const struct record_call *call, uint32_t number, const uint64_t *args);

/* "ENOENT"; NULL: the result is no error. */
const char *record_call_error(int64_t ret);

/* ---- call_names.c */

const struct record_call_names *record_call_names(const char *call, const char *arg);
/* The i-th name and its value; NULL: there are no more. */
const char *record_call_name(const struct record_call_names *names, size_t i, uint64_t *value);
void record_call_put_names(const struct record_call_names *names, uint64_t value,
			   struct record_out *out);

#endif
