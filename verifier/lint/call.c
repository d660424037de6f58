/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and EXIT on a path: what a helper's arguments have to be, and what is left afterwards. */
#include <stdio.h>

#include "lint.h"

/* ---- EXIT */

/* Programs whose hook may return nothing need not set R0. */
static bool may_return_nothing(const struct lint *l, const struct state *s)
{
	uint32_t type = l->image->program->type;

	return s->frame == SUBPROGRAM || type == BPF_PROG_TYPE_LSM ||
	       type == BPF_PROG_TYPE_STRUCT_OPS || type == BPF_PROG_TYPE_EXT;
}

void asm_step_exit(struct lint *l, struct state *s)
{
	uint8_t kind = s->regs[BPF_REG_0].kind;
	char way[WAY_SIZE];

	if ((kind == UNWRITTEN || kind == NOTHING) && !may_return_nothing(l, s))
		asm_lint_finding(
			l, s->at, RULE_RESULT,
			"R0 is not set when the %s ends here%s: it is the result, MOV(R0, 0) "
			"before EXIT()",
			s->frame == MAIN ? "program" : "callback", asm_lint_way_text(l, s, way));
	if (s->frame != MAIN)
		return;
	for (unsigned int i = 0; i < s->nrefs; i++)
		asm_lint_finding(
			l, s->refs[i].where, RULE_REFERENCE,
			"what is reserved here is neither submitted nor discarded on a path that "
			"ends at line %u%s",
			asm_lint_line_at(l, s->at), asm_lint_way_text(l, s, way));
}

/* ---- what a call leaves behind */

static void release(struct reg *reg, void *ctx)
{
	*reg = (struct reg){ .kind = RELEASED, .where = *(const uint32_t *)ctx };
}

static void give_back(struct state *s)
{
	uint32_t id = s->regs[BPF_REG_1].id;

	if (s->regs[BPF_REG_1].kind != RECORD)
		s->nrefs = 0;
	else if (asm_state_release(s, id))
		asm_state_each_copy(s, id, release, &s->at);
}

/*
 * Since Linux 6.14 the verifier knows that an element of an array exists when it knows the index.
 * Does it here? If in doubt, yes.
 */
static bool may_know_index(const struct call *c)
{
	const struct reg *key = &c->s->regs[BPF_REG_2], *index;

	if (!c->map ||
	    (c->map->type != BPF_MAP_TYPE_ARRAY && c->map->type != BPF_MAP_TYPE_PERCPU_ARRAY) ||
	    c->helper != asm_helper_of(BPF_FUNC_map_lookup_elem))
		return false;
	if (key->kind != STACK)
		return key->kind == OTHER;
	if (!key->known || !asm_stack_inside(key->offset, 4))
		return true;
	index = asm_stack_filled(c->s, (int)key->offset, 4);
	if (index && index->kind == NUMBER && index->known)
		return index->can.lo == index->can.hi;
	return !asm_stack_is_random(c->s, (int)key->offset, 4);
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
			     .id = asm_state_new_id(c->s),
			     .where = c->s->at };

	if (!c->map || holds_objects(c->map))
		return asm_lint_other();
	if (may_know_index(c)) {
		value.kind = VALUE;
		value.trusted = true;
	}
	return value;
}

static struct reg reserved(struct call *c)
{
	const struct reg *bytes = &c->s->regs[BPF_REG_2];
	struct reg record = { .kind = RECORD_OR_NULL,
			      .exact = true,
			      .id = asm_state_new_id(c->s),
			      .where = c->s->at };

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
	struct reg number = asm_number_any(8, false);

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
		return asm_lint_other();
	}
	return number;
}

static void finish(struct state *s, struct reg result)
{
	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->regs[r] = (struct reg){ .kind = DESTROYED, .where = s->at };
	s->regs[BPF_REG_0] = result;
}

/* ---- functions of the program */

/* Whatever the called may do with what it gets. */
static void hand_over(struct state *s)
{
	bool stack = false, record = false;

	for (int r = BPF_REG_1; r <= BPF_REG_5; r++) {
		stack |= s->regs[r].kind == STACK || s->regs[r].kind == OTHER;
		record |= s->regs[r].kind == RECORD || s->regs[r].kind == RECORD_OR_NULL;
	}
	if (stack)
		asm_stack_forget(s);
	if (stack || record)
		s->nrefs = 0;
}

static void call_function(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct state entry;

	asm_state_start(&entry, s->at + 1 + (uint32_t)insn->imm, SUBPROGRAM);
	asm_open_function(l, &entry);
	hand_over(s);
	finish(s, asm_lint_other());
}

/* bpf_loop() hands its callback the number of the round, others hand over addresses. */
static void open_callback(struct call *c, const struct reg *function)
{
	bool loops = c->helper == asm_helper_of(BPF_FUNC_loop);
	const struct reg *rounds = &c->s->regs[BPF_REG_1];
	struct state entry;

	if (function->kind != FUNCTION || (loops && (rounds->kind != NUMBER || !rounds->known ||
						     !(rounds->can.lo | rounds->can.hi))))
		return;
	asm_state_start(&entry, (uint32_t)function->offset, CALLBACK);
	if (loops)
		entry.regs[BPF_REG_1] = asm_number_any(4, false);
	asm_open_function(c->l, &entry);
}

/* ---- the step */

void asm_step_call(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct call c = { .l = l, .s = s };
	struct reg result = asm_lint_other();

	if (insn->src_reg == BPF_PSEUDO_CALL) {
		call_function(l, s, insn);
		return;
	}
	if (!insn->src_reg)
		c.helper = asm_helper_of(insn->imm);
	if (!c.helper) {
		hand_over(s);
		finish(s, result);
		return;
	}
	asm_lint_find_map_argument(&c);
	if (asm_read_arguments(&c)) {
		for (unsigned int i = 0; i < 5; i++) {
			if (c.helper->args[i] == ARG_FUNC)
				open_callback(&c, &s->regs[BPF_REG_1 + i]);
			asm_check_argument(&c, BPF_REG_1 + i, c.helper->args[i]);
		}
	} else {
		asm_stack_forget(s);
	}
	result = returned(&c);
	if (c.helper->args[0] == ARG_RECORD)
		give_back(s);
	finish(s, result);
}
