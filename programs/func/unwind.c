/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * func_find, func_unwind: walks through the calls that a thread is in, from the innermost one on.
 *
 * Nearly always the innermost call is the one that is looked for, and nothing is walked. A walk is
 * there for calls that were left (longjmp over a recursion of a thousand), and for threads with
 * several stacks.
 */
#include "func.h"

enum {
	DEPTH = offsetof(struct func_page, depth),
	IDS = offsetof(struct func_page, ids),
	AT = offsetof(struct func_page, at),
	LEFT = offsetof(struct func_page, left),
	CALL_SP = offsetof(struct func_call, sp),
	CALL_FUNCTION = offsetof(struct func_call, function)
};
enum { SUM_LEFT = offsetof(struct func_sum, left) };

/*
 * What a walk looks for. Where it is, and how many calls it has left to look at, is kept in the
 * page: of numbers in its own stack frame the verifier would know more with each step, and follow
 * all of them.
 */
struct walk {
	struct func_page *page;
	uint64_t sp;
	uint64_t function; /* func_find */
	uint64_t how, now; /* func_unwind */
};
enum {
	PAGE = offsetof(struct walk, page),
	SP = offsetof(struct walk, sp),
	FUNCTION = offsetof(struct walk, function),
	HOW = offsetof(struct walk, how),
	NOW = offsetof(struct walk, now)
};
static const struct asm_layout walk_layout = ASM_LAYOUT(struct walk, page, sp, function, how, now);
ASM_FRAME(walk_frame,
	(struct walk, walk, WALK, &walk_layout),
	(walk.page, WALK_PAGE),
	(walk.sp, WALK_SP),
	(walk.function, WALK_FUNCTION),
	(walk.how, WALK_HOW),
	(walk.now, WALK_NOW));

/* Without bpf_loop a walk is unrolled, and ends after so many calls. */
#define BOUNDED_STEPS 16

/* clang-format off */
/* Calls step(number, walk) until it says 1. R6 is destroyed. */
#define WALK_ALL(step)                                                                             \
	SCOPE("WALK_ALL(" #step ")"),                                                              \
		UNLESS(struct func_config, bounded),                                               \
			MOV(R1, FUNC_DEPTH),                                                       \
			LD_FUNC(R2, step),                                                         \
			FRAME_PTR(R3, WALK),                                                       \
			MOV(R4, 0),                                                                \
			CALL(loop),                                                                \
		END,                                                                               \
		WHEN(struct func_config, bounded),                                                 \
			MOV(R6, 0),                                                                \
			LABEL(.again),                                                             \
			MOV_REG(R1, R6),                                                           \
			FRAME_PTR(R2, WALK),                                                       \
			CALL_FUNC(step),                                                           \
			JNE(R0, 0, .done),                                                         \
			ADD(R6, 1),                                                                \
			JLT(R6, BOUNDED_STEPS, .again),                                            \
			LABEL(.done),                                                              \
		END,                                                                               \
	END

static const struct asm_insn find_lines[] = {
	/* func_find(first page, stack pointer, function): 1 + the number of that call; 0: none. */
FUNC(func_find),
	MOV_REG(R7, R1),
	STX(DW, R10, WALK_PAGE, R1),
	STX(DW, R10, WALK_SP, R2),
	STX(DW, R10, WALK_FUNCTION, R3),
	LDX(W, R2, R1, DEPTH),
	STX(DW, R1, LEFT, R2),
	WALK_ALL(func_find_step),
	LDX(DW, R0, R7, LEFT),
	EXIT(),

	/* func_find_step(number, walk): 1 if it is over. */
FUNC(func_find_step),
	MOV_REG(R6, R2),
	LDX(DW, R7, R6, PAGE),
	LDX(DW, R2, R7, LEFT),
	JEQ(R2, 0, last),
	SUB(R2, 1),
	MOV_REG(R1, R7),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, none), /* never */
	LDX(W, R1, R0, CALL_FUNCTION),
	LDX(DW, R2, R6, FUNCTION),
	JNE_REG(R1, R2, next),
	UNLESS(struct func_config, kernel),
		LDX(DW, R1, R0, CALL_SP),
		LDX(DW, R2, R6, SP),
		JNE_REG(R1, R2, next),
	END,
	MOV(R0, 1),
	EXIT(),
LABEL(none),
	ST(DW, R7, LEFT, 0),
LABEL(last),
	MOV(R0, 1),
	EXIT(),
LABEL(next),
	LDX(DW, R2, R7, LEFT),
	SUB(R2, 1),
	STX(DW, R7, LEFT, R2),
	MOV(R0, 0),
	EXIT(),
};

