/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of Ruby.
 *
 *	thread pointer -> block of thread-locals -> ruby_current_ec -> frame, frame ...
 *
 * The frames of a thread, or of a fiber, lie side by side in its stack, the innermost first. One of
 * a method in C has the method, which knows its name as a number; any other has code and the place
 * in it. The last frame of each call of the loop is marked.
 */
#include "script_step.h"
#include "thread_value.h"

ASM_FRAME(begin_frame,
	(uint64_t, task, BEGIN_TASK));
ASM_FRAME(next_frame,
	(uint64_t, task, NEXT_TASK),
	(uint64_t, block, BLOCK),
	(uint64_t, number, NUMBER));
ASM_FRAME(names_frame,
	(uint64_t, task, NAMES_TASK),
	(uint64_t, number, NAME_NUMBER));

enum {
	MODULES = 4096, /* with thread-locals, of a process */

	/* vm_core.h: VM_FRAME_* */
	KIND_MASK = 0x7fff0001,
	KIND_CFUNC = 0x55550001,
	KIND_DUMMY = 0x79990001,
	FINISH = 0x20,

	/* Of any object: what it is. */
	TYPE_MASK = 0x1f,
	TYPE_STRING = 0x05,
	TYPE_ARRAY = 0x07,
	TYPE_INTERNAL = 0x1a,
	INTERNAL_SHIFT = 12, /* which of those */
	INTERNAL_MASK = 0xf,
	INTERNAL_METHOD = 6,
	METHOD_MASK = 0xf, /* of a definition: what defines it */
	METHOD_CFUNC = 1,

	/* A string is in the object unless it has that flag, an array if it has it. */
	FLAG_1 = 1 << 13,
	LENGTH_SHIFT = 14, /* of what is inside */
	LENGTH_MASK = 0x1f,
	INSIDE = 16,
	LENGTH = 16, /* of what is outside; as copied */
	STRING_TEXT = 24,
	ARRAY_ITEMS = 32,

	/* symbol.c, id_table: names in arrays of pairs. */
	NAMES_SHIFT = 9,
	ID_SHIFT = 4,

	/*
	 * iseq.c, struct succ_index_table: how many lines begin up to each of the first
	 * instructions, 9 of them in a word; then blocks: how many before it, before each of its
	 * words, and a bit for each instruction where one begins.
	 */
	FIRST_INSTRUCTIONS = 54,
	IN_A_WORD = 9,
	COUNT_BITS = 7,
	BLOCKS_AT = 48,
	BLOCK_BYTES = 80,
	BLOCK_SHIFT = 9,
	BITS_AT = 16,
};

/* clang-format off */
/* R8 = bits that are set in it; R1 and R2 are lost. */
#define COUNT_ONES_STEP(shift, mask)                                                               \
	LD_IMM64(R2, mask),                                                                        \
	MOV_REG(R1, R8),                                                                           \
	RSH(R1, shift),                                                                            \
	AND_REG(R1, R2),                                                                           \
	AND_REG(R8, R2),                                                                           \
	ADD_REG(R8, R1)
#define COUNT_ONES                                                                                 \
	COUNT_ONES_STEP(1, 0x5555555555555555),                                                    \
	COUNT_ONES_STEP(2, 0x3333333333333333),                                                    \
	COUNT_ONES_STEP(4, 0x0f0f0f0f0f0f0f0f),                                                    \
	LD_IMM64(R2, 0x0101010101010101),                                                          \
	MUL_REG(R8, R2),                                                                           \
	RSH(R8, 56)

