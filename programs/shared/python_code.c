/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * python_code: sends what names a code object, the first time that it is seen.
 *
 * The process may be gone when user space has its turn, and the object earlier: so its strings and
 * its line table go through the ring now. What is not in memory cannot be read here; then nothing
 * is sent, and it is tried again when the object is seen again.
 */
#include "python_step.h"

ASM_FRAME(code_frame,
	(uint64_t, task, CODE_TASK),
	(uint32_t, first, FIRST));

#define OUT(member) ((int)offsetof(struct python_code, member))
enum {
	NAMES_END = OUT(lines),
	TEXT_LENGTH = 16,
	TEXT_STATE = 32,
	BYTES_SIZE = 16,
	BYTES_DATA = 32
};

/* clang-format off */
/*
 * Copies the str whose address the copy of the code object has, to the record at R7. Its state
 * has, from the lowest bit on: interned (2 bits), bytes a character (3), compact, ASCII.
 */
#define COPY_TEXT(member, to)                                                                      \
	SCOPE("COPY_TEXT(" #member ", " #to ")"),                                                  \
		LD_COPIED(DW, R8, member, CODE_MASK, code_bytes),                                  \
		MOV_REG(R3, R8),                                                                   \
		READ_USER_TO(WALK(words), 40, CODE_TASK, unread),                                  \
		LDX(W, R1, R6, WALK(words) + TEXT_STATE),                                          \
		STX(W, R7, OUT(to##_state), R1),                                                   \
		LDX(H, R3, R9, LAYOUT(text_ascii)),                                                \
		JSET(R1, 1 << 6, .data),                                                           \
		LDX(H, R3, R9, LAYOUT(text_compact)),                                              \
		LABEL(.data),                                                                      \
		ADD_REG(R3, R8),                                                                   \
		RSH(R1, 2),                                                                        \
		AND(R1, 7),                                                                        \
		LDX(DW, R2, R6, WALK(words) + TEXT_LENGTH),                                        \
		JLE(R2, PYTHON_TEXT_BYTES, .short),                                                \
		MOV(R2, PYTHON_TEXT_BYTES),                                                        \
		LABEL(.short),                                                                     \
		MUL_REG(R2, R1),                                                                   \
		JLE(R2, PYTHON_TEXT_BYTES, .fits),                                                 \
		MOV(R2, PYTHON_TEXT_BYTES),                                                        \
		LABEL(.fits),                                                                      \
		STX(W, R7, OUT(to##_bytes), R2),                                                   \
		JEQ(R2, 0, .empty),                                                                \
		MOV_REG(R1, R7),                                                                   \
		ADD(R1, OUT(to)),                                                                  \
		READ_TASK(CODE_TASK),                                                              \
		JNE(R0, 0, unread),                                                                \
		LABEL(.empty),                                                                     \
	END

static const struct asm_insn code_lines[] = {
FUNC(python_code),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, CODE_TASK, R2),
	END,
	ST(W, R10, FIRST, 0),
	MAP_LOOKUP(python_code, FIRST),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	MOV(R1, 1),
	ATOMIC_ADD(W, R7, OUT(busy), R1),
	LDX(W, R1, R7, OUT(busy)),
	JNE(R1, 1, unread), /* what we have interrupted is at it */
	LD_LAYOUT(R9, R1),

	LD_IMM64(R1, PYTHON_CODE_TAG),
	STX(DW, R7, OUT(tag), R1),
	LDX(DW, R1, R6, OF_RECORD(pid_tgid)),
	STX(DW, R7, OUT(pid_tgid), R1),
	LDX(DW, R1, R6, OF_RECORD(start_time)),
	LDX(DW, R2, R6, OF_RECORD(exec_id)),
	ADD_REG(R1, R2),
	STX(DW, R7, OUT(generation), R1),
	LDX(DW, R1, R6, WALK(code)),
	STX(DW, R7, OUT(code), R1),
	LDX(W, R1, R6, WALK(check)),
	STX(W, R7, OUT(check), R1),
	LDX(H, R1, R9, LAYOUT(version)),
	STX(W, R7, OUT(version), R1),
	LD_COPIED(W, R1, code_first_line, CODE_INT_MASK, code_bytes),
	STX(W, R7, OUT(first_line), R1),
	COPY_TEXT(code_file, file),
	COPY_TEXT(code_name, name),

	/* The line table, a bytes object. */
	LD_COPIED(DW, R8, code_lines, CODE_MASK, code_bytes),
	MOV_REG(R3, R8),
	READ_USER_TO(WALK(words), 24, CODE_TASK, unread),
	LDX(DW, R2, R6, WALK(words) + BYTES_SIZE),
	JLE(R2, PYTHON_LINES_BYTES, all_lines),
	MOV(R2, PYTHON_LINES_BYTES),
LABEL(all_lines),
	STX(W, R7, OUT(lines_bytes), R2),
	JEQ(R2, 0, send),
	MOV_REG(R1, R7),
	ADD(R1, NAMES_END),
	MOV_REG(R3, R8),
	ADD(R3, BYTES_DATA),
	READ_TASK(CODE_TASK),
	JNE(R0, 0, unread),

LABEL(send),
	/* Code that nobody runs twice leaves half of the ring to stacks. */
	LD_MAP(R1, events),
	MOV(R2, BPF_RB_AVAIL_DATA),
	CALL(ringbuf_query),
	LD_PARAM(R1, struct program_config, ring_mark),
	LSH(R1, 1),
	JGT_REG(R0, R1, unread),
	LD_MAP(R1, events),
	MOV_REG(R2, R7),
	LDX(W, R3, R7, OUT(lines_bytes)),
	JGT(R3, PYTHON_LINES_BYTES, unread), /* never */
	ADD(R3, NAMES_END),
	MOV(R4, BPF_RB_NO_WAKEUP),
	CALL(ringbuf_output),
	JNE(R0, 0, unread),

	LDX(DW, R2, R6, WALK(seen)),
	REMEMBER_SEEN,
	JA(sent),
LABEL(unread),
	LDX(W, R1, R6, WALK(unread)),
	ADD(R1, 1),
	STX(W, R6, WALK(unread), R1),
LABEL(sent),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, OUT(busy), R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_python_code_part = { ASM_LINES(code_lines),
					      ASM_FRAMES({ "python_code", &code_frame_layout }) };
