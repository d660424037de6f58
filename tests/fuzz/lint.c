/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any 64 bits are an instruction to the lint: it ends, stays in its memory, and names lines that
 * there are. The first byte says what kind of program it is and whether the instructions are taken
 * as they come or put in order first, so that more of them get as far as being followed.
 */
#include <rawprof/asm.h>
#include <rawprof/verifier.h>

#include "fuzz.h"

#define MAX_INSNS 4096

static const struct asm_map maps[] = {
	{ .name = "hash",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 8,
	  .value_size = 16,
	  .max_entries = 8 },
	{ .name = "array",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 24,
	  .max_entries = 1 },
	{ .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = 4096 },
	{ .name = "huge",
	  .type = BPF_MAP_TYPE_PERCPU_ARRAY,
	  .key_size = UINT32_MAX,
	  .value_size = UINT32_MAX,
	  .max_entries = 1 },
};

/* Fields that are out of range, or not used, are made harmless. */
static void put_in_order(struct bpf_insn *insn, size_t at, size_t n)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	insn->dst_reg %= class == BPF_ST || class == BPF_STX ? 11 : 10;
	insn->src_reg %= 11;
	if (class == BPF_JMP || class == BPF_JMP32) {
		insn->off = (int16_t)(n - at > 1 ? (uint16_t)insn->off % (n - at - 1) : 0);
		if (insn->code == (BPF_JMP | BPF_CALL)) {
			*insn = (struct bpf_insn){ .code = insn->code,
						   .imm = 1 + (int32_t)(((uint32_t)insn->imm - 1) %
									211) };
		} else if (insn->code == (BPF_JMP | BPF_EXIT)) {
			*insn = (struct bpf_insn){ .code = insn->code };
		} else if (BPF_SRC(insn->code) == BPF_X) {
			insn->imm = 0;
		} else {
			insn->src_reg = 0;
		}
	} else if (class == BPF_ALU || class == BPF_ALU64) {
		insn->off = 0;
		if (BPF_SRC(insn->code) == BPF_X)
			insn->imm = 0;
		else
			insn->src_reg = 0;
		if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
			insn->imm &= 31;
		if (op == BPF_END)
			insn->imm = 16 << (insn->imm & 1);
	} else if (class == BPF_ST) {
		insn->src_reg = 0;
	} else if (BPF_MODE(insn->code) == BPF_MEM) {
		insn->imm = 0;
	}
}

static struct asm_insn line_for(struct bpf_insn insn, uint32_t number)
{
	struct asm_insn line = { .kind = ASM_INSN, .insn = insn, .text = "fuzz", .line = number };

	if (insn.code != (BPF_LD | BPF_IMM | BPF_DW))
		return line;
	line.insn.dst_reg %= 10;
	line.insn.src_reg = 0;
	switch (insn.src_reg & 3) {
	case 0:
		line.kind = ASM_LD_IMM64;
		line.value = (uint32_t)insn.imm;
		break;
	case 1:
		line.kind = ASM_LD_MAP;
		line.insn.src_reg = BPF_PSEUDO_MAP_FD;
		line.sym = maps[(uint32_t)insn.imm % 4].name;
		break;
	case 2:
		line.kind = ASM_LD_MAP_VALUE;
		line.insn.src_reg = BPF_PSEUDO_MAP_VALUE;
		line.insn.imm = (int32_t)((uint32_t)insn.imm % 24);
		line.sym = "array";
		break;
	default: /* as it stands: half a constant, or with what follows a whole */
		line.insn = insn;
	}
	return line;
}

struct heard {
	int n, errors;
	uint32_t lines;
};

static void hear(void *ctx, const struct asm_diag *diag)
{
	struct heard *h = ctx;

	h->n++;
	h->errors += diag->severity == ASM_ERROR;
	if (!diag->line || diag->line > h->lines || !*diag->message)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct asm_insn lines[MAX_INSNS];
	struct asm_bindings bindings = { .maps = maps, .nmaps = 4 };
	struct asm_program program = { .name = "fuzz", .lines = lines };
	struct asm_image image;
	struct heard heard = { 0 };
	size_t n = size ? (size - 1) / sizeof(struct bpf_insn) : 0;
	int errors;

	if (!n || n > MAX_INSNS)
		return 0;
	program.type = data[0] & 31;
	for (size_t i = 0; i < n; i++) {
		struct bpf_insn insn;

		memcpy(&insn, data + 1 + i * sizeof(insn), sizeof(insn));
		if (data[0] & 128)
			put_in_order(&insn, i, n);
		lines[i] = line_for(insn, (uint32_t)i + 1);
	}
	program.nlines = n;
	if (asm_assemble(&program, &bindings, &image, NULL, NULL))
		return 0;
	heard.lines = (uint32_t)n;
	errors = asm_lint(&image, &bindings, hear, &heard);
	if (errors != heard.errors || heard.n > ASM_LINT_MAX + 1)
		abort();
	asm_image_free(&image);
	return 0;
}
