/* SPDX-License-Identifier: BSD-2-Clause */
/* func: threads that end, or execute another program, inside of calls. */
#include "func.h"

ASM_FRAME(exit_frame,
	(struct func_page_key, key, KEY),
	(key.thread, KEY_THREAD),
	(key.number, KEY_NUMBER),
	(key.unused, KEY_UNUSED));
enum {
	DEPTH = offsetof(struct func_page, depth),
	PAGES = offsetof(struct func_page, pages),
	PAYER = offsetof(struct func_page, payer)
};

/* clang-format off */
/* It runs in the thread that ends. */
static const struct asm_insn exit_lines[] = {
	FUNC_THREAD(R1),
	CALL_FUNC(func_thread),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	LDX(W, R1, R6, DEPTH),
	JEQ(R1, 0, idle),
	CALL(ktime_get_ns),
	MOV_REG(R5, R0),
	MOV_REG(R1, R6),
	MOV(R2, 0),
	MOV(R3, 0),
	MOV(R4, FUNC_UNWIND_EXIT),
	CALL_FUNC(func_unwind),
LABEL(idle),
	/* The first page last, as it says how many there are. */
	LDX(W, R7, R6, PAGES),
	LDX(DW, R1, R6, offsetof(struct func_page, thread)),
	STX(DW, R10, KEY_THREAD, R1),
	ST(W, R10, KEY_UNUSED, 0),
	LDX(W, R9, R6, PAYER),
	MOV(R8, 1),
LABEL(page),
	JGE_REG(R8, R7, first),
	STX(W, R10, KEY_NUMBER, R8),
	MAP_DELETE(calls, KEY),
	ADD(R8, 1),
	JLT(R8, FUNC_PAGES, page),
LABEL(first),
	ST(W, R10, KEY_NUMBER, 0),
	MAP_DELETE(calls, KEY),
	MOV_REG(R0, R9),
	SHARE_GIVE_MANY(FUNC_SHARE_PAGES, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	FUNC_BOTH_PARTS,
	WHEN(struct func_config, graph),
		INCLUDE(&rp_func_send_part),
	END,
};

/* Of the program that it had before nothing is left. */
static const struct asm_insn exec_lines[] = {
	FUNC_THREAD(R1),
	CALL_FUNC(func_thread),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	LDX(W, R1, R6, DEPTH),
	JEQ(R1, 0, out),
	CALL(ktime_get_ns),
	MOV_REG(R5, R0),
	MOV_REG(R1, R6),
	MOV(R2, 0),
	MOV(R3, 0),
	MOV(R4, FUNC_UNWIND_EXEC),
	CALL_FUNC(func_unwind),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	FUNC_BOTH_PARTS,
	WHEN(struct func_config, graph),
		INCLUDE(&rp_func_send_part),
	END,
};
/* clang-format on */

#define FUNC_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_func_maps, FUNC_MAPS), RP_CONFIG(rp_func_usual_config)

const struct rp_program rp_func_thread_programs[] = {
	{ RP_CODE("func_exit", exit_lines), RP_ON_TP_BTF("sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS), .code.frame = &exit_frame_layout,
	  .summary = "forgets the calls of a thread when it ends" },
	{ RP_CODE("func_exit_tp", exit_lines), RP_ON_TP("sched", "sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS), .code.frame = &exit_frame_layout,
	  .summary = "forgets the calls of a thread, without kernel BTF" },
	{ RP_CODE("func_exec", exec_lines), RP_ON_TP_BTF("sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS), .code.frame = &exit_frame_layout,
	  .summary = "forgets the calls of a program that gives way to another" },
	{ RP_CODE("func_exec_tp", exec_lines), RP_ON_TP("sched", "sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS), .code.frame = &exit_frame_layout,
	  .summary = "forgets the calls of a program, without kernel BTF" },
	RP_LIST_END,
};
