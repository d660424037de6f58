/* SPDX-License-Identifier: BSD-2-Clause */
/* The verifier knows the kernel's types: what is a pointer to what, how long, and what is yours. */
#include "../lesson.h"

static const struct asm_insn mere_number_lines[] = {
	CALL(get_current_task), /* without _btf it returns a number */
	LD_FIELD(R0, R0, "task_struct", "tgid"),
	EXIT(),
};
static const struct asm_program mere_number = {
	.name = "mere_number",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(mere_number_lines),
};

static const struct asm_insn behind_the_end_lines[] = {
	CALL(get_current_task_btf),
	LDX(DW, R0, R0, 32760),
	EXIT(),
};
static const struct asm_program behind_the_end = {
	.name = "behind_the_end",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(behind_the_end_lines),
};

static const struct asm_insn writes_lines[] = {
	CALL(get_current_task_btf),
	ST(W, R0, 64, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program writes = {
	.name = "writes",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(writes_lines),
};

/* This one the kernel never gets to see. */
static const struct asm_insn misspelt_lines[] = {
	CALL(get_current_task_btf),
	LD_FIELD(R0, R0, "task_struct", "tgif"),
	EXIT(),
};
static const struct asm_program misspelt = {
	.name = "misspelt",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(misspelt_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &mere_number, NULL, 0, "a member of what is only a number" },
	{ &behind_the_end, NULL, 0, "a load 32760 bytes into a task" },
	{ &writes, NULL, 0, "a store into a task" },
	{ &misspelt, NULL, 0, "a member that no kernel has" },
	{ 0 },
};
