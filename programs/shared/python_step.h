/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of python.c and python_code.c are made of. */
#ifndef PROGRAMS_PYTHON_H
#define PROGRAMS_PYTHON_H

#include "managed_seen.h"

/* Offsets from the scratch. */
#define WALK(member)                                                                               \
	((int)offsetof(struct stack_scratch, walk.python) +                                        \
	 (int)offsetof(struct python_walk, member))
#define OF_PROCESS(member)                                                                         \
	((int)offsetof(struct stack_scratch, walk.python_process) +                                \
	 (int)offsetof(struct python_process, member))
#define OF_RECORD(member) ((int)offsetof(struct stack_scratch, record.member))
#define LAYOUT(member) ((int)offsetof(struct python_layout, member))

/* Masks that keep what a layout says inside of the copies. */
#define FRAME_MASK 0x78
#define FRAME_BYTE_MASK 0x7f
#define CFRAME_MASK 0x18
#define CODE_MASK 0xf8
#define CODE_INT_MASK 0xfc

/* Python frames whose code was first seen: python_code(R1 = scratch, R2 = task). */
extern const struct asm_part rp_python_code_part;

/* clang-format off */
/* dst = the layout of the process; R6 = scratch, t is destroyed. */
#define LD_LAYOUT(dst, t)                                                                          \
	LD_MAP_VALUE(dst, python_layouts, 0),                                                      \
	LDX(W, t, R6, OF_PROCESS(layout)),                                                         \
	SUB(t, 1),                                                                                 \
	AND(t, PYTHON_LAYOUTS - 1),                                                                \
	MUL(t, sizeof(struct python_layout)),                                                      \
	ADD_REG(dst, t)

/* dst = what the copy holds where the layout at R9 says. */
#define LD_COPIED(size, dst, member, mask, copy)                                                   \
	LDX(H, dst, R9, LAYOUT(member)),                                                           \
	AND(dst, mask),                                                                            \
	ADD_REG(dst, R6),                                                                          \
	LDX(size, dst, dst, WALK(copy))

/* Reads user memory at the address in R3 to the scratch; on failure to the label. */
#define READ_USER_TO(to, bytes, slot, failed)                                                      \
	MOV_REG(R1, R6),                                                                           \
	ADD(R1, to),                                                                               \
	MOV(R2, bytes),                                                                            \
	READ_TASK(slot),                                                                           \
	JNE(R0, 0, failed)
/* The same, R1 to R3 known. */
#define READ_TASK(slot)                                                                            \
	UNLESS(struct program_config, of_task),                                                    \
		CALL(probe_read_user),                                                             \
	END,                                                                                       \
	WHEN(struct program_config, of_task),                                                      \
		LDX(DW, R4, R10, slot),                                                            \
		MOV(R5, 0),                                                                        \
		CALL(copy_from_user_task),                                                         \
	END
/* clang-format on */

#endif
