/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tutorial's program, as it stands. What it calls map-ref does not exist; its stack ids are
 * asked for as (map, map, flags). So there are three readings of it, and then a first repair.
 */
#include "seed.h"

/* C1. map-ref is a number, and mov-reg takes the number of a register. */
#define AS_REGISTER(dst, map) MOV_REG(dst, R5)
static const struct asm_insn reading_a_lines[] = {
	SEED_WHO,
	AS_REGISTER(R1, stack_traces),
	MOV_REG(R2, R1), /* "ctx (from r1)" */
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),
	AS_REGISTER(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),
	SEED_KEY,
	SEED_COUNT(AS_REGISTER),
};
static const struct asm_program reading_a = {
	.name = "reading_a",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL",
	ASM_LINES(reading_a_lines),
};

/* C2. It is the map's descriptor, as a plain number. */
#define AS_NUMBER(dst, map) MOV(dst, 5)
static const struct asm_insn reading_b_lines[] = {
	SEED_WHO,
	AS_NUMBER(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),
	AS_NUMBER(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),
	SEED_KEY,
	SEED_COUNT(AS_NUMBER),
};
static const struct asm_program reading_b = {
	.name = "reading_b",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL",
	ASM_LINES(reading_b_lines),
};

/* C3. It is what its author meant: LD_MAP. */
static const struct asm_insn reading_c_lines[] = {
	SEED_WHO,
	LD_MAP(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),
	LD_MAP(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),
	SEED_KEY,
	SEED_COUNT(LD_MAP),
};
static const struct asm_program reading_c = {
	.name = "reading_c",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL",
	ASM_LINES(reading_c_lines),
};

/* C4. The arguments in order: R1 the context, R2 the map. Is R1 still the context? */
static const struct asm_insn in_order_lines[] = {
	SEED_WHO,
	LD_MAP(R2, stack_traces),
	MOV(R3, 0x100 | 0x200),
	CALL(get_stackid),
	MOV_REG(R7, R0),
	LD_MAP(R2, stack_traces),
	MOV(R3, 0x200),
	CALL(get_stackid),
	MOV_REG(R8, R0),
	SEED_KEY,
	SEED_COUNT(LD_MAP),
};
static const struct asm_program in_order = {
	.name = "in_order",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "GPL",
	ASM_LINES(in_order_lines),
};

const struct lesson_program lesson_bad[] = {
	{ &reading_a, seed_maps, SEED_MAPS, "C1, a map is the number of a register" },
	{ &reading_b, seed_maps, SEED_MAPS, "C2, a map is its descriptor" },
	{ &reading_c, seed_maps, SEED_MAPS, "C3, a map is a map, where the context belongs" },
	{ &in_order, seed_maps, SEED_MAPS, "C4, the arguments in order" },
	{ 0 },
};
