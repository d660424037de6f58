/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Five programs that a published table of verifier errors lists, taken to the kernel as they stand.
 * Of its messages two are right; one of its programs is accepted.
 */
#include "bad.h"

static const struct asm_insn packet_start_as_64_bits[] = {
	LDX(DW, R2, R1, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn packet_unchecked[] = {
	LDX(W, R2, R1, 0),
	LDX(W, R1, R2, 12),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn register_not_written[] = {
	JEQ(R1, 0, skip),
	MOV(R6, 1),
	JA(skip),
	LABEL(skip),
	MOV_REG(R0, R6),
	EXIT(),
};
static const struct asm_insn far_below_the_frame[] = {
	MOV(R1, 0),
	INSN(BPF_STX | BPF_MEM | BPF_DW, R10, R1, -600, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn no_result_on_a_path[] = {
	JEQ(R1, 0, out),
	LDX(DW, R2, R1, 112),
	JEQ(R2, 0, out),
	MOV(R0, 0),
	LABEL(out),
	EXIT(),
};

const struct bad_case bad_published[] = {
	{ "X1", "\"invalid mem access 'scalar'\": 64 bits of a packet's start",
	  BAD_PROGRAM(XDP, packet_start_as_64_bits),
	  .says = { { EACCES, "invalid bpf_context access off=0 size=8" } },
	  .at = "LDX(DW, R2, R1, 0)" },
	{ "X2", "the same with the right width", BAD_PROGRAM(XDP, packet_unchecked),
	  .says = { { EACCES, "invalid access to packet, off=12 size=4, R2(id=0,off=12,r=0)" },
		    { EACCES, "R2 offset is outside of the packet" } },
	  .at = "LDX(W, R1, R2, 12)" },
	{ "X4", "a register that is not written where the context is NULL, which it never is",
	  BAD_PROGRAM(KPROBE, register_not_written), .says = { { EACCES, "R6 !read_ok" } },
	  .at = "MOV_REG(R0, R6)" },
	{ "X5", "\"invalid stack off\": a store 600 bytes down",
	  BAD_PROGRAM(KPROBE, far_below_the_frame),
	  .says = { { EACCES, "invalid write to stack R10 off=-600 size=8" } },
	  .at = "INSN(BPF_STX | BPF_MEM | BPF_DW, R10, R1, -600, 0)" },
	{ "X6", "a path without a result", BAD_PROGRAM(KPROBE, no_result_on_a_path),
	  .says = { { EACCES, "R0 !read_ok" } }, .at = "EXIT()" },
	{ 0 },
};
