/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of the DSL with the texts that a person would have written. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "record/filter/emit.h"

static const char *text(struct filter_code *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static const char *text(struct filter_code *c, const char *fmt, ...)
{
	va_list args;
	char *s;
	int n;

	va_start(args, fmt);
	n = vasprintf(&s, fmt, args);
	va_end(args);
	if (n >= 0 && !RP_PUSH(c->texts, c->ntexts, c->text_capacity, s))
		return s;
	if (n >= 0)
		free(s);
	c->err = -ENOMEM;
	return "";
}

void record_filter_emit(struct filter_code *c, struct asm_insn line)
{
	line.line = c->column;
	if (!c->err)
		c->err = RP_PUSH(c->lines, c->nlines, c->capacity, line);
}

static void emit(struct filter_code *c, enum asm_kind kind, struct bpf_insn insn, const char *said,
		 const char *label)
{
	record_filter_emit(
		c, (struct asm_insn){ .insn = insn, .kind = kind, .text = said, .sym = label });
}

/* ---- labels and scopes */

const char *record_filter_label(struct filter_code *c, const char *name)
{
	return text(c, "%s%u", name, ++c->nlabels);
}

void record_filter_emit_label(struct filter_code *c, const char *label)
{
	emit(c, ASM_LABEL, (struct bpf_insn){ 0 }, text(c, "LABEL(%s)", label), label);
}

void record_filter_emit_goto(struct filter_code *c, const char *label)
{
	emit(c, ASM_JUMP, (struct bpf_insn){ .code = BPF_JMP | BPF_JA }, text(c, "JA(%s)", label),
	     label);
}

void record_filter_emit_scope(struct filter_code *c, const char *expression, size_t at, size_t end)
{
	c->column = (uint32_t)at + 1;
	emit(c, ASM_SCOPE, (struct bpf_insn){ 0 },
	     text(c, "%.*s", (int)(end - at), expression + at), NULL);
}

/* ---- instructions */

void record_filter_emit_load(struct filter_code *c, unsigned int size, int dst, int base, int off)
{
	static const struct {
		const char *name;
		int code;
	} of[] = { [1] = { "B", BPF_B },
		   [2] = { "H", BPF_H },
		   [4] = { "W", BPF_W },
		   [8] = { "DW", BPF_DW } };

	emit(c, ASM_INSN,
	     (struct bpf_insn){ .code = (uint8_t)(BPF_LDX | BPF_MEM | of[size].code),
				.dst_reg = (uint8_t)dst & 15,
				.src_reg = (uint8_t)base & 15,
				.off = (int16_t)off },
	     text(c, "LDX(%s, R%d, R%d, %d)", of[size].name, dst, base, off), NULL);
}

static const char *alu_name(int op)
{
	switch (op) {
	case BPF_ADD:
		return "ADD";
	case BPF_SUB:
		return "SUB";
	case BPF_AND:
		return "AND";
	case BPF_LSH:
		return "LSH";
	case BPF_RSH:
		return "RSH";
	case BPF_ARSH:
		return "ARSH";
	default:
		return "MOV";
	}
}

void record_filter_emit_alu(struct filter_code *c, int op, int dst, int32_t imm)
{
	emit(c, ASM_INSN,
	     (struct bpf_insn){ .code = (uint8_t)(BPF_ALU64 | op | BPF_K),
				.dst_reg = (uint8_t)dst & 15,
				.imm = imm },
	     text(c, "%s(R%d, %d)", alu_name(op), dst, imm), NULL);
}

static const char *jump_name(int op)
{
	switch (op) {
	case BPF_JEQ:
		return "JEQ";
	case BPF_JNE:
		return "JNE";
	case BPF_JLT:
		return "JLT";
	case BPF_JLE:
		return "JLE";
	case BPF_JGT:
		return "JGT";
	case BPF_JGE:
		return "JGE";
	case BPF_JSLT:
		return "JSLT";
	case BPF_JSLE:
		return "JSLE";
	case BPF_JSGT:
		return "JSGT";
	default:
		return "JSGE";
	}
}

void record_filter_emit_jump(struct filter_code *c, int op, int dst, int32_t imm, const char *label)
{
	emit(c, ASM_JUMP,
	     (struct bpf_insn){ .code = (uint8_t)(BPF_JMP | op | BPF_K),
				.dst_reg = (uint8_t)dst & 15,
				.imm = imm },
	     text(c, "%s(R%d, %d, %s)", jump_name(op), dst, imm, label), label);
}

void record_filter_emit_jump_reg(struct filter_code *c, int op, int dst, int src, const char *label)
{
	emit(c, ASM_JUMP,
	     (struct bpf_insn){ .code = (uint8_t)(BPF_JMP | op | BPF_X),
				.dst_reg = (uint8_t)dst & 15,
				.src_reg = (uint8_t)src & 15 },
	     text(c, "%s_REG(R%d, R%d, %s)", jump_name(op), dst, src, label), label);
}

void record_filter_emit_constant(struct filter_code *c, int dst, uint64_t value)
{
	struct asm_insn line = { .kind = ASM_LD_IMM64,
				 .insn = { .code = BPF_LD | BPF_IMM | BPF_DW,
					   .dst_reg = (uint8_t)dst & 15 },
				 .text = text(c, "LD_IMM64(R%d, %#" PRIx64 ")", dst, value),
				 .value = value };

	record_filter_emit(c, line);
}

void record_filter_code_free(struct filter_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ntexts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->lines);
	free(c);
}
