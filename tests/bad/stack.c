/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack: 512 bytes below R10, every access aligned, every byte written before it is read. */
#include "bad.h"

static const struct asm_insn below_the_frame[] = {
	INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -520, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn above_the_frame[] = {
	INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, 0, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn misaligned[] = {
	INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -12, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn key_beyond_frame[] = {
	ST(DW, R10, -8, 0),
	MAP_LOOKUP(m, -8),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn huge_key[] = {
	ST(DW, R10, -8, 0),
	MAP_LOOKUP(big, -8),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn half_a_pointer[] = {
	STX(W, R10, -8, R1),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn reads_over_frame[] = {
	LDX(DW, R3, R1, 112),
	FRAME_PTR(R1, -8),
	MOV(R2, 16),
	CALL(probe_read_kernel),
	MOV(R0, 0),
	EXIT(),
};
/* The frames of functions that call each other share the 512 bytes. */
static const struct asm_insn two_deep_frames[] = {
	ST(DW, R10, -384, 0),
	CALL_FUNC(f),
	EXIT(),
	FUNC(f),
	ST(DW, R10, -384, 0),
	MOV(R0, 0),
	EXIT(),
};

/* The key's first half is written, the second is whatever was on the stack. */
static const struct asm_insn half_a_key[] = {
	ST(DW, R10, -16, 1),
	MAP_LOOKUP(m, -16),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn low_word_missing[] = {
	ST(DW, R10, -16, 1),
	CALL(get_prandom_u32),
	STX(W, R10, -4, R0),
	MAP_LOOKUP(m, -16),
	MOV(R0, 0),
	EXIT(),
};

const struct bad_case bad_stack[] = {
	{ "G11", "a store below the 512 bytes", BAD_PROGRAM(SOCKET_FILTER, below_the_frame),
	  .says = { { EACCES, "invalid write to stack R10 off=-520 size=8" } },
	  .at = "INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -520, 0)" },
	{ "G11b", "a store above the frame", BAD_PROGRAM(SOCKET_FILTER, above_the_frame),
	  .says = { { EACCES, "invalid write to stack R10 off=0 size=8" } },
	  .at = "INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, 0, 0)" },
	{ "G12", "eight bytes at an offset of four", BAD_PROGRAM(SOCKET_FILTER, misaligned),
	  .says = { { EACCES, "misaligned stack access off " }, { EACCES, "+-12 size 8" } },
	  .at = "INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, -12, 0)" },
	{ "G13", "a key of 16 bytes 8 bytes below the top",
	  BAD_PROGRAM(SOCKET_FILTER, key_beyond_frame),
	  .says = { { EINVAL, "stack R2 off=-8 size=16" },
		    { EINVAL, "invalid read from stack", KERNEL(6, 18) },
		    { EINVAL, "invalid indirect access to stack", 0, KERNEL(6, 13) } },
	  .at = "MAP_LOOKUP(m, -8): CALL(map_lookup_elem)" },
	{ "G31", "a key larger than any stack", BAD_PROGRAM(SOCKET_FILTER, huge_key),
	  .says = { { EINVAL, "stack R2 off=-8 size=600" } },
	  .at = "MAP_LOOKUP(big, -8): CALL(map_lookup_elem)" },
	{ "G14", "half a pointer is stored", BAD_PROGRAM(SOCKET_FILTER, half_a_pointer),
	  .says = { { EACCES, "invalid size of register spill" } }, .at = "STX(W, R10, -8, R1)" },
	{ "G30", "a helper would write beyond the frame", BAD_PROGRAM(KPROBE, reads_over_frame),
	  .says = { { EINVAL, "to stack R1 off=-8 size=16" } }, .at = "CALL(probe_read_kernel)" },
	{ "G30b", "two frames of 384 bytes, one called by the other",
	  BAD_PROGRAM(SOCKET_FILTER, two_deep_frames),
	  .says = { { EACCES, "combined stack size of 2 calls is" } } },
	{ "U1", "half of the key was never written; CAP_BPF only",
	  BAD_PROGRAM(SOCKET_FILTER, half_a_key), .unprivileged = true,
	  .says = { { EACCES, "from stack R2 off -16+8 size 16" } },
	  .at = "MAP_LOOKUP(m, -16): CALL(map_lookup_elem)" },
	{ "U2b", "four bytes of the key were never written; CAP_BPF only",
	  BAD_PROGRAM(SOCKET_FILTER, low_word_missing), .unprivileged = true,
	  .says = { { EACCES, "from stack R2 off -16+8 size 16" } },
	  .at = "MAP_LOOKUP(m, -16): CALL(map_lookup_elem)" },
	{ 0 },
};
