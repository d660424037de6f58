/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads, stores and atomic operations on a path. */
#include <inttypes.h>
#include <linux/bpf.h>

#include "lint.h"

unsigned int asm_access_bytes(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	}
	return 8;
}

/* So that the same mistake is not reported at every use. */
static void repair(struct state *s, unsigned int number)
{
	switch (s->regs[number].kind) {
	case NUMBER:
	case RELEASED:
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
		s->regs[number] = asm_lint_other();
	}
}

/* Base register of an access. False if there is no use in going on with the instruction. */
static bool check_base(struct lint *l, struct state *s, unsigned int number, int offset,
		       unsigned int bytes, const char *what)
{
	const struct reg *base = &s->regs[number];

	if (!asm_read_reg(l, s, number))
		return false;
	if (base->kind == CONTEXT)
		return asm_check_context(l, s, base, base->offset + offset, bytes,
					 BPF_CLASS(l->insns[s->at].code) != BPF_LDX);
	if (!asm_check_access(l, s, base, number, offset, bytes, what)) {
		repair(s, number);
		return false;
	}
	return base->kind != STACK || !base->known ||
	       asm_check_aligned(l, s, base->offset + offset, bytes);
}

/* ---- what a load gives */

/* A packet's addresses are 4 bytes in its context; elsewhere less than 8 bytes are a number. */
static struct reg load_other(const struct lint *l, unsigned int bytes, bool is_signed)
{
	if (bytes < 8 &&
	    (asm_has_plain_context(l) || l->image->program->type == BPF_PROG_TYPE_TRACING))
		return asm_number_any(bytes, is_signed);
	return asm_lint_other();
}

static struct reg load_stack(struct lint *l, struct state *s, const struct reg *base, int offset,
			     unsigned int bytes, bool is_signed)
{
	const struct reg *filled;

	if (!base->known)
		return asm_number_unknown();
	offset += (int)base->offset;
	asm_check_written(l, s, offset, bytes, "what is read");
	filled = asm_stack_filled(s, offset, bytes);
	if (filled && !is_signed)
		return *filled;
	if (asm_stack_is_random(s, offset, bytes))
		return asm_number_any(bytes, is_signed);
	return bytes == 8 ? asm_lint_other() : asm_number_unknown();
}

static struct reg load_value(const struct lint *l, const struct reg *base, unsigned int bytes,
			     bool is_signed)
{
	const struct asm_map *map = asm_lint_map_of(l, base);

	/* What a program may not write the verifier may read and know. */
	if (!map || map->flags & BPF_F_RDONLY_PROG)
		return bytes < 8 ? asm_number_unknown() : asm_lint_other();
	return asm_number_any(bytes, is_signed);
}

static struct reg loaded(struct lint *l, struct state *s, unsigned int from, int offset,
			 unsigned int bytes, bool is_signed)
{
	const struct reg *base = &s->regs[from];

	switch ((enum kind)base->kind) {
	case STACK:
		return load_stack(l, s, base, offset, bytes, is_signed);
	case VALUE:
		return load_value(l, base, bytes, is_signed);
	case RECORD:
		return asm_number_any(bytes, is_signed);
	case CONTEXT:
		return asm_has_plain_context(l) ? asm_number_any(bytes, is_signed)
						: asm_lint_other();
	case UNWRITTEN:
	case DESTROYED:
	case NOTHING:
	case NUMBER:
	case RELEASED:
	case FUNCTION:
	case MAP:
	case VALUE_OR_NULL:
	case RECORD_OR_NULL:
	case OTHER:
		break;
	}
	return load_other(l, bytes, is_signed);
}

/* ---- the steps */

void asm_step_load(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	unsigned int bytes = asm_access_bytes(insn);
	bool is_signed = BPF_MODE(insn->code) == BPF_MEMSX;

	if (check_base(l, s, insn->src_reg, insn->off, bytes, "a load"))
		s->regs[insn->dst_reg] = loaded(l, s, insn->src_reg, insn->off, bytes, is_signed);
	else
		s->regs[insn->dst_reg] = asm_lint_other();
}

