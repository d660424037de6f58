/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree of an expression, between parser, evaluator and compiler.
 *
 *	lex.c		text -> tokens
 *	parse.c		tokens -> tree
 *	names.c		names -> fields and values
 *	fold.c		what can be said without an event is said
 *	glob.c		patterns
 *	eval.c		tree + event -> kept or not
 *	compile.c	tree -> lines: conditions and numbers
 *	strings.c	tree -> lines: strings
 *	emit.c		lines
 */
#ifndef RECORD_FILTER_TREE_H
#define RECORD_FILTER_TREE_H

#include "record/filter/filter.h"

#define FILTER_TEXT_MAX 4096  /* bytes of an expression */
#define FILTER_STRING_MAX 255 /* bytes of a string that count */
#define FILTER_DEPTH_MAX 64   /* of parentheses and ! */

/* ---- numbers */

/* From -2^63 to 2^64 - 1: the bits in two's complement, and whether they mean a number below 0. */
struct filter_number {
	uint64_t bits;
	bool negative;
};

/* Below 0, 0 or above 0, as in arithmetic. */
int record_filter_compare(struct filter_number a, struct filter_number b);

/* ---- patterns */

/* One byte that a pattern asks for: those of the set. NUL is in no set. */
struct filter_set {
	uint32_t bits[8];
};
static inline bool filter_set_has(const struct filter_set *set, unsigned char c)
{
	return set->bits[c / 32] >> c % 32 & 1;
}

/*
 * A pattern: runs of sets with a * between each two. Without a * there is one run. Runs in the
 * middle are not empty.
 */
struct filter_glob {
	struct filter_set *set; /* of all runs, one after the other */
	size_t nsets;
	size_t *run; /* how many sets each run has */
	size_t nruns;
};

/* 0; -EINVAL with *at, a byte of the pattern, and *message; -ENOMEM. */
int record_filter_glob_parse(const char *pattern, size_t length, struct filter_glob *out,
			     size_t *at, const char **message);
bool record_filter_glob_matches(const struct filter_glob *glob, const char *s, size_t length);
void record_filter_glob_free(struct filter_glob *glob);

/* ---- the tree */

enum filter_op {
	FILTER_FALSE, /* conditions */
	FILTER_TRUE,
	FILTER_NOT, /* left */
	FILTER_AND, /* left, right */
	FILTER_OR,
	FILTER_LT, /* left and right, which are numbers */
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_EQ,
	FILTER_NE,
	FILTER_SAME, /* the string of field is the text */
	FILTER_LIKE, /*   matches the glob */
	/* numbers */
	FILTER_NUMBER,
	FILTER_FIELD,
	FILTER_MASK, /* left & right */
	/* while parsing: neither */
	FILTER_TEXT,
};

struct filter_node {
	enum filter_op op;
	size_t at, end; /* which bytes of the expression it is */
	struct filter_node *left, *right;
	const struct record_filter_field *field;
	struct filter_number number;
	bool duration; /* the number was written with a unit of time: it is in nanoseconds */
	bool named;    /* the number is a name, the text, not known until the other side is, */
	bool negated;  /*   and stands behind a minus */
	char *text;    /* NUL at its end, none within */
	size_t length;
	struct filter_glob glob;
	struct filter_node *next; /* of all nodes, to free them */
};

static inline bool filter_is_number(const struct filter_node *node)
{
	return node->op == FILTER_NUMBER || node->op == FILTER_FIELD || node->op == FILTER_MASK;
}

struct filter_code;
struct record_filter {
	char *text;
	struct filter_node *root;
	struct filter_node *nodes;
	struct filter_code *code; /* what compile.c has made; NULL: nothing yet */
};

/* What a number can be: below 0, above 2^63 - 1. Of a number as written, what it is. */
struct filter_range {
	bool negative, big;
};
struct filter_range record_filter_range(const struct filter_node *node);

static inline bool filter_is_string(const struct record_filter_field *field)
{
	return (field->kind >= RECORD_FILTER_CHARS && field->kind <= RECORD_FILTER_USER_STRING) ||
	       field->kind == RECORD_FILTER_COMM;
}
static inline bool filter_is_plain_number(const struct record_filter_field *field)
{
	return field->kind >= RECORD_FILTER_PID ||
	       (field->kind == RECORD_FILTER_NUMBER && field->size && field->size <= 8 &&
		!(field->size & (field->size - 1)));
}

/* ---- lex.c */

enum filter_token_kind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_TEXT,
	TOKEN_OP, /* its bytes say which */
};
struct filter_token {
	enum filter_token_kind kind;
	size_t at, length;
	struct filter_number number;
	bool duration;
};
/* The token at or behind byte `at`. 0, or -EINVAL with *error filled. */
int record_filter_lex(const char *text, size_t at, struct filter_token *out,
		      struct record_filter_error *error);
/* The bytes that a TOKEN_TEXT stands for, malloc'd. In a pattern \" alone is an escape of ours. */
char *record_filter_text(const char *text, const struct filter_token *token, bool pattern,
			 size_t *length);

/* Fills *error. Returns -EINVAL. */
int record_filter_wrong(struct record_filter_error *error, size_t at, size_t length,
			const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- names.c */

/* The field of that name, of the event or else of the thread; or NULL. */
const struct record_filter_field *record_filter_field_named(
	const struct record_filter_field *fields, size_t n, const char *name, size_t length);
/* The nearest name of a field, or NULL if none is near. */
const char *record_filter_near_field(const struct record_filter_field *fields, size_t n,
				     const char *name);
/* The value of that name; NULL. */
const struct record_filter_value *record_filter_value_named(const struct record_filter_field *field,
							    const char *name);
const char *record_filter_near_value(const struct record_filter_field *field, const char *name);

/* ---- fold.c: the node, or the child that it comes to; children are folded already */

struct filter_node *record_filter_fold(struct filter_node *node);

/* ---- emit.c */

void record_filter_code_free(struct filter_code *code);

#endif
