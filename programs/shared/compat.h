/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of 32-bit programs, which the tracepoints of system calls tell of as well. */
#ifndef PROGRAMS_COMPAT_H
#define PROGRAMS_COMPAT_H

#include <rawprof/asm.h>

/*
 * On to the label out if the current thread is in a system call of 32-bit programs: the tracepoints
 * sys_enter and sys_exit give it a number too, of another table. room: 8 bytes at a frame offset.
 * Source: TS_COMPAT of x86, which is of this one call, for 64-bit programs may make such calls too;
 * TIF_32BIT of arm64. R0 to R5 are lost.
 */
#if defined(__riscv) /* programs of 32 bits are not known there */
#define LEAVE_COMPAT_CALL(room, out) SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), END
#else
#ifdef __aarch64__
#define COMPAT_MEMBER "thread_info.flags"
#define COMPAT_BIT (1 << 22)
#else
#define COMPAT_MEMBER "thread_info.status"
#define COMPAT_BIT 2
#endif
#define LEAVE_COMPAT_CALL(room, out)                                                               \
	SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), CALL(get_current_task),                   \
		READ_FIELD(room, R0, "task_struct", COMPAT_MEMBER), LDX(W, R1, R10, room),         \
		JSET(R1, COMPAT_BIT, out), END
#endif

#endif
