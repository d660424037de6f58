/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic on a path: numbers, and addresses that move. */
#include <inttypes.h>
#include <string.h>

#include "lint.h"

/* ---- numbers */

static struct reg number_in(struct arc can, bool exact)
{
	return (struct reg){
		.kind = NUMBER, .known = true, .exact = exact && can.lo == can.hi, .can = can
	};
}

/*
 * The verifier ties dst to copies that it had before a constant was added. This path does not know
 * how, so it forgets dst unless there are none.
 */
static struct reg add_numbers(struct state *s, uint8_t op, bool wide, const struct reg *dst,
			      const struct reg *src, bool same)
{
	if (asm_state_is_shared(s, dst->id) && src->exact)
		return asm_number_unknown();
	return number_in(asm_arc_alu(op, false, wide, dst->can, src->can, same),
			 dst->exact && src->exact);
}

static struct reg compute(struct state *s, const struct bpf_insn *insn, const struct reg *dst,
			  const struct reg *src)
{
	uint8_t op = BPF_OP(insn->code);
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	bool same = dst == src || (dst->id && dst->id == src->id);

	/* Also of nothing, XOR and SUB with itself make 0. */
	if (dst == src && (op == BPF_XOR || op == BPF_SUB))
		return number_in((struct arc){ 0, 0 }, false);
	if (dst->kind != NUMBER || src->kind != NUMBER || !dst->known || !src->known)
		return asm_number_unknown();
	if (op == BPF_ADD || op == BPF_SUB)
		return add_numbers(s, op, wide, dst, src, same);
	return number_in(asm_arc_alu(op, insn->off == 1, wide, dst->can, src->can, same),
			 dst->exact && src->exact);
}

/* ---- addresses */

/* The farthest that adding one of these numbers takes an address upwards; MAX_OFFSET stands for
 * all beyond it. */
static int64_t farthest(struct arc can)
{
	const struct arc far = { MAX_OFFSET, INT64_MAX };
	struct arc some;

	if (asm_arc_intersect(can, far, &some))
		return MAX_OFFSET;
	return (int64_t)can.hi;
}

/* Adding a number that may be far below 0 the verifier refuses at once, one far above 0 only when
 * the address is used. */
static void move(struct lint *l, struct state *s, struct reg *pointer, const struct reg *by,
		 unsigned int by_number, bool backwards)
{
	const struct arc far_below = { (uint64_t)INT64_MIN, (uint64_t)-MAX_OFFSET };
	struct arc some;
	int64_t distance;

	if (by->kind != NUMBER || !by->known || !pointer->known) {
		pointer->known = false;
		return;
	}
	if (asm_arc_intersect(by->can, far_below, &some)) {
		if (by->exact)
			asm_lint_finding(l, s->at, RULE_BOUNDS,
					 "%" PRId64 " is too far to move an address",
					 (int64_t)by->can.lo);
		else
			asm_lint_finding(
				l, s->at, RULE_BOUNDS,
				"R%u has no lower limit here: compare it, or AND it with a mask, "
				"before it moves an address",
				by_number);
		pointer->known = false;
		return;
	}
	distance = farthest(by->can);
	pointer->exact = pointer->exact && by->exact;
	pointer->offset += backwards ? -distance : distance;
	if (pointer->offset > MAX_OFFSET)
		pointer->offset = MAX_OFFSET;
	/* Where exactly in the stack is not known: no byte of it can be named. */
	if (!pointer->exact && (backwards || pointer->kind == STACK))
		pointer->known = false;
}

static const char *verb(uint8_t op)
{
	switch (op) {
	case BPF_MUL:
		return "multiplied";
	case BPF_DIV:
	case BPF_MOD:
		return "divided";
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return "shifted";
	}
	return "changed bit by bit";
}

