/* SPDX-License-Identifier: BSD-2-Clause */
/* func_leave: a call ends. How long was it, what is kept of it, and which call is it inside of? */
#include "func.h"

enum {
	IDS = offsetof(struct func_page, ids),
	DEPTH = offsetof(struct func_page, depth),
	CALL_SP = offsetof(struct func_call, sp),
	CALL_START = offsetof(struct func_call, start),
	CALL_INNER = offsetof(struct func_call, inner_ns),
	CALL_FUNCTION = offsetof(struct func_call, function),
	CALL_LINK = offsetof(struct func_call, link)
};
enum {
	SUM_INNER = offsetof(struct func_sum, inner_ns),
	SUM_HIST = offsetof(struct func_sum, hist)
};
enum { RECORD_VALUE = offsetof(struct stack_record, value) };

ASM_FRAME(leave_frame,
	(uint64_t, took, TOOK), /* 1 + how long it was; 0: it is not kept */
	(uint64_t, result, RESULT));
ASM_FRAME(keep_frame,
	/* the arguments */
	(uint64_t, context, CONTEXT),
	(uint64_t, sp, SP),
	(uint64_t, function, FUNCTION),
	(uint64_t, value, VALUE),
	(uint64_t, now, NOW),
	(uint64_t, number, NUMBER), /* of the call, among those of its thread */
	(uint64_t, elsewhere, ELSEWHERE),
	(uint64_t, link, LEAVE_LINK));

#define TRIM (-1)

/* clang-format off */
static const struct asm_insn leave_lines[] = {
	/*
	 * In pieces, so that the verifier forgets one, and walks what follows once. Calls of
	 * functions may be 8 deep: of these the walk through the stack needs all but two.
	 */
FUNC(func_leave),
	MOV_REG(R6, R5),
	MOV_REG(R7, R2),
	WHEN(struct func_config, stacks),
		MOV_REG(R8, R1),
		MOV32_REG(R9, R3),
		ST(DW, R10, TOOK, 0),
		FRAME_PTR(R4, TOOK), /* nobody asks for the value */
	END,
	CALL_FUNC(func_keep),
	WHEN(struct func_config, stacks),
		STX(DW, R10, RESULT, R0),
		LDX(DW, R1, R10, TOOK),
		JEQ(R1, 0, no_stack),
		MOV_REG(R1, R8),
		LDX(DW, R2, R6, IDS),
		MOV_REG(R3, R9),
		CALL_FUNC(stack_take),
		JEQ(R0, 0, no_stack),
		MOV_REG(R9, R0),
		LDX(DW, R8, R10, TOOK),
		SUB(R8, 1),
		ST(DW, R9, RECORD_VALUE, 1),
		STX(DW, R9, RECORD_VALUE + 8, R8),
		MOV_REG(R1, R9),
		CALL_FUNC(stack_value),
		JEQ(R0, 0, travelled),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, 0, R1),
		ATOMIC_ADD(DW, R0, 8, R8),
LABEL(travelled),
		STACK_DONE(R9),
LABEL(no_stack),
		LDX(DW, R0, R10, RESULT),
	END,
	JNE(R0, TRIM, out),
	LDX(DW, R5, R6, offsetof(struct func_page, now)),
	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV(R3, 0),
	MOV(R4, FUNC_UNWIND_ENTRY),
	CALL_FUNC(func_unwind),
	MOV(R0, 0),
LABEL(out),
	EXIT(),

	/*
	 * func_keep(...): the same, but for TRIM: what is on top now has ended before. With stacks
	 * the value is the address of TOOK.
	 */
FUNC(func_keep),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, SP, R2),
	WHEN(struct func_config, at_returns),
		STX(DW, R10, ELSEWHERE, R3), /* not 0 in its upper half */
	END,
	MOV32_REG(R3, R3),
	STX(DW, R10, FUNCTION, R3),
	STX(DW, R10, VALUE, R4),
	MOV_REG(R7, R5),
	LDX(DW, R1, R7, offsetof(struct func_page, now)),
	STX(DW, R10, NOW, R1),

	/* R8 = the call: nearly always the innermost one. */
	LDX(W, R2, R7, DEPTH),
	JEQ(R2, 0, no_entry),
	SUB(R2, 1),
	STX(DW, R10, NUMBER, R2),
	MOV_REG(R1, R7),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, no_entry), /* never */
	MOV_REG(R8, R0),
	LDX(W, R1, R8, CALL_FUNCTION),
	LDX(DW, R2, R10, FUNCTION),
	JNE_REG(R1, R2, find),
	UNLESS(struct func_config, kernel),
		LDX(DW, R1, R8, CALL_SP),
		LDX(DW, R2, R10, SP),
		JEQ_REG(R1, R2, found),
	END,
	WHEN(struct func_config, kernel),
		JA(found),
	END,
