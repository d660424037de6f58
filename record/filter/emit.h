/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the DSL, made one by one while an expression is compiled. Once there is no memory
 * nothing more is added, and code->err is set.
 */
#ifndef RECORD_FILTER_EMIT_H
#define RECORD_FILTER_EMIT_H

#include "record/filter/tree.h"

struct filter_code {
	struct asm_insn *lines;
	size_t nlines, capacity;
	char **texts; /* that the lines have */
	size_t ntexts, text_capacity;
	uint32_t column; /* where the part of the expression begins that is compiled */
	unsigned int nlabels;
	struct asm_part part;
	int err;
};

/* A line as a program would have it: EMIT(c, MOV_REG(R6, R1)). */
#define EMIT(code, ...) record_filter_emit(code, (struct asm_insn)__VA_ARGS__)
void record_filter_emit(struct filter_code *c, struct asm_insn line);

/* A label of its own, "next3". */
const char *record_filter_label(struct filter_code *c, const char *name);
/* The names of labels as above, and of registers R0 to R10 as their numbers. */
void record_filter_emit_label(struct filter_code *c, const char *label);
void record_filter_emit_goto(struct filter_code *c, const char *label);
/* LDX: of 1, 2, 4 or 8 bytes. */
void record_filter_emit_load(struct filter_code *c, unsigned int size, int dst, int base, int off);
/* op is BPF_ADD, BPF_AND and so on; imm is sign-extended. */
void record_filter_emit_alu(struct filter_code *c, int op, int dst, int32_t imm);
/* op is BPF_JEQ, BPF_JSLT and so on. */
void record_filter_emit_jump(struct filter_code *c, int op, int dst, int32_t imm,
			     const char *label);
void record_filter_emit_jump_reg(struct filter_code *c, int op, int dst, int src,
				 const char *label);
void record_filter_emit_constant(struct filter_code *c, int dst, uint64_t value);
/* The lines up to EMIT(c, END) are for these bytes of the expression. */
void record_filter_emit_scope(struct filter_code *c, const char *text, size_t at, size_t end);

/* ---- compile.c */

/* Registers that hold while the function runs; R9 is anybody's, R0 to R5 too. */
enum { RECORD = 6, SCRATCH = 7, IDS = 8 };

/* R1 = bytes of the record, extended with zeros; R0 is lost if they are not aligned. */
void record_filter_load(struct filter_code *c, uint32_t offset, uint32_t size);

/* ---- strings.c */

/* Goes on to the label if the condition on a string is `when`. */
void record_filter_compile_string(struct filter_code *c, const struct filter_node *node, bool when,
				  const char *label);

#endif
