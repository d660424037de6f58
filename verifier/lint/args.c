/* SPDX-License-Identifier: BSD-2-Clause */
/* What the arguments of a helper have to be. */
#include <stdio.h>

#include "lint.h"

static const char *kind_name(const struct reg *reg)
{
	switch ((enum kind)reg->kind) {
	case STACK:
		return "an address in the stack";
	case CONTEXT:
		return "the context";
	case FUNCTION:
		return "the address of a function";
	case MAP:
		return "a map";
	case VALUE:
	case VALUE_OR_NULL:
		return "the address of a map's value";
	case RECORD:
	case RECORD_OR_NULL:
		return "the address of a ring record";
	case RELEASED:
		return "the address of a ring record that was given back";
	case UNWRITTEN:
	case DESTROYED:
	case NOTHING:
	case NUMBER:
	case OTHER:
		break;
	}
	return "a number";
}

static void wrong_argument(struct call *c, unsigned int number, const char *expected)
{
	asm_lint_finding(
		c->l, c->s->at, RULE_ARGUMENT + number, "R%u of %s has to be %s, here it is %s",
		number, asm_lint_text_at(c->l, c->s->at), expected, kind_name(&c->s->regs[number]));
}

/* Bytes that a call reads or writes, at the address in a register: their number, and whether it is
 * known or the largest of several. */
struct extent {
	unsigned int number;
	uint64_t bytes;
	bool exactly, writes;
	const char *what; /* "the key of 'counts'"; NULL: just bytes */
};

static void check_bytes(struct call *c, const struct extent *e)
{
	struct reg *reg = &c->s->regs[e->number];
	const char *what = e->what ? e->what : e->writes ? "a write" : "a read";
	char expected[96];

	if (reg->kind == NUMBER && reg->exact && !reg->can.lo)
		return;
	if (reg->kind == NUMBER || reg->kind == CONTEXT || reg->kind == MAP ||
	    reg->kind == FUNCTION) {
		snprintf(expected, sizeof(expected), "the address of %s",
			 e->what ? e->what : "bytes");
		wrong_argument(c, e->number, expected);
		return;
	}
	if (!asm_check_access(c->l, c->s, reg, e->number, 0, e->bytes, what))
		return;
	if (reg->kind == OTHER || (reg->kind == STACK && !reg->known)) {
		if (e->writes)
			asm_stack_forget(c->s);
	} else if (reg->kind == STACK && e->writes) {
		asm_stack_write(c->s, (int)reg->offset, (unsigned int)e->bytes, e->exactly);
	} else if (reg->kind == STACK && e->exactly) {
		asm_check_written(c->l, c->s, (int)reg->offset, (unsigned int)e->bytes,
				  e->what ? e->what : "what is read");
	}
}

/* Bytes whose number is in the next register. */
static void check_sized(struct call *c, unsigned int number, bool writes, bool or_null)
{
	const struct reg *size = &c->s->regs[number + 1], *reg = &c->s->regs[number];
	const struct arc negative = { UINT64_C(1) << 63, UINT64_MAX };
	struct arc some;

	if (or_null && reg->kind == NUMBER)
		return;
	if (size->kind != NUMBER || !size->known) {
		if (writes && (reg->kind == STACK || reg->kind == OTHER))
			asm_stack_forget(c->s);
		return;
	}
	if (asm_arc_intersect(size->can, negative, &some)) {
		asm_lint_finding(
			c->l, c->s->at, RULE_SIZE,
			"R%u of %s is a number of bytes and may be negative here: compare it, or "
			"AND it with a mask",
			number + 1, asm_lint_text_at(c->l, c->s->at));
		if (writes)
			asm_stack_forget(c->s);
		return;
	}
	check_bytes(c, &(struct extent){
			       .number = number,
			       .bytes = size->can.hi,
			       .exactly = size->can.lo == size->can.hi && size->exact,
			       .writes = writes,
		       });
}

static void check_of_map(struct call *c, unsigned int number, bool key, bool writes)
{
	uint32_t bytes = c->map ? key ? c->map->key_size : c->map->value_size : 0;
	char what[64];

	if (!bytes)
		return;
	snprintf(what, sizeof(what), "the %s of '%s'", key ? "key" : "value", c->map->name);
	check_bytes(c, &(struct extent){
			       .number = number,
			       .bytes = bytes,
			       .exactly = true,
			       .writes = writes,
			       .what = what,
		       });
}

