/* SPDX-License-Identifier: BSD-2-Clause */
/* func: threads that end, or execute another program, inside of calls. */
#include "programs/shared/freed.h"
#include "func.h"

ASM_FRAME(ends_frame,
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

	FUNC_BOTH_PARTS,
	WHEN(struct func_config, graph),
		INCLUDE(&rp_func_send_part),
	END,
};
static const struct asm_part drop_part = { ASM_LINES(drop_lines) };

/* What is known under the id in R1 has ended, in this way. */
#define THREAD_ENDS(how)                                                                           \
	MOV(R7, how), INCLUDE(&ends_part)
static const struct asm_insn ends_lines[] = {
	CALL_FUNC(func_thread),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	MOV_REG(R1, R0),
	MOV_REG(R2, R7),
	CALL_FUNC(func_drop),
	/* The pages are given back by who takes the first one away. */
	LDX(W, R7, R6, PAGES),
	LDX(W, R9, R6, PAYER),
	LDX(DW, R1, R6, THREAD),
	STX(DW, R10, KEY_THREAD, R1),
	ST(DW, R10, KEY_NUMBER, 0), /* and unused */
	MAP_DELETE(calls, KEY),
	JNE(R0, 0, out),
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
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&drop_part),
};
static const struct asm_part ends_part = { ASM_LINES(ends_lines) };

/* It runs in the thread that ends. */
static const struct asm_insn exit_lines[] = {
	FUNC_THREAD(R8),
	MOV_REG(R1, R8),
	THREAD_ENDS(FUNC_UNWIND_EXIT),
};

/* Functions of the kernel that it was in after that; or a thread that executes under another id. */
static const struct asm_insn freed_lines[] = {
	READ_FREED(KEY),
	LDX(W, R1, R10, KEY),
	THREAD_ENDS(FUNC_UNWIND_FREED),
};
static const struct asm_insn freed_classic[] = {
	READ_FREED_TP(KEY),
	LDX(W, R1, R10, KEY),
	THREAD_ENDS(FUNC_UNWIND_FREED),
};

/* Of the program that it had before nothing is left. */
static const struct asm_insn exec_lines[] = {
	FUNC_THREAD(R8),
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
/* clang-format on */

#define FUNC_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_func_maps, FUNC_MAPS), RP_CONFIG(rp_func_usual_config)

const struct rp_program rp_func_thread_programs[] = {
	{ RP_CODE("func_exit", exit_lines), RP_ON_TP_BTF("sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS), .summary = "forgets the calls of a thread when it ends" },
	{ RP_CODE("func_exit_tp", exit_lines), RP_ON_TP("sched", "sched_process_exit"),
	  FUNC_PROGRAM(FUNC_THREAD_ENDS), .code.frame = &ends_frame_layout,
	  .summary = "without kernel BTF: forgets the calls of a thread" },
	{ RP_CODE("func_exec", exec_lines), RP_ON_TP_BTF("sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS),
	  .summary = "forgets the calls of a program that gives way to another" },
	{ RP_CODE("func_exec_tp", exec_lines), RP_ON_TP("sched", "sched_process_exec"),
	  FUNC_PROGRAM(FUNC_THREAD_EXECS),
	  .summary = "without kernel BTF: forgets the calls of a program" },
	{ RP_CODE("func_freed", freed_lines), ON_FREED, FUNC_PROGRAM(FUNC_THREAD_FREED),
	  .code.frame = &ends_frame_layout, .summary = "forgets a thread that is freed" },
	{ RP_CODE("func_freed_tp", freed_classic), ON_FREED_TP, FUNC_PROGRAM(FUNC_THREAD_FREED),
	  .code.frame = &ends_frame_layout,
	  .summary = "without kernel BTF: forgets a thread that is freed" },
	RP_LIST_END,
};
