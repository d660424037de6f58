/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each instruction by itself: does it exist, and are the fields that it does not use 0? The macros
 * of the DSL make no others, but INSN() takes any. What is wrong is said in the verifier's words.
 */
#include <string.h>

#include "lint.h"

bool asm_is_imm64(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static const char *check_endian(const struct bpf_insn *insn)
{
	if (insn->src_reg || insn->off || (insn->imm != 16 && insn->imm != 32 && insn->imm != 64) ||
	    (BPF_CLASS(insn->code) == BPF_ALU64 && BPF_SRC(insn->code) != BPF_TO_LE))
		return "BPF_END uses reserved fields";
	return NULL;
}

static const char *check_mov(const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_SRC(insn->code) == BPF_K)
		return insn->src_reg || insn->off ? "BPF_MOV uses reserved fields" : NULL;
	if (wide && (insn->off == 1 || insn->off == -1))
		return NULL; /* casts of address spaces and of per-CPU pointers */
	if (insn->imm ||
	    (insn->off && insn->off != 8 && insn->off != 16 && !(wide && insn->off == 32)))
		return "BPF_MOV uses reserved fields";
	return NULL;
}

static const char *check_alu(const struct bpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);
	bool from_reg = BPF_SRC(insn->code) == BPF_X;
	bool divides = op == BPF_DIV || op == BPF_MOD;
	int width = BPF_CLASS(insn->code) == BPF_ALU64 ? 64 : 32;

	if (op == BPF_END)
		return check_endian(insn);
	if (op == BPF_MOV)
		return check_mov(insn);
	if (op == BPF_NEG)
		return from_reg || insn->src_reg || insn->off || insn->imm
			       ? "BPF_NEG uses reserved fields"
			       : NULL;
	if ((from_reg ? insn->imm : insn->src_reg) || insn->off < 0 || insn->off > divides)
		return "BPF_ALU uses reserved fields";
	if (from_reg)
		return NULL;
	if (divides && !insn->imm)
		return "div by zero";
	if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) &&
	    (insn->imm < 0 || insn->imm >= width))
		return "invalid shift: by as many bits as there are, or more";
	return NULL;
}

static const char *check_atomic(const struct bpf_insn *insn)
{
	bool narrow = BPF_SIZE(insn->code) != BPF_W && BPF_SIZE(insn->code) != BPF_DW;

	switch (insn->imm) {
	case BPF_LOAD_ACQ:
	case BPF_STORE_REL:
		return NULL;
	case BPF_ADD | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
		if (insn->src_reg == BPF_REG_10)
			return "R10 is the frame pointer: it is read only";
		break;
	case BPF_ADD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_CMPXCHG:
		break;
	default:
		return "there is no such atomic operation";
	}
	return narrow ? "invalid atomic operand size: atomic operations are W or DW wide" : NULL;
}

static const char *check_memory(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return insn->imm ? "BPF_LDX uses reserved fields" : NULL;
	case BPF_ST:
		return insn->src_reg ? "BPF_ST uses reserved fields" : NULL;
	}
	if (BPF_MODE(insn->code) == BPF_ATOMIC)
		return check_atomic(insn);
	return insn->imm ? "BPF_STX uses reserved fields" : NULL;
}

static const char *check_jump(const struct bpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);
	bool from_reg = BPF_SRC(insn->code) == BPF_X;

	if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	    (insn->imm <= 0 || !asm_helper_name((uint32_t)insn->imm)))
		return "there is no helper of this number";
	if (insn->code == (BPF_JMP | BPF_CALL))
		return insn->dst_reg || insn->src_reg > BPF_PSEUDO_KFUNC_CALL ||
				       (insn->off && insn->src_reg != BPF_PSEUDO_KFUNC_CALL)
			       ? "BPF_CALL uses reserved fields"
			       : NULL;
	if (insn->code == (BPF_JMP | BPF_EXIT))
		return insn->dst_reg || insn->src_reg || insn->off || insn->imm
			       ? "BPF_EXIT uses reserved fields"
			       : NULL;
	if (op == BPF_JA) {
		bool far = BPF_CLASS(insn->code) == BPF_JMP32;

		return insn->dst_reg || insn->src_reg || (far ? insn->off : insn->imm)
			       ? "BPF_JA uses reserved fields"
			       : NULL;
	}
	if (op == BPF_JCOND)
		return insn->dst_reg || insn->src_reg || insn->imm ? "invalid may_goto" : NULL;
	return (from_reg ? insn->imm : insn->src_reg) ? "BPF_JMP uses reserved fields" : NULL;
}

static const char *check_ld(const struct bpf_insn *insn, const struct bpf_insn *next)
{
	if (!asm_is_imm64(insn))
		return insn->dst_reg || insn->off ||
				       (BPF_MODE(insn->code) == BPF_ABS && insn->src_reg)
			       ? "BPF_LD_[ABS|IND] uses reserved fields"
			       : NULL;
	if (!next || next->code || next->dst_reg || next->src_reg || next->off)
		return "invalid bpf_ld_imm64 insn";
	return insn->off || insn->src_reg > 6 /* BPF_PSEUDO_MAP_IDX_VALUE */
		       ? "unrecognized bpf_ld_imm64 insn"
		       : NULL;
}

/* Does it write dst? Stores, jumps and the casts of R10 itself do not. */
static bool writes_dst(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_LDX:
		return true;
	case BPF_LD:
		return asm_is_imm64(insn);
	case BPF_STX:
		return BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm == BPF_LOAD_ACQ;
	}
	return false;
}

static const char *check_fields(const struct bpf_insn *insn, const struct bpf_insn *next)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(insn);
	case BPF_LD:
		return check_ld(insn, next);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return check_memory(insn);
	}
	return check_jump(insn);
}

static bool check_insn(struct lint *l, uint32_t at, const bool exists[256])
{
	const struct bpf_insn *insn = &l->insns[at];
	const struct bpf_insn *next = at + 1 < l->n ? insn + 1 : NULL;
	const char *wrong;

	if (!exists[insn->code]) {
		asm_lint_finding(l, at, RULE_ENCODING,
				 "unknown opcode %02x: there is no such instruction", insn->code);
		return false;
	}
	wrong = check_fields(insn, next);
	if (!wrong && (insn->dst_reg > BPF_REG_10 || insn->src_reg > BPF_REG_10))
		wrong = "there is no register above R10";
	if (!wrong && insn->dst_reg == BPF_REG_10 && writes_dst(insn))
		wrong = "R10 is the frame pointer: it is read only. Copy it, and change the copy";
	if (wrong)
		asm_lint_finding(l, at, RULE_ENCODING, "%s%s", wrong,
				 strstr(wrong, "reserved fields")
					 ? ": one that it does not use is not 0"
					 : "");
	return !wrong;
}

/* The disassembler knows which opcodes there are. */
static void list_opcodes(bool exists[256])
{
	char text[ASM_DISASM_SIZE];

	for (int code = 0; code < 256; code++) {
		const struct bpf_insn pair[2] = { { .code = (uint8_t)code } };

		asm_disasm(NULL, pair, 2, 0, text, sizeof(text));
		exists[code] = *text == '(';
	}
}

/* False if something is wrong, so that no one needs to walk on it. */
bool asm_lint_encoding(struct lint *l)
{
	bool exists[256], right = true;

	list_opcodes(exists);
	for (uint32_t at = 0; at < l->n; at++) {
		right &= check_insn(l, at, exists);
		if (asm_is_imm64(&l->insns[at]) && at + 1 < l->n && !l->insns[at + 1].code)
			l->slots[++at] |= SLOT_SECOND;
	}
	return right;
}
