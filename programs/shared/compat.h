/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of 32-bit programs, which the tracepoints of system calls tell of as well. */
#ifndef PROGRAMS_COMPAT_H
#define PROGRAMS_COMPAT_H

#include <rawprof/asm.h>

#include "base/machine.h"

/*
 * On to the label out if the current thread is in a system call of 32-bit programs: the tracepoints
 * sys_enter and sys_exit give it a number too, of another table. room: 8 bytes at a frame offset.
 * R0 to R5 are lost.
 */
#ifndef COMPAT_MEMBER
#define LEAVE_COMPAT_CALL(room, out) SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), END
#else
#define LEAVE_COMPAT_CALL(room, out)                                                               \
	SCOPE("LEAVE_COMPAT_CALL(" #room ", " #out ")"), CALL(get_current_task),                   \
		READ_FIELD(room, R0, "task_struct", COMPAT_MEMBER), LDX(W, R1, R10, room),         \
		JSET(R1, COMPAT_BIT, out), END
#endif

#endif
