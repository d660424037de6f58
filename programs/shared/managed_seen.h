/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has what names this function been sent? The map has the hashes of those that were, of all
 * languages.
 *
 * The bucket that a hash is in is seldom in a cache, and each function of a walk has another. But
 * most functions have been in a walk shortly before: each scratch has the hashes of some of them,
 * and a walk begins with asking for that memory, all of it at once.
 */
#ifndef PROGRAMS_SHARED_MANAGED_SEEN_H
#define PROGRAMS_SHARED_MANAGED_SEEN_H

#include "stack.h"

enum {
	SEEN_LATELY = offsetof(struct stack_scratch, walk.seen_lately),
	SEEN_START_TIME = offsetof(struct stack_scratch, record.start_time),
	SEEN_EXEC_ID = offsetof(struct stack_scratch, record.exec_id),
};

_Static_assert(8 * MANAGED_SEEN_LATELY == 16 * 64, "FETCH_SEEN asks for each line");

/* clang-format off */
#define FETCH_LINE(n) LDX(DW, R1, R6, SEEN_LATELY + 64 * (n))
/* At the beginning of a walk; R6 = scratch, R1 is lost. */
#define FETCH_SEEN                                                                                 \
	FETCH_LINE(0), FETCH_LINE(1), FETCH_LINE(2), FETCH_LINE(3), FETCH_LINE(4), FETCH_LINE(5),  \
		FETCH_LINE(6), FETCH_LINE(7), FETCH_LINE(8), FETCH_LINE(9), FETCH_LINE(10),        \
		FETCH_LINE(11), FETCH_LINE(12), FETCH_LINE(13), FETCH_LINE(14), FETCH_LINE(15)

/* To .found if that place of the bucket at R1 has the hash R7. */
#define TRY_SEEN(way)                                                                              \
	LDX(DW, R2, R1, 8 * (way)),                                                                \
	JEQ_REG(R2, R7, .found)
/*
 * On to the label if it was sent; R7 = a hash of the function, and becomes one of its process too.
 * R6 = scratch; R5 = GOLDEN_RATIO_64; R1 to R3 are lost.
 */
#define FIND_SEEN(to)                                                                              \
	SCOPE("FIND_SEEN(" #to ")"),                                                               \
		LDX(DW, R2, R6, SEEN_START_TIME),                                                  \
		XOR_REG(R7, R2),                                                                   \
		LDX(DW, R2, R6, SEEN_EXEC_ID),                                                     \
		ADD_REG(R7, R2),                                                                   \
		MUL_REG(R7, R5),                                                                   \
		MOV_REG(R2, R7),                                                                   \
		RSH(R2, 32),                                                                       \
		XOR_REG(R7, R2),                                                                   \
		MOV_REG(R3, R7),                                                                   \
		AND(R3, MANAGED_SEEN_LATELY - 1),                                                  \
		LSH(R3, 3),                                                                        \
		ADD_REG(R3, R6),                                                                   \
		LDX(DW, R2, R3, SEEN_LATELY),                                                      \
		JEQ_REG(R2, R7, to),                                                               \
		LD_MAP_VALUE(R1, managed_seen, 0),                                                 \
		MOV_REG(R2, R7),                                                                   \
		AND(R2, (1 << MANAGED_SEEN_SHIFT) - 1),                                            \
		LSH(R2, 5),                                                                        \
		ADD_REG(R1, R2),                                                                   \
		TRY_SEEN(0),                                                                       \
		TRY_SEEN(1),                                                                       \
		TRY_SEEN(2),                                                                       \
		TRY_SEEN(3),                                                                       \
		JA(.not_found),                                                                    \
		LABEL(.found),                                                                     \
		STX(DW, R3, SEEN_LATELY, R7),                                                      \
		JA(to),                                                                            \
		LABEL(.not_found),                                                                 \
	END

/* The hash in R2 is of one that was sent: its upper bits choose which of four makes room. */
#define REMEMBER_SEEN                                                                              \
	MOV_REG(R1, R2),                                                                           \
	AND(R1, (1 << MANAGED_SEEN_SHIFT) - 1),                                                    \
	LSH(R1, 2),                                                                                \
	MOV_REG(R3, R2),                                                                           \
	RSH(R3, 62),                                                                               \
	ADD_REG(R1, R3),                                                                           \
	LSH(R1, 3),                                                                                \
	AND(R1, MANAGED_SEEN_BYTES - 8), /* as it is: for verifiers before 6.8 */                  \
	LD_MAP_VALUE(R3, managed_seen, 0),                                                         \
	ADD_REG(R3, R1),                                                                           \
	STX(DW, R3, 0, R2)
/* clang-format on */

#endif
