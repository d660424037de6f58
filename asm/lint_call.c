/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and EXIT on a path: what a helper's arguments have to be, and what is left afterwards. */
#include <stdio.h>

#include "lint.h"

/* ---- registers that hold nothing */

/* " when the jump at line 12 is taken", on a path that began with one. */
static const char *by_way(const struct lint *l, const struct state *s, char text[64])
{
	text[0] = '\0';
	if (s->jump != NO_SLOT)
		snprintf(text, 64, ", when the jump at line %u is %staken", line_at(l, s->jump),
			 s->taken ? "" : "not ");
	return text;
}

bool read_reg(struct lint *l, struct state *s, unsigned int number)
{
	struct reg *reg = &s->regs[number];
	char way[64];

	switch ((enum kind)reg->kind) {
	case UNWRITTEN:
		finding(l, s->at, RULE_REGISTER + number,
			"R%u is read here, but nothing was written to it before%s", number,
			by_way(l, s, way));
		break;
	case DESTROYED:
		finding(l, s->at, RULE_REGISTER + number,
			"R%u is read here, but the call at line %u (%s) destroyed R1-R5: keep it "
			"in R6-R9",
			number, line_at(l, reg->where), text_at(l, reg->where));
		break;
	case NOTHING:
		finding(l, s->at, RULE_REGISTER + number,
			"R%u is read here, but the call at line %u (%s) returns nothing", number,
			line_at(l, reg->where), text_at(l, reg->where));
		break;
	case NUMBER:
	case RELEASED:
	case STACK:
	case CONTEXT:
	case FUNCTION:
	case MAP:
	case VALUE:
	case VALUE_OR_NULL:
	case RECORD:
	case RECORD_OR_NULL:
	case OTHER:
		return true;
	}
	*reg = other();
	return false;
}

/* ---- EXIT */

/* Programs whose hook may return nothing need not set R0. */
static bool may_return_nothing(const struct lint *l, const struct state *s)
{
	uint32_t type = l->image->program->type;

	return s->frame == SUBPROGRAM || type == BPF_PROG_TYPE_LSM ||
	       type == BPF_PROG_TYPE_STRUCT_OPS || type == BPF_PROG_TYPE_EXT;
}

void step_exit(struct lint *l, struct state *s)
{
	uint8_t kind = s->regs[R0].kind;
	char way[64];

	if ((kind == UNWRITTEN || kind == NOTHING) && !may_return_nothing(l, s))
		finding(l, s->at, RULE_RESULT,
			"R0 is not set when the %s ends here%s: it is the result, MOV(R0, 0) "
			"before EXIT()",
			s->frame == MAIN ? "program" : "callback", by_way(l, s, way));
	if (s->frame != MAIN)
		return;
	for (unsigned int i = 0; i < s->nrefs; i++)
		finding(l, s->refs[i].where, RULE_REFERENCE,
			"what is reserved here is neither submitted nor discarded on a path that "
			"ends at line %u%s",
			line_at(l, s->at), by_way(l, s, way));
}

/* ---- arguments */

struct call {
	struct lint *l;
	struct state *s;
	const struct helper *helper;
	const struct asm_map *map; /* among the arguments, or NULL */
	uint32_t map_number;
};

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
	finding(c->l, c->s->at, RULE_ARGUMENT + number, "R%u of %s has to be %s, here it is %s",
		number, text_at(c->l, c->s->at), expected, kind_name(&c->s->regs[number]));
}

/* A call that reads or writes `bytes` bytes (exactly, or up to) at the address in a register. */
static void check_bytes(struct call *c, unsigned int number, uint64_t bytes, bool exactly,
			bool writes, const char *what)
{
	struct reg *reg = &c->s->regs[number];

	if (reg->kind == NUMBER && reg->exact && !reg->can.lo)
		return;
	if (reg->kind == NUMBER || reg->kind == CONTEXT || reg->kind == MAP ||
	    reg->kind == FUNCTION) {
		wrong_argument(c, number, "the address of bytes");
		return;
	}
	if (!check_access(c->l, c->s, reg, number, 0, bytes, what))
		return;
	if (reg->kind == OTHER || (reg->kind == STACK && !reg->known)) {
		if (writes)
			stack_forget(c->s);
	} else if (reg->kind == STACK && writes) {
		stack_write(c->s, (int)reg->offset, (unsigned int)bytes, exactly);
	} else if (reg->kind == STACK && exactly) {
		check_written(c->l, c->s, (int)reg->offset, (unsigned int)bytes, RULE_STACK, what);
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
		if (writes && reg->kind == STACK)
			stack_forget(c->s);
		return;
	}
	if (arc_intersect(size->can, negative, &some)) {
		finding(c->l, c->s->at, RULE_SIZE,
			"R%u of %s is a number of bytes and may be negative here: compare it, or "
			"AND it with a mask",
			number + 1, text_at(c->l, c->s->at));
		if (writes)
			stack_forget(c->s);
		return;
	}
	check_bytes(c, number, size->can.hi, size->can.lo == size->can.hi && size->exact, writes,
		    writes ? "a write" : "a read");
}

