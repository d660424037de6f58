/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is the current task one that was asked for? (programs/shared/target.c)
 *
 *	target_ids()	R0 = process << 32 | thread of the current task, as we number them;
 *			-1 if it was not asked for
 */
#ifndef PROGRAMS_TARGET_H
#define PROGRAMS_TARGET_H

#include <rawprof/asm.h>

extern const struct asm_part rp_target_part;

#endif
