/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes together: numbers with numbers, strings with texts, names with the field whose values
 * they are. Most of what people get wrong is wrong here, and said here.
 */
#include <errno.h>
#include <string.h>

#include "record/filter/parse.h"

#define WRONG(p, node, ...) wrong(p, (node)->at, (node)->end, __VA_ARGS__)

#define wrong(p, at_, end_, ...)                                                                   \
	({                                                                                         \
		(p)->err = record_filter_wrong((p)->error, at_, (end_) - (at_), __VA_ARGS__);      \
		(void *)NULL;                                                                      \
	})

static bool is_string(const struct filter_node *node)
{
	return node->op == FILTER_FIELD && filter_is_string(node->field);
}

static bool is_condition(const struct filter_node *node)
{
	return !filter_is_number(node) && node->op != FILTER_TEXT;
}

/* ---- names */

static void *unknown_name(struct filter_parser *p, const struct filter_node *node)
{
	const char *near = record_filter_near_field(p->fields, p->nfields, node->text);

	if (!strcmp(node->text, "not"))
		return WRONG(p, node, "the opposite of a condition is !(condition)");
	return WRONG(p, node, "%s has no field '%s'%s%s%s", p->event, node->text,
		     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* The field in a number: of a mask the first one. */
static const struct record_filter_field *field_in(const struct filter_node *node)
{
	const struct record_filter_field *field;

	if (node->op != FILTER_MASK)
		return node->op == FILTER_FIELD ? node->field : NULL;
	field = field_in(node->left);
	return field ? field : field_in(node->right);
}

static void *unknown_value(struct filter_parser *p, const struct filter_node *node,
			   const struct record_filter_field *field)
{
	const char *near = record_filter_near_value(field, node->text);

	if (record_filter_near_field(p->fields, p->nfields, node->text) && !near)
		return unknown_name(p, node);
	return WRONG(p, node, "'%s' is no value of %s%s%s%s", node->text, field->name,
		     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* A number that is a name becomes what the field on the other side calls so. */
static bool name_number(struct filter_parser *p, struct filter_node *node,
			const struct filter_node *other)
{
	const struct record_filter_field *field = field_in(other);
	const struct record_filter_value *value;

	if (!node->named)
		return true;
	if (!field || (!field->nvalues && !filter_is_string(field))) {
		unknown_name(p, node);
		return false;
	}
	if (filter_is_string(field)) {
		WRONG(p, node, "%s is a string: \"%s\", in quotes", field->name, node->text);
		return false;
	}
	value = record_filter_value_named(field, node->text);
	if (!value) {
		unknown_value(p, node, field);
		return false;
	}
	node->number.bits = (uint64_t)value->value;
	if (node->negated)
		node->number.bits = -node->number.bits;
	/* As the field would have it. */
	node->number.negative =
		(int64_t)node->number.bits < 0 && (field->is_signed || node->negated);
	node->named = false;
	return true;
}

/* ---- conditions */

struct filter_node *record_filter_condition(struct filter_parser *p, struct filter_node *node)
{
	struct filter_node *zero, *condition;

	if (is_condition(node))
		return node;
	if (node->op == FILTER_TEXT)
		return WRONG(p, node, "a text is no condition: compare a field with it");
	if (is_string(node))
		return WRONG(p, node, "%s is a string, which is no condition: %s == \"…\"",
			     node->field->name, node->field->name);
	if (node->named)
		return unknown_name(p, node);
	if (node->op == FILTER_FIELD && !filter_is_plain_number(node->field))
		return WRONG(p, node, "%s is neither a number nor a string", node->field->name);
	zero = record_filter_node(p, FILTER_NUMBER, node->at, node->end);
	condition = zero ? record_filter_node(p, FILTER_NE, node->at, node->end) : NULL;
	if (!condition)
		return NULL;
	condition->left = node;
	condition->right = zero;
	return record_filter_fold(condition);
}

/* ---- strings */

static struct filter_node *negate(struct filter_parser *p, struct filter_node *node)
{
	struct filter_node *opposite = record_filter_node(p, FILTER_NOT, node->at, node->end);

	if (!opposite)
		return NULL;
	opposite->left = node;
	return record_filter_fold(opposite);
}

static bool make_glob(struct filter_parser *p, struct filter_node *node,
		      const struct filter_node *text)
{
	const char *message;
	size_t at;
	int err = record_filter_glob_parse(node->text, node->length, &node->glob, &at, &message);

	if (err == -EINVAL)
		wrong(p, text->at, text->end, "the pattern: %s", message);
	else if (err)
		p->err = err;
	return !err;
}

static struct filter_node *combine_string(struct filter_parser *p, enum filter_op op,
					  const struct filter_node *field,
					  const struct filter_node *text, size_t at, size_t end)
{
	const struct filter_token token = { .at = text->at, .length = text->end - text->at };
	struct filter_node *node;

	node = record_filter_node(p, op == FILTER_LIKE ? FILTER_LIKE : FILTER_SAME, at, end);
	if (!node)
		return NULL;
	node->field = field->field;
	node->text = record_filter_text(p->text, &token, op == FILTER_LIKE, &node->length);
	if (!node->text) {
		p->err = -ENOMEM;
		return NULL;
	}
	if (op == FILTER_LIKE && !make_glob(p, node, text))
		return NULL;
	return record_filter_fold(node);
}

/* A text beside a number: a value whose name is no word. */
static bool name_text(struct filter_parser *p, struct filter_node *text,
		      const struct filter_node *other)
{
	const struct filter_token token = { .at = text->at, .length = text->end - text->at };
	const struct record_filter_field *field = field_in(other);

	if (!field || !field->nvalues) {
		WRONG(p, text, "%s is a number, and this is a text", field ? field->name : "that");
		return false;
	}
	text->text = record_filter_text(p->text, &token, false, &text->length);
	if (!text->text)
		p->err = -ENOMEM;
	text->op = FILTER_NUMBER;
	text->named = true;
	return text->text != NULL;
}

/* ---- comparisons */

/* Nanoseconds become what the field counts in. */
static bool scale(struct filter_parser *p, struct filter_node *number,
		  const struct filter_node *other)
{
	const struct record_filter_field *field = field_in(other);

	if (!number->duration || !field || field->unit_ns < 2)
		return true;
	if (number->number.negative || number->number.bits % field->unit_ns) {
		WRONG(p, number, "%s counts in %s", field->name,
		      field->unit_ns == 1000	  ? "microseconds"
		      : field->unit_ns == 1000000 ? "milliseconds"
						  : "seconds");
		return false;
	}
	number->number.bits /= field->unit_ns;
	number->duration = false;
	return true;
}

/* Are they numbers, or can they be made so? */
static bool make_numbers(struct filter_parser *p, struct filter_node *left,
			 struct filter_node *right)
{
	struct filter_node *const side[] = { left, right };

	for (int i = 0; i < 2; i++) {
		struct filter_node *node = side[i], *other = side[1 - i];

		if (is_condition(node)) {
			WRONG(p, node,
			      "this is a condition, and no number: conditions are joined "
			      "by && and ||, ! stands before parentheses");
			return false;
		}
		if (node->op == FILTER_TEXT && other->named) {
			unknown_name(p, other);
			return false;
		}
		if (is_string(other) && !node->named) {
			WRONG(p, other,
			      "%s is a string: == and != compare it with a \"text\", "
			      "~ and !~ with a \"pattern\"",
			      other->field->name);
			return false;
		}
		if (node->op == FILTER_TEXT && !name_text(p, node, other))
			return false;
		if (!name_number(p, node, other) || !scale(p, node, other))
			return false;
	}
	for (int i = 0; i < 2; i++) {
		if (side[i]->op == FILTER_FIELD && !filter_is_plain_number(side[i]->field)) {
			WRONG(p, side[i], "%s is neither a number nor a string",
			      side[i]->field->name);
			return false;
		}
	}
	return true;
}

static struct filter_node *both(struct filter_parser *p, enum filter_op op,
				struct filter_node *left, struct filter_node *right)
{
	struct filter_node *node = record_filter_node(p, op, left->at, right->end);

	if (!node)
		return NULL;
	node->left = left;
	node->right = right;
	return record_filter_fold(node);
}

struct filter_node *record_filter_combine(struct filter_parser *p, enum filter_op op, bool negated,
					  struct filter_node *left, struct filter_node *right,
					  size_t at)
{
	struct filter_node *node;

	if (op == FILTER_AND || op == FILTER_OR) {
		left = record_filter_condition(p, left);
		right = left ? record_filter_condition(p, right) : NULL;
		return right ? both(p, op, left, right) : NULL;
	}
	if (op == FILTER_LIKE) {
		if (left->named)
			return unknown_name(p, left);
		if (!is_string(left) || right->op != FILTER_TEXT)
			return wrong(p, at, at + (negated ? 2 : 1),
				     "a field that is a string stands left of this, right of it a "
				     "pattern in quotes");
		node = combine_string(p, op, left, right, left->at, right->end);
		return node && negated ? negate(p, node) : node;
	}
	if (op == FILTER_EQ || op == FILTER_NE) {
		node = NULL;
		if (is_string(left) && right->op == FILTER_TEXT)
			node = combine_string(p, op, left, right, left->at, right->end);
		else if (is_string(right) && left->op == FILTER_TEXT)
			node = combine_string(p, op, right, left, left->at, right->end);
		if (node || p->err)
			return node && op == FILTER_NE ? negate(p, node) : node;
	}
	return make_numbers(p, left, right) ? both(p, op, left, right) : NULL;
}
