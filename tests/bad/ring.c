/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring buffers: what is reserved has to be checked, and given back exactly once. */
#include "bad.h"

static const struct asm_insn never_submitted[] = {
	RING_RESERVE(rb, 16),
	JEQ(R0, 0, out),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn size_from_data[] = {
	LDX(DW, R2, R1, 112),
	LD_MAP(R1, rb),
	MOV(R3, 0),
	CALL(ringbuf_reserve),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn submitted_twice[] = {
	RING_RESERVE(rb, 16),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	RING_SUBMIT(R6, 0),
	RING_SUBMIT(R6, 0),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn used_after_submit[] = {
	RING_RESERVE(rb, 16),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	RING_SUBMIT(R6, 0),
	ST(DW, R6, 0, 1),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn record_unchecked[] = {
	RING_RESERVE(rb, 16),
	ST(DW, R0, 0, 1),
	RING_SUBMIT(R0, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn record_overrun[] = {
	RING_RESERVE(rb, 16),
	JEQ(R0, 0, out),
	ST(DW, R0, 16, 1),
	RING_SUBMIT(R0, 0),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

const struct bad_case bad_ring[] = {
	{ "G22", "a record is reserved and never submitted", BAD_PROGRAM(KPROBE, never_submitted),
	  .needs = KERNEL(5, 8), .says = { { EINVAL, "Unreleased reference id=2 alloc_insn=4" } },
	  .at = "EXIT()" },
	{ "G22b", "a record's size is no constant", BAD_PROGRAM(KPROBE, size_from_data),
	  .needs = KERNEL(5, 8), .says = { { EACCES, "R2 is not a known constant'" } },
	  .at = "CALL(ringbuf_reserve)" },
	{ "G22c", "a record is submitted twice", BAD_PROGRAM(KPROBE, submitted_twice),
	  .needs = KERNEL(5, 8),
	  .says = { { EACCES, "R1 type=scalar expected=", KERNEL(5, 18) },
		    { EACCES, "expected=ringbuf_mem", KERNEL(6, 12) },
		    { EACCES, "expected=alloc_mem", 0, KERNEL(6, 2) } },
	  .at = "RING_SUBMIT(R6, 0): CALL(ringbuf_submit)" },
	{ "G22d", "a record is written after it was submitted",
	  BAD_PROGRAM(KPROBE, used_after_submit), .needs = KERNEL(5, 8),
	  .says = { { EACCES, "R6 invalid mem access 'scalar'", KERNEL(5, 18) } },
	  .at = "ST(DW, R6, 0, 1)" },
	{ "G22e", "a record is written although there may be none",
	  BAD_PROGRAM(KPROBE, record_unchecked), .needs = KERNEL(5, 8),
	  .says = { { EACCES, "R0 invalid mem access 'ringbuf_mem_or_null'", KERNEL(6, 12) },
		    { EACCES, "R0 invalid mem access 'alloc_mem_or_null'", KERNEL(5, 18),
		      KERNEL(6, 2) } },
	  .at = "ST(DW, R0, 0, 1)" },
	{ "G22f", "a store behind the record", BAD_PROGRAM(KPROBE, record_overrun),
	  .needs = KERNEL(5, 8),
	  .says = { { EACCES, "invalid access to memory, mem_size=16 off=16 size=8" } },
	  .at = "ST(DW, R0, 16, 1)" },
	{ 0 },
};
