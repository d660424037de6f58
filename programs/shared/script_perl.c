/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of Perl.
 *
 *	key of the thread -> interpreter -> PERL_SI, a stack -> its contexts -> the next one ...
 *
 * A sub or an eval has a context, which keeps the statement that made it and the operation to go
 * on with behind it, and says which one is below: those of blocks are passed over. So the place of
 * a frame is in the context that it has made, and that of the innermost one in the interpreter.
 * What C has called has nothing to go on with: there ends what one call of the loop has executed.
 * (A block of "defer" has a call of its own too, which is not told.) The program has no context.
 */
#include "perl_step.h"
#include "thread_value.h"

ASM_FRAME(begin_frame,
	(uint64_t, task, BEGIN_TASK));
ASM_FRAME(next_frame,
	(uint64_t, task, NEXT_TASK));
ASM_FRAME(names_frame,
	(uint64_t, task, NAMES_TASK));

enum {
	/* The first byte of a context, cop.h: as they are in all versions since 5.24. */
	TYPE_MASK = 0xf,
	SORT_BLOCK = 0,
	SUB_CALL = 9,
	FORMAT = 10,
	EVAL = 11,
	MULTICALL = 0x10, /* of a sub: XS calls it again and again, */
	IN_REGEX = 0x40,
	SAME_SUB = 0x80, /*   and this is a block of the sub around it */
	EVAL_TEXT = 0x20,
	EVAL_BLOCK = 0x40,
	TRY_BLOCK = 0x80,
	/* Flags of a sub, cv.h */
	NAMED = 0x8000, /* it has no glob */
	LEXICAL = 0x10000,
	CONTEXT_BYTES = 104,
	STACK_BYTES = 48,
	INTERPRETER_BYTES = 256,
	SUB_BYTES = 104,
	HEK_LENGTH = 4, /* a key of a hash: how long it is, */
	HEK_TEXT = 8,	/*   and what it is */
	SV_ANY = 0,	/* of any value: its body, */
	SV_U = 16,	/*   and what else it has: of a glob, what its names stand for */
};

/* clang-format off */
#define LD_CONTEXT(dst, which) LD_SCRIPT_COPIED(DW, dst, which, SCRIPT_FRAME_MASK, frame_bytes)
#define LD_SUB(dst, which)                                                                         \
	LD_SCRIPT_COPIED(DW, dst, which, SCRIPT_FUNCTION_COPY_MASK, function_bytes)
#define LD_INTERPRETER(dst, which) LD_SUB(dst, which)

