/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of script_perl.c and perl_line.c are made of. */
#ifndef PROGRAMS_PERL_H
#define PROGRAMS_PERL_H

#include "script_step.h"

#define PERL(member) (SCRIPT(perl) + (int)offsetof(struct perl_walk, member))
/*
 * The walk of native frames is over, so what it has of the stack is room for a text, and for a word
 * of each level of a search.
 */
#define PERL_TEXT ((int)offsetof(struct stack_scratch, walk.window))
#define PERL_TEXT_ROOM 512
#define PERL_LEVELS (PERL_TEXT + PERL_TEXT_ROOM)
#define PERL_LEVELS_MOST 32
_Static_assert(PERL_TEXT_ROOM >= SCRIPT_TEXT_BYTES + 8, "a path fits");
_Static_assert(PERL_TEXT_ROOM + 8 * PERL_LEVELS_MOST <= UNWIND_WINDOW, "both fit");

/* clang-format off */
/*
 * Reads the C string at the address in R3, cut, to PERL_TEXT: as far as its page reaches, then the
 * rest; what of that cannot be read is 0. R0 to R5 are lost.
 */
#define PERL_PAGE 4096
#define PERL_READ_TEXT(slot, failed)                                                               \
	SCOPE("PERL_READ_TEXT(" #slot ", " #failed ")"),                                           \
		STX(DW, R6, SCRIPT(words[1]), R3),                                                 \
		ST(DW, R6, offsetof(struct stack_scratch, walk.window_at), UNWIND_NO_WINDOW),      \
		MOV_REG(R1, R3),                                                                   \
		AND(R1, PERL_PAGE - 1),                                                            \
		MOV(R2, PERL_PAGE),                                                                \
		SUB_REG(R2, R1),                                                                   \
		JLE(R2, PERL_TEXT_ROOM, .in_page),                                                 \
		MOV(R2, PERL_TEXT_ROOM),                                                           \
		LABEL(.in_page),                                                                   \
		STX(DW, R6, SCRIPT(words[2]), R2),                                                 \
		MOV_REG(R1, R6),                                                                   \
		ADD(R1, PERL_TEXT),                                                                \
		SCRIPT_READ_TASK(slot),                                                            \
		JNE(R0, 0, failed),                                                                \
		LDX(DW, R4, R6, SCRIPT(words[2])),                                                 \
		JGE(R4, PERL_TEXT_ROOM, .whole),                                                   \
		LDX(DW, R3, R6, SCRIPT(words[1])),                                                 \
		ADD_REG(R3, R4),                                                                   \
		MOV(R2, PERL_TEXT_ROOM),                                                           \
		SUB_REG(R2, R4),                                                                   \
		MOV_REG(R1, R6),                                                                   \
		ADD(R1, PERL_TEXT),                                                                \
		ADD_REG(R1, R4),                                                                   \
		SCRIPT_READ_TASK(slot),                                                            \
		LABEL(.whole),                                                                     \
		ST(DW, R6, PERL_TEXT + PERL_TEXT_ROOM - 8, 0),                                     \
	END
/* clang-format on */

/* perl_line(R1 = scratch, R2 = task): script.line, and what of the file counts for script.check. */
extern const struct asm_part rp_perl_line_part;

#endif
