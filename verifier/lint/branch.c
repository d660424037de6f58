/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditional jumps: which of the two ways the verifier has to follow, and what is known there.
 * Where neither is certain the path ends.
 */
#include "lint.h"

static void set_copy(struct reg *reg, void *ctx)
{
	uint32_t id = reg->id;

	*reg = *(const struct reg *)ctx;
	reg->id = id;
}

/* The register and all its copies become `to`. */
static void learn(struct state *s, unsigned int number, struct reg to)
{
	uint32_t id = s->regs[number].id;

	if (id)
		asm_state_each_copy(s, id, set_copy, &to);
	else
		s->regs[number] = to;
}

/* ---- an address against 0 */

static bool compares_with_null(const struct bpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);

	return BPF_CLASS(insn->code) == BPF_JMP && BPF_SRC(insn->code) == BPF_K && !insn->imm &&
	       (op == BPF_JEQ || op == BPF_JNE);
}

/* An address that cannot be 0 is not, whatever the jump says. */
static bool follow_null(struct state *way, const struct bpf_insn *insn, bool taken)
{
	struct reg to = way->regs[insn->dst_reg];
	bool or_null = to.kind == VALUE_OR_NULL || to.kind == RECORD_OR_NULL;
	bool null = taken == (BPF_OP(insn->code) == BPF_JEQ);

	if (null && !or_null)
		return false;
	if (null) {
		asm_state_release(way, to.id);
		to = asm_number_exact(0);
	} else if (or_null) {
		to.kind = to.kind == VALUE_OR_NULL ? VALUE : RECORD;
	}
	to.trusted = false;
	learn(way, insn->dst_reg, to);
	return true;
}

/* ---- numbers */

/* known: the verifier knows what is compared with. Where the two are equal it then knows both. */
static bool narrow(struct state *way, const struct bpf_insn *insn, bool taken, uint64_t with,
		   bool known)
{
	struct reg reg = way->regs[insn->dst_reg];
	bool wide = BPF_CLASS(insn->code) == BPF_JMP;

	if (!asm_arc_branch(BPF_OP(insn->code), wide, taken, reg.can, with, &reg.can))
		return false;
	if (wide && known && BPF_OP(insn->code) == (taken ? BPF_JEQ : BPF_JNE))
		reg.exact = true;
	learn(way, insn->dst_reg, reg);
	return true;
}

/* Against a register: one of its numbers will do, and on each way it may be another. */
static bool narrow_both(struct state *way, const struct bpf_insn *insn, bool taken)
{
	struct reg src = way->regs[insn->src_reg];
	const uint64_t tries[] = { src.can.lo, src.can.hi };

	for (int i = 0; i < 2; i++)
		if (narrow(way, insn, taken, tries[i], src.exact)) {
			src.can = (struct arc){ tries[i], tries[i] };
			learn(way, insn->src_reg, src);
			return true;
		}
	return false;
}

static bool same_number(const struct state *s, const struct bpf_insn *insn)
{
	uint32_t id = s->regs[insn->dst_reg].id;

	return insn->dst_reg == insn->src_reg || (id && id == s->regs[insn->src_reg].id);
}

/* ---- the step */

static bool follow(struct state *way, const struct bpf_insn *insn, bool taken)
{
	const struct reg *dst = &way->regs[insn->dst_reg], *src = &way->regs[insn->src_reg];
	bool with_reg = BPF_SRC(insn->code) == BPF_X;

	way->jump = way->at;
	way->taken = taken;
	way->at = taken ? asm_jump_target(insn, way->at) : way->at + 1;
	if (asm_is_pointer(dst))
		return compares_with_null(insn) && follow_null(way, insn, taken);
	if (dst->kind != NUMBER || !dst->known)
		return false;
	if (!with_reg)
		return narrow(way, insn, taken, (uint64_t)(int64_t)insn->imm, true);
	return src->kind == NUMBER && src->known && !same_number(way, insn) &&
	       narrow_both(way, insn, taken);
}

bool asm_step_branch(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	bool may_goto = BPF_CLASS(insn->code) == BPF_JMP && BPF_OP(insn->code) == BPF_JCOND;
	struct state way;

	if (!may_goto && (!asm_read_reg(l, s, insn->dst_reg) ||
			  (BPF_SRC(insn->code) == BPF_X && !asm_read_reg(l, s, insn->src_reg))))
		return false;
	asm_state_copy(&way, s);
	if (may_goto) {
		way.at = asm_jump_target(insn, s->at);
		asm_open_path(l, &way);
		s->at++;
		return true;
	}
	if (follow(&way, insn, true))
		asm_open_path(l, &way);
	return follow(s, insn, false);
}
