/* SPDX-License-Identifier: BSD-2-Clause */
/* Between parse.c, which knows the grammar, and combine.c, which knows what goes together. */
#ifndef RECORD_FILTER_PARSE_H
#define RECORD_FILTER_PARSE_H

#include "record/filter/tree.h"

struct filter_parser {
	const char *text, *event;
	const struct record_filter_field *fields;
	size_t nfields;
	struct filter_token token; /* the next one */
	struct record_filter *filter;
	struct record_filter_error *error;
	int depth;
	int err; /* 0: nothing is wrong so far */
};

/* All of these: NULL if something is wrong, which p->err and *p->error say. */

struct filter_node *record_filter_node(struct filter_parser *p, enum filter_op op, size_t at,
				       size_t end);
struct filter_node *record_filter_parse_binary(struct filter_parser *p, int precedence);

/* The node as a condition: a number is one, true unless it is 0. */
struct filter_node *record_filter_condition(struct filter_parser *p, struct filter_node *node);
/* What the operator at byte `at` makes of its sides; negated: the opposite of it. */
struct filter_node *record_filter_combine(struct filter_parser *p, enum filter_op op, bool negated,
					  struct filter_node *left, struct filter_node *right,
					  size_t at);

#endif
