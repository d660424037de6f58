/* SPDX-License-Identifier: BSD-2-Clause */
/* Which call of a goroutine? The lines of LD_CALL() for Go. */
#include "probe.h"

/* Of the runtime's struct g: the end of its stack. */
#define STACK_END 8

/* clang-format off */
/*
 * R7, R8 of the registers at R6; R1: room for 8 bytes. R0 is not 0 if they cannot be told. The
 * number of a goroutine is 42 bits of its address, which is divisible by 32, with the process above
 * them: the register is the program's to choose, and it cannot choose one of another's.
 */
static const struct asm_insn go_lines[] = {
	MOV_REG(R8, R1),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	LSH(R0, 42),
	LDX(DW, R7, R6, PROBE_GO_G),
	MOV_REG(R3, R7),
	ADD(R3, STACK_END),
	LSH(R7, 17),
	RSH(R7, 22),
	OR_REG(R7, R0),
	MOV_REG(R1, R8),
	MOV(R2, 8),
	CALL(probe_read_user),
	LDX(DW, R1, R8, 0),
	LD_SP(R8, R6),
	SUB_REG(R8, R1),
};
/* clang-format on */
const struct asm_part rp_probe_go_part = { ASM_LINES(go_lines) };
