/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line that a frame of Perl is at.
 *
 * An interpreter knows its last statement (struct cop), which has a line. But the first statement
 * of a block that needs no context of its own was made no operation: it stays in the tree of
 * operations, below the statement around the block. So that tree is searched for the operation at
 * hand, and the last such statement before it on the way counts, as it does for caller() and
 * warn() (closest_cop() of Perl's util.c). What was found is kept.
 */
#include "perl_step.h"

ASM_FRAME(line_frame,
	(uint64_t, task, LINE_TASK),
	(uint64_t, state, LINE_STATE));
ASM_FRAME(search_frame,
	(uint64_t, task, SEARCH_TASK));

enum {
	COP_BYTES = 64,
	COP_MASK = 0x38,
	COP_INT_MASK = 0x3c,
	SEARCH_ROUNDS = 1024,
	/* An operation, BASEOP in op.h: as they were in all versions since 5.26. */
	OPERATION = PERL(cop_bytes) + COP_BYTES,
	OP_NEXT = OPERATION,
	OP_SIBLING = OPERATION + 8, /* or its parent */
	OP_TARGET = OPERATION + 24,
	OP_BITS = OPERATION + 32,
	OP_FLAGS = OPERATION + 34,
	OP_FIRST = OPERATION + 40,
	OPERATION_BYTES = 48,
	TYPE_MASK = 0x1ff, /* of OP_BITS; */
	MORE = 0x4000,	   /*   OP_SIBLING is a sibling */
	KIDS = 4,	   /* of OP_FLAGS */
	VISITED = 1,	   /* of a node: its children have been looked at */
};

/* clang-format off */
/* dst = what the copy of the statement holds where the layout at R9 says. */
#define LD_COP(size, dst, which, mask)                                                             \
	LDX(H, dst, R9, LAYOUT_AT(which)),                                                         \
	AND(dst, mask),                                                                            \
	ADD_REG(dst, R6),                                                                          \
	LDX(size, dst, dst, PERL(cop_bytes))

/* R1 = the word of the level R7, less than PERL_LEVELS_MOST */
#define LD_LEVEL                                                                                   \
	MOV_REG(R1, R7),                                                                           \
	AND(R1, PERL_LEVELS_MOST - 1),                                                             \
	LSH(R1, 3),                                                                                \
	ADD_REG(R1, R6)

static const struct asm_insn perl_lines[] = {
FUNC(perl_line),
	MOV_REG(R6, R1),
	STX(DW, R10, LINE_STATE, R6),
	WHEN(struct program_config, of_task),
		STX(DW, R10, LINE_TASK, R2),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	ST(W, R6, SCRIPT(line), 0),
	ST(DW, R6, PERL(file), 0),
	ST(DW, R6, PERL(file_hash), 0),
	LDX(DW, R8, R6, PERL(line_cop)),
	JEQ(R8, 0, out),
	MOV_REG(R3, R8),
	SCRIPT_READ(PERL(cop_bytes), COP_BYTES, LINE_TASK, out),
	LD_COP(W, R1, PERL_LINE, COP_INT_MASK),
	JGT(R1, SCRIPT_LINE_MAX, out),
	STX(W, R6, SCRIPT(line), R1),
	LD_COP(DW, R7, PERL_FILE, COP_MASK),
	STX(DW, R6, PERL(file), R7),

	/* Is it known? Not the statement that is compiled, which always changes. */
	LDX(H, R1, R9, LAYOUT_AT(PERL_COMPILING)),
	LDX(DW, R2, R6, PERL(interpreter)),
	ADD_REG(R1, R2),
	MOV(R2, 0),
	JEQ_REG(R1, R8, changes),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	SCRIPT_MIX(R8),
	SCRIPT_MIX(R7),
	LD_COP(W, R1, PERL_LINE, COP_INT_MASK),
	LD_COP(W, R3, PERL_SEQUENCE, COP_INT_MASK), /* a new one, where another was before */
	LSH(R3, 32),
	OR_REG(R1, R3),
	SCRIPT_MIX(R1),
	LDX(DW, R1, R6, PERL(line_op)),
	LDX(DW, R3, R6, PERL(line_is_next)),
	OR_REG(R1, R3),
	SCRIPT_MIX(R1),
	LDX(DW, R1, R6, OF_RECORD(start_time)),
	LDX(DW, R3, R6, OF_RECORD(exec_id)),
	ADD_REG(R1, R3),
	SCRIPT_MIX(R1),
	LDX(W, R1, R6, OF_RECORD(pid_tgid) + 4),
	SCRIPT_MIX(R1),
LABEL(changes),
	STX(DW, R6, PERL(line_key), R2),
	LD_MAP_VALUE(R8, perl_lines, 0),
	MOV_REG(R1, R2),
	AND(R1, (1 << PERL_LINES_SHIFT) - 1),
	LSH(R1, 4),
	ADD_REG(R8, R1),
	JEQ(R2, 0, unknown),
	LDX(DW, R3, R8, 0),
	LDX(DW, R4, R8, 8),
	MOV_REG(R1, R4),
	MUL_REG(R1, R5),
	XOR_REG(R1, R3),
	JNE_REG(R1, R2, unknown),
	MOV_REG(R1, R4),
	AND(R1, SCRIPT_LINE_MAX),
	STX(W, R6, SCRIPT(line), R1),
	RSH(R4, SCRIPT_CHECK_SHIFT),
	STX(DW, R6, PERL(file_hash), R4),
	JA(out),

LABEL(unknown),
	LDX(DW, R3, R6, PERL(file)),
	JEQ(R3, 0, no_file),
	PERL_READ_TEXT(LINE_TASK, no_file),
	MOV(R1, PERL_TEXT_ROOM / 8),
	LD_FUNC(R2, perl_hash),
	FRAME_PTR(R3, LINE_STATE),
	MOV(R4, 0),
	CALL(loop),
LABEL(no_file),
	LDX(DW, R1, R6, PERL(line_key)),
	JEQ(R1, 0, out),

	/* Where the search begins: at the operations of the statement. */
	LDX(DW, R1, R6, PERL(line_op)),
	JEQ(R1, 0, keep),
	LDX(W, R1, R6, PERL(search_left)),
	JEQ(R1, 0, out),
	LDX(H, R1, R6, PERL(cop_bytes) + OP_BITS - OPERATION),
	JSET(R1, MORE, has_operations),
	JA(keep),
LABEL(has_operations),
	LDX(DW, R1, R6, PERL(cop_bytes) + OP_SIBLING - OPERATION),
	STX(DW, R6, PERL(node), R1),
	ST(DW, R6, PERL(depth), 0),
	ST(DW, R6, PERL(found), 0),
	ST(DW, R6, PERL_LEVELS, 0),
	LDX(W, R1, R6, PERL(search_left)),
	JLE(R1, SEARCH_ROUNDS, last_rounds),
	MOV(R1, SEARCH_ROUNDS),
LABEL(last_rounds),
	LD_FUNC(R2, perl_search),
	FRAME_PTR(R3, LINE_STATE),
	MOV(R4, 0),
	CALL(loop),
	LDX(W, R1, R6, PERL(search_left)),
	SUB_REG(R1, R0),
	STX(W, R6, PERL(search_left), R1),
	JEQ(R1, 0, out), /* the line of the statement, until a walk gets to this search */
	LDX(DW, R3, R6, PERL(found)),
	JEQ(R3, 0, keep),
	ADD_SCRIPT_OFFSET(PERL_LINE),
	SCRIPT_READ(SCRIPT(words), 4, LINE_TASK, keep),
	LDX(W, R1, R6, SCRIPT(words)),
	JGT(R1, SCRIPT_LINE_MAX, keep),
	STX(W, R6, SCRIPT(line), R1),
LABEL(keep),
	LDX(DW, R2, R6, PERL(file_hash)),
	LSH(R2, SCRIPT_CHECK_SHIFT),
	LDX(W, R1, R6, SCRIPT(line)),
	OR_REG(R2, R1),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	LDX(DW, R3, R6, PERL(line_key)),
	MOV_REG(R1, R2),
	MUL_REG(R1, R5),
	XOR_REG(R1, R3),
	STX(DW, R8, 0, R1),
	STX(DW, R8, 8, R2),
LABEL(out),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	LDX(W, R2, R6, SCRIPT(check)),
	LDX(DW, R1, R6, PERL(file_hash)),
	SCRIPT_MIX(R1),
	STX(W, R6, SCRIPT(check), R2),
	MOV(R0, 0),
	EXIT(),

	/* perl_hash(index, slot of the scratch): a word of the text; 1 at its end. */
FUNC(perl_hash),
	LDX(DW, R6, R2, 0),
	AND(R1, PERL_TEXT_ROOM / 8 - 1),
	LSH(R1, 3),
	ADD_REG(R1, R6),
	LDX(DW, R1, R1, PERL_TEXT),

	/* R3 = the highest bit of the first byte that is 0: what follows it is no text. */
	MOV_REG(R3, R1),
	LD_IMM64(R4, 0x0101010101010101),
	SUB_REG(R3, R4),
	MOV_REG(R4, R1),
	XOR(R4, -1),
	AND_REG(R3, R4),
	LD_IMM64(R4, 0x8080808080808080),
	AND_REG(R3, R4),
	MOV(R0, 0),
	JEQ(R3, 0, all_text),
	MOV(R0, 1),
	MOV_REG(R4, R3),
	NEG(R4),
	AND_REG(R3, R4),
	RSH(R3, 7),
	SUB(R3, 1),
	AND_REG(R1, R3),
LABEL(all_text),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	LDX(DW, R2, R6, PERL(file_hash)),
	SCRIPT_MIX(R1),
	MOV32_REG(R2, R2),
	STX(DW, R6, PERL(file_hash), R2),
	EXIT(),

	/* perl_search(index, slot of the scratch): one step through the tree; 1 at the end. */
FUNC(perl_search),
	LDX(DW, R6, R2, 0),
	WHEN(struct program_config, of_task),
		LDX(DW, R1, R2, LINE_TASK - LINE_STATE),
		STX(DW, R10, SEARCH_TASK, R1),
	END,
	LD_SCRIPT_LAYOUT(R9, R1),
	LDX(DW, R8, R6, PERL(node)),
	MOV_REG(R3, R8),
	AND(R3, -1 - VISITED),
	SCRIPT_READ(OPERATION, OPERATION_BYTES, SEARCH_TASK, end),
	LDX(DW, R7, R6, PERL(depth)),
	LDX(H, R3, R6, OP_BITS),
	JSET(R8, VISITED, on),
	LD_LEVEL,
	AND(R3, TYPE_MASK),
	JEQ(R7, 0, no_statement),
	JNE(R3, 0, no_statement),
	LDX(DW, R2, R6, OP_TARGET),
	LDX(H, R4, R9, LAYOUT_AT(PERL_NEXTSTATE)),
	JNE_REG(R2, R4, no_statement),
	STX(DW, R1, PERL_LEVELS, R8),
LABEL(no_statement),

	/* Is this the operation, or the one before it? */
	LDX(DW, R4, R6, PERL(line_op)),
	JEQ_REG(R4, R8, found),
	LDX(DW, R2, R6, PERL(line_is_next)),
	JEQ(R2, 0, not_before),
	LDX(DW, R2, R6, OP_NEXT),
	JNE_REG(R2, R4, not_before),
	LDX(H, R2, R9, LAYOUT_AT(PERL_SCOPE)),
	JNE_REG(R2, R3, found),
LABEL(not_before),
	LDX(B, R2, R6, OP_FLAGS),
	JSET(R2, KIDS, has_kids),
	JA(on),
LABEL(has_kids),
	LDX(DW, R8, R6, OP_FIRST),
	JEQ(R8, 0, on),
	JGE(R7, PERL_LEVELS_MOST - 1, end),
	LDX(DW, R2, R1, PERL_LEVELS),
	STX(DW, R1, PERL_LEVELS + 8, R2),
	ADD(R7, 1),
	JA(next),

LABEL(on),
	JEQ(R7, 0, end),
	LDX(DW, R8, R6, OP_SIBLING),
	JEQ(R8, 0, end),
	LDX(H, R3, R6, OP_BITS),
	JSET(R3, MORE, next),
	OR(R8, VISITED),
	SUB(R7, 1),
LABEL(next),
	STX(DW, R6, PERL(node), R8),
	STX(DW, R6, PERL(depth), R7),
	MOV(R0, 0),
	EXIT(),
LABEL(found),
	LDX(DW, R1, R1, PERL_LEVELS),
	STX(DW, R6, PERL(found), R1),
LABEL(end),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_perl_line_part = { ASM_LINES(perl_lines),
					    ASM_FRAMES({ "perl_line", &line_frame_layout },
						       { "perl_search", &search_frame_layout }) };