/* R8 = item number slot of the array at R8, by way of the copy of a frame, which is lost. */
#define ARRAY_ITEM(slot, failed)                                                                   \
	SCOPE("ARRAY_ITEM(" #slot ", " #failed ")"),                                               \
		MOV_REG(R3, R8),                                                                   \
		SCRIPT_READ(SCRIPT(frame_bytes), ARRAY_ITEMS + 8, NAMES_TASK, failed),             \
		LDX(DW, R1, R6, SCRIPT(frame_bytes)),                                              \
		MOV_REG(R2, R1),                                                                   \
		AND(R2, TYPE_MASK),                                                                \
		JNE(R2, TYPE_ARRAY, failed),                                                       \
		MOV_REG(R3, R8),                                                                   \
		ADD(R3, INSIDE),                                                                   \
		LDX(DW, R4, R10, slot),                                                            \
		MOV_REG(R2, R1),                                                                   \
		RSH(R2, LENGTH_SHIFT + 1), /* FL_USER3 and 4: fewer than four are inside */        \
		AND(R2, 3),                                                                        \
		JSET(R1, FLAG_1, .inside),                                                         \
		LDX(DW, R2, R6, SCRIPT(frame_bytes) + LENGTH),                                     \
		LDX(DW, R3, R6, SCRIPT(frame_bytes) + ARRAY_ITEMS),                                \
		LABEL(.inside),                                                                    \
		JGE_REG(R4, R2, failed),                                                           \
		LSH(R4, 3),                                                                        \
		ADD_REG(R3, R4),                                                                   \
		SCRIPT_READ(SCRIPT(frame_bytes), 8, NAMES_TASK, failed),                           \
		LDX(DW, R8, R6, SCRIPT(frame_bytes)),                                              \
	END

/* Copies the string at R8 to that text of what R7 points to, by way of the copy of a frame. */
#define COPY_STRING(which)                                                                         \
	SCOPE("COPY_STRING(" #which ")"),                                                          \
		MOV_REG(R3, R8),                                                                   \
		SCRIPT_READ(SCRIPT(frame_bytes), STRING_TEXT + 8, NAMES_TASK, unread),             \
		LDX(DW, R1, R6, SCRIPT(frame_bytes)),                                              \
		MOV_REG(R2, R1),                                                                   \
		AND(R2, TYPE_MASK),                                                                \
		JNE(R2, TYPE_STRING, unread),                                                      \
		MOV_REG(R3, R8),                                                                   \
		ADD(R3, INSIDE),                                                                   \
		MOV_REG(R8, R1),                                                                   \
		RSH(R8, LENGTH_SHIFT),                                                             \
		AND(R8, LENGTH_MASK),                                                              \
		JSET(R1, FLAG_1, .outside),                                                        \
		JA(.known),                                                                        \
		LABEL(.outside),                                                                   \
		LDX(DW, R8, R6, SCRIPT(frame_bytes) + LENGTH),                                     \
		LDX(DW, R3, R6, SCRIPT(frame_bytes) + STRING_TEXT),                                \
		LABEL(.known),                                                                     \
		SCRIPT_COPY_TEXT(which, NAMES_TASK, unread),                                       \
	END

static const struct asm_insn ruby_lines[] = {
FUNC(ruby_begin),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, BEGIN_TASK, R2),
		MOV_REG(R0, R2),
	END,
	UNLESS(struct program_config, of_task),
		CALL(get_current_task_btf),
	END,
	THREAD_POINTER(R8, R0),
	LD_SCRIPT_LAYOUT(R9, R1),

	/* Thread-locals of a library: its number, and where in its block. R8 = that block. */
	LDX(DW, R3, R6, OF_SCRIPT(root)),
	SCRIPT_READ(SCRIPT(words), 16, BEGIN_TASK, none),
	MOV_REG(R3, R8),
	ADD(R3, 8),
	SCRIPT_READ(SCRIPT(words[2]), 8, BEGIN_TASK, none),
	LDX(DW, R1, R6, SCRIPT(words)),
	JGE(R1, MODULES, none),
	LSH(R1, 4),
	LDX(DW, R3, R6, SCRIPT(words[2])),
	ADD_REG(R3, R1),
	SCRIPT_READ(SCRIPT(words[2]), 8, BEGIN_TASK, none),
	LDX(DW, R3, R6, SCRIPT(words[2])),
	LDX(DW, R1, R6, SCRIPT(words[1])),
	ADD_REG(R3, R1),
	SCRIPT_READ(SCRIPT(words), 8, BEGIN_TASK, none),
	LDX(DW, R3, R6, SCRIPT(words)),
	JEQ(R3, 0, none),
	ADD_SCRIPT_OFFSET(RUBY_STACK),
	SCRIPT_READ(SCRIPT(words), 24, BEGIN_TASK, none),
	LDX(DW, R1, R6, SCRIPT(words)),
	LDX(DW, R2, R6, SCRIPT(words[1])),
	LDX(DW, R3, R6, SCRIPT(words[2])),
	STX(DW, R6, SCRIPT(frame), R3),
	JLT_REG(R3, R1, none),
	LSH(R2, 3),
	ADD_REG(R1, R2),
	STX(DW, R6, SCRIPT(end), R1),
	MOV(R0, 0),
	EXIT(),
LABEL(none),
	MOV(R0, 1),
	EXIT(),

FUNC(ruby_frame),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NEXT_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LDX(DW, R3, R6, SCRIPT(frame)),
	LDX(H, R1, R9, LAYOUT_AT(RUBY_FRAME_BYTES)),
	ADD_REG(R1, R3),
	LDX(DW, R2, R6, SCRIPT(end)),
	JGT_REG(R1, R2, end),
	MOV_REG(R8, R1),
	SCRIPT_READ(SCRIPT(frame_bytes), 64, NEXT_TASK, end),
	STX(DW, R6, SCRIPT(frame), R8),
	LD_SCRIPT_COPIED(DW, R3, RUBY_EP, SCRIPT_FRAME_MASK, frame_bytes),
	SUB(R3, 16),
	SCRIPT_READ(SCRIPT(words), 24, NEXT_TASK, end),
	ST(W, R6, SCRIPT(line), 0),
	ST(W, R6, SCRIPT(kind), SCRIPT_NAMED),
	LDX(DW, R8, R6, SCRIPT(words[2])),
	MOV(R7, 0),
	JSET(R8, FINISH, called_from_c),
	JA(called_known),
LABEL(called_from_c),
	MOV(R7, SCRIPT_LAST),
LABEL(called_known),
	AND(R8, KIND_MASK),
	JEQ(R8, KIND_CFUNC, in_c),
	JEQ(R8, KIND_DUMMY, end), /* below all others */

	/* The code. */
	LD_SCRIPT_COPIED(DW, R3, RUBY_ISEQ, SCRIPT_FRAME_MASK, frame_bytes),
	JEQ(R3, 0, no_function),
	LD_SCRIPT_COPIED(DW, R1, RUBY_PC, SCRIPT_FRAME_MASK, frame_bytes),
	JEQ(R1, 0, no_function), /* a block in C */
	ADD_SCRIPT_OFFSET(RUBY_BODY),
	SCRIPT_READ(SCRIPT(function), 8, NEXT_TASK, no_function),
	LDX(DW, R3, R6, SCRIPT(function)),
	SCRIPT_READ(SCRIPT(function_bytes), 160, NEXT_TASK, no_function),

	OR(R7, SCRIPT_FRAME),

	/* R8 = which instruction; the pc is behind it. */
	LD_SCRIPT_COPIED(DW, R8, RUBY_PC, SCRIPT_FRAME_MASK, frame_bytes),
	LD_SCRIPT_COPIED(DW, R1, RUBY_CODE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SUB_REG(R8, R1),
	RSH(R8, 3),
	JEQ(R8, 0, first_instruction),
	SUB(R8, 1),
LABEL(first_instruction),
	LD_SCRIPT_COPIED(W, R1, RUBY_SIZE, SCRIPT_FUNCTION_INT_MASK, function_bytes),
	JGE_REG(R8, R1, has_line),

	/* R8 = which line, from 1 on. */
	LD_SCRIPT_COPIED(W, R1, RUBY_LINES_COUNT, SCRIPT_FUNCTION_INT_MASK, function_bytes),
	JEQ(R1, 1, number_known_one),
	LD_SCRIPT_COPIED(DW, R3, RUBY_LINES_INDEX, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	JGE(R8, FIRST_INSTRUCTIONS, in_a_block),
	MOV_REG(R1, R8),
	DIV(R1, IN_A_WORD),
	MOD(R8, IN_A_WORD),
	MUL(R8, COUNT_BITS),
	LSH(R1, 3),
	ADD_REG(R3, R1),
	SCRIPT_READ(SCRIPT(words), 8, NEXT_TASK, has_line),
	LDX(DW, R1, R6, SCRIPT(words)),
	RSH_REG(R1, R8),
	AND(R1, (1 << COUNT_BITS) - 1),
	MOV_REG(R8, R1),
	JA(number_known),
LABEL(in_a_block),
	SUB(R8, FIRST_INSTRUCTIONS),
	MOV_REG(R1, R8),
	RSH(R1, BLOCK_SHIFT),
	MUL(R1, BLOCK_BYTES),
	ADD_REG(R3, R1),
	ADD(R3, BLOCKS_AT),
	STX(DW, R10, BLOCK, R3),
	SCRIPT_READ(SCRIPT(words), 16, NEXT_TASK, has_line),
	AND(R8, (1 << BLOCK_SHIFT) - 1),
	MOV_REG(R1, R8),
	RSH(R1, 6),
	LDX(W, R4, R6, SCRIPT(words)),
	LDX(DW, R2, R6, SCRIPT(words[1])),
	JEQ(R1, 0, before_known),
	MOV_REG(R5, R1),
	SUB(R5, 1),
	MUL(R5, 9),
	RSH_REG(R2, R5),
	AND(R2, 0x1ff),
	ADD_REG(R4, R2),
LABEL(before_known),
	STX(DW, R10, NUMBER, R4),
	LDX(DW, R3, R10, BLOCK),
	LSH(R1, 3),
	ADD_REG(R3, R1),
	ADD(R3, BITS_AT),
	SCRIPT_READ(SCRIPT(words), 8, NEXT_TASK, has_line),
	MOV(R1, 63),
	AND(R8, 63),
	SUB_REG(R1, R8),
	AND(R1, 63),
	LDX(DW, R8, R6, SCRIPT(words)),
	LSH_REG(R8, R1),
	COUNT_ONES,
	LDX(DW, R1, R10, NUMBER),
	ADD_REG(R8, R1),
	JA(number_known),
LABEL(number_known_one),
	MOV(R8, 1),
LABEL(number_known),
	LD_SCRIPT_COPIED(W, R1, RUBY_LINES_COUNT, SCRIPT_FUNCTION_INT_MASK, function_bytes),
	SUB(R8, 1),
	JGE_REG(R8, R1, has_line),
	LDX(H, R1, R9, LAYOUT_AT(RUBY_LINE_BYTES)),
	MUL_REG(R8, R1),
	LD_SCRIPT_COPIED(DW, R3, RUBY_LINES, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	ADD_REG(R3, R8),
	SCRIPT_READ(SCRIPT(line), 4, NEXT_TASK, has_line),
LABEL(has_line),

	/* What tells the code from other at its address. */
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV(R2, 0),
	LD_SCRIPT_COPIED(DW, R1, RUBY_LABEL, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	LD_SCRIPT_COPIED(DW, R1, RUBY_PATH, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	LD_SCRIPT_COPIED(DW, R1, RUBY_FIRST_LINE, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	STX(W, R6, SCRIPT(check), R2),
	ST(DW, R6, SCRIPT(words), 0), /* it is no method in C */
	MOV_REG(R0, R7),
	EXIT(),

LABEL(in_c),
	LDX(DW, R3, R6, SCRIPT(words)),
	STX(DW, R6, SCRIPT(function), R3),
	SCRIPT_READ(SCRIPT(function_bytes), 40, NEXT_TASK, no_function),
	LDX(DW, R1, R6, SCRIPT(function_bytes)),
	MOV_REG(R2, R1),
	AND(R2, TYPE_MASK),
	JNE(R2, TYPE_INTERNAL, no_function),
	RSH(R1, INTERNAL_SHIFT),
	AND(R1, INTERNAL_MASK),
	JNE(R1, INTERNAL_METHOD, no_function),
	LD_SCRIPT_COPIED(DW, R3, RUBY_DEFINITION, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	STX(DW, R6, SCRIPT(function), R3),
	SCRIPT_READ(SCRIPT(function_bytes), 48, NEXT_TASK, no_function),
	LDX(B, R1, R6, SCRIPT(function_bytes)),
	AND(R1, METHOD_MASK),
	JNE(R1, METHOD_CFUNC, no_function),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV(R2, 0),
	LD_SCRIPT_COPIED(DW, R1, RUBY_CFUNC, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	LD_SCRIPT_COPIED(DW, R1, RUBY_ID, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	SCRIPT_MIX(R1),
	STX(W, R6, SCRIPT(check), R2),
	ST(DW, R6, SCRIPT(words), 1),
	MOV_REG(R0, R7),
	OR(R0, SCRIPT_FRAME),
	EXIT(),
LABEL(no_function),
	MOV_REG(R0, R7),
	AND(R0, SCRIPT_LAST),
	EXIT(),
LABEL(end),
	ST(DW, R6, SCRIPT(end), 0), /* nor when it is asked again */
	MOV(R0, SCRIPT_END),
	EXIT(),

FUNC(ruby_names),
	MOV_REG(R6, R1),
	MOV_REG(R7, R3),
	WHEN(struct program_config, of_task),
		STX(DW, R10, NAMES_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_CLASS, 0),
	ST(W, R7, OF_FUNCTION(bytes) + 4 * SCRIPT_FILE, 0),
	LDX(DW, R1, R6, SCRIPT(words)),
	JEQ(R1, 0, has_label),

	/* The number of its name: array after array. */
	LD_SCRIPT_COPIED(DW, R8, RUBY_ID, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	LDX(H, R1, R9, LAYOUT_AT(RUBY_LAST_OPERATOR)),
	JLE_REG(R8, R1, number_known),
	RSH(R8, ID_SHIFT),
LABEL(number_known),
	LDX(DW, R3, R6, OF_SCRIPT(again)),
	JEQ(R3, 0, unread),
	SCRIPT_READ(SCRIPT(words[1]), 8, NAMES_TASK, unread),
	MOV_REG(R1, R8),
	RSH(R1, NAMES_SHIFT),
	STX(DW, R10, NAME_NUMBER, R1),
	AND(R8, (1 << NAMES_SHIFT) - 1),
	LSH(R8, 1),
	STX(DW, R6, SCRIPT(words[2]), R8),
	LDX(DW, R8, R6, SCRIPT(words[1])),
	ARRAY_ITEM(NAME_NUMBER, unread),
	LDX(DW, R1, R6, SCRIPT(words[2])),
	STX(DW, R10, NAME_NUMBER, R1),
	ARRAY_ITEM(NAME_NUMBER, unread),
	COPY_STRING(SCRIPT_NAME),
	MOV(R0, 0),
	EXIT(),

LABEL(has_label),
	LD_SCRIPT_COPIED(DW, R8, RUBY_LABEL, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	COPY_STRING(SCRIPT_NAME),

	/* A file has two paths, the one that it was asked for by is the first. */
	LD_SCRIPT_COPIED(DW, R8, RUBY_PATH, SCRIPT_FUNCTION_COPY_MASK, function_bytes),
	MOV_REG(R3, R8),
	SCRIPT_READ(SCRIPT(words), 8, NAMES_TASK, unread),
	LDX(DW, R1, R6, SCRIPT(words)),
	AND(R1, TYPE_MASK),
	JEQ(R1, TYPE_STRING, one_path),
	ST(DW, R10, NAME_NUMBER, 0),
	ARRAY_ITEM(NAME_NUMBER, unread),
LABEL(one_path),
	COPY_STRING(SCRIPT_FILE),
	MOV(R0, 0),
	EXIT(),
LABEL(unread),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_script_ruby_part = { ASM_LINES(ruby_lines),
					      ASM_FRAMES({ "ruby_begin", &begin_frame_layout },
							 { "ruby_frame", &next_frame_layout },
							 { "ruby_names", &names_frame_layout }) };