LABEL(find),
	MOV_REG(R1, R7),
	LDX(DW, R2, R10, SP),
	LDX(DW, R3, R10, FUNCTION),
	CALL_FUNC(func_find),
	JEQ(R0, 0, no_entry),
	MOV_REG(R3, R0),
	SUB(R0, 1),
	STX(DW, R10, NUMBER, R0),
	MOV_REG(R1, R7),
	LDX(DW, R2, R10, SP),
	MOV(R4, FUNC_UNWIND_RETURN),
	WHEN(struct func_config, kernel),
		MOV(R4, FUNC_UNWIND_ALL),
	END,
	LDX(DW, R5, R10, NOW),
	CALL_FUNC(func_unwind),
	MOV_REG(R1, R7),
	LDX(DW, R2, R10, NUMBER),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, no_entry), /* never */
	MOV_REG(R8, R0),
LABEL(found),

	/* A function that it jumps to returns to its caller, or to one of that function's own. */
	WHEN(struct func_config, at_returns),
		LDX(DW, R1, R10, ELSEWHERE),
		RSH(R1, 32),
		JEQ(R1, 0, its_own),
		LDX(DW, R1, R10, CONTEXT),
		LDX(DW, R2, R10, SP),
		READ_RETURN_ADDRESS(LEAVE_LINK, R1, R2),
		LDX(W, R1, R10, LEAVE_LINK),
		LDX(W, R2, R8, CALL_LINK),
		JNE_REG(R1, R2, no_entry),
LABEL(its_own),
	END,

	/* R6 = how long; the call that it is inside of has had so much less for itself. */
	LDX(DW, R6, R10, NOW),
	LDX(DW, R1, R8, CALL_START),
	SUB_REG(R6, R1),
	JSGE(R6, 0, forwards),
	MOV(R6, 0),
LABEL(forwards),
	LDX(DW, R2, R10, NUMBER),
	JEQ(R2, 0, outermost),
	MOV_REG(R1, R7),
	SUB(R2, 1),
	CALL_FUNC(func_slot),
	JEQ(R0, 0, outermost), /* never */
	LDX(DW, R1, R0, CALL_INNER),
	ADD_REG(R1, R6),
	STX(DW, R0, CALL_INNER, R1),
LABEL(outermost),

	WHEN(struct func_config, slower_ns),
		LD_PARAM(R1, struct func_config, slower_ns),
		JLT_REG(R6, R1, shorter),
	END,
	COUNT(stats, struct func_stats, returned),

	WHEN(struct func_config, sums),
		LDX(DW, R1, R10, FUNCTION),
		LDX(DW, R2, R7, IDS),
		CALL_FUNC(func_sum),
		JEQ(R0, 0, sums_full),
		LDX(DW, R1, R8, CALL_INNER),
		JLE_REG(R1, R6, inner),
		MOV_REG(R1, R6),
LABEL(inner),
		ATOMIC_ADD(DW, R0, SUM_INNER, R1),
		MOV_REG(R9, R0),
		ADD(R9, SUM_HIST),
		HIST_ADD(R9, R6, FUNC_HIST_BITS, FUNC_HIST_SLOTS),
		JA(summed),
LABEL(sums_full),
		COUNT(stats, struct func_stats, sums_full),
LABEL(summed),
	END,

	WHEN(struct func_config, values),
		LDX(DW, R1, R10, FUNCTION),
		LDX(DW, R2, R10, VALUE),
		MOV_REG(R3, R6),
		CALL_FUNC(func_value),
	END,

	WHEN(struct func_config, send),
		MOV_REG(R1, R8),
		LDX(DW, R2, R10, NUMBER),
		LSH(R2, 16),
		OR(R2, FUNC_RETURNS),
		LDX(DW, R3, R10, NOW),
		LDX(DW, R4, R10, VALUE),
		MOV_REG(R5, R7),
		CALL_FUNC(func_send),
		JEQ(R0, 0, sent),
		COUNT(stats, struct func_stats, calls_full),
LABEL(sent),
	END,

	WHEN(struct func_config, stacks),
		WHEN(struct func_config, outer),
			LDX(DW, R1, R10, NUMBER),
			JNE(R1, 0, inside),
		END,
		LDX(DW, R1, R10, VALUE),
		MOV_REG(R2, R6),
		ADD(R2, 1),
		STX(DW, R1, 0, R2),
	END,

