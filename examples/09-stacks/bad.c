/* SPDX-License-Identifier: BSD-2-Clause */
/* get_stackid(context, map, flags): the wrong order, the wrong map, the wrong licence. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "stacks", BPF_MAP_TYPE_STACK_TRACE, 4, 24 * 8, 1024 },
	{ "exact", BPF_MAP_TYPE_HASH, 24 * 8, 8, 4096 },
};

static const struct asm_insn wrong_order_lines[] = {
	LD_MAP(R1, stacks),
	MOV_REG(R2, R1),
	MOV(R3, BPF_F_USER_STACK),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program wrong_order = {
	.name = "wrong_order",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(wrong_order_lines),
};

static const struct asm_insn wrong_map_lines[] = {
	LD_MAP(R2, exact),
	MOV(R3, BPF_F_USER_STACK),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program wrong_map = {
	.name = "wrong_map",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "GPL",
	ASM_LINES(wrong_map_lines),
};

static const struct asm_insn wrong_licence_lines[] = {
	LD_MAP(R2, stacks),
	MOV(R3, BPF_F_USER_STACK),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program wrong_licence = {
	.name = "wrong_licence",
	.type = BPF_PROG_TYPE_KPROBE,
	.license = "BSD",
	ASM_LINES(wrong_licence_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &wrong_order, maps, 2, "the map first, as in a look-up" },
	{ &wrong_map, maps, 2, "a hash map, which could hold stacks as well" },
	{ &wrong_licence, maps, 2, "all is right but the licence" },
	{ 0 },
};