/* Copies the name at R8, if there is one, to that text of what R7 points to. */
#define COPY_HEK(which)                                                                            \
	SCOPE("COPY_HEK(" #which ")"),                                                             \
		JEQ(R8, 0, .none),                                                                 \
		MOV_REG(R3, R8),                                                                   \
		STX(DW, R6, SCRIPT(words[1]), R8),                                                 \
		ADD(R3, HEK_LENGTH),                                                               \
		SCRIPT_READ(SCRIPT(words), 4, NAMES_TASK, unread),                                 \
		LDX(W, R8, R6, SCRIPT(words)),                                                     \
		LDX(DW, R3, R6, SCRIPT(words[1])),                                                 \
		ADD(R3, HEK_TEXT),                                                                 \
		SCRIPT_COPY_TEXT(which, NAMES_TASK, unread),                                       \
		LABEL(.none),                                                                      \
	END

/* R8 = the word at that offset of the address in R8, which is not 0. */
#define FOLLOW(offset)                                                                             \
	MOV_REG(R3, R8),                                                                           \
	ADD(R3, offset),                                                                           \
	SCRIPT_READ(SCRIPT(words), 8, NAMES_TASK, unread),                                         \
	LDX(DW, R8, R6, SCRIPT(words))

static const struct asm_insn perl_lines[] = {
FUNC(perl_begin),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, BEGIN_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LDX(DW, R3, R6, OF_SCRIPT(root)),
	SCRIPT_READ(SCRIPT(words), 4, BEGIN_TASK, none),
	LDX(W, R7, R6, SCRIPT(words)),
	JGE(R7, THREAD_KEYS, none),
	UNLESS(struct program_config, of_task),
		CALL(get_current_task_btf),
	END,
	WHEN(struct program_config, of_task),
		LDX(DW, R0, R10, BEGIN_TASK),
	END,
	THREAD_POINTER(R8, R0),
	LD_THREAD_VALUE(LAYOUT_AT(PERL_SLOTS), LAYOUT_AT(PERL_SLOT_BLOCKS), SCRIPT(words),
			SCRIPT_READ(SCRIPT(words), 8, BEGIN_TASK, none)),
	JEQ(R8, 0, none), /* a thread that Perl has not made */
	STX(DW, R6, PERL(interpreter), R8),
	MOV_REG(R3, R8),
	SCRIPT_READ(SCRIPT(function_bytes), INTERPRETER_BYTES, BEGIN_TASK, none),
	LD_INTERPRETER(R1, PERL_OP),
	STX(DW, R6, PERL(op), R1),
	LD_INTERPRETER(R1, PERL_COP),
	STX(DW, R6, PERL(cop), R1),
	LD_INTERPRETER(R1, PERL_STACK),
	STX(DW, R6, PERL(stack), R1),
	ST(DW, R6, PERL(contexts), 0), /* of none yet */
	ST(DW, R6, PERL(is_next), 0),
	ST(DW, R6, PERL(inside), 0),
	ST(W, R6, PERL(ended), 0),
	ST(W, R6, PERL(search_left), PERL_SEARCH_MOST),
	MOV(R0, 0),
	EXIT(),
LABEL(none),
	MOV(R0, 1),
	EXIT(),

FUNC(perl_frame),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NEXT_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	ST(W, R6, SCRIPT(check), 0),
	LDX(DW, R1, R6, PERL(cop)),
	STX(DW, R6, PERL(line_cop), R1),
	LDX(DW, R1, R6, PERL(op)),
	STX(DW, R6, PERL(line_op), R1),
	LDX(DW, R1, R6, PERL(is_next)),
	STX(DW, R6, PERL(line_is_next), R1),
	LDX(DW, R3, R6, PERL(contexts)),
	JEQ(R3, 0, next_stack),
	LDX(DW, R7, R6, PERL(index)),
	JSLT(R7, 0, outermost),
	LDX(H, R2, R9, LAYOUT_AT(PERL_CONTEXT_BYTES)),
	MUL_REG(R2, R7),
	ADD_REG(R3, R2),
	STX(DW, R6, SCRIPT(frame), R3),
	SCRIPT_READ(SCRIPT(frame_bytes), CONTEXT_BYTES, NEXT_TASK, end),
	LD_SCRIPT_COPIED(W, R1, PERL_SUB_BELOW, SCRIPT_FRAME_INT_MASK, frame_bytes),
	LSH(R1, 32),
	ARSH(R1, 32),
	JSLT_REG(R1, R7, is_below),
	MOV(R1, -1),
LABEL(is_below),
	STX(DW, R6, PERL(index), R1),
	LD_CONTEXT(R7, PERL_RETURN),
	LDX(B, R8, R6, SCRIPT(frame_bytes)),
	MOV_REG(R1, R8),
	AND(R1, TYPE_MASK),
	JEQ(R1, SUB_CALL, call),
	JEQ(R1, FORMAT, code),
	JEQ(R1, EVAL, eval),
	JA(no_frame),

	/* A block that sorts is the outermost context of a stack. */
LABEL(outermost),
	LDX(DW, R1, R6, PERL(has_outermost)),
	JEQ(R1, 0, next_stack),
	ST(DW, R6, PERL(has_outermost), 0),
	SCRIPT_READ(SCRIPT(frame_bytes), CONTEXT_BYTES, NEXT_TASK, end),
	LDX(B, R8, R6, SCRIPT(frame_bytes)),
	MOV_REG(R1, R8),
	AND(R1, TYPE_MASK),
	JNE(R1, SORT_BLOCK, no_frame),
	JA(again_and_again),

	/*
	 * C keeps the context, and calls the loop each time anew. Between two such calls there is
	 * no operation.
	 */
LABEL(call),
	JSET(R8, MULTICALL, again_and_again),
	JA(code),
LABEL(again_and_again),
	LDX(DW, R1, R6, PERL(inside)),
	JNE(R1, 0, is_executed),
	LDX(DW, R1, R6, PERL(op)),
	JNE(R1, 0, is_executed),
	LD_CONTEXT(R1, PERL_OLD_COP),
	STX(DW, R6, PERL(cop), R1),
	ST(DW, R6, PERL(inside), 1),
	JA(no_frame),
LABEL(is_executed),
	ST(DW, R6, PERL(inside), 1),
	MOV(R0, SCRIPT_LAST),
	MOV_REG(R1, R8),
	AND(R1, TYPE_MASK),
	JNE(R1, SUB_CALL, no_sub), /* it goes on in the sub that it is a part of */
	JSET(R8, SAME_SUB, no_sub),
	MOV(R8, SCRIPT_FRAME | SCRIPT_LAST),
	JA(has_code),
LABEL(no_sub),
	EXIT(),

	/* A sub that C has called, or that was the last thing to do in such a block. */
LABEL(code),
	MOV(R8, SCRIPT_FRAME),
	JNE(R7, 0, has_code),
	MOV(R8, SCRIPT_FRAME | SCRIPT_LAST),
	LDX(DW, R3, R6, SCRIPT(frame)),
	LDX(H, R2, R9, LAYOUT_AT(PERL_CONTEXT_BYTES)),
	SUB_REG(R3, R2),
	LDX(DW, R1, R6, PERL(contexts)),
	JLT_REG(R3, R1, has_code),
	SCRIPT_READ(SCRIPT(words), 1, NEXT_TASK, has_code),
	LDX(B, R1, R6, SCRIPT(words)),
	JSET(R1, TYPE_MASK, no_sort),
	JA(in_block),
LABEL(no_sort),
	AND(R1, TYPE_MASK | MULTICALL | IN_REGEX),
	JNE(R1, SUB_CALL | MULTICALL | IN_REGEX, has_code),
LABEL(in_block),
	MOV(R8, SCRIPT_FRAME),
LABEL(has_code),
	LD_CONTEXT(R3, PERL_CV),
	STX(DW, R6, SCRIPT(function), R3),
	JEQ(R3, 0, no_function),
	SCRIPT_READ(SCRIPT(words), 8, NEXT_TASK, no_function),
	LDX(DW, R3, R6, SCRIPT(words)),
	SCRIPT_READ(SCRIPT(function_bytes), SUB_BYTES, NEXT_TASK, no_function),
	LD_SUB(R1, PERL_CV_ROOT),
	JEQ(R1, 0, no_root),
	STX(DW, R6, SCRIPT(function), R1),
LABEL(no_root),
	ST(W, R6, SCRIPT(kind), SCRIPT_NAMED),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV(R2, 0),
	LD_SUB(R1, PERL_CV_NAME),
	SCRIPT_MIX(R1),
	LD_SUB(R1, PERL_CV_STASH),
	SCRIPT_MIX(R1),
	STX(W, R6, SCRIPT(check), R2),
	JA(outward),
LABEL(no_function),
	AND(R8, SCRIPT_LAST),
	JA(outward),

	/* An eval that C has made around a sub is nothing that the program has. */
LABEL(eval),
	JSET(R8, TRY_BLOCK, no_frame),
	MOV_REG(R1, R8),
	MOV(R8, SCRIPT_FRAME),
	JNE(R7, 0, evaluates),
	JSET(R1, EVAL_BLOCK, no_frame),
	MOV(R8, SCRIPT_FRAME | SCRIPT_LAST),
LABEL(evaluates),
	MOV(R7, SCRIPT_EVAL),
	JSET(R1, EVAL_TEXT | EVAL_BLOCK, kind_known),
	MOV(R7, SCRIPT_REQUIRE),
LABEL(kind_known),
	STX(W, R6, SCRIPT(kind), R7),
	STX(DW, R6, SCRIPT(function), R7),
LABEL(outward),
	LD_CONTEXT(R1, PERL_OLD_COP),
	STX(DW, R6, PERL(cop), R1),
	LD_CONTEXT(R1, PERL_RETURN),
	STX(DW, R6, PERL(op), R1),
	ST(DW, R6, PERL(is_next), 1),
	ST(DW, R6, PERL(inside), 1),
	ST(W, R6, SCRIPT(first), 0),
	MOV_REG(R0, R8),
	EXIT(),

LABEL(next_stack),
	LDX(DW, R3, R6, PERL(stack)),
	JEQ(R3, 0, program),
	SCRIPT_READ(SCRIPT(frame_bytes), STACK_BYTES, NEXT_TASK, end),
	LD_CONTEXT(R1, PERL_PREVIOUS),
	STX(DW, R6, PERL(stack), R1),
	LD_CONTEXT(R2, PERL_CONTEXTS),
	STX(DW, R6, PERL(contexts), R2),
	LD_SCRIPT_COPIED(W, R2, PERL_SUB_INDEX, SCRIPT_FRAME_INT_MASK, frame_bytes),
	LSH(R2, 32),
	ARSH(R2, 32), /* -1: it has none */
	STX(DW, R6, PERL(index), R2),
	LD_SCRIPT_COPIED(W, R2, PERL_INDEX, SCRIPT_FRAME_INT_MASK, frame_bytes),
	RSH(R2, 31), /* 1: -1 */
	XOR(R2, 1),
	STX(DW, R6, PERL(has_outermost), R2),
	JNE(R1, 0, no_frame),
	ST(DW, R6, PERL(has_outermost), 0), /* the program's own stack */
LABEL(no_frame),
	MOV(R0, 0),
	EXIT(),
LABEL(program),
	LDX(W, R1, R6, PERL(ended)),
	JNE(R1, 0, end),
	ST(W, R6, PERL(ended), 1),
	ST(W, R6, SCRIPT(kind), SCRIPT_MAIN),
	ST(DW, R6, SCRIPT(function), SCRIPT_MAIN),
	MOV(R0, SCRIPT_FRAME | SCRIPT_LAST),
	EXIT(),
LABEL(end),
	MOV(R0, SCRIPT_END),
	EXIT(),

FUNC(perl_names),
	MOV_REG(R6, R1),
	MOV_REG(R7, R3),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NAMES_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_CLASS, 0),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_NAME, 0),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_FILE, 0),
	LDX(DW, R3, R6, PERL(file)),
	JEQ(R3, 0, no_file),
	PERL_READ_TEXT(NAMES_TASK, unread),
	MOV_REG(R1, R7),
	ADD(R1, OF_FUNCTION(text) + SCRIPT_FILE * (SCRIPT_TEXT_BYTES + 8)),
	MOV(R2, SCRIPT_TEXT_BYTES),
	MOV_REG(R3, R6),
	ADD(R3, PERL_TEXT),
	CALL(probe_read_kernel),
	JNE(R0, 0, unread),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_FILE, SCRIPT_TEXT_BYTES),
