/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers: read before they hold anything, or after a call took it away; and forbidden sums. */
#include "bad.h"

static const struct asm_insn no_result[] = {
	EXIT(),
};
static const struct asm_insn after_call[] = {
	CALL(ktime_get_ns),
	LDX(DW, R2, R1, 112),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn argument_after_call[] = {
	CALL(ktime_get_ns),
	MOV_REG(R1, R0),
	CALL(ktime_get_ns),
	SUB_REG(R0, R1),
	EXIT(),
};
static const struct asm_insn written_on_one_path[] = {
	LDX(DW, R1, R1, 112),
	JEQ(R1, 0, skip),
	MOV(R6, 1),
	LABEL(skip),
	MOV_REG(R0, R6),
	EXIT(),
};
static const struct asm_insn result_on_one_path[] = {
	LDX(DW, R2, R1, 112),
	JEQ(R2, 0, out),
	MOV(R0, 1),
	LABEL(out),
	EXIT(),
};
static const struct asm_insn writes_r10[] = {
	INSN(BPF_ALU64 | BPF_SUB | BPF_K, R10, 0, 0, 64),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn register_12[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, R1, 12, 0, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn shift_64[] = {
	MOV(R0, 1),
	INSN(BPF_ALU64 | BPF_LSH | BPF_K, R0, 0, 0, 64),
	EXIT(),
};
static const struct asm_insn divide_by_0[] = {
	MOV(R0, 1),
	INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 0, 0),
	EXIT(),
};
static const struct asm_insn multiply_pointer[] = {
	MUL(R1, 2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn unbounded_from_frame[] = {
	LDX(DW, R2, R1, 112),
	MOV_REG(R3, R10),
	SUB_REG(R3, R2),
	LDX(DW, R0, R3, 0),
	EXIT(),
};
static const struct asm_insn number_as_pointer[] = {
	LDX(DW, R6, R1, 112),
	LDX(DW, R0, R6, 0),
	EXIT(),
};

const struct bad_case bad_registers[] = {
	{ "G2", "the result is never written", BAD_PROGRAM(SOCKET_FILTER, no_result),
	  .says = { { EACCES, "R0 !read_ok" } }, .at = "EXIT()" },
	{ "G9", "the context is used after a call took R1", BAD_PROGRAM(KPROBE, after_call),
	  .says = { { EACCES, "R1 !read_ok" } }, .at = "LDX(DW, R2, R1, 112)" },
	{ "G9b", "a value is kept in R1 over a call", BAD_PROGRAM(KPROBE, argument_after_call),
	  .says = { { EACCES, "R1 !read_ok" } }, .at = "SUB_REG(R0, R1)" },
	{ "X4b", "a register is written on one of two paths",
	  BAD_PROGRAM(KPROBE, written_on_one_path), .says = { { EACCES, "R6 !read_ok" } },
	  .at = "MOV_REG(R0, R6)" },
	{ "X6b", "the result is written on one of two paths",
	  BAD_PROGRAM(KPROBE, result_on_one_path), .says = { { EACCES, "R0 !read_ok" } },
	  .at = "EXIT()" },
	{ "G10", "the frame pointer is moved", BAD_PROGRAM(SOCKET_FILTER, writes_r10),
	  .says = { { EACCES, "frame pointer is read only" } },
	  .at = "INSN(BPF_ALU64 | BPF_SUB | BPF_K, R10, 0, 0, 64)" },
	{ "G10b", "there is no R12", BAD_PROGRAM(SOCKET_FILTER, register_12),
	  .says = { { EINVAL, "R12 is invalid" } } },
	{ "G19", "a shift by all 64 bits", BAD_PROGRAM(SOCKET_FILTER, shift_64),
	  .says = { { EINVAL, "invalid shift 64" } } },
	{ "G20", "a division by the constant 0", BAD_PROGRAM(SOCKET_FILTER, divide_by_0),
	  .says = { { EINVAL, "div by zero" } } },
	{ "G23", "a pointer times 2", BAD_PROGRAM(SOCKET_FILTER, multiply_pointer),
	  .says = { { EACCES, "R1 pointer arithmetic with *= operator prohibited" } },
	  .at = "MUL(R1, 2)" },
	{ "G25", "a pointer less a number without bounds",
	  BAD_PROGRAM(KPROBE, unbounded_from_frame),
	  .says = { { EINVAL,
		      "math between fp pointer and register with unbounded min value is not "
		      "allowed" } },
	  .at = "SUB_REG(R3, R2)" },
	{ "I3", "a number taken for a pointer", BAD_PROGRAM(KPROBE, number_as_pointer),
	  .says = { { EACCES, "R6 invalid mem access 'scalar'", KERNEL(5, 18) },
		    { EACCES, "R6 invalid mem access 'inv'", 0, KERNEL(5, 18) } },
	  .at = "LDX(DW, R0, R6, 0)" },
	{ 0 },
};