static void check_record_argument(struct call *c)
{
	struct reg *reg = &c->s->regs[BPF_REG_1];

	switch (reg->kind) {
	case RECORD:
	case OTHER:
		return;
	case RECORD_OR_NULL:
		asm_check_access(c->l, c->s, reg, BPF_REG_1, 0, 0, "");
		return;
	case RELEASED:
		asm_lint_finding(c->l, c->s->at, RULE_ARGUMENT + BPF_REG_1,
				 "the ring record in R1 was already given back by %s at line %u",
				 asm_lint_text_at(c->l, reg->where),
				 asm_lint_line_at(c->l, reg->where));
		return;
	}
	wrong_argument(c, BPF_REG_1, "what RING_RESERVE() returned");
}

static void check_const(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];

	if (reg->kind == NUMBER && reg->known && reg->can.lo != reg->can.hi)
		asm_lint_finding(c->l, c->s->at, RULE_ARGUMENT + number,
				 "R%u of %s has to be a constant", number,
				 asm_lint_text_at(c->l, c->s->at));
}

static void check_context_argument(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];

	if (reg->kind != CONTEXT && reg->kind != OTHER)
		wrong_argument(c, number, "the context, which is in R1 when the program starts");
	else if (reg->kind == CONTEXT && reg->known && reg->offset)
		asm_lint_finding(
			c->l, c->s->at, RULE_ARGUMENT + number,
			"R%u of %s has to be the context as it came, here it was moved by %lld "
			"bytes",
			number, asm_lint_text_at(c->l, c->s->at), (long long)reg->offset);
}

static void check_map_argument(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];
	uint32_t type = c->helper->map_type;

	if (reg->kind != MAP && reg->kind != OTHER)
		wrong_argument(c, number, "a map (LD_MAP)");
	else if (type && c->map && c->map->type != type)
		asm_lint_finding(c->l, c->s->at, RULE_ARGUMENT + number,
				 "%s wants a map of %s, which '%s' is not",
				 asm_lint_text_at(c->l, c->s->at), c->helper->map_type_name,
				 c->map->name);
}

void asm_check_argument(struct call *c, unsigned int number, enum arg arg)
{
	const struct reg *reg = &c->s->regs[number];

	switch (arg) {
	case ARG_NONE:
	case ARG_SIZE: /* with the argument before it */
		break;
	case ARG_ANY:
		if (reg->kind == STACK)
			asm_stack_forget(c->s);
		break;
	case ARG_CTX:
		check_context_argument(c, number);
		break;
	case ARG_MAP:
		check_map_argument(c, number);
		break;
	case ARG_KEY:
		check_of_map(c, number, true, false);
		break;
	case ARG_VALUE_0:
		if (reg->kind == NUMBER)
			break;
		/* fall through */
	case ARG_VALUE:
		check_of_map(c, number, false, false);
		break;
	case ARG_PLACE:
		check_of_map(c, number, false, true);
		break;
	case ARG_IN:
		check_sized(c, number, false, false);
		break;
	case ARG_IN_0:
		check_sized(c, number, false, true);
		break;
	case ARG_OUT:
		check_sized(c, number, true, false);
		break;
	case ARG_OUT_8:
		check_bytes(c, &(struct extent){ number, 8, true, true, NULL });
		break;
	case ARG_CONST:
		check_const(c, number);
		break;
	case ARG_RECORD:
		check_record_argument(c);
		break;
	case ARG_FUNC:
		break; /* opened by the call */
	}
}

void asm_lint_find_map_argument(struct call *c)
{
	c->map_number = NO_MAP;
	for (int i = 0; i < 5; i++)
		if (c->helper->args[i] == ARG_MAP && c->s->regs[BPF_REG_1 + i].kind == MAP) {
			c->map_number = c->s->regs[BPF_REG_1 + i].map;
			c->map = asm_lint_map_of(c->l, &c->s->regs[BPF_REG_1 + i]);
		}
}

bool asm_read_arguments(struct call *c)
{
	bool right = true;

	for (unsigned int i = 0; i < 5; i++)
		if (c->helper->args[i] != ARG_NONE)
			right &= asm_read_reg(c->l, c->s, BPF_REG_1 + i);
	return right;
}
