/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * func: the programs at functions of the kernel by fentry and fexit, at system calls, and from one
 * tracepoint to another. A call of theirs is known by its thread alone: programs/func/func.h.
 */
#include <errno.h>

#include "base/machine.h"
#include "call.h"
#include "programs/shared/compat.h"

/* clang-format off */
/* R3 = the function, R7 = the thread, R8 = a stack pointer that is none. */
#define LD_KERNEL_CALL                                                                             \
	SCOPE("LD_KERNEL_CALL"),                                                                   \
		FUNC_THREAD(R7),                                                                   \
		MOV(R8, -1),                                                                       \
		LD_PROBE_ID(R3, R6, struct func_config, probe),                                    \
	END

/* R3 = which function the system call with the number in R9 is, or on to the label. */
#define LD_SYSCALL(out)                                                                            \
	SCOPE("LD_SYSCALL(" #out ")"),                                                             \
		STX(W, R10, NUMBER, R9),                                                           \
		MAP_LOOKUP(syscalls, NUMBER),                                                      \
		JEQ(R0, 0, out),                                                                   \
		LDX(W, R9, R0, 0),                                                                 \
		JEQ(R9, 0, out),                                                                   \
		SUB(R9, 1),                                                                        \
	END

/* ---- fentry and fexit: arguments are 8 bytes each, the result stands behind them */

#define KEEP_ARGUMENT(n)                                                                           \
	JLE(R2, n, .kept), LDX(DW, R1, R6, 8 * (n)),                                               \
		STX(DW, R8, offsetof(struct func_call, args) + 8 * (n), R1)
#define LD_RESULT(n) JNE(R1, n, .not_##n), LDX(DW, R4, R6, 8 * (n)), JA(.known), LABEL(.not_##n)

static const struct asm_insn fentry_lines[] = {
	MOV_REG(R6, R1),
	FUNC_GATE(out),
	LD_KERNEL_CALL,
	ENTER_FUNC(out),
	WHEN(struct func_config, args),
		SCOPE("KEEP_ARGUMENTS"),
			ZERO_ARGS(R8),
			LD_PARAM(R2, struct func_config, probe.nargs),
			KEEP_ARGUMENT(0), KEEP_ARGUMENT(1), KEEP_ARGUMENT(2),
			KEEP_ARGUMENT(3), KEEP_ARGUMENT(4), KEEP_ARGUMENT(5),
			LABEL(.kept),
		END,
	END,
	FUNC_BEGIN(R8, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	ENTER_TAIL,
};

static const struct asm_insn fexit_lines[] = {
	MOV_REG(R6, R1),
	FIND_THREAD(out),
	LD_PROBE_ID(R3, R6, struct func_config, probe),
	MOV(R4, 0),
	LD_PARAM(R1, struct func_config, probe.nargs),
	SCOPE("LD_RESULT"),
		LD_RESULT(0), LD_RESULT(1), LD_RESULT(2), LD_RESULT(3), LD_RESULT(4),
		LD_RESULT(5), LD_RESULT(6), LD_RESULT(7), LD_RESULT(8), LD_RESULT(9),
		LD_RESULT(10), LD_RESULT(11), LD_RESULT(12),
		LABEL(.known),
	END,
	LEAVE_FUNC,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	LEAVE_TAIL,
};

static const struct asm_insn fentry_count_lines[] = {
	MOV_REG(R6, R1),
	FUNC_GATE(out),
	LD_PROBE_ID(R1, R6, struct func_config, probe),
	CALL_FUNC(func_count),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	COUNT_TAIL,
};

/* ---- system calls */

#define KEEP_REGISTER(n, name)                                                                     \
	LD_FIELD(R1, R9, "pt_regs", name),                                                         \
		STX(DW, R8, offsetof(struct func_call, args) + 8 * (n), R1)

/* sys_enter(struct pt_regs *regs, long id) */
static const struct asm_insn syscall_lines[] = {
	MOV_REG(R6, R1),
	LDX(DW, R9, R6, 8),
	LD_SYSCALL(out),
	FUNC_GATE(out),
	LEAVE_COMPAT_CALL(ROOM, out),
	FUNC_THREAD(R7),
	MOV(R8, -1),
	MOV_REG(R3, R9),
	ENTER_FUNC(out),
	WHEN(struct func_config, args),
		LDX(DW, R9, R6, 0),
		KEEP_REGISTER(0, REG_ARG0), KEEP_REGISTER(1, REG_ARG1), KEEP_REGISTER(2, REG_ARG2),
		KEEP_REGISTER(3, REG_ARG3), KEEP_REGISTER(4, REG_ARG4), KEEP_REGISTER(5, REG_ARG5),
	END,
	FUNC_BEGIN(R8, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	ENTER_TAIL,
};

/* sys_exit(struct pt_regs *regs, long ret) */
static const struct asm_insn sysret_lines[] = {
	MOV_REG(R6, R1),
	LDX(DW, R1, R6, 0),
	LD_FIELD(R9, R1, "pt_regs", REG_NR),
	LD_SYSCALL(out),
	LEAVE_COMPAT_CALL(ROOM, out),
	STX(DW, R10, ROOM, R9),
	FIND_THREAD(out),
	LDX(DW, R3, R10, ROOM),
	LDX(DW, R4, R6, 8),
	LEAVE_FUNC,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	LEAVE_TAIL,
};

static const struct asm_insn syscall_count_lines[] = {
	MOV_REG(R6, R1),
	LDX(DW, R9, R6, 8),
	LD_SYSCALL(out),
	FUNC_GATE(out),
	LEAVE_COMPAT_CALL(ROOM, out),
	MOV_REG(R1, R9),
	CALL_FUNC(func_count),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	COUNT_TAIL,
};

/* The same by classic tracepoints. */
#define KEEP_RECORDED(n)                                                                           \
	LDX(DW, R1, R6, 16 + 8 * (n)), STX(DW, R8, offsetof(struct func_call, args) + 8 * (n), R1)

static const struct asm_insn syscall_classic[] = {
	MOV_REG(R6, R1),
	LD_TP(R9, R6, "raw_syscalls", "sys_enter", "id"),
	LD_SYSCALL(out),
	FUNC_GATE(out),
	FUNC_THREAD(R7),
	MOV(R8, -1),
	MOV_REG(R3, R9),
	ENTER_FUNC(out),
	WHEN(struct func_config, args),
		KEEP_RECORDED(0), KEEP_RECORDED(1), KEEP_RECORDED(2),
		KEEP_RECORDED(3), KEEP_RECORDED(4), KEEP_RECORDED(5),
	END,
	FUNC_BEGIN(R8, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	ENTER_TAIL,
};

static const struct asm_insn sysret_classic[] = {
	MOV_REG(R6, R1),
	LD_TP(R9, R6, "raw_syscalls", "sys_exit", "id"),
	LD_SYSCALL(out),
	STX(DW, R10, ROOM, R9),
	FIND_THREAD(out),
	LDX(DW, R3, R10, ROOM),
	LD_TP(R4, R6, "raw_syscalls", "sys_exit", "ret"),
	LEAVE_FUNC,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	LEAVE_TAIL,
};

static const struct asm_insn syscall_count_classic[] = {
	MOV_REG(R6, R1),
	LD_TP(R9, R6, "raw_syscalls", "sys_enter", "id"),
	LD_SYSCALL(out),
	FUNC_GATE(out),
	MOV_REG(R1, R9),
	CALL_FUNC(func_count),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	COUNT_TAIL,
};

/* ---- from one tracepoint to another */

static const struct asm_insn event_lines[] = {
	MOV_REG(R6, R1),
	FUNC_GATE(out),
	LD_KERNEL_CALL,
	ENTER_FUNC(out),
	WHEN(struct func_config, args),
		ZERO_ARGS(R8),
	END,
	FUNC_BEGIN(R8, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	ENTER_TAIL,
};

static const struct asm_insn event_end_lines[] = {
	MOV_REG(R6, R1),
	FIND_THREAD(out),
	LD_PROBE_ID(R3, R6, struct func_config, probe),
	MOV(R4, 0),
	LEAVE_FUNC,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	LEAVE_TAIL,
};
/* clang-format on */

const struct func_config rp_func_kernel_config = { .common = PROGRAM_USUAL_CONFIG,
						   .kernel = 1,
						   .slot_bytes = FUNC_SHORT_CALL,
						   .most_depth = FUNC_DEPTH,
						   .most_pages = FUNC_PLACES,
						   .probe = { .nargs = 1 },
						   .sums = 1,
						   .by_function = 1 };
#define KERNEL_PROGRAM(role_) FUNC_PROGRAM(role_, rp_func_kernel_config)

const struct rp_program rp_func_kernel_programs[] = {
	{ RP_CODE("func_fentry", fentry_lines), RP_ON_FENTRY("vfs_read"),
	  KERNEL_PROGRAM(FUNC_ENTERED),
	  .summary = "notes that a function of the kernel is called" },
	{ RP_CODE("func_fexit", fexit_lines), RP_ON_FEXIT("vfs_read"),
	  KERNEL_PROGRAM(FUNC_RETURNED), .summary = "adds how long a call of it was" },
	{ RP_CODE("func_fcount", fentry_count_lines), RP_ON_FENTRY("vfs_read"),
	  KERNEL_PROGRAM(FUNC_COUNTED), .summary = "counts calls of functions of the kernel" },
	RP_LIST_END,
};

const struct rp_program rp_func_syscall_programs[] = {
	{ RP_CODE("func_syscall", syscall_lines), RP_ON_TP_BTF("sys_enter"),
	  KERNEL_PROGRAM(FUNC_ENTERED), .summary = "notes that a system call begins" },
	{ RP_CODE("func_sysret", sysret_lines), RP_ON_TP_BTF("sys_exit"),
	  KERNEL_PROGRAM(FUNC_RETURNED), .summary = "adds how long a system call was" },
	{ RP_CODE("func_syscount", syscall_count_lines), RP_ON_TP_BTF("sys_enter"),
	  KERNEL_PROGRAM(FUNC_COUNTED), .summary = "counts system calls" },
	RP_LIST_END,
};

const struct rp_program rp_func_classic_programs[] = {
	{ RP_CODE("func_syscall_tp", syscall_classic), RP_ON_TP("raw_syscalls", "sys_enter"),
	  KERNEL_PROGRAM(FUNC_ENTERED),
	  .summary = "without kernel BTF: notes that a system call begins" },
	{ RP_CODE("func_sysret_tp", sysret_classic), RP_ON_TP("raw_syscalls", "sys_exit"),
	  KERNEL_PROGRAM(FUNC_RETURNED),
	  .summary = "without kernel BTF: adds how long a system call was" },
	{ RP_CODE("func_scount_tp", syscall_count_classic), RP_ON_TP("raw_syscalls", "sys_enter"),
	  KERNEL_PROGRAM(FUNC_COUNTED), .summary = "without kernel BTF: counts system calls" },
	RP_LIST_END,
};

const struct rp_program rp_func_event_programs[] = {
	{ RP_CODE("func_event", event_lines), RP_ON_RECORD, KERNEL_PROGRAM(FUNC_ENTERED),
	  .summary = "notes that the first of two tracepoints was met" },
	{ RP_CODE("func_event_end", event_end_lines), RP_ON_RECORD, KERNEL_PROGRAM(FUNC_RETURNED),
	  .summary = "adds how long it was to the second" },
	{ RP_CODE("func_ecount", fentry_count_lines), RP_ON_RECORD, KERNEL_PROGRAM(FUNC_COUNTED),
	  .summary = "counts how often a tracepoint was met" },
	RP_LIST_END,
};
