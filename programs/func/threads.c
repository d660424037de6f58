/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * func: threads that end, or execute another program, inside of calls.
 *
 * A thread that is not the first of its process executes a program under the first one's id: by its
 * own it has ended.
 */
#include "func.h"

ASM_FRAME(forget_frame,
	(struct func_page_key, key, KEY),
	(key.thread, KEY_THREAD),
	(key.number, KEY_NUMBER),
	(key.unused, KEY_UNUSED));
enum {
	THREAD = offsetof(struct func_page, thread),
	DEPTH = offsetof(struct func_page, depth),
	PAGES = offsetof(struct func_page, pages),
	PAYER = offsetof(struct func_page, payer)
};

/* clang-format off */
static const struct asm_insn forget_lines[] = {
	/* func_forget(first page): takes away the pages of a thread. */
FUNC(func_forget),
	LDX(W, R7, R1, PAGES),
	LDX(W, R9, R1, PAYER),
	LDX(DW, R1, R1, THREAD),
	STX(DW, R10, KEY_THREAD, R1),
	ST(DW, R10, KEY_NUMBER, 0), /* and unused */
	MAP_DELETE(calls, KEY),
	MOV(R8, 1),
LABEL(page),
	JGE_REG(R8, R7, gone),
	STX(W, R10, KEY_NUMBER, R8),
	MAP_DELETE(calls, KEY),
	ADD(R8, 1),
	JLT(R8, FUNC_PAGES, page),
LABEL(gone),
	MOV_REG(R0, R9),
	SHARE_GIVE_MANY(FUNC_SHARE_PAGES, R7),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_insn drop_lines[] = {
	/* func_drop(first page, how): the calls that its thread is in end here. */
FUNC(func_drop),
	LDX(W, R3, R1, DEPTH),
	JEQ(R3, 0, none),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	CALL(ktime_get_ns),
	MOV_REG(R5, R0),
	MOV_REG(R1, R6),
	MOV(R2, 0),
	MOV(R3, 0),
	MOV_REG(R4, R7),
	CALL_FUNC(func_unwind),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

	/* func_ends(thread): it has ended. */
FUNC(func_ends),
	CALL_FUNC(func_thread),
	JEQ(R0, 0, unknown),
	MOV_REG(R6, R0),
	MOV_REG(R1, R0),
	MOV(R2, FUNC_UNWIND_EXIT),
	CALL_FUNC(func_drop),
	MOV_REG(R1, R6),
	CALL_FUNC(func_forget),
LABEL(unknown),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_func_forget_part),
	FUNC_BOTH_PARTS,
	WHEN(struct func_config, graph),
		INCLUDE(&rp_func_send_part),
	END,
};
static const struct asm_part drop_part = { ASM_LINES(drop_lines) };

/* It runs in the thread that ends. */
static const struct asm_insn exit_lines[] = {
	FUNC_THREAD(R1),
	CALL_FUNC(func_ends),
	EXIT(),
	INCLUDE(&drop_part),
};

/* The thread was known by the id in R7. Of the program that it had before nothing is left. */
static const struct asm_insn exec_rest_lines[] = {
	FUNC_THREAD(R8),
	JEQ_REG(R7, R8, same),
	MOV_REG(R1, R7),
	CALL_FUNC(func_ends),
LABEL(same),
	MOV_REG(R1, R8),
	CALL_FUNC(func_thread),
	JEQ(R0, 0, out),
	MOV_REG(R1, R0),
	MOV(R2, FUNC_UNWIND_EXEC),
	CALL_FUNC(func_drop),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&drop_part),
};
static const struct asm_part exec_rest_part = { ASM_LINES(exec_rest_lines) };

/* sched_process_exec(struct task_struct *task, pid_t old, struct linux_binprm *binary) */
static const struct asm_insn exec_lines[] = {
	LDX(DW, R7, R1, 8),
	MOV32_REG(R7, R7),
	INCLUDE(&exec_rest_part),
};
static const struct asm_insn exec_classic[] = {
	MOV_REG(R6, R1),
	LD_TP(R7, R6, "sched", "sched_process_exec", "old_pid"),
	INCLUDE(&exec_rest_part),
};
/* clang-format on */
const struct asm_part rp_func_forget_part = { ASM_LINES(forget_lines),
					      ASM_FRAMES({ "func_forget", &forget_frame_layout }) };

#define FUNC_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_func_maps, FUNC_MAPS), RP_CONFIG(rp_func_usual_config)

const struct rp_program rp_func_thread_programs[] = {
	{ RP_CODE("func_exit", exit_lines), RP_ON_TP_BTF("sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS), .summary = "forgets the calls of a thread when it ends" },
	{ RP_CODE("func_exit_tp", exit_lines), RP_ON_TP("sched", "sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS),
	  .summary = "forgets the calls of a thread, without kernel BTF" },
	{ RP_CODE("func_exec", exec_lines), RP_ON_TP_BTF("sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS),
	  .summary = "forgets the calls of a program that gives way to another" },
	{ RP_CODE("func_exec_tp", exec_classic), RP_ON_TP("sched", "sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS),
	  .summary = "forgets the calls of a program, without kernel BTF" },
	RP_LIST_END,
};
