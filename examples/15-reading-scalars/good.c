/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verifier knows of a number: bounds of 64 bits, bounds of 32 bits, and single bits. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

/* R1 = a number of which nothing is known, R2 = the address of 64 bytes. */
#define BEGIN LD_MAP_VALUE(R1, number, 0), LDX(DW, R1, R1, 0), LD_MAP_VALUE(R2, places, 0)

/* A comparison gives bounds. */
static const struct asm_insn bounds_lines[] = {
	BEGIN,
	MOV(R0, 0),
	JGT(R1, 60, out),
	ADD(R1, 3), /* 3..63 */
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_program bounds = {
	.name = "bounds",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(bounds_lines),
};

/* A mask gives single bits, and they give bounds. */
static const struct asm_insn bits_lines[] = {
	BEGIN,
	AND(R1, 0x38), /* three bits are open */
	OR(R1, 1),     /* and one is set */
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program bits = {
	.name = "bits",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(bits_lines),
};

/* A comparison of 32 bits says nothing of the upper half, until that is cleared. */
static const struct asm_insn lower_half_lines[] = {
	BEGIN,
	MOV(R0, 0),
	JGT32(R1, 63, out),
	MOV32_REG(R1, R1), /* clears the upper half */
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_program lower_half = {
	.name = "lower_half",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(lower_half_lines),
};

const struct lesson_program lesson_good[] = {
	{ &bounds, maps, 2, "an index with bounds" },
	{ &bits, maps, 2, "an index by its bits" },
	{ &lower_half, maps, 2, "an index by its lower half" },
	{ 0 },
};

int main(void)
{
	int fds[2];

	lesson_begin("The least is 0 and the greatest is 56. Why is 8 possible, and 9 not?");
	must(rp_maps_create(maps, 2, fds), "maps");
	lesson_refused(fds);
	for (const struct lesson_program *entry = lesson_good; entry->program; entry++)
		lesson_show(entry, fds);
	rp_fds_close(fds, 2);
	return 0;
}