static void move_pointer(struct lint *l, struct state *s, const struct bpf_insn *insn,
			 const struct reg *src)
{
	struct reg *dst = &s->regs[insn->dst_reg];
	uint8_t op = BPF_OP(insn->code);

	if (dst->kind == VALUE_OR_NULL || dst->kind == RECORD_OR_NULL) {
		asm_lint_finding(
			l, s->at, RULE_NULL,
			"R%u may be 0 here, and nothing may be added to it before it is compared "
			"with 0: it is what %s at line %u returned",
			insn->dst_reg, asm_lint_text_at(l, dst->where),
			asm_lint_line_at(l, dst->where));
		*dst = asm_lint_other();
	} else if (op != BPF_ADD && op != BPF_SUB) {
		asm_lint_finding(
			l, s->at, RULE_ADDRESS,
			"R%u holds an address, which cannot be %s: numbers may be added to it and "
			"subtracted from it",
			insn->dst_reg, verb(op));
		*dst = asm_number_unknown();
	} else if (op == BPF_SUB && dst->kind == STACK) {
		asm_lint_finding(
			l, s->at, RULE_ADDRESS,
			"nothing may be subtracted from an address in the stack: add a negative "
			"number");
		dst->known = false;
	} else {
		move(l, s, dst, src, insn->src_reg, op == BPF_SUB);
	}
}

/* ALU64 with an address on one side or both. */
static void step_pointer(struct lint *l, struct state *s, const struct bpf_insn *insn,
			 const struct reg *src)
{
	struct reg *dst = &s->regs[insn->dst_reg], sum;

	if (asm_is_pointer(dst) && asm_is_pointer(src)) {
		*dst = asm_number_unknown();
	} else if (asm_is_pointer(dst)) {
		move_pointer(l, s, insn, src);
	} else if (BPF_OP(insn->code) == BPF_ADD && dst->kind == NUMBER) {
		sum = *src;
		move(l, s, &sum, dst, insn->dst_reg, false);
		*dst = sum;
	} else {
		*dst = asm_lint_other();
	}
}

/* ---- copies */

static void name_it(struct state *s, struct reg *reg)
{
	if (reg->kind == NUMBER && reg->known && !reg->exact && !reg->id)
		reg->id = asm_state_new_id(s);
}

static bool fits_32(const struct reg *reg)
{
	return reg->known && reg->can.lo <= reg->can.hi && reg->can.hi <= UINT32_MAX;
}

static struct reg sign_extended(const struct reg *from, unsigned int bits, bool wide)
{
	uint64_t top = (UINT64_C(1) << (bits - 1)) - 1;
	struct reg to = *from;

	if (from->kind != NUMBER || !from->known)
		return asm_number_unknown();
	if (from->can.lo > from->can.hi || from->can.hi > top)
		to = number_in(asm_arc_sign_extend(from->can, bits, wide), from->exact);
	return to;
}

static void step_mov(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct reg *from = &s->regs[insn->src_reg], *to = &s->regs[insn->dst_reg];

	if (BPF_SRC(insn->code) == BPF_K) {
		*to = asm_number_exact(wide ? (uint64_t)(int64_t)insn->imm : (uint32_t)insn->imm);
		return;
	}
	if (!asm_read_reg(l, s, insn->src_reg)) {
		*to = asm_lint_other();
		return;
	}
	name_it(s, from);
	if (insn->off == 1 || insn->off == -1)
		*to = asm_lint_other();
	else if (insn->off)
		*to = sign_extended(from, (unsigned int)insn->off, wide);
	else if (wide || (from->kind == NUMBER && fits_32(from)))
		*to = *from;
	else if (from->kind == NUMBER && from->known)
		*to = number_in(asm_arc_alu(BPF_MOV, false, false, from->can, from->can, false),
				from->exact);
	else
		*to = asm_number_unknown();
}

