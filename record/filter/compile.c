/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree -> the lines of event_filter. Conditions become jumps: each is compiled to go on to a
 * label if it is true, or if it is false, and to fall through otherwise, so && and || cost nothing
 * but the jumps of their sides.
 *
 *	prev_pid == 3 && cpu != 1	LDX(W, R1, R6, 24)
 *					LSH(R1, 32)
 *					ARSH(R1, 32)
 *					JNE(R1, 3, drop)
 *					CALL(get_smp_processor_id)
 *					MOV_REG(R1, R0)
 *					JEQ(R1, 1, drop)
 *
 * Numbers are of 64 bits in R1 (left) and R2 (right). The frame has one number: the left side while
 * the right side is computed.
 */
#include <errno.h>
#include <stdlib.h>

#include "programs/shared/event_filter.h"
#include "record/filter/emit.h"

/* ---- numbers */

void record_filter_load(struct filter_code *c, uint32_t offset, uint32_t size)
{
	if (offset % size == 0) {
		record_filter_emit_load(c, size, 1, RECORD, (int)offset);
		return;
	}
	/* The context is read by aligned loads alone. From the highest byte down. */
	record_filter_emit_load(c, 1, 1, RECORD, (int)(offset + size - 1));
	for (uint32_t i = size - 1; i-- > 0;) {
		record_filter_emit_alu(c, BPF_LSH, 1, 8);
		record_filter_emit_load(c, 1, 0, RECORD, (int)(offset + i));
		EMIT(c, OR_REG(R1, R0));
	}
}

/* R1 = the field. */
static void load_field(struct filter_code *c, const struct record_filter_field *field)
{
	switch (field->kind) {
	case RECORD_FILTER_PID:
		EMIT(c, MOV_REG(R1, R8));
		EMIT(c, RSH(R1, 32));
		break;
	case RECORD_FILTER_TID:
		EMIT(c, MOV32_REG(R1, R8));
		break;
	case RECORD_FILTER_CPU:
		EMIT(c, CALL(get_smp_processor_id));
		EMIT(c, MOV32_REG(R1, R0));
		break;
	case RECORD_FILTER_UID:
		EMIT(c, CALL(get_current_uid_gid));
		EMIT(c, MOV32_REG(R1, R0));
		break;
	default:
		record_filter_load(c, field->offset, field->size);
		if (!field->is_signed || field->size == 8)
			break;
		record_filter_emit_alu(c, BPF_LSH, 1, 64 - 8 * (int32_t)field->size);
		record_filter_emit_alu(c, BPF_ARSH, 1, 64 - 8 * (int32_t)field->size);
	}
}

static bool fits(uint64_t bits)
{
	return (int64_t)bits == (int32_t)bits;
}

/* R9 = R9 & the number. */
static void mask(struct filter_code *c, const struct filter_node *node)
{
	if (node->op == FILTER_MASK) {
		mask(c, node->left);
		mask(c, node->right);
	} else if (node->op == FILTER_FIELD) {
		load_field(c, node->field);
		EMIT(c, AND_REG(R9, R1));
	} else if (fits(node->number.bits)) {
		record_filter_emit_alu(c, BPF_AND, 9, (int32_t)node->number.bits);
	} else {
		record_filter_emit_constant(c, 1, node->number.bits);
		EMIT(c, AND_REG(R9, R1));
	}
}

/* R1 = the number; R9 is lost if it is a mask. */
static void number(struct filter_code *c, const struct filter_node *node)
{
	if (node->op == FILTER_FIELD) {
		load_field(c, node->field);
	} else if (node->op == FILTER_NUMBER && fits(node->number.bits)) {
		record_filter_emit_alu(c, BPF_MOV, 1, (int32_t)node->number.bits);
	} else if (node->op == FILTER_NUMBER) {
		record_filter_emit_constant(c, 1, node->number.bits);
	} else {
		EMIT(c, MOV(R9, -1));
		mask(c, node);
		EMIT(c, MOV_REG(R1, R9));
	}
}

/* ---- comparisons */

static int jump_of(enum filter_op op, bool is_signed)
{
	switch (op) {
	case FILTER_LT:
		return is_signed ? BPF_JSLT : BPF_JLT;
	case FILTER_LE:
		return is_signed ? BPF_JSLE : BPF_JLE;
	case FILTER_GT:
		return is_signed ? BPF_JSGT : BPF_JGT;
	case FILTER_GE:
		return is_signed ? BPF_JSGE : BPF_JGE;
	case FILTER_EQ:
		return BPF_JEQ;
	default:
		return BPF_JNE;
	}
}

static enum filter_op opposite(enum filter_op op)
{
	switch (op) {
	case FILTER_LT:
		return FILTER_GE;
	case FILTER_LE:
		return FILTER_GT;
	case FILTER_GT:
		return FILTER_LE;
	case FILTER_GE:
		return FILTER_LT;
	case FILTER_EQ:
		return FILTER_NE;
	default:
		return FILTER_EQ;
	}
}

