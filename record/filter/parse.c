/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tokens -> tree, by the precedence of operators. The first thing that is wrong ends it: from there
 * on every function returns NULL.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "record/filter/parse.h"

static void *fail(struct filter_parser *p, int err)
{
	if (!p->err)
		p->err = err;
	return NULL;
}

static bool advance(struct filter_parser *p)
{
	const int err =
		record_filter_lex(p->text, p->token.at + p->token.length, &p->token, p->error);

	if (err)
		fail(p, err);
	return !err;
}

static bool is_op(const struct filter_parser *p, const char *op)
{
	return p->token.kind == TOKEN_OP && p->token.length == strlen(op) &&
	       !strncmp(p->text + p->token.at, op, p->token.length);
}

struct filter_node *record_filter_node(struct filter_parser *p, enum filter_op op, size_t at,
				       size_t end)
{
	struct filter_node *node = calloc(1, sizeof(*node));

	if (!node)
		return fail(p, -ENOMEM);
	node->op = op;
	node->at = at;
	node->end = end;
	node->next = p->filter->nodes;
	p->filter->nodes = node;
	return node;
}

/* ---- what stands alone */

static struct filter_node *parse_name(struct filter_parser *p)
{
	const struct filter_token *t = &p->token;
	const struct record_filter_field *field =
		record_filter_field_named(p->fields, p->nfields, p->text + t->at, t->length);
	struct filter_node *node = record_filter_node(p, field ? FILTER_FIELD : FILTER_NUMBER,
						      t->at, t->at + t->length);

	if (!node)
		return NULL;
	node->field = field;
	node->named = !field;
	if (!field && !(node->text = strndup(p->text + t->at, t->length)))
		return fail(p, -ENOMEM);
	return advance(p) ? node : NULL;
}

static struct filter_node *parse_literal(struct filter_parser *p)
{
	const struct filter_token *t = &p->token;
	struct filter_node *node = record_filter_node(
		p, t->kind == TOKEN_TEXT ? FILTER_TEXT : FILTER_NUMBER, t->at, t->at + t->length);

	if (!node)
		return NULL;
	node->number = t->number;
	node->duration = t->duration;
	return advance(p) ? node : NULL;
}

static struct filter_node *parse_unary(struct filter_parser *p);

static struct filter_node *parse_parentheses(struct filter_parser *p)
{
	const size_t at = p->token.at;
	struct filter_node *node;

	if (!advance(p) || !(node = record_filter_parse_binary(p, 1)))
		return NULL;
	if (!is_op(p, ")"))
		return fail(p, p->token.kind == TOKEN_END
				       ? record_filter_wrong(p->error, at, 1, "no ) closes this (")
				       : record_filter_wrong(p->error, p->token.at, p->token.length,
							     "an operator or ) belongs here"));
	/* A node that stands elsewhere too keeps its place: a side of what was folded. */
	node->at = at;
	node->end = p->token.at + 1;
	return advance(p) ? node : NULL;
}

static struct filter_node *parse_minus(struct filter_parser *p)
{
	const size_t at = p->token.at;
	struct filter_node *node;

	if (!advance(p) || !(node = parse_unary(p)))
		return NULL;
	node->at = at;
	if (node->op != FILTER_NUMBER)
		return fail(p, record_filter_wrong(p->error, at, node->end - at,
						   "a minus stands before a number"));
	if (node->named) {
		node->negated = !node->negated;
		return node;
	}
	if (!node->number.negative && node->number.bits > UINT64_C(1) << 63)
		return fail(p, record_filter_wrong(p->error, at, node->end - at,
						   "a number is -2^63 at least"));
	node->number.bits = -node->number.bits;
	node->number.negative = !node->number.negative && node->number.bits;
	return node;
}

static struct filter_node *parse_not(struct filter_parser *p)
{
	const size_t at = p->token.at;
	struct filter_node *node, *of;

	if (!advance(p) || !(of = parse_unary(p)))
		return NULL;
	of = record_filter_condition(p, of);
	node = of ? record_filter_node(p, FILTER_NOT, at, of->end) : NULL;
	if (!node)
		return NULL;
	node->left = of;
	return record_filter_fold(node);
}

static struct filter_node *deeper(struct filter_parser *p,
				  struct filter_node *(*parse)(struct filter_parser *p))
{
	struct filter_node *node;

	if (p->depth == FILTER_DEPTH_MAX)
		return fail(p, record_filter_wrong(p->error, p->token.at, 1,
						   "nested deeper than %d", FILTER_DEPTH_MAX));
	p->depth++;
	node = parse(p);
	p->depth--;
	return node;
}

