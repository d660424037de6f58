/* SPDX-License-Identifier: BSD-2-Clause */
/* during: notes which threads are inside of a call, and sends the calls that were long. */
#include "compat.h"
#include "during.h"
#include "freed.h"
#include "programs/cpu.h"

enum {
	CALL_START = offsetof(struct during_call, start),
	CALL_SP = offsetof(struct during_call, sp),
	CALL_IDS = offsetof(struct during_call, pid_tgid),
	CALL_DEPTH = offsetof(struct during_call, depth)
};
#define SLOW(member) offsetof(struct during_slow, member)

static const struct asm_layout call_layout =
	ASM_LAYOUT(struct during_call, start, sp, pid_tgid, depth);
ASM_FRAME(begin_frame,
	(struct during_call, call, NEW, &call_layout),
	(call.start, NEW_START),
	(call.sp, NEW_SP),
	(call.pid_tgid, NEW_IDS),
	(call.depth, NEW_DEPTH),
	(uint32_t, tid, BEGIN_TID));
ASM_FRAME(return_frame,
	(uint64_t, ns, NS),
	(uint32_t, tid, RETURN_TID));
ASM_FRAME(call_frame,
	(uint64_t, room, ROOM),
	(uint32_t, number, NUMBER));

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/* during_begin(thread, stack pointer): it has called. */
FUNC(during_begin),
	JEQ(R1, 0, out), /* the idle task's threads are many */
	STX(W, R10, BEGIN_TID, R1),
	MOV_REG(R8, R2),
	MAP_LOOKUP(during, BEGIN_TID),
	JEQ(R0, 0, outermost),
	WHEN(struct during_config, nested),
		LDX(DW, R1, R0, CALL_DEPTH),
		ADD(R1, 1),
		STX(DW, R0, CALL_DEPTH, R1),
		JA(out),
	END,
	UNLESS(struct during_config, nested),
		LDX(DW, R1, R0, CALL_SP),
		JGT_REG(R1, R8, out),
		COUNT(during_stats, struct during_stats, left),
	END,
LABEL(outermost),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, out),
	STX(DW, R10, NEW_IDS, R0),
	STX(DW, R10, NEW_SP, R8),
	ST(DW, R10, NEW_DEPTH, 1),
	COUNT(during_stats, struct during_stats, calls),
	CALL(ktime_get_ns),
	STX(DW, R10, NEW_START, R0),
	MAP_UPDATE(during, BEGIN_TID, NEW, BPF_ANY),
	JEQ(R0, 0, out),
	COUNT(during_stats, struct during_stats, full),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
};
static const struct asm_part begin_part = { ASM_LINES(begin_lines),
					    ASM_FRAMES({ "during_begin", &begin_frame_layout }) };

static const struct asm_insn return_lines[] = {
	/* during_return(thread, stack pointer, now): a call of it has ended. */
FUNC(during_return),
	JEQ(R1, 0, out),
	STX(W, R10, RETURN_TID, R1),
	MOV_REG(R7, R2),
	MOV_REG(R8, R3),
	MAP_LOOKUP(during, RETURN_TID),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	WHEN(struct during_config, nested),
		LDX(DW, R1, R6, CALL_DEPTH),
		SUB(R1, 1),
		STX(DW, R6, CALL_DEPTH, R1),
		JNE(R1, 0, out),
	END,
	UNLESS(struct during_config, nested),
		LDX(DW, R1, R6, CALL_SP),
		JGT_REG(R1, R7, out), /* one that was called from within */
		JEQ_REG(R1, R7, outermost),
		COUNT(during_stats, struct during_stats, left),
		JA(forget),
LABEL(outermost),
	END,
	LDX(DW, R1, R6, CALL_START),
	MOV_REG(R9, R8),
	SUB_REG(R9, R1),
	LD_PARAM(R2, struct during_config, limit_ns),
	JLE_REG(R9, R2, fast),
	RING_RESERVE(events, sizeof(struct during_slow)),
	JEQ(R0, 0, unsent),
	MOV_REG(R9, R0),
	LDX(DW, R1, R6, CALL_IDS),
	STX(DW, R9, SLOW(pid_tgid), R1),
	LDX(DW, R1, R6, CALL_START),
	STX(DW, R9, SLOW(begin), R1),
	STX(DW, R9, SLOW(end), R8),
	ST(DW, R9, SLOW(unused), 0),
	MOV_REG(R1, R9),
	ADD(R1, SLOW(comm)),
	MOV(R2, 16),
	CALL(get_current_comm),
	RING_SUBMIT(R9, 0),
	COUNT(during_stats, struct during_stats, slow),
LABEL(forget),
	MAP_DELETE(during, RETURN_TID),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
LABEL(fast),
	COUNT(during_stats, struct during_stats, fast),
	JA(forget),
LABEL(unsent),
	COUNT(during_stats, struct during_stats, unsent),
	JA(forget),
};
static const struct asm_part return_part = { ASM_LINES(return_lines),
					     ASM_FRAMES({ "during_return",
							  &return_frame_layout }) };

