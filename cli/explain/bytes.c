/* SPDX-License-Identifier: BSD-2-Clause */
/* The bit fields of an instruction, named as RFC 9669 and linux/bpf.h name them. */
#include <inttypes.h>

#include "explain.h"

static const char *const classes[8] = { "LD", "LDX", "ST", "STX", "ALU", "JMP", "JMP32", "ALU64" };
static const char *const alu[16] = { "ADD", "SUB", "MUL", "DIV", "OR",	"AND",	"LSH",
				     "RSH", "NEG", "MOD", "XOR", "MOV", "ARSH", "END" };
static const char *const jumps[16] = { "JA",   "JEQ",  "JGT",  "JGE", "JSET", "JNE",  "JSGT",
				       "JSGE", "CALL", "EXIT", "JLT", "JLE",  "JSLT", "JSLE" };
static const char *const sizes[4] = { "W", "H", "B", "DW" };
static const char *const modes[8] = { "IMM", "ABS", "IND", "MEM", "MEMSX", NULL, "ATOMIC" };
static const char *const pseudo[] = {
	NULL,	    "map descriptor", "address in a map's value",	   "BTF variable",
	"function", "map index",      "address in a map's value, by index"
};

static bool is_wide(uint8_t class)
{
	return class == BPF_LD || class == BPF_LDX || class == BPF_ST || class == BPF_STX;
}

static void put_code(FILE *out, uint8_t code)
{
	const uint8_t class = BPF_CLASS(code);
	const char *op = class == BPF_ALU || class == BPF_ALU64 ? alu[BPF_OP(code) >> 4]
								: jumps[BPF_OP(code) >> 4];

	if (is_wide(class)) {
		const char *mode = modes[BPF_MODE(code) >> 5];

		fprintf(out, "%s | %s | %s", classes[class], mode ? mode : "?",
			sizes[BPF_SIZE(code) >> 3]);
	} else {
		fprintf(out, "%s | %s | %c", classes[class], op ? op : "?",
			BPF_SRC(code) == BPF_X ? 'X' : 'K');
	}
}

/* What the source register says of a 64-bit constant or a call. */
static const char *meaning(const struct bpf_insn *insn)
{
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	    insn->src_reg < sizeof(pseudo) / sizeof(pseudo[0]))
		return pseudo[insn->src_reg];
	if (insn->code == (BPF_JMP | BPF_CALL))
		return insn->src_reg == BPF_PSEUDO_CALL		? "function of this program"
		       : insn->src_reg == BPF_PSEUDO_KFUNC_CALL ? "kernel function"
								: "helper";
	return NULL;
}

void explain_bytes(FILE *out, const struct bpf_insn *insn, const char *indent)
{
	const char *means = meaning(insn);

	fprintf(out, "%scode 0x%02x = ", indent, insn->code);
	put_code(out, insn->code);
	fprintf(out, "   dst %u   src %u", insn->dst_reg, insn->src_reg);
	if (means)
		fprintf(out, " (%s)", means);
	fprintf(out, "   off %d   imm %" PRId32, insn->off, insn->imm);
	if (insn->imm < 0 || insn->imm > 9)
		fprintf(out, " (0x%" PRIx32 ")", (uint32_t)insn->imm);
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
		fprintf(out, "   upper half 0x%" PRIx32, (uint32_t)insn[1].imm);
	fputc('\n', out);
}
