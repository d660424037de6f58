/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be said of an expression without an event: numbers as written among themselves, and
 * comparisons with what a field can never be. What is left has no constant condition but its root,
 * so each jump that is compiled can go both ways.
 */
#include "record/filter/tree.h"

int record_filter_compare(struct filter_number a, struct filter_number b)
{
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	/* Two's complement has the order of numbers on either side of 0. */
	return a.bits < b.bits ? -1 : a.bits > b.bits;
}

struct filter_range record_filter_range(const struct filter_node *node)
{
	const struct record_filter_field *field = node->field;
	struct filter_range left, right;

	switch (node->op) {
	case FILTER_NUMBER:
		return (struct filter_range){ node->number.negative,
					      !node->number.negative && node->number.bits >> 63 };
	case FILTER_FIELD:
		return (struct filter_range){ field->is_signed,
					      !field->is_signed && field->size == 8 };
	default: /* FILTER_MASK: unsigned, with the topmost bit if both can have it */
		left = record_filter_range(node->left);
		right = record_filter_range(node->right);
		return (struct filter_range){ false, (left.negative || left.big) &&
							     (right.negative || right.big) };
	}
}

static void set(struct filter_node *node, bool truth)
{
	node->op = truth ? FILTER_TRUE : FILTER_FALSE;
}

static bool holds(enum filter_op op, int order)
{
	switch (op) {
	case FILTER_LT:
		return order < 0;
	case FILTER_LE:
		return order <= 0;
	case FILTER_GT:
		return order > 0;
	case FILTER_GE:
		return order >= 0;
	case FILTER_EQ:
		return !order;
	default:
		return order;
	}
}

static void fold_comparison(struct filter_node *node)
{
	const struct filter_node *left = node->left, *right = node->right;
	const struct filter_range l = record_filter_range(left), r = record_filter_range(right);

	if (left->op == FILTER_NUMBER && right->op == FILTER_NUMBER)
		set(node, holds(node->op, record_filter_compare(left->number, right->number)));
	/* A number that no value of the other side's type is. */
	else if (right->op == FILTER_NUMBER && ((r.negative && !l.negative) || (r.big && !l.big)))
		set(node, holds(node->op, r.negative ? 1 : -1));
	else if (left->op == FILTER_NUMBER && ((l.negative && !r.negative) || (l.big && !r.big)))
		set(node, holds(node->op, l.negative ? -1 : 1));
}

/* The node, or the side that it comes to. */
static struct filter_node *fold_both(struct filter_node *node)
{
	/* The one that decides whatever the other side is, and the one that leaves it to it. */
	const enum filter_op decides = node->op == FILTER_AND ? FILTER_FALSE : FILTER_TRUE;
	const enum filter_op leaves = node->op == FILTER_AND ? FILTER_TRUE : FILTER_FALSE;

	if (node->left->op == decides || node->right->op == decides)
		node->op = decides;
	else if (node->left->op == leaves)
		return node->right;
	else if (node->right->op == leaves)
		return node->left;
	return node;
}

/* What is longer than the field is not in it; "*" is every string. */
static void fold_string(struct filter_node *node)
{
	const struct record_filter_field *field = node->field;
	const bool chars = field->kind == RECORD_FILTER_CHARS && field->size < FILTER_STRING_MAX;
	const size_t room = field->kind == RECORD_FILTER_COMM ? 15
			    : chars			      ? field->size
							      : FILTER_STRING_MAX;
	const size_t least = node->op == FILTER_SAME ? node->length : node->glob.nsets;

	if (least > room)
		set(node, false);
	else if (node->op == FILTER_LIKE && node->glob.nruns > 1 && !least)
		set(node, true);
}

struct filter_node *record_filter_fold(struct filter_node *node)
{
	switch (node->op) {
	case FILTER_NOT:
		if (node->left->op <= FILTER_TRUE)
			set(node, node->left->op == FILTER_FALSE);
		break;
	case FILTER_AND:
	case FILTER_OR:
		return fold_both(node);
	case FILTER_LT:
	case FILTER_LE:
	case FILTER_GT:
	case FILTER_GE:
	case FILTER_EQ:
	case FILTER_NE:
		fold_comparison(node);
		break;
	case FILTER_MASK:
		if (node->left->op == FILTER_NUMBER && node->right->op == FILTER_NUMBER) {
			node->number = (struct filter_number){ node->left->number.bits &
							       node->right->number.bits };
			node->op = FILTER_NUMBER;
		}
		break;
	case FILTER_SAME:
	case FILTER_LIKE:
		fold_string(node);
		break;
	default:
		break;
	}
	return node;
}