static void check_of_map(struct call *c, unsigned int number, bool key, bool writes)
{
	uint32_t bytes = c->map ? key ? c->map->key_size : c->map->value_size : 0;
	char what[64];

	if (!bytes)
		return;
	snprintf(what, sizeof(what), "the %s of '%s'", key ? "key" : "value", c->map->name);
	check_bytes(c, number, bytes, true, writes, what);
}

static void check_record_argument(struct call *c)
{
	struct reg *reg = &c->s->regs[R1];

	switch (reg->kind) {
	case RECORD:
	case OTHER:
		return;
	case RECORD_OR_NULL:
		check_access(c->l, c->s, reg, R1, 0, 0, "");
		return;
	case RELEASED:
		finding(c->l, c->s->at, RULE_ARGUMENT + R1,
			"the ring record in R1 was already given back by %s at line %u",
			text_at(c->l, reg->where), line_at(c->l, reg->where));
		return;
	}
	wrong_argument(c, R1, "what RING_RESERVE() returned");
}

static void check_const(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];

	if (reg->kind == NUMBER && reg->known && reg->can.lo != reg->can.hi)
		finding(c->l, c->s->at, RULE_ARGUMENT + number, "R%u of %s has to be a constant",
			number, text_at(c->l, c->s->at));
}

static void check_context_argument(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];

	if (reg->kind != CONTEXT && reg->kind != OTHER)
		wrong_argument(c, number, "the context, which is in R1 when the program starts");
	else if (reg->kind == CONTEXT && reg->known && reg->offset)
		finding(c->l, c->s->at, RULE_ARGUMENT + number,
			"R%u of %s has to be the context as it came, here it was moved by %lld "
			"bytes",
			number, text_at(c->l, c->s->at), (long long)reg->offset);
}

static void check_map_argument(struct call *c, unsigned int number)
{
	const struct reg *reg = &c->s->regs[number];
	uint32_t type = c->helper->map_type;

	if (reg->kind != MAP && reg->kind != OTHER)
		wrong_argument(c, number, "a map (LD_MAP)");
	else if (type && c->map && c->map->type != type)
		finding(c->l, c->s->at, RULE_ARGUMENT + number,
			"%s wants a map of type %u, '%s' is of type %u (enum bpf_map_type)",
			text_at(c->l, c->s->at), type, c->map->name, c->map->type);
}