static struct filter_node *parse_unary(struct filter_parser *p)
{
	switch (p->token.kind) {
	case TOKEN_NAME:
		return parse_name(p);
	case TOKEN_NUMBER:
	case TOKEN_TEXT:
		return parse_literal(p);
	case TOKEN_OP:
		if (is_op(p, "("))
			return deeper(p, parse_parentheses);
		if (is_op(p, "-"))
			return deeper(p, parse_minus);
		if (is_op(p, "!"))
			return deeper(p, parse_not);
		break;
	default:
		break;
	}
	return fail(p, record_filter_wrong(p->error, p->token.at, p->token.length,
					   p->token.kind == TOKEN_END
						   ? "a field, a number or ( is missing at the end"
						   : "a field, a number or ( belongs here"));
}

/* ---- operators with two sides */

static const struct {
	const char *text;
	int precedence;
	enum filter_op op;
	bool negated;
} binary[] = {
	{ "||", 1, FILTER_OR },		{ "&&", 2, FILTER_AND }, { "<", 3, FILTER_LT },
	{ "<=", 3, FILTER_LE },		{ ">", 3, FILTER_GT },	 { ">=", 3, FILTER_GE },
	{ "==", 3, FILTER_EQ },		{ "!=", 3, FILTER_NE },	 { "~", 3, FILTER_LIKE },
	{ "!~", 3, FILTER_LIKE, true }, { "&", 4, FILTER_MASK },
};
#define BINARY (sizeof(binary) / sizeof(binary[0]))

struct filter_node *record_filter_parse_binary(struct filter_parser *p, int precedence)
{
	struct filter_node *left = parse_unary(p), *right;
	size_t i, at;

	while (left) {
		for (i = 0; i < BINARY && !is_op(p, binary[i].text); i++)
			;
		if (i == BINARY || binary[i].precedence < precedence)
			break;
		at = p->token.at;
		if (!advance(p) ||
		    !(right = record_filter_parse_binary(p, binary[i].precedence + 1)))
			return NULL;
		left = record_filter_combine(p, binary[i].op, binary[i].negated, left, right, at);
	}
	return left;
}

/* ---- the whole */

/* What stands behind an expression that is one already. */
static void *left_over(struct filter_parser *p)
{
	const struct filter_token *t = &p->token;
	const char *s = p->text + t->at;

	if (is_op(p, ")"))
		return fail(p, record_filter_wrong(p->error, t->at, 1,
						   "no ( opens what this ) closes"));
	if (t->kind == TOKEN_NAME && t->length == 3 && !strncmp(s, "and", 3))
		return fail(p,
			    record_filter_wrong(p->error, t->at, 3, "the and of conditions is &&"));
	if (t->kind == TOKEN_NAME && t->length == 2 && !strncmp(s, "or", 2))
		return fail(p,
			    record_filter_wrong(p->error, t->at, 2, "the or of conditions is ||"));
	return fail(p, record_filter_wrong(p->error, t->at, t->length,
					   "an operator is missing before this"));
}

static int parse(struct filter_parser *p)
{
	struct filter_node *root;

	if (strlen(p->text) > FILTER_TEXT_MAX)
		return record_filter_wrong(p->error, FILTER_TEXT_MAX, 0,
					   "an expression has %d bytes at most", FILTER_TEXT_MAX);
	if (!advance(p))
		return p->err;
	if (p->token.kind == TOKEN_END)
		return record_filter_wrong(p->error, 0, 0, "the expression is empty");
	root = record_filter_parse_binary(p, 1);
	if (root && p->token.kind != TOKEN_END)
		root = left_over(p);
	if (root)
		root = record_filter_condition(p, root);
	p->filter->root = root;
	return p->err;
}

int record_filter_parse(const char *text, const char *event,
			const struct record_filter_field *fields, size_t nfields,
			struct record_filter **out, struct record_filter_error *error)
{
	struct filter_parser p = { .event = event, .fields = fields, .nfields = nfields };
	int err;

	*error = (struct record_filter_error){ 0 };
	p.error = error;
	p.filter = calloc(1, sizeof(*p.filter));
	p.text = p.filter ? p.filter->text = strdup(text) : NULL;
	err = p.text ? parse(&p) : -ENOMEM;
	if (err)
		record_filter_free(p.filter);
	else
		*out = p.filter;
	return err;
}

bool record_filter_names(const struct record_filter *filter, const char *field)
{
	const struct filter_node *node = filter->nodes;

	while (node && !(node->field && !strcmp(node->field->name, field)))
		node = node->next;
	return node;
}

void record_filter_free(struct record_filter *filter)
{
	struct filter_node *next;

	if (!filter)
		return;
	for (struct filter_node *node = filter->nodes; node; node = next) {
		next = node->next;
		free(node->text);
		record_filter_glob_free(&node->glob);
		free(node);
	}
	record_filter_code_free(filter->code);
	free(filter->text);
	free(filter);
}
