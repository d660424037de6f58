/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a wrong shape: where they end, where they jump to, what never runs. */
#include "bad.h"

static const struct asm_insn no_exit[] = {
	MOV(R0, 0),
};
static const struct asm_insn unreachable[] = {
	MOV(R0, 0),
	EXIT(),
	MOV(R0, 1),
	EXIT(),
};
static const struct asm_insn jump_out[] = {
	MOV(R0, 0),
	INSN(BPF_JMP | BPF_JA, 0, 0, 10, 0),
	EXIT(),
};
static const struct asm_insn jump_before[] = {
	MOV(R0, 0),
	INSN(BPF_JMP | BPF_JA, 0, 0, -5, 0),
	EXIT(),
};
/* A 64-bit constant takes two slots; this lands on the second. */
static const struct asm_insn skips_half[] = {
	INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0),
	LD_IMM64(R0, 1),
	EXIT(),
};
static const struct asm_insn lands_in_the_middle[] = {
	INSN(BPF_JMP | BPF_JEQ | BPF_K, R1, 0, 1, 0),
	LD_IMM64(R0, 1),
	EXIT(),
};
static const struct asm_insn half_constant[] = {
	MOV(R0, 0),
	INSN(BPF_LD | BPF_IMM | BPF_DW, R1, 0, 0, 1),
};
static const struct asm_insn around_for_ever[] = {
	MOV(R0, 0),
	LABEL(again),
	ADD(R0, 1),
	JA(again),
	EXIT(),
};
/* There is a way out, and nothing that leads to it. */
static const struct asm_insn waits_for_ever[] = {
	LDX(DW, R6, R1, 112),
	LABEL(again),
	JEQ(R6, 0, out),
	JA(again),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* The bound is data: the verifier would have to walk all 2^32 rounds. */
static const struct asm_insn unknown_rounds[] = {
	CALL(get_prandom_u32),
	MOV(R6, 0),
	LABEL(again),
	ADD(R6, 1),
	JLT_REG(R6, R0, again),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn unknown_opcode[] = {
	INSN(0xff, 0, 0, 0, 0),
	EXIT(),
};
static const struct asm_insn reserved_fields[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, 3, 0, 0),
	EXIT(),
};
static const struct asm_insn function_without_exit[] = {
	CALL_FUNC(f),
	EXIT(),
	FUNC(f),
	MOV(R0, 0),
};
/* Insn 3 belongs to f, insn 2 to the program before it. */
static const struct asm_insn across_functions[] = {
	CALL_FUNC(f),
	MOV(R0, 0),
	EXIT(),
	FUNC(f),
	INSN(BPF_JMP | BPF_JA, 0, 0, -2, 0),
	EXIT(),
};
static const struct asm_insn calls_itself[] = {
	CALL_FUNC(f),
	EXIT(),
	FUNC(f),
	CALL_FUNC(f),
	EXIT(),
};

const struct bad_case bad_shape[] = {
	{ "G1", "the last instruction is no exit", BAD_PROGRAM(SOCKET_FILTER, no_exit),
	  .says = { { EINVAL, "last insn is not an exit or jmp" } } },
	{ "G3", "lines after the exit that nothing leads to",
	  BAD_PROGRAM(SOCKET_FILTER, unreachable), .says = { { EINVAL, "unreachable insn 2" } } },
	{ "G4", "a jump beyond the end", BAD_PROGRAM(SOCKET_FILTER, jump_out),
	  .says = { { EINVAL, "jump out of range from insn 1 to 12" } } },
	{ "G4b", "a jump before the beginning", BAD_PROGRAM(SOCKET_FILTER, jump_before),
	  .says = { { EINVAL, "jump out of range from insn 1 to -3" } } },
	{ "G5", "a jump over the first half of a 64-bit constant",
	  BAD_PROGRAM(SOCKET_FILTER, skips_half), .says = { { EINVAL, "unreachable insn 1" } } },
	{ "G5b", "a jump into the second half of a 64-bit constant",
	  BAD_PROGRAM(SOCKET_FILTER, lands_in_the_middle),
	  .says = { { EINVAL, "jump into the middle of ldimm64 insn 1", KERNEL(6, 1) } } },
	{ "G6", "a loop without a way out", BAD_PROGRAM(SOCKET_FILTER, around_for_ever),
	  .says = { { EINVAL, "unreachable insn 3" } } },
	{ "X3b", "a loop with a way out that it never takes", BAD_PROGRAM(KPROBE, waits_for_ever),
	  .says = { { EINVAL, "infinite loop detected at insn 1", KERNEL(5, 3) },
		    { EINVAL, "back-edge from insn 2 to 1", 0, KERNEL(5, 3) } },
	  .at = "JEQ(R6, 0, out)" },
	{ "G6b", "a loop whose rounds are not known", BAD_PROGRAM(SOCKET_FILTER, unknown_rounds),
	  .says = { { E2BIG, "BPF program is too large. Processed 1000001 insn", KERNEL(5, 3) },
		    { EINVAL, "back-edge from insn 3 to 2", 0, KERNEL(5, 3) } } },
	{ "G17", "a field that must be 0 is not", BAD_PROGRAM(SOCKET_FILTER, reserved_fields),
	  .says = { { EINVAL, "BPF_MOV uses reserved fields" } } },
	{ "G18", "no such operation", BAD_PROGRAM(SOCKET_FILTER, unknown_opcode),
	  .says = { { EINVAL, "unknown opcode ff" } } },
	{ "G27", "a 64-bit constant cut in half by the end",
	  BAD_PROGRAM(SOCKET_FILTER, half_constant),
	  .says = { { EINVAL, "last insn is not an exit or jmp" } } },
	{ "G35", "a function that runs on over its end",
	  BAD_PROGRAM(SOCKET_FILTER, function_without_exit),
	  .says = { { EINVAL, "last insn is not an exit or jmp" } } },
	{ "G36", "a jump from one function into another",
	  BAD_PROGRAM(SOCKET_FILTER, across_functions),
	  .says = { { EINVAL, "jump out of range from insn 3 to 2" } } },
	{ "G36b", "a function that calls itself", BAD_PROGRAM(SOCKET_FILTER, calls_itself),
	  .says = { { E2BIG, "the call stack of 9 frames is too deep", KERNEL(6, 12) },
		    { EINVAL, "back-edge from insn 2 to 2", 0, KERNEL(6, 2) } } },
	{ 0 },
};