static void check_argument(struct call *c, unsigned int number, enum arg arg)
{
	const struct reg *reg = &c->s->regs[number];

	switch (arg) {
	case ARG_NONE:
	case ARG_SIZE: /* with the argument before it */
		break;
	case ARG_ANY:
		if (reg->kind == STACK)
			stack_forget(c->s);
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
		check_bytes(c, number, 8, true, true, "a write");
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

static void find_map_argument(struct call *c)
{
	c->map_number = NO_MAP;
	for (int i = 0; i < 5; i++)
		if (c->helper->args[i] == ARG_MAP && c->s->regs[R1 + i].kind == MAP) {
			c->map_number = c->s->regs[R1 + i].map;
			c->map = map_of(c->l, &c->s->regs[R1 + i]);
		}
}

/* False if a register that the call reads holds nothing. */
static bool read_arguments(struct call *c)
{
	bool right = true;

	for (unsigned int i = 0; i < 5; i++)
		if (c->helper->args[i] != ARG_NONE)
			right &= read_reg(c->l, c->s, R1 + i);
	return right;
}

/* ---- what a call leaves behind */

static void release(struct reg *reg, void *ctx)
{
	*reg = (struct reg){ .kind = RELEASED, .where = *(const uint32_t *)ctx };
}

static void give_back(struct state *s)
{
	uint32_t id = s->regs[R1].id;

	if (s->regs[R1].kind != RECORD)
		s->nrefs = 0;
	else if (state_release(s, id))
		state_each_copy(s, id, release, &s->at);
}

/*
 * Since Linux 6.14 the verifier knows that an element of an array exists when it knows the index.
 * Does it here? If in doubt, yes.
 */
static bool may_know_index(const struct call *c)
{
	const struct reg *key = &c->s->regs[R2], *index;

	if (!c->map ||
	    (c->map->type != BPF_MAP_TYPE_ARRAY && c->map->type != BPF_MAP_TYPE_PERCPU_ARRAY) ||
	    c->helper != helper_of(BPF_FUNC_map_lookup_elem))
		return false;
	if (key->kind != STACK)
		return key->kind == OTHER;
	if (!key->known || !stack_inside(key->offset, 4))
		return true;
	index = stack_filled(c->s, (int)key->offset, 4);
	if (index && index->kind == NUMBER && index->known)
		return index->can.lo == index->can.hi;
	return !stack_is_random(c->s, (int)key->offset, 4);
}

/* Values of these are no bytes. */
static bool holds_objects(const struct asm_map *map)
{
	switch (map->type) {
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
	case BPF_MAP_TYPE_SOCKMAP:
	case BPF_MAP_TYPE_SOCKHASH:
	case BPF_MAP_TYPE_XSKMAP:
		return true;
	}
	return false;
}

static struct reg looked_up(struct call *c)
{
	struct reg value = { .kind = VALUE_OR_NULL,
			     .known = true,
			     .exact = true,
			     .map = c->map_number,
			     .id = state_new_id(c->s),
			     .where = c->s->at };

	if (!c->map || holds_objects(c->map))
		return other();
	if (may_know_index(c)) {
		value.kind = VALUE;
		value.trusted = true;
	}
	return value;
}

static struct reg reserved(struct call *c)
{
	const struct reg *bytes = &c->s->regs[R2];
	struct reg record = {
		.kind = RECORD_OR_NULL, .exact = true, .id = state_new_id(c->s), .where = c->s->at
	};

	if (bytes->kind == NUMBER && bytes->exact && bytes->can.lo <= UINT32_MAX) {
		record.known = true;
		record.size = (uint32_t)bytes->can.lo;
	}
	if (record.known && c->s->nrefs < MAX_REFS)
		c->s->refs[c->s->nrefs++] = (struct ref){ record.id, c->s->at };
	return record;
}

static struct reg returned(struct call *c)
{
	struct reg number = number_any(8, false);

	switch ((enum ret)c->helper->ret) {
	case RET_NUMBER:
		break;
	case RET_LENGTH: /* a negative errno or 0 at least */
		number.can = (struct arc){ (uint64_t)-4095, 0 };
		break;
	case RET_SMALL:
		number.can = (struct arc){ 0, 0 };
		break;
	case RET_NOTHING:
		return (struct reg){ .kind = NOTHING, .where = c->s->at };
	case RET_VALUE:
		return looked_up(c);
	case RET_RECORD:
		return reserved(c);
	case RET_UNKNOWN:
	case RET_OTHER:
		return other();
	}
	return number;
}

static void finish(struct state *s, struct reg result)
{
	for (int r = R1; r <= R5; r++)
		s->regs[r] = (struct reg){ .kind = DESTROYED, .where = s->at };
	s->regs[R0] = result;
}

/* ---- functions of the program */

/* Whatever the called may do with what it gets. */
static void hand_over(struct state *s)
{
	bool stack = false, record = false;

	for (int r = R1; r <= R5; r++) {
		stack |= s->regs[r].kind == STACK || s->regs[r].kind == OTHER;
		record |= s->regs[r].kind == RECORD || s->regs[r].kind == RECORD_OR_NULL;
	}
	if (stack)
		stack_forget(s);
	if (stack || record)
		s->nrefs = 0;
}

static void call_function(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct state entry;

	state_start(&entry, s->at + 1 + (uint32_t)insn->imm, SUBPROGRAM);
	open_function(l, &entry);
	hand_over(s);
	finish(s, other());
}

/* bpf_loop() hands its callback the number of the round, others hand over addresses. */
static void open_callback(struct call *c, const struct reg *function)
{
	bool loops = c->helper == helper_of(BPF_FUNC_loop);
	const struct reg *rounds = &c->s->regs[R1];
	struct state entry;

	if (function->kind != FUNCTION || (loops && (rounds->kind != NUMBER || !rounds->known ||
						     !(rounds->can.lo | rounds->can.hi))))
		return;
	state_start(&entry, (uint32_t)function->offset, CALLBACK);
	if (loops)
		entry.regs[R1] = number_any(4, false);
	open_function(c->l, &entry);
}

/* ---- the step */

void step_call(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct call c = { .l = l, .s = s };
	struct reg result = other();

	if (insn->src_reg == BPF_PSEUDO_CALL) {
		call_function(l, s, insn);
		return;
	}
	if (!insn->src_reg)
		c.helper = helper_of(insn->imm);
	if (!c.helper) {
		hand_over(s);
		finish(s, result);
		return;
	}
	find_map_argument(&c);
	if (read_arguments(&c)) {
		for (unsigned int i = 0; i < 5; i++) {
			if (c.helper->args[i] == ARG_FUNC)
				open_callback(&c, &s->regs[R1 + i]);
			check_argument(&c, R1 + i, c.helper->args[i]);
		}
	} else {
		stack_forget(s);
	}
	result = returned(&c);
	if (c.helper->args[0] == ARG_RECORD)
		give_back(s);
	finish(s, result);
}