LABEL(no_file),
	LDX(W, R1, R6, SCRIPT(kind)),
	JNE(R1, SCRIPT_NAMED, named),
	LD_SUB(R8, PERL_CV_STASH),
	STX(DW, R6, SCRIPT(words[2]), R8),
	LD_SUB(R8, PERL_CV_NAME),
	JEQ(R8, 0, named), /* it has none */
	LD_SCRIPT_COPIED(W, R1, PERL_CV_FLAGS, SCRIPT_FUNCTION_INT_MASK, function_bytes),
	JSET(R1, NAMED, name_known),

	/* A glob, or the one that it was made of: its name, its package. */
	FOLLOW(SV_U),
	LDX(H, R1, R9, LAYOUT_AT(PERL_GLOB_OF)),
	ADD_REG(R8, R1),
	FOLLOW(0),
	JNE(R8, 0, glob_known),
	LD_SUB(R8, PERL_CV_NAME),
LABEL(glob_known),
	FOLLOW(SV_ANY),
	STX(DW, R6, SCRIPT(words[3]), R8),
	LDX(H, R1, R9, LAYOUT_AT(PERL_GLOB_STASH)),
	ADD_REG(R8, R1),
	FOLLOW(0),
	STX(DW, R6, SCRIPT(words[2]), R8),
	LDX(DW, R8, R6, SCRIPT(words[3])),
	LDX(H, R1, R9, LAYOUT_AT(PERL_GLOB_NAME)),
	ADD_REG(R8, R1),
	FOLLOW(0),
	JA(has_package),
