/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps: results of look-ups used unchecked or overrun, descriptors that are none, wrong types. */
#include "bad.h"

/* A look-up in m with a key of zeros. */
#define FIND_ZERO ZERO(-16, 16), MAP_LOOKUP(m, -16)

static const struct asm_insn unchecked[] = {
	FIND_ZERO,
	LDX(DW, R1, R0, 0),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn overrun[] = {
	FIND_ZERO,
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, 8),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn variable_overrun[] = {
	LDX(DW, R6, R1, 112),
	FIND_ZERO,
	JEQ(R0, 0, out),
	AND(R6, 15),
	ADD_REG(R0, R6),
	LDX(B, R1, R0, 0),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn checked_too_late[] = {
	FIND_ZERO,
	ADD(R0, 0),
	JEQ(R0, 0, out),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn no_such_descriptor[] = {
	LD_MAP(R1, closed),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn descriptor_as_number[] = {
	ZERO(-16, 16),
	MOV(R1, 3),
	FRAME_PTR(R2, -16),
	CALL(map_lookup_elem),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn not_a_stack_map[] = {
	LD_MAP(R2, m),
	MOV(R3, 0),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn atomic_on_8_bits[] = {
	ST(DW, R10, -8, 0),
	MOV(R1, 1),
	INSN(BPF_STX | BPF_ATOMIC | BPF_B, R10, R1, -8, BPF_ADD),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn writes_into_map[] = {
	LD_MAP(R1, m),
	ST(DW, R1, 0, 0),
	MOV(R0, 0),
	EXIT(),
};

const struct bad_case bad_map_use[] = {
	{ "G7", "the result of a look-up is used unchecked", BAD_PROGRAM(SOCKET_FILTER, unchecked),
	  .says = { { EACCES, "R0 invalid mem access 'map_value_or_null'" } },
	  .at = "LDX(DW, R1, R0, 0)" },
	{ "G7b", "it is calculated with before it is checked",
	  BAD_PROGRAM(SOCKET_FILTER, checked_too_late),
	  .says = { { EACCES,
		      "R0 pointer arithmetic on map_value_or_null prohibited, null-check it "
		      "first" } },
	  .at = "ADD(R0, 0)" },
	{ "G8", "eight bytes behind a value of eight bytes", BAD_PROGRAM(SOCKET_FILTER, overrun),
	  .says = { { EACCES, "invalid access to map value, value_size=8 off=8 size=8" } },
	  .at = "LDX(DW, R1, R0, 8)" },
	{ "G8b", "a byte at an offset from 0 to 15 in eight bytes",
	  BAD_PROGRAM(KPROBE, variable_overrun),
	  .says = { { EACCES, "invalid access to map value, value_size=8 off=15 size=1" },
		    { EACCES, "R0 max value is outside of the allowed memory range" } },
	  .at = "LDX(B, R1, R0, 0)" },
	{ "G26", "a descriptor that is not open", BAD_PROGRAM(SOCKET_FILTER, no_such_descriptor),
	  .says = { { EBADF, "fd 777 is not pointing to valid bpf_map" } } },
	{ "C2b", "a descriptor as a mere number", BAD_PROGRAM(SOCKET_FILTER, descriptor_as_number),
	  .says = { { EACCES, "expected=map_ptr" }, { EACCES, "R1 type=scalar", KERNEL(5, 18) } },
	  .at = "CALL(map_lookup_elem)" },
	{ "G33", "get_stackid with a hash map", BAD_PROGRAM(KPROBE, not_a_stack_map),
	  .says = { { EINVAL, "cannot pass map_type 1 into func bpf_get_stackid#27" } },
	  .at = "CALL(get_stackid)" },
	{ "G34", "an atomic operation on one byte", BAD_PROGRAM(SOCKET_FILTER, atomic_on_8_bits),
	  .says = { { EINVAL, "" },
		    { EINVAL, "invalid atomic operand size", KERNEL(6, 18) },
		    { EINVAL, "unknown opcode d3", 0, KERNEL(6, 13) } } },
	{ "G34b", "a store through the map itself", BAD_PROGRAM(SOCKET_FILTER, writes_into_map),
	  .says = { { EACCES, "only read from bpf_htab is supported", KERNEL(5, 9) },
		    { EACCES, "R1 invalid mem access 'map_ptr'", 0, KERNEL(5, 9) } },
	  .at = "ST(DW, R1, 0, 0)" },
	{ 0 },
};
