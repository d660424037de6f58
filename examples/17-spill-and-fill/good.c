/* SPDX-License-Identifier: BSD-2-Clause */
/* A register put on the stack, and taken back: what comes back is what was known of it. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "places", BPF_MAP_TYPE_ARRAY, 4, 64, 1 },
};

/* An address, over a call. */
static const struct asm_insn pointer_lines[] = {
	LD_MAP_VALUE(R1, places, 0),
	STX(DW, R10, -8, R1), /* spilled */
	CALL(get_prandom_u32),
	LDX(DW, R2, R10, -8), /* filled */
	LDX(B, R0, R2, 63),
	EXIT(),
};
static const struct asm_program pointer = {
	.name = "pointer",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(pointer_lines),
};

/* A number with its bounds. */
static const struct asm_insn number_lines[] = {
	CALL(get_prandom_u32),
	AND(R0, 63),
	STX(DW, R10, -8, R0),
	CALL(get_prandom_u32),
	LDX(DW, R1, R10, -8), /* still 0..63 */
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	EXIT(),
};
static const struct asm_program number = {
	.name = "number",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(number_lines),
};

/* The register is compared, and the copy on the stack is known better too. */
static const struct asm_insn checked_later_lines[] = {
	CALL(get_prandom_u32),
	STX(DW, R10, -8, R0),
	JGT(R0, 63, out),     /* one of the two with id=1 */
	LDX(DW, R1, R10, -8), /* and this is the other */
	LD_MAP_VALUE(R2, places, 0),
	ADD_REG(R2, R1),
	LDX(B, R0, R2, 0),
	LABEL(out),
	EXIT(),
};
static const struct asm_program checked_later = {
	.name = "checked_later",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(checked_later_lines),
};

const struct lesson_program lesson_good[] = {
	{ &pointer, maps, 1, "an address over a call" },
	{ &number, maps, 1, "a number with its bounds over a call" },
	{ &checked_later, maps, 1, "a number that is compared when it is on the stack" },
	{ 0 },
};

int main(void)
{
	int map;

	lesson_begin("A pointer is stored on the stack and loaded again. "
		     "What does the verifier think it is?");
	map = must(rp_map_create(&maps[0]), "map");
	lesson_refused(&map);
	for (const struct lesson_program *entry = lesson_good; entry->program; entry++)
		lesson_show(entry, &map);
	close(map);
	return 0;
}
