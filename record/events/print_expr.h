/* SPDX-License-Identifier: BSD-2-Clause */
/* The expressions of a "print fmt": a list of nodes, and the rows of its tables. */
#ifndef RECORD_PRINT_EXPR_H
#define RECORD_PRINT_EXPR_H

#include "print_fmt.h"

enum print_op {
	PRINT_OPAQUE, /* not understood */
	PRINT_NUMBER,
	PRINT_STRING,	/* in quotes */
	PRINT_FIELD,	/* REC->name */
	PRINT_CAST,	/* a, to value bytes, below 0: signed */
	PRINT_NEGATE,	/* -a */
	PRINT_NOT,	/* !a */
	PRINT_INVERT,	/* ~a */
	PRINT_BINARY,	/* a, b by the operator value: PRINT_BINARY_OP */
	PRINT_CHOICE,	/* a ? b : c */
	PRINT_FLAGS,	/* of a: value rows from b, str between them */
	PRINT_SYMBOLIC, /* of a: value rows from b */
};
/* Operators of one or two letters as a number. */
#define PRINT_BINARY_OP(first, second) ((first) << 8 | (second))

struct print_node {
	enum print_op op;
	uint32_t a, b, c;
	int64_t value;
	const char *str; /* in print_fmt.strings */
};

struct print_fmt {
	struct print_node *nodes;
	uint32_t nnodes, nodes_capacity;
	/* Rows of all tables: { 4, "D" }. */
	struct print_row {
		uint64_t value;
		char *name;
	} * rows;
	uint32_t nrows, rows_capacity;
	char **strings;
	uint32_t nstrings, strings_capacity;
	const struct rp_tp_format *format;
};

struct print_value {
	bool is_text;
	uint64_t number;
};

/*
 * Reads one argument, of which nothing but blanks may be left. The number of its node; one that is
 * PRINT_OPAQUE is not understood. Below 0: -ENOMEM.
 */
int record_print_parse(struct print_fmt *p, const char *text, size_t n, print_enum_fn value,
		       void *ctx);
/* The number of a node without fields and texts; false: it is none. */
bool record_print_constant(const struct print_fmt *p, uint32_t node, uint64_t *out);
/* Whether it is a text, whatever the record. */
bool record_print_is_text(const struct print_fmt *p, uint32_t node);

#endif
