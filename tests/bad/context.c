/* SPDX-License-Identifier: BSD-2-Clause */
/* The context: what R1 points to at the start, which is another thing for every program type. */
#include "bad.h"

static const struct asm_insn atomic_on_context[] = {
	MOV(R2, 1),
	ATOMIC_ADD(DW, R1, 0, R2),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn context_plus_anything[] = {
	LDX(DW, R2, R1, 112),
	ADD_REG(R1, R2),
	LDX(DW, R0, R1, 0),
	EXIT(),
};
static const struct asm_insn context_passed_on_moved[] = {
	ADD(R1, 8),
	LD_MAP(R2, stack_traces),
	MOV(R3, 0),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn behind_perf_event[] = {
	LDX(DW, R0, R1, 400),
	EXIT(),
};
static const struct asm_insn behind_pt_regs[] = {
	LDX(DW, R0, R1, 1024),
	EXIT(),
};
static const struct asm_insn between_pt_regs[] = {
	LDX(DW, R0, R1, 110),
	EXIT(),
};
static const struct asm_insn head_of_record[] = {
	LDX(DW, R0, R1, 0),
	EXIT(),
};
static const struct asm_insn writes_context[] = {
	ST(DW, R1, 8, 0),
	MOV(R0, 0),
	EXIT(),
};

const struct bad_case bad_context[] = {
	{ "G21", "an atomic operation on the context", BAD_PROGRAM(KPROBE, atomic_on_context),
	  .says = { { EACCES, "BPF_ATOMIC stores into R1 ctx is not allowed" } },
	  .at = "ATOMIC_ADD(DW, R1, 0, R2)" },
	{ "G24", "the context plus a number without bounds",
	  BAD_PROGRAM(KPROBE, context_plus_anything),
	  .says = { { EINVAL,
		      "math between ctx pointer and register with unbounded min value is not "
		      "allowed" } },
	  .at = "ADD_REG(R1, R2)" },
	{ "G24b", "a helper gets a context that was moved",
	  BAD_PROGRAM(KPROBE, context_passed_on_moved),
	  .says = { { EACCES, "ctx ptr R1 off=8 disallowed" } }, .at = "CALL(get_stackid)" },
	{ "G28", "behind a perf event's context", BAD_PROGRAM(PERF_EVENT, behind_perf_event),
	  .says = { { EACCES, "invalid bpf_context access off=400 size=8" } },
	  .at = "LDX(DW, R0, R1, 400)" },
	{ "M4", "behind the machine registers", BAD_PROGRAM(KPROBE, behind_pt_regs),
	  .says = { { EACCES, "invalid bpf_context access off=1024 size=8" } },
	  .at = "LDX(DW, R0, R1, 1024)" },
	{ "M4b", "between two machine registers", BAD_PROGRAM(KPROBE, between_pt_regs),
	  .says = { { EACCES, "invalid bpf_context access off=110 size=8" } },
	  .at = "LDX(DW, R0, R1, 110)" },
	{ "I1", "the first 8 bytes of a tracepoint's record",
	  BAD_PROGRAM(TRACEPOINT, head_of_record),
	  .says = { { EACCES, "invalid bpf_context access off=0 size=8" } },
	  .at = "LDX(DW, R0, R1, 0)" },
	{ "I1g", "a write to a tracepoint's record", BAD_PROGRAM(TRACEPOINT, writes_context),
	  .says = { { EACCES, "invalid bpf_context access off=8 size=8", KERNEL(6, 12) },
		    { EACCES, "BPF_ST stores into R1 ctx is not allowed", 0, KERNEL(6, 2) } },
	  .at = "ST(DW, R1, 8, 0)" },
	{ 0 },
};
