/* SPDX-License-Identifier: BSD-2-Clause */
/* R1 at the start: what it points to depends on the type, and what may be read of it too. */
#include "../lesson.h"

static const struct asm_insn head_of_record_lines[] = {
	LDX(DW, R0, R1, 0),
	EXIT(),
};
static const struct asm_program head_of_record = {
	.name = "head_of_record",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(head_of_record_lines),
};

static const struct asm_insn between_registers_lines[] = {
	LDX(DW, R0, R1, 12),
	EXIT(),
};
static const struct asm_program between_registers = {
	.name = "between_registers",
	.type = BPF_PROG_TYPE_KPROBE,
	ASM_LINES(between_registers_lines),
};

static const struct asm_insn behind_sample_lines[] = {
	LDX(DW, R0, R1, 400),
	EXIT(),
};
static const struct asm_program behind_sample = {
	.name = "behind_sample",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	ASM_LINES(behind_sample_lines),
};

static const struct asm_insn moved_by_data_lines[] = {
	LDX(DW, R2, R1, 16),
	AND(R2, 8),
	ADD_REG(R1, R2), /* 0 or 8 bytes on */
	LDX(DW, R0, R1, 16),
	EXIT(),
};
static const struct asm_program moved_by_data = {
	.name = "moved_by_data",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	ASM_LINES(moved_by_data_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &head_of_record, NULL, 0, "the first 8 bytes of a tracepoint's record" },
	{ &between_registers, NULL, 0, "8 bytes between two machine registers" },
	{ &behind_sample, NULL, 0, "400 bytes into a perf event's sample" },
	{ &moved_by_data, NULL, 0, "one field or the next, as a third one says" },
	{ 0 },
};
