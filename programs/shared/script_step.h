/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of script.c and of the languages (script_php.c and others) are made of. */
#ifndef PROGRAMS_SCRIPT_H
#define PROGRAMS_SCRIPT_H

#include "managed_seen.h"

/* Offsets from the scratch. */
#define SCRIPT(member)                                                                             \
	((int)offsetof(struct stack_scratch, walk.script) +                                        \
	 (int)offsetof(struct script_walk, member))
#define OF_SCRIPT(member)                                                                          \
	((int)offsetof(struct stack_scratch, walk.script_process) +                                \
	 (int)offsetof(struct script_process, member))
#define OF_RECORD(member) ((int)offsetof(struct stack_scratch, record.member))
#define OF_FUNCTION(member) ((int)offsetof(struct script_function, member))
#define LAYOUT_AT(which) ((int)offsetof(struct script_layout, at) + 2 * (which))

/* Masks that keep what a layout says inside of the copies. */
#define SCRIPT_FRAME_MASK 0x78
#define SCRIPT_FRAME_INT_MASK 0x7c
#define SCRIPT_FUNCTION_COPY_MASK 0xf8
#define SCRIPT_FUNCTION_INT_MASK 0xfc

/*
 * Of each language, on a struct stack_scratch and, with of_task, the task, which keeps R6 and R9 as
 * the walk has them:
 *
 *	X_begin(R1 = scratch, R2 = task)
 *		R0 = 0: script.frame is the innermost frame; else there is none
 *	X_frame(R1 = scratch, R2 = task)
 *		R0 = SCRIPT_FRAME, SCRIPT_LAST, SCRIPT_END of the next one
 *	X_names(R1 = scratch, R2 = task, R3 = a struct script_function)
 *		R0 = 0: its texts are there
 */
extern const struct asm_part rp_script_php_part, rp_script_ruby_part, rp_script_perl_part;

/* clang-format off */
/* dst = the layout of the process; R6 = scratch, t is destroyed. */
#define LD_SCRIPT_LAYOUT(dst, t)                                                                   \
	LD_MAP_VALUE(dst, script_layouts, 0),                                                      \
	LDX(H, t, R6, OF_SCRIPT(layout)),                                                          \
	AND(t, SCRIPT_LAYOUTS - 1),                                                                \
	LSH(t, SCRIPT_LAYOUT_SHIFT),                                                               \
	ADD_REG(dst, t)

/* dst = what the copy holds where the layout at R9 says. */
#define LD_SCRIPT_COPIED(size, dst, which, mask, copy)                                             \
	LDX(H, dst, R9, LAYOUT_AT(which)),                                                         \
	AND(dst, mask),                                                                            \
	ADD_REG(dst, R6),                                                                          \
	LDX(size, dst, dst, SCRIPT(copy))

/* R3 += what the layout at R9 says; R1 is lost. */
#define ADD_SCRIPT_OFFSET(which)                                                                   \
	LDX(H, R1, R9, LAYOUT_AT(which)),                                                          \
	ADD_REG(R3, R1)

/* Reads user memory at the address in R3 to the scratch; on failure to the label. */
#define SCRIPT_READ(to, bytes, slot, failed)                                                       \
	MOV_REG(R1, R6),                                                                           \
	ADD(R1, to),                                                                               \
	MOV(R2, bytes),                                                                            \
	SCRIPT_READ_TASK(slot),                                                                    \
	JNE(R0, 0, failed)
/* The same, R1 to R3 known; 0 or an error. */
#define SCRIPT_READ_TASK(slot)                                                                     \
	UNLESS(struct program_config, of_task),                                                    \
		CALL(probe_read_user),                                                             \
	END,                                                                                       \
	WHEN(struct program_config, of_task),                                                      \
		LDX(DW, R4, R10, slot),                                                            \
		MOV(R5, 0),                                                                        \
		CALL(copy_from_user_task),                                                         \
	END

/* R2 = hash of it and the register, which is lost; R5 = GOLDEN_RATIO_64. */
#define SCRIPT_MIX(value)                                                                          \
	XOR_REG(R2, value),                                                                        \
	MUL_REG(R2, R5),                                                                           \
	MOV_REG(value, R2),                                                                        \
	RSH(value, 32),                                                                            \
	XOR_REG(R2, value)

/*
 * Copies R8 bytes of text, or as many as there is room for, from the address in R3 to that text of
 * the struct script_function at R7.
 */
#define SCRIPT_COPY_TEXT(which, slot, failed)                                                      \
	SCOPE("SCRIPT_COPY_TEXT(" #which ", " #slot ", " #failed ")"),                             \
		JLE(R8, SCRIPT_TEXT_BYTES, .fits),                                                 \
		MOV(R8, SCRIPT_TEXT_BYTES),                                                        \
		LABEL(.fits),                                                                      \
		STX(W, R7, OF_FUNCTION(bytes) + 4 * (which), R8),                                  \
		JEQ(R8, 0, .empty),                                                                \
		MOV_REG(R1, R7),                                                                   \
		ADD(R1, OF_FUNCTION(text) + (which) * (SCRIPT_TEXT_BYTES + 8)),                    \
		MOV_REG(R2, R8),                                                                   \
		SCRIPT_READ_TASK(slot),                                                            \
		JNE(R0, 0, failed),                                                                \
		LABEL(.empty),                                                                     \
	END
/* clang-format on */

#endif