/* Where calls do not nest, or are counted. */
#define NO_SP MOV(R2, -1)
#define THIS_THREAD CALL(get_current_pid_tgid), MOV32_REG(R1, R0)

/* R9 = the time. */
#define RETURNS MOV_REG(R3, R9), CALL_FUNC(during_return)
#define RETURN_TIME CALL(ktime_get_ns), MOV_REG(R9, R0)

/* R1 and R2 for the functions, from the registers at R6. */
#define CALL_OF_REGISTERS                                                                          \
	WHEN(struct during_config, user),                                                          \
		LD_CALL(ROOM, struct during_config, probe, out),                                   \
		MOV_REG(R1, R7),                                                                   \
		MOV_REG(R2, R8),                                                                   \
	END,                                                                                       \
	UNLESS(struct during_config, user),                                                        \
		THIS_THREAD,                                                                       \
		NO_SP,                                                                             \
	END

static const struct asm_insn entry_lines[] = {
	MOV_REG(R6, R1),
	CALL_OF_REGISTERS,
	CALL_FUNC(during_begin),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&begin_part),
};
static const struct asm_insn exit_lines[] = {
	MOV_REG(R6, R1),
	RETURN_TIME,
	CALL_OF_REGISTERS,
	RETURNS,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&return_part),
};

/* fentry and fexit, tracepoints. */
static const struct asm_insn simple_entry_lines[] = {
	THIS_THREAD,
	NO_SP,
	CALL_FUNC(during_begin),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&begin_part),
};
static const struct asm_insn simple_exit_lines[] = {
	RETURN_TIME,
	THIS_THREAD,
	NO_SP,
	RETURNS,
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&return_part),
};

/* On to out unless the system call with the number in R7 is one that was asked for. */
#define WANTED_CALL                                                                                \
	LEAVE_COMPAT_CALL(ROOM, out),                                                              \
	STX(W, R10, NUMBER, R7),                                                                   \
	MAP_LOOKUP(during_calls, NUMBER),                                                          \
	JEQ(R0, 0, out),                                                                           \
	LDX(W, R1, R0, 0),                                                                         \
	JEQ(R1, 0, out)

/* sys_enter(struct pt_regs *, long number); at its return any that has begun is the one. */
static const struct asm_insn syscall_lines[] = {
	LDX(DW, R7, R1, 8),
	WANTED_CALL,
	THIS_THREAD,
	NO_SP,
	CALL_FUNC(during_begin),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&begin_part),
};
static const struct asm_insn syscall_tp_lines[] = {
	LD_TP(R7, R1, "raw_syscalls", "sys_enter", "id"),
	WANTED_CALL,
	THIS_THREAD,
	NO_SP,
	CALL_FUNC(during_begin),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&begin_part),
};

static const struct asm_insn forget_lines[] = {
	MAP_LOOKUP(during, NUMBER),
	JEQ(R0, 0, out),
	COUNT(during_stats, struct during_stats, left),
	MAP_DELETE(during, NUMBER),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part forget_part = { ASM_LINES(forget_lines) };

static const struct asm_insn gone_lines[] = {
	READ_TID(NUMBER),
	INCLUDE(&forget_part),
};
static const struct asm_insn freed_lines[] = {
	READ_FREED_TP(NUMBER),
	INCLUDE(&forget_part),
};
/* clang-format on */

static const struct during_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
						   .limit_ns = 10000000,
						   .user = 1 };