/* Of 4 bytes only numbers are remembered, cut to size. */
static void store_stack(struct state *s, int offset, unsigned int bytes, const struct reg *value)
{
	struct reg kept = *value;

	if (bytes < 8 && kept.kind == NUMBER && kept.known &&
	    (kept.can.lo > kept.can.hi || kept.can.hi > UINT32_MAX)) {
		kept.can = asm_arc_alu(BPF_MOV, false, false, kept.can, kept.can, false);
		kept.id = 0;
	}
	if (bytes == 8 || (bytes == 4 && kept.kind == NUMBER && kept.known))
		asm_stack_spill(s, offset, bytes, &kept);
	else
		asm_stack_write(s, offset, bytes, false);
}

/* What is stored has an id, so that it and its copies stay the same thing. */
static void name_number(struct state *s, unsigned int number)
{
	struct reg *reg = &s->regs[number];

	if (reg->kind == NUMBER && reg->known && !reg->id)
		reg->id = asm_state_new_id(s);
}

static void store(struct lint *l, struct state *s, const struct bpf_insn *insn,
		  const struct reg *value)
{
	const struct reg *base = &s->regs[insn->dst_reg];
	unsigned int bytes = asm_access_bytes(insn);

	if (base->kind == OTHER || (base->kind == STACK && !base->known)) {
		asm_stack_forget(s);
	} else if (base->kind == STACK) {
		if (bytes < 8 && asm_is_pointer(value))
			asm_lint_finding(
				l, s->at, RULE_ADDRESS,
				"invalid size of register spill: R%u holds an address, of which %u "
				"bytes would be kept: STX(DW, ...)",
				insn->src_reg, bytes);
		store_stack(s, (int)base->offset + insn->off, bytes, value);
	}
}

static void step_atomic(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	const struct reg *base = &s->regs[insn->dst_reg];
	unsigned int bytes = asm_access_bytes(insn);
	struct reg old = asm_number_unknown();

	if (base->kind == CONTEXT) {
		asm_lint_finding(l, s->at, RULE_ADDRESS,
				 "R%u is the context: no atomic operations there", insn->dst_reg);
		return;
	}
	if (base->kind == STACK && base->known) {
		asm_check_written(l, s, (int)base->offset + insn->off, bytes, "what is changed");
		asm_stack_write(s, (int)base->offset + insn->off, bytes, false);
	} else if (base->kind == VALUE) {
		old = load_value(l, base, bytes, false);
	} else if (base->kind == STACK || base->kind == OTHER) {
		asm_stack_forget(s);
	}
	if (insn->imm == BPF_CMPXCHG)
		s->regs[BPF_REG_0] = old;
	else if (insn->imm & BPF_FETCH)
		s->regs[insn->src_reg] = old;
}

static void step_stx(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	bool atomic = BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm != BPF_STORE_REL;

	if (!asm_read_reg(l, s, insn->src_reg))
		return;
	if (atomic && insn->imm == BPF_CMPXCHG && !asm_read_reg(l, s, BPF_REG_0))
		return;
	if (!check_base(l, s, insn->dst_reg, insn->off, asm_access_bytes(insn),
			atomic ? "an atomic operation" : "a store"))
		return;
	if (atomic) {
		step_atomic(l, s, insn);
		return;
	}
	name_number(s, insn->src_reg);
	store(l, s, insn, &s->regs[insn->src_reg]);
}

void asm_step_store(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	struct reg value;

	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC &&
	    insn->imm == BPF_LOAD_ACQ) {
		asm_step_load(l, s, insn);
	} else if (BPF_CLASS(insn->code) == BPF_STX) {
		step_stx(l, s, insn);
	} else if (check_base(l, s, insn->dst_reg, insn->off, asm_access_bytes(insn), "a store")) {
		value = asm_number_exact((uint64_t)(int64_t)insn->imm);
		store(l, s, insn, &value);
	}
}

/* Classic BPF's loads from a packet: R6 is the context, and they end like calls. */
void asm_step_packet(struct lint *l, struct state *s, const struct bpf_insn *insn)
{
	if (!asm_read_reg(l, s, BPF_REG_6) ||
	    (BPF_MODE(insn->code) == BPF_IND && !asm_read_reg(l, s, insn->src_reg)))
		return;
	s->regs[BPF_REG_0] = asm_number_unknown();
	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		s->regs[r] = (struct reg){ .kind = DESTROYED, .where = s->at };
}
