/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls: helpers that do not exist or are not for everyone, wrong arguments, callbacks. */
#include "bad.h"

static const struct asm_insn unknown_helper[] = {
	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 9999),
	EXIT(),
};
static const struct asm_insn helper_of_others[] = {
	CALL(redirect),
	EXIT(),
};
static const struct asm_insn any_size[] = {
	LDX(DW, R2, R1, 112),
	MOV_REG(R3, R2),
	FRAME_PTR(R1, -8),
	CALL(probe_read_kernel),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn stack_arguments_swapped[] = {
	LD_MAP(R1, stack_traces),
	MOV_REG(R2, R1),
	MOV(R3, 0),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_insn gpl_only[] = {
	LD_MAP(R2, stack_traces),
	MOV(R3, 0),
	CALL(get_stackid),
	MOV(R0, 0),
	EXIT(),
};
/* bpf_loop goes on while its callback returns 0, and stops at 1; there is no 2. */
static const struct asm_insn callback_returns_2[] = {
	MOV(R1, 10),
	LD_FUNC(R2, step),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL(loop),
	MOV(R0, 0),
	EXIT(),
	FUNC(step),
	MOV(R0, 2),
	EXIT(),
};

const struct bad_case bad_calls[] = {
	{ "G15", "no such helper", BAD_PROGRAM(SOCKET_FILTER, unknown_helper),
	  .says = { { EINVAL, "invalid func unknown#9999" } } },
	{ "G16", "a helper of another program type", BAD_PROGRAM(KPROBE, helper_of_others),
	  .says = { { EINVAL, "program of this type cannot use helper bpf_redirect#23",
		      KERNEL(6, 8) },
		    { EINVAL, "unknown func bpf_redirect#23", 0, KERNEL(6, 8) } },
	  .at = "CALL(redirect)" },
	{ "G29", "a size that may be negative", BAD_PROGRAM(KPROBE, any_size),
	  .says = { { EACCES, "R2 min value is negative, either use unsigned or 'var &= const'" } },
	  .at = "CALL(probe_read_kernel)" },
	{ "C3b", "get_stackid with the map where the context belongs",
	  BAD_PROGRAM(KPROBE, stack_arguments_swapped),
	  .says = { { EACCES, "R1 type=map_ptr expected=ctx" } }, .at = "CALL(get_stackid)" },
	{ "M5", "a GPL-only helper without the licence",
	  .program = { .name = "gpl_only",
		       .type = BPF_PROG_TYPE_KPROBE,
		       .license = "BSD",
		       ASM_LINES(gpl_only) },
	  .says = { { EINVAL,
		      "cannot call GPL-restricted function from non-GPL compatible program" } },
	  .at = "CALL(get_stackid)" },
	{ "G37", "a callback returns what is no answer", BAD_PROGRAM(KPROBE, callback_returns_2),
	  .needs = KERNEL(5, 17), .says = { { EINVAL, "At callback return the register R0 has" } },
	  .at = "EXIT()" },
	{ 0 },
};
