/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions that say which events are kept, as `trace --filter` takes them:
 *
 *	prev_pid == 1234 && (next_comm ~ "kworker/?*" || prev_state & 2)
 *	filename ~ "*.conf" && !(flags & 0x40) && comm != "sshd"
 *
 * An expression is parsed into a tree, which is compiled to the lines of a BPF function, and which
 * can be evaluated in user space as well. Both say the same of every event.
 *
 * Operators, those that bind most tightly first; all are left-associative:
 *
 *	-N  !B		the negative of a number; not B, where B is in parentheses or a number
 *	N & N		the bits that both have
 *	< <= > >= == !=	of two numbers; == and != also of a string and a text in quotes
 *	~ !~		a string matches, does not match, a pattern in quotes
 *	&&		both; the right side is not looked at if the left one is false
 *	||		either
 *
 * Numbers: 10, 0x1f, 0644 (octal, as in C), 'a', '\n', 4K, 10ms. K, M and G multiply by powers of
 * 1024; ns, us, ms and s make nanoseconds, or what the field counts in if that is known. A name
 * that stands for a value of the field on the other side is a number too: flags & O_CREAT. A number
 * where a condition belongs is true unless it is 0.
 *
 * A number is whole and between -2^63 and 2^64 - 1. A field is widened to 64 bits, with its sign if
 * it is signed. Comparisons are those of arithmetic, whatever the types: -1 is below every unsigned
 * field, and a signed -1 is not equal to an unsigned 2^64 - 1. The result of & is unsigned, of the
 * 64 bits that both sides have in two's complement.
 *
 * Strings are bytes up to a NUL, compared byte by byte. The first 255 bytes count: a longer string
 * is cut there. One that cannot be read is empty. In patterns * stands for any bytes, ? for one,
 * [a-z] and [!a-z] for one of a set, and \ takes the meaning from what follows it. A text has the
 * escapes \" \\ \n \t \xHH; others stay as they are, for patterns.
 *
 * Names: fields of the event first; then comm, pid, tid, cpu, uid of the thread that the event
 * happened in, which are COMM, PID, TID, CPU, UID where the event has a field of the name.
 */
#ifndef RECORD_FILTER_H
#define RECORD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/asm.h>

/* ---- what an expression is about */

enum record_filter_kind {
	RECORD_FILTER_NUMBER,	/* of 1, 2, 4 or 8 bytes */
	RECORD_FILTER_CHARS,	/* char[size]: up to a NUL, or all of it */
	RECORD_FILTER_DATA_LOC, /* __data_loc char[]: a u32, length << 16 | offset in the record */
	RECORD_FILTER_REL_LOC,	/* __rel_loc char[]: the offset counts from the end of the u32 */
	RECORD_FILTER_KERNEL_STRING, /* the address of a string of the kernel, 8 bytes */
	RECORD_FILTER_USER_STRING,   /*   of the process that the event happened in */
	RECORD_FILTER_OTHER,	     /* is there, but cannot be compared: an array of numbers */
	/* These are not in the record: of the thread that the event happened in. */
	RECORD_FILTER_COMM,
	RECORD_FILTER_PID,
	RECORD_FILTER_TID,
	RECORD_FILTER_CPU,
	RECORD_FILTER_UID,
};

/* A name for a value of a field: an enumerator, a flag. */
struct record_filter_value {
	const char *name;
	int64_t value;
};

/* A field of an event, as its record has it; offset and size in bytes. */
struct record_filter_field {
	const char *name; /* "prev_pid"; it may end with an index, "args[2]" */
	enum record_filter_kind kind;
	bool is_signed;
	uint32_t offset, size;
	uint32_t unit_ns; /* of a duration: what it counts in; 0: no duration, or not known */
	const struct record_filter_value *values; /* NULL: there are no names */
	size_t nvalues;
};

/* ---- an expression */

struct record_filter;

/* What is wrong with an expression: length bytes (0: the end) at byte `at`. */
struct record_filter_error {
	size_t at, length;
	char message[240];
};

/*
 * Parses an expression over these fields, which have to outlive the filter; event is what they are
 * said to be of ("sched:sched_switch"). 0; -EINVAL with *error filled; -ENOMEM.
 */
int record_filter_parse(const char *text, const char *event,
			const struct record_filter_field *fields, size_t nfields,
			struct record_filter **out, struct record_filter_error *error);
void record_filter_free(struct record_filter *filter);
/* Whether the field of that name is in the expression. */
bool record_filter_names(const struct record_filter *filter, const char *field);
/*
 * As record_filter_parse(), but what is wrong is logged, with the expression and a caret below the
 * place; what: "--filter".
 */
int record_filter_new(const char *what, const char *text, const char *event,
		      const struct record_filter_field *fields, size_t nfields,
		      struct record_filter **out);

/* ---- in user space (eval.c) */

/* An event as it came. What lies beyond the end of the record is 0, a string there is empty. */
struct record_filter_event {
	const void *record;
	size_t size;
	uint32_t pid, tid, cpu, uid;
	const char *comm;
	/* Reads a string of at most size - 1 bytes at an address, user's or the kernel's, and ends
	 * it with a NUL. Its length, or a negative errno. NULL: none can be read. */
	int (*read_string)(void *ctx, bool user, uint64_t address, char *out, size_t size);
	void *ctx;
};

bool record_filter_keeps(const struct record_filter *filter,
			 const struct record_filter_event *event);

/* ---- in the kernel (compile.c) */

/*
 * Makes of the expression the function of programs/shared/event_filter.h. Each line stands in a
 * SCOPE that is the part of the expression it is for; the file is "--filter", the line the column
 * where that part begins. The lines belong to the filter, a second call returns the same. 0 or
 * -ENOMEM.
 */
int record_filter_compile(struct record_filter *filter, const struct asm_part **out);

/*
 * The lines of a program, malloc'd, with `part` wherever it INCLUDEs rp_event_filter_part itself
 * (not in a part of a part). As many as before. NULL: out of memory.
 */
struct asm_insn *record_filter_place(const struct asm_insn *lines, size_t nlines,
				     const struct asm_part *part);

#endif