/* Is it so of two numbers of which the left one is the lesser (-1) or the greater (1)? */
static bool so(enum filter_op op, int order)
{
	return op == FILTER_NE || (order < 0 ? op == FILTER_LT || op == FILTER_LE
					     : op == FILTER_GT || op == FILTER_GE);
}

/* R1 or R2, the signed one, is below 0: then the bits do not say which is greater. */
static void decide_sign(struct filter_code *c, enum filter_op op, bool left_is_signed,
			const char *label, const char *over)
{
	record_filter_emit_jump(c, BPF_JSLT, left_is_signed ? 1 : 2, 0,
				so(op, left_is_signed ? -1 : 1) ? label : over);
}

static void compare(struct filter_code *c, const struct filter_node *node, bool when,
		    const char *label)
{
	const struct filter_range l = record_filter_range(node->left),
				  r = record_filter_range(node->right);
	const enum filter_op op = when ? node->op : opposite(node->op);
	const bool mixed = (l.negative && r.big) || (l.big && r.negative);
	const int jump = jump_of(op, !mixed && (l.negative || r.negative));
	const char *over;

	if (node->right->op == FILTER_NUMBER && fits(node->right->number.bits)) {
		number(c, node->left);
		record_filter_emit_jump(c, jump, 1, (int32_t)node->right->number.bits, label);
		return;
	}
	number(c, node->left);
	if (node->right->op == FILTER_NUMBER) {
		record_filter_emit_constant(c, 2, node->right->number.bits);
	} else {
		EMIT(c, STX(DW, R10, -8, R1));
		number(c, node->right);
		EMIT(c, MOV_REG(R2, R1));
		EMIT(c, LDX(DW, R1, R10, -8));
	}
	if (!mixed) {
		record_filter_emit_jump_reg(c, jump, 1, 2, label);
		return;
	}
	over = record_filter_label(c, "over");
	decide_sign(c, op, l.negative, label, over);
	record_filter_emit_jump_reg(c, jump, 1, 2, label);
	if (!so(op, l.negative ? -1 : 1))
		record_filter_emit_label(c, over);
}

/* ---- conditions */

/* Goes on to the label if the condition is `when`. It is no constant: fold.c has seen to that. */
static void condition(struct filter_code *c, const char *expression, const struct filter_node *node,
		      bool when, const char *label)
{
	const char *over;

	switch (node->op) {
	case FILTER_NOT:
		condition(c, expression, node->left, !when, label);
		return;
	case FILTER_AND:
	case FILTER_OR:
		/* The value that one side alone decides. */
		if (when == (node->op == FILTER_OR)) {
			condition(c, expression, node->left, when, label);
			condition(c, expression, node->right, when, label);
			return;
		}
		over = record_filter_label(c, "over");
		condition(c, expression, node->left, !when, over);
		condition(c, expression, node->right, when, label);
		record_filter_emit_label(c, over);
		return;
	default:
		break;
	}
	record_filter_emit_scope(c, expression, node->at, node->end);
	if (node->op == FILTER_SAME || node->op == FILTER_LIKE)
		record_filter_compile_string(c, node, when, label);
	else
		compare(c, node, when, label);
	EMIT(c, END);
}

static void function(struct filter_code *c, const struct record_filter *filter)
{
	const struct filter_node *root = filter->root;

	c->column = 1;
	EMIT(c, FUNC(event_filter));
	if (root->op == FILTER_TRUE || root->op == FILTER_FALSE) {
		record_filter_emit_alu(c, BPF_MOV, 0, root->op == FILTER_TRUE);
		EMIT(c, EXIT());
		return;
	}
	EMIT(c, MOV_REG(R6, R1));
	EMIT(c, MOV_REG(R7, R2));
	EMIT(c, MOV_REG(R8, R3));
	condition(c, filter->text, root, false, "drop");
	c->column = 1;
	EMIT(c, MOV(R0, 1));
	EMIT(c, EXIT());
	EMIT(c, LABEL(drop));
	EMIT(c, MOV(R0, 0));
	EMIT(c, EXIT());
}

int record_filter_compile(struct record_filter *filter, const struct asm_part **out)
{
	struct filter_code *c = filter->code;

	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		function(c, filter);
		if (c->err) {
			record_filter_code_free(c);
			return -ENOMEM;
		}
		c->part = (struct asm_part){ .lines = c->lines,
					     .nlines = c->nlines,
					     .file = "--filter" };
		filter->code = c;
	}
	*out = &c->part;
	return 0;
}

struct asm_insn *record_filter_place(const struct asm_insn *lines, size_t nlines,
				     const struct asm_part *part)
{
	struct asm_insn *out = calloc(nlines ? nlines : 1, sizeof(*out));

	for (size_t i = 0; out && i < nlines; i++) {
		out[i] = lines[i];
		if (out[i].kind == ASM_INCLUDE && out[i].part == &rp_event_filter_part)
			out[i].part = part;
	}
	return out;
}