static const struct during_config kernel_config = { .common = PROGRAM_USUAL_CONFIG,
						    .limit_ns = 10000000,
						    .nested = 1 };
static const struct during_config flat_config = { .common = PROGRAM_USUAL_CONFIG,
						  .limit_ns = 10000000 };

#define DURING_PROGRAM(role_, config_)                                                             \
	.role = (role_), RP_MAPS(rp_cpu_maps, STACK_MAPS), RP_CONFIG(config_),                     \
	.code.frame = &call_frame_layout

const struct rp_program rp_during_programs[] = {
	{ RP_CODE("during_entry", entry_lines), RP_ON_PROBE,
	  DURING_PROGRAM(DURING_ENTRY, usual_config),
	  .summary = "notes that a thread calls the function of --during" },
	{ RP_CODE("during_return", exit_lines), RP_ON_PROBE,
	  DURING_PROGRAM(DURING_RETURN, usual_config),
	  .summary = "sends a call of the function of --during if it was long" },
	{ RP_CODE("during_fentry", simple_entry_lines), RP_ON_FENTRY("vfs_read"),
	  DURING_PROGRAM(DURING_ENTRY_ARGS, kernel_config),
	  .summary = "notes that a thread calls a function of the kernel, for --during" },
	{ RP_CODE("during_fexit", simple_exit_lines), RP_ON_FEXIT("vfs_read"),
	  DURING_PROGRAM(DURING_RETURN_ARGS, kernel_config),
	  .summary = "sends a call of a function of the kernel if it was long, for --during" },
	{ RP_CODE("during_sysenter", syscall_lines), RP_ON_TP_BTF("sys_enter"),
	  DURING_PROGRAM(DURING_ENTRY_CALL, flat_config),
	  .summary = "notes that a thread makes the system call of --during" },
	{ RP_CODE("during_sysexit", simple_exit_lines), RP_ON_TP_BTF("sys_exit"),
	  DURING_PROGRAM(DURING_RETURN_CALL, flat_config),
	  .summary = "sends a system call of --during if it was long" },
	{ RP_CODE("during_enter_tp", syscall_tp_lines), RP_ON_TP("raw_syscalls", "sys_enter"),
	  DURING_PROGRAM(DURING_ENTRY_CALL_TP, flat_config),
	  .summary = "without kernel BTF: notes that a thread makes the system call of --during" },
	{ RP_CODE("during_exit_tp", simple_exit_lines), RP_ON_TP("raw_syscalls", "sys_exit"),
	  DURING_PROGRAM(DURING_RETURN_CALL_TP, flat_config),
	  .summary = "without kernel BTF: sends a system call of --during if it was long" },
	{ RP_CODE("during_begin_tp", simple_entry_lines), RP_ON_RECORD,
	  DURING_PROGRAM(DURING_ENTRY_TP, flat_config),
	  .summary = "notes that a thread is behind the first tracepoint of --during" },
	{ RP_CODE("during_end_tp", simple_exit_lines), RP_ON_RECORD,
	  DURING_PROGRAM(DURING_RETURN_TP, flat_config),
	  .summary = "sends the time between two tracepoints if it was long, for --during" },
	RP_LIST_END,
};

#define GONE_PROGRAM                                                                               \
	.role = DURING_GONE, RP_MAPS(rp_cpu_maps, STACK_MAPS), .code.frame = &call_frame_layout

const struct rp_program rp_during_gone_programs[] = {
	{ RP_CODE("during_exit", gone_lines), RP_ON_TP("sched", "sched_process_exit"), GONE_PROGRAM,
	  .summary = "forgets the call of a thread that ends, for --during" },
	RP_LIST_END,
};
const struct rp_program rp_during_exec_programs[] = {
	{ RP_CODE("during_exec", gone_lines), RP_ON_TP("sched", "sched_process_exec"), GONE_PROGRAM,
	  .summary = "forgets the call of a program that gives way to another, for --during" },
	RP_LIST_END,
};
const struct rp_program rp_during_freed_programs[] = {
	{ RP_CODE("during_freed", freed_lines), ON_FREED_TP, GONE_PROGRAM,
	  .summary = "forgets the call of a thread that is freed, for --during" },
	RP_LIST_END,
};
