/* SPDX-License-Identifier: BSD-2-Clause */
/* What pthread_getspecific() gives a thread, for the walks of interpreters that keep theirs so. */
#ifndef PROGRAMS_SHARED_THREAD_VALUE_H
#define PROGRAMS_SHARED_THREAD_VALUE_H

#include <rawprof/macros.h>
#include "base/machine.h"

#ifdef MACHINE_THREAD_POINTER
#define THREAD_POINTER(dst, task) LD_FIELD(dst, task, "task_struct", MACHINE_THREAD_POINTER)
#else
#define THREAD_POINTER(dst, task) MOV(dst, 0)
#endif

#define THREAD_KEYS 1024 /* PTHREAD_KEYS_MAX */

/* clang-format off */
/*
 * R8 = what the thread with the pointer R8 has for the key R7, less than THREAD_KEYS. Its C library
 * is glibc: slots of 16 bytes in blocks of 32, the first of which lies in struct pthread, as do the
 * addresses of the blocks; where, is at the offsets slots and blocks from R9. read: lines that read
 * 8 bytes of user memory from the address in R3 to word of the scratch at R6. R1 to R5 are lost.
 */
#define LD_THREAD_VALUE(slots, blocks, word, read)                                                 \
	SCOPE("LD_THREAD_VALUE(" #slots ", " #blocks ", " #word ")"),                              \
		JLT(R7, 32, .first_block),                                                         \
		MOV_REG(R3, R7),                                                                   \
		RSH(R3, 5),                                                                        \
		LSH(R3, 3),                                                                        \
		ADD_REG(R3, R8),                                                                   \
		LDX(H, R1, R9, blocks),                                                            \
		ADD_REG(R3, R1),                                                                   \
		read,                                                                              \
		LDX(DW, R8, R6, word),                                                             \
		JA(.block_known),                                                                  \
		LABEL(.first_block),                                                               \
		LDX(H, R1, R9, slots),                                                             \
		ADD_REG(R8, R1),                                                                   \
		LABEL(.block_known),                                                               \
		AND(R7, 31),                                                                       \
		LSH(R7, 4),                                                                        \
		ADD_REG(R8, R7),                                                                   \
		MOV_REG(R3, R8),                                                                   \
		ADD(R3, 8),                                                                        \
		read,                                                                              \
		LDX(DW, R8, R6, word),                                                             \
	END
/* clang-format on */

#endif