LABEL(end),
	/* Last: until here an interrupt's calls lie behind it. */
	LDX(W, R2, R7, DEPTH),
	SUB(R2, 1),
	LDX(DW, R3, R10, NUMBER),
	JNE_REG(R2, R3, in_the_middle),
	STX(W, R7, DEPTH, R2),
	MOV(R0, 0),
	JEQ(R2, 0, ended),
	MOV_REG(R1, R7),
	SUB(R2, 1),
	CALL_FUNC(func_slot),
	MOV_REG(R1, R0),
	MOV(R0, 0),
	JEQ(R1, 0, ended), /* never */
	LDX(W, R2, R1, CALL_FUNCTION),
	JEQ32(R2, FUNC_NONE, trim),
	WHEN(struct func_config, at_returns),
		LDX(DW, R3, R1, CALL_SP),
		LDX(DW, R4, R10, SP),
		JNE_REG(R3, R4, ended),
		MOV_REG(R0, R2),
		ADD(R0, 1),
	END,
LABEL(ended),
	EXIT(),

LABEL(in_the_middle), /* on another stack there are calls that have begun later and go on */
	MOV(R1, -1),
	STX(W, R8, CALL_FUNCTION, R1), /* FUNC_NONE */
	MOV(R0, 0),
	EXIT(),
LABEL(trim),
	MOV(R0, TRIM),
	EXIT(),

LABEL(no_entry),
	COUNT(stats, struct func_stats, no_entry),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct func_config, outer),
LABEL(inside),
		COUNT(stats, struct func_stats, inside),
		JA(end),
	END,
	WHEN(struct func_config, slower_ns),
LABEL(shorter),
		COUNT(stats, struct func_stats, shorter),
		JA(end),
	END,
};
/* clang-format on */
const struct asm_part rp_func_leave_part = { ASM_LINES(leave_lines),
					     ASM_FRAMES({ "func_leave", &leave_frame_layout },
							{ "func_keep", &keep_frame_layout }) };

/* ---- what it returned */

static const struct asm_layout value_key_layout =
	ASM_LAYOUT(struct func_value_key, function, value, wide);
static const struct asm_layout value_layout = ASM_LAYOUT(struct func_value, count, ns);
ASM_FRAME(value_frame,
	(struct func_value_key, key, KEY, &value_key_layout),
	(key.function, KEY_FUNCTION),
	(key.value, KEY_VALUE),
	(key.wide, KEY_WIDE), /* and unused */
	(struct func_value, none, NONE, &value_layout));

/* The kernel's error codes end there: MAX_ERRNO of include/linux/err.h. */
#define MOST_ERRNO 4095

/* clang-format off */
static const struct asm_insn value_lines[] = {
	/* func_value(function, value, ns): so often this was returned, after so long. */
FUNC(func_value),
	MOV_REG(R6, R2),
	MOV_REG(R7, R3),
	STX(W, R10, KEY_FUNCTION, R1),
	ST(DW, R10, KEY_WIDE, 0),
	JLT(R6, FUNC_VALUE_EXACT, exact),
	JSGE(R6, 0, positive),
	JSGE(R6, -MOST_ERRNO, exact),
LABEL(positive),
	/* An int that is an error code. */
	MOV_REG(R1, R6),
	RSH(R1, 32),
	JNE(R1, 0, power),
	MOV_REG(R1, R6),
	LSH(R1, 32),
	ARSH(R1, 32),
	JSGE(R1, 0, power),
	JSLT(R1, -MOST_ERRNO, power),
	MOV_REG(R6, R1),
	JA(exact),
LABEL(power),
	LOG2(R5, R6, R1, R2),
	MOV_REG(R6, R5),
	ST(W, R10, KEY_WIDE, 1),
LABEL(exact),
	STX(W, R10, KEY_VALUE, R6),
	MAP_LOOKUP(values, KEY),
	JNE(R0, 0, known),
	SHARE_OR(FUNC_SHARE_VALUES, MOV(R2, FUNC_VALUES), full),
	ZERO(NONE, sizeof(struct func_value)),
	MAP_UPDATE(values, KEY, NONE, BPF_NOEXIST),
	MAP_LOOKUP(values, KEY),
	JEQ(R0, 0, full),
LABEL(known),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, offsetof(struct func_value, count), R1),
	ATOMIC_ADD(DW, R0, offsetof(struct func_value, ns), R7),
	MOV(R0, 0),
	EXIT(),
LABEL(full),
	COUNT(stats, struct func_stats, values_full),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_func_value_part = { ASM_LINES(value_lines),
					     ASM_FRAMES({ "func_value", &value_frame_layout }) };
