/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of PHP.
 *
 *	executor_globals -> zend_execute_data -> the one that called it ...
 *
 * They belong to the process's first thread: an interpreter for several (ZTS) has no such variable.
 * A frame has its function, a builtin one too, and the instruction that it executes, which knows
 * its line. Of the innermost frame the loop keeps that in a register.
 */
#include "script_step.h"

ASM_FRAME(begin_frame,
	(uint64_t, task, BEGIN_TASK));
ASM_FRAME(next_frame,
	(uint64_t, task, NEXT_TASK));
ASM_FRAME(names_frame,
	(uint64_t, task, NAMES_TASK));

enum {
	BUILTIN = 1, /* zend_function.type */
	USER = 2,
	EVAL = 4,
	CALL_TOP = 1 << 17,	/* ZEND_CALL_TOP, of the flags of a call */
	OPCODE_BYTES = 32,	/* of a zend_op */
	OPCODES_MOST = 1 << 20, /* of a function */
	REG_OPLINE = 0,		/* r15 in pt_regs */
};

/* clang-format off */
/* Copies the zend_string at R8, if there is one, to that text of what R7 points to. */
#define COPY_STRING(which)                                                                         \
	SCOPE("COPY_STRING(" #which ")"),                                                          \
		ST(W, R7, OF_FUNCTION(bytes) + 4 * (which), 0),                                    \
		JEQ(R8, 0, .none),                                                                 \
		STX(DW, R6, SCRIPT(words[1]), R8),                                                 \
		MOV_REG(R3, R8),                                                                   \
		ADD_SCRIPT_OFFSET(PHP_LENGTH),                                                     \
		SCRIPT_READ(SCRIPT(words), 8, NAMES_TASK, unread),                                 \
		LDX(DW, R8, R6, SCRIPT(words)),                                                    \
		LDX(DW, R3, R6, SCRIPT(words[1])),                                                 \
		ADD_SCRIPT_OFFSET(PHP_TEXT),                                                       \
		SCRIPT_COPY_TEXT(which, NAMES_TASK, unread),                                       \
		LABEL(.none),                                                                      \
	END

static const struct asm_insn php_lines[] = {
FUNC(php_begin),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, BEGIN_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LDX(W, R1, R6, OF_RECORD(pid_tgid)),
	LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R2, none),
	LDX(DW, R3, R6, OF_SCRIPT(root)),
	ADD_SCRIPT_OFFSET(PHP_CURRENT),
	SCRIPT_READ(SCRIPT(frame), 8, BEGIN_TASK, none),
	MOV(R0, 0),
	EXIT(),
LABEL(none),
	MOV(R0, 1),
	EXIT(),

FUNC(php_frame),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NEXT_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LDX(DW, R3, R6, SCRIPT(frame)),
	JEQ(R3, 0, end),
	SCRIPT_READ(SCRIPT(frame_bytes), 80, NEXT_TASK, end),
	LD_SCRIPT_COPIED(DW, R1, PHP_PREVIOUS, SCRIPT_FRAME_MASK, frame_bytes),
	STX(DW, R6, SCRIPT(frame), R1),
	LD_SCRIPT_COPIED(DW, R3, PHP_FUNCTION, SCRIPT_FRAME_MASK, frame_bytes),
	STX(DW, R6, SCRIPT(function), R3),
	JEQ(R3, 0, no_function), /* between a generator and who has resumed it */
	SCRIPT_READ(SCRIPT(function_bytes), 176, NEXT_TASK, no_function),
	ST(W, R6, SCRIPT(line), 0),
	ST(W, R6, SCRIPT(kind), SCRIPT_NAMED),
	MOV(R7, SCRIPT_FRAME),
	LDX(B, R8, R6, SCRIPT(function_bytes)),
	JEQ(R8, BUILTIN, builtin),
	JEQ(R8, USER, has_code),
	JNE(R8, EVAL, no_function),
LABEL(has_code),

	/* Whoever has called the loop has marked the frame that it called it for. */
	LD_SCRIPT_COPIED(W, R1, PHP_INFO, SCRIPT_FRAME_INT_MASK, frame_bytes),
	JSET(R1, CALL_TOP, called_from_c),
	JA(kind_known),
LABEL(called_from_c),
	OR(R7, SCRIPT_LAST),
LABEL(kind_known),
	LD_SCRIPT_COPIED(DW, R1, PHP_NAME, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	JNE(R1, 0, named),
	MOV(R1, SCRIPT_MAIN),
	JNE(R8, EVAL, not_eval),
	MOV(R1, SCRIPT_EVAL),
LABEL(not_eval),
	STX(W, R6, SCRIPT(kind), R1),
LABEL(named),

	/* The line: of the innermost frame, if the loop is at it, by the register. */
	LD_SCRIPT_COPIED(DW, R3, PHP_OPLINE, SCRIPT_FRAME_MASK, frame_bytes),
	LDX(W, R1, R6, SCRIPT(first)),
	JEQ(R1, 0, instruction_known),
	LDX(DW, R1, R6, offsetof(struct stack_scratch, walk.regs) + REG_OPLINE),
	LD_SCRIPT_COPIED(DW, R2, PHP_OPCODES, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	MOV_REG(R4, R1),
	SUB_REG(R4, R2),
	JGE(R4, OPCODES_MOST * OPCODE_BYTES, instruction_known),
	JSET(R4, OPCODE_BYTES - 1, instruction_known),
	MOV_REG(R3, R1),
LABEL(instruction_known),
	ADD_SCRIPT_OFFSET(PHP_LINE),
	SCRIPT_READ(SCRIPT(line), 4, NEXT_TASK, has_line),
	JA(has_line),
LABEL(builtin),
	LD_SCRIPT_COPIED(DW, R1, PHP_NAME, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	JEQ(R1, 0, no_function), /* where a fiber begins */
LABEL(has_line),
	ST(W, R6, SCRIPT(first), 0),

	/* What tells the function from another at its address. */
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV(R2, 0),
	LD_SCRIPT_COPIED(DW, R1, PHP_NAME, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	LD_SCRIPT_COPIED(DW, R1, PHP_SCOPE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	JEQ(R8, BUILTIN, no_file),
	LD_SCRIPT_COPIED(DW, R1, PHP_FILE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
LABEL(no_file),
	STX(W, R6, SCRIPT(check), R2),
	MOV_REG(R0, R7),
	EXIT(),
LABEL(no_function),
	MOV(R0, 0),
	EXIT(),
LABEL(end),
	MOV(R0, SCRIPT_END),
	EXIT(),

FUNC(php_names),
	MOV_REG(R6, R1),
	MOV_REG(R7, R3),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NAMES_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LD_SCRIPT_COPIED(DW, R8, PHP_NAME, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	COPY_STRING(SCRIPT_NAME),
	MOV(R8, 0),
	LDX(B, R1, R6, SCRIPT(function_bytes)),
	JEQ(R1, BUILTIN, builtin),
	LD_SCRIPT_COPIED(DW, R8, PHP_FILE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
LABEL(builtin),
	COPY_STRING(SCRIPT_FILE),
	LD_SCRIPT_COPIED(DW, R3, PHP_SCOPE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	STX(DW, R6, SCRIPT(words), R3),
	JEQ(R3, 0, no_class),
	ADD_SCRIPT_OFFSET(PHP_CLASS_NAME),
	SCRIPT_READ(SCRIPT(words), 8, NAMES_TASK, unread),
LABEL(no_class),
	LDX(DW, R8, R6, SCRIPT(words)),
	COPY_STRING(SCRIPT_CLASS),
	MOV(R0, 0),
	EXIT(),
LABEL(unread),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_script_php_part = { ASM_LINES(php_lines),
					     ASM_FRAMES({ "php_begin", &begin_frame_layout },
							{ "php_frame", &next_frame_layout },
							{ "php_names", &names_frame_layout }) };