static void step_end(struct state *s, const struct bpf_insn *insn)
{
	struct reg *dst = &s->regs[insn->dst_reg];
	unsigned int bytes = (unsigned int)insn->imm / 8;
	uint64_t top = asm_number_any(bytes, false).can.hi, swapped;
	bool swaps =
		BPF_CLASS(insn->code) == BPF_ALU64 ||
		(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) == (BPF_SRC(insn->code) == BPF_TO_BE);
	struct arc cut;

	if (dst->kind != NUMBER || !dst->known) {
		*dst = asm_number_unknown();
		return;
	}
	cut = asm_arc_alu(BPF_AND, false, true, dst->can, (struct arc){ top, top }, false);
	/* All numbers of that width stay all of them; of others take one. */
	if (swaps && cut.hi - cut.lo != top) {
		swapped = __builtin_bswap64(cut.lo) >> (64 - 8 * bytes);
		cut = (struct arc){ swapped, swapped };
	}
	*dst = number_in(cut, dst->exact);
}

/* ---- the steps */

void asm_step_alu(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct reg *dst = &s->regs[insn->dst_reg];
	struct reg imm = asm_number_exact((uint64_t)(int64_t)insn->imm), result;
	const struct reg *src = &imm;
	uint8_t op = BPF_OP(insn->code);

	if (op == BPF_MOV) {
		step_mov(l, s, insn);
		return;
	}
	if (!asm_read_reg(l, s, insn->dst_reg))
		return;
	if (op != BPF_END && op != BPF_NEG && BPF_SRC(insn->code) == BPF_X) {
		if (!asm_read_reg(l, s, insn->src_reg)) {
			*dst = asm_lint_other();
			return;
		}
		src = &s->regs[insn->src_reg];
	}
	if (op == BPF_END) {
		step_end(s, insn);
	} else if (op == BPF_NEG) {
		struct bpf_insn negate = { .code = (uint8_t)(BPF_CLASS(insn->code) | BPF_SUB) };
		struct reg zero = asm_number_exact(0);

		result = compute(s, &negate, &zero, dst);
		*dst = result;
	} else if (BPF_CLASS(insn->code) == BPF_ALU64 &&
		   (asm_is_pointer(dst) || asm_is_pointer(src))) {
		step_pointer(l, s, insn, src);
	} else if (BPF_CLASS(insn->code) == BPF_ALU64 && dst->kind == OTHER &&
		   (op == BPF_ADD || op == BPF_SUB)) {
		*dst = asm_lint_other();
	} else {
		result = compute(s, insn, dst, src);
		*dst = result;
	}
}

/* Of lines that name a map the line knows which; what stands in the instruction may be a file. */
static uint32_t map_number(const struct lint *l, uint32_t at)
{
	const struct asm_insn *line = &l->image->program->lines[l->image->line_of[at]];

	if (line->kind == ASM_LD_MAP || line->kind == ASM_LD_MAP_VALUE)
		for (size_t i = 0; l->bindings && i < l->bindings->nmaps; i++)
			if (!strcmp(l->bindings->maps[i].name, line->sym))
				return (uint32_t)i;
	return NO_MAP;
}

void asm_step_imm64(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct reg *dst = &s->regs[insn->dst_reg];
	uint64_t high = (uint32_t)insn[1].imm;

	switch (insn->src_reg) {
	case 0:
		*dst = asm_number_exact(high << 32 | (uint32_t)insn->imm);
		break;
	case BPF_PSEUDO_MAP_FD:
		*dst = (struct reg){ .kind = MAP, .known = true, .map = map_number(l, s->at) };
		break;
	case BPF_PSEUDO_MAP_VALUE:
		*dst = (struct reg){ .kind = VALUE,
				     .known = true,
				     .exact = true,
				     .map = map_number(l, s->at),
				     .where = s->at,
				     .offset = (int64_t)high };
		break;
	case BPF_PSEUDO_FUNC:
		*dst = (struct reg){ .kind = FUNCTION,
				     .known = true,
				     .offset = (int64_t)s->at + 1 + insn->imm };
		break;
	default:
		*dst = asm_lint_other();
	}
}
