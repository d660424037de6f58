/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a stack weighed more: what is counted in the kernel has no time, so where times are wanted
 * (config.stream) each addition goes through the ring too, in few bytes.
 */
#ifndef PROGRAMS_SHARED_STREAM_H
#define PROGRAMS_SHARED_STREAM_H

#include "stack.h"

enum stack_moment_kind {
	STACK_MOMENT_AT,    /* a sample, an allocation */
	STACK_MOMENT_UNTIL, /* a wait that ended then; its weight is how long it was */
	STACK_MOMENT_WOKEN, /* who waits there was woken then; the weight is the waker's thread */
};

/* Shorter than any struct stack_record, from which its size tells it in the ring. */
struct stack_moment {
	uint64_t hash; /* of a stack, whose record may still be on its way */
	uint64_t with; /* what else its sample is told by: the stack of a waker, a state; or 0 */
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t weight;
	uint32_t count;
	uint16_t cpu;
	uint16_t kind; /* enum stack_moment_kind */
};

/*
 * stream_moment(R1 = hash, R2 = with, R3 = time or 0: now, R4 = weight, R5 = count | kind << 48):
 * sends one. To be INCLUDEd once, WHEN config.stream, by programs that call it.
 */
#define STREAM_KIND(kind) ((uint64_t)(kind) << 48)
extern const struct asm_part rp_stream_part;

#endif
