/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of V8's JavaScript (programs/shared/v8.c): what both sides share.
 *
 * All code that V8 makes or brings along keeps frame pointers, and below them a frame of a function
 * of JavaScript has its context and the function. What that is called and where it stands in its
 * source are objects in the process's memory, which user space reads as soon as a function or a
 * place in compiled code comes for the first time (record/v8.c). What is read is never believed.
 */
#ifndef PROGRAMS_SHARED_V8_H
#define PROGRAMS_SHARED_V8_H

#include <stdint.h>

#include <rawprof/asm.h>
#include "managed.h"

/* What is known of a process with V8; lies in struct unwind_proc. All 0: it has none. */
struct v8_process {
	uint16_t layout; /* number + 1 of its layout in user space */
	uint16_t shared; /* offset in JSFunction, of its SharedFunctionInfo */
	uint16_t bytecode_type;
	uint16_t unused;
};

/*
 * The words of a frame (managed.h): the address of its SharedFunctionInfo, which has the lowest bit
 * set, and where it is: the offset in the bytecode of an interpreted one, else the return address,
 * or what is sampled + 1. What tells the function from others that were there before or after, a
 * check of 26 bits, is in both.
 */
#define V8_COMPILED (1ull << 60) /* in the first */
#define V8_CHECK_LOW_SHIFT 48	 /* in the first */
#define V8_CHECK_LOW_BITS 12
#define V8_CHECK_HIGH_SHIFT 47 /* in the second */
#define V8_CHECK_HIGH_BITS 14
#define V8_ADDRESS_MASK ((1ull << 48) - 1)
#define V8_POSITION_MASK ((1ull << 47) - 1)
/* The members of it that make the check: the name or scope, the script, the function's number. */
enum { V8_SHARED_NAME = 16, V8_SHARED_SCRIPT = 32, V8_SHARED_LITERAL = 52 };

/* The part of a walk that is about them. */
struct v8_walk {
	uint32_t base, fresh; /* kernel frames; 1 if one of them was not seen before */
	uint64_t slots[5];    /* of the frame: bytecode offset, bytecode, -, function, context */
	uint64_t shared;
	uint64_t members[5]; /* of it, from V8_SHARED_NAME on */
	uint64_t word;
};

/*
 * v8_walk(R1 = a struct stack_scratch whose record has its native frames, R2 = the task, with
 * of_task): R0 = how many words it has written behind them. To be INCLUDEd WHEN managed_bytes.
 */
extern const struct asm_part rp_v8_part;

#endif