/* R0 = whether the number in reg is on the signal stack that begins below R4 and has R5 bytes. */
#define ON_SIGNAL_STACK(reg)                                                                       \
	SCOPE("ON_SIGNAL_STACK(" #reg ")"),                                                        \
		MOV(R0, 0),                                                                        \
		MOV_REG(R3, reg),                                                                  \
		JLE_REG(R3, R4, .not),                                                             \
		SUB_REG(R3, R4),                                                                   \
		JGT_REG(R3, R5, .not),                                                             \
		MOV(R0, 1),                                                                        \
		LABEL(.not),                                                                       \
	END

static const struct asm_insn unwind_lines[] = {
FUNC(func_unwind),
	STX(DW, R10, WALK_PAGE, R1),
	STX(DW, R10, WALK_SP, R2),
	STX(DW, R10, WALK_HOW, R4),
	STX(DW, R10, WALK_NOW, R5),
	LDX(W, R2, R1, DEPTH),
	STX(DW, R1, AT, R2),
	SUB_REG(R2, R3),
	STX(DW, R1, LEFT, R2),
	WALK_ALL(func_unwind_step),
	MOV(R0, 0),
	EXIT(),

	/* func_unwind_step(number, walk): 1 if it is over. */
FUNC(func_unwind_step),
	MOV_REG(R6, R2),
	LDX(DW, R1, R6, PAGE),
	LDX(DW, R2, R1, LEFT),
	JEQ(R2, 0, last),
	SUB(R2, 1),
	STX(DW, R1, LEFT, R2),
	LDX(DW, R2, R1, AT),
	SUB(R2, 1),
	STX(DW, R1, AT, R2),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, last), /* never */
	MOV_REG(R7, R0),
	LDX(W, R8, R7, CALL_FUNCTION),
	JEQ32(R8, FUNC_NONE, trim),

	/* Was it left? */
	LDX(DW, R9, R6, HOW),
	LDX(DW, R1, R7, CALL_SP),
	LDX(DW, R2, R6, SP),
	JEQ(R9, FUNC_UNWIND_ALL, left),
	JEQ(R9, FUNC_UNWIND_EXIT, left),
	JEQ(R9, FUNC_UNWIND_FREED, thread_ended),
	JEQ(R9, FUNC_UNWIND_EXEC, of_program),
	JEQ(R9, FUNC_UNWIND_RETURN, returned),
	JGT_REG(R1, R2, last),
	JNE_REG(R1, R2, below),
	JEQ(R9, FUNC_UNWIND_ENTRY_EQUAL, left),
	JA(last),
LABEL(below),
	CALL_FUNC(func_same_stack),
	JEQ(R0, 0, last),
	JA(left),
LABEL(returned),
	JGT_REG(R1, R2, next),
	CALL_FUNC(func_same_stack),
	JEQ(R0, 0, next),
	JA(left),
LABEL(of_program),
	JSLT(R1, 0, next), /* the kernel's */

LABEL(left),
	JEQ(R9, FUNC_UNWIND_EXIT, thread_ended),
	COUNT(stats, struct func_stats, left),
	JA(counted),
LABEL(thread_ended),
	COUNT(stats, struct func_stats, thread_ended),
	JEQ(R9, FUNC_UNWIND_FREED, dropped), /* under what, the current one does not tell */
LABEL(counted),
	WHEN(struct func_config, sums),
		MOV_REG(R1, R8),
		LDX(DW, R2, R6, PAGE),
		LDX(DW, R2, R2, IDS),
		CALL_FUNC(func_sum),
		JEQ(R0, 0, no_sum),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, SUM_LEFT, R1),
LABEL(no_sum),
	END,
	WHEN(struct func_config, graph),
		MOV_REG(R1, R7),
		LDX(DW, R2, R6, PAGE),
		LDX(DW, R2, R2, AT),
		LSH(R2, 16),
		OR(R2, FUNC_LEFT),
		LDX(DW, R3, R6, NOW),
		MOV(R4, 0),
		LDX(DW, R5, R6, PAGE),
		CALL_FUNC(func_send),
	END,
LABEL(dropped),
	MOV(R1, -1),
	STX(W, R7, CALL_FUNCTION, R1), /* FUNC_NONE */
LABEL(trim),
	LDX(DW, R1, R6, PAGE),
	LDX(W, R2, R1, DEPTH),
	LDX(DW, R3, R1, AT),
	SUB(R2, 1),
	JNE_REG(R2, R3, next),
	STX(W, R1, DEPTH, R2),
LABEL(next),
	MOV(R0, 0),
	EXIT(),
LABEL(last),
	MOV(R0, 1),
	EXIT(),

	/* func_same_stack(stack pointer, another that is not below it): 1 if they may be on one. */
FUNC(func_same_stack),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	WHEN(struct func_config, knows_task),
		CALL(get_current_task_btf),
		LD_FIELD(R4, R0, "task_struct", "sas_ss_sp"),
		LD_FIELD(R5, R0, "task_struct", "sas_ss_size"),
		ON_SIGNAL_STACK(R6),
		MOV_REG(R8, R0),
		ON_SIGNAL_STACK(R7),
		JNE_REG(R0, R8, other),
	END,
	SUB_REG(R7, R6),
	JGE(R7, FUNC_STACK_NEAR, other),
	MOV(R0, 1),
	EXIT(),
LABEL(other),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_func_find_part = { ASM_LINES(find_lines),
					    ASM_FRAMES({ "func_find", &walk_frame_layout }) };
const struct asm_part rp_func_unwind_part = { ASM_LINES(unwind_lines),
					      ASM_FRAMES({ "func_unwind", &walk_frame_layout }) };