LABEL(name_known),
	JSET(R1, LEXICAL, no_package),
	JA(has_package),
LABEL(no_package),
	ST(DW, R6, SCRIPT(words[2]), 0),
LABEL(has_package),
	COPY_HEK(SCRIPT_NAME),

	/* The package's first name, if it has several. */
	LDX(DW, R8, R6, SCRIPT(words[2])),
	JEQ(R8, 0, named),
	FOLLOW(SV_ANY),
	STX(DW, R6, SCRIPT(words[3]), R8),
	LDX(H, R1, R9, LAYOUT_AT(PERL_STASH_NAMES)),
	ADD_REG(R8, R1),
	FOLLOW(0),
	STX(DW, R6, SCRIPT(words[2]), R8),
	LDX(DW, R8, R6, SCRIPT(words[3])),
	LDX(H, R1, R9, LAYOUT_AT(PERL_STASH_NAME)),
	ADD_REG(R8, R1),
	FOLLOW(0),
	LDX(W, R1, R6, SCRIPT(words[2])),
	JEQ(R1, 0, one_name),
	JEQ(R8, 0, one_name),
	FOLLOW(0),
LABEL(one_name),
	COPY_HEK(SCRIPT_CLASS),
LABEL(named),
	MOV(R0, 0),
	EXIT(),
LABEL(unread),
	MOV(R0, 1),
	EXIT(),

	INCLUDE(&rp_perl_line_part),
};
/* clang-format on */

const struct asm_part rp_script_perl_part = { ASM_LINES(perl_lines),
					      ASM_FRAMES({ "perl_begin", &begin_frame_layout },
							 { "perl_frame", &next_frame_layout },
							 { "perl_names", &names_frame_layout }) };
