/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules for code that nothing describes, computed from its instructions: x86-64.
 *
 * At a function's start the CFA is sp + 8, and the caller's rbp in rbp. Each instruction changes
 * that in a way that can be told, or cannot. Followed from there, over jumps and calls, where the
 * caller's frame is at each instruction is known, or is said not to be; and a return, with the
 * stack pointer where it was, shows that it was followed rightly.
 */
#ifndef UNWIND_CODE_H
#define UNWIND_CODE_H

#include <rawprof/unwind.h>

#include "base/budget.h"
#include "base/x86.h"
#include "cfi.h"
#include "starts.h"

/* A number that is known but for what it counts from. */
struct unwind_known {
	int32_t off;
	int32_t from; /* enum unwind_known_from */
};

enum unwind_known_from {
	KNOWN_NOT,
	KNOWN_CFA,
	KNOWN_ALIGNED, /* what rsp was when it was last aligned, or moved by a number not known */
};

enum { UNWIND_COPIES = 2 };

/* Where the frame is before an instruction. No padding: states are compared as bytes. */
struct unwind_code_state {
	struct unwind_known sp, bp;
	/* Where the caller's rbp was stored first; KNOWN_NOT: nowhere. */
	struct unwind_known saved;
	/* An address on the stack, and which one is stored there. */
	struct unwind_known slot, in_slot;
	/* Other registers that have addresses of the stack; the younger first. */
	struct unwind_known copy[UNWIND_COPIES];
	int8_t copy_reg[UNWIND_COPIES];
	uint8_t fp;	  /* enum unwind_code_fp */
	uint8_t compared; /* sp was compared just now: 1 + the number of the copy */
};

enum unwind_code_fp {
	FP_IN_PLACE, /* rbp is the caller's, stored or not */
	FP_SAVED,    /* it is where it was stored, and nowhere else */
	FP_GONE,
	FP_OUTERMOST, /* it was cleared and never stored: the ABI's mark of the outermost frame */
	FP_NOWHERE,   /* nor is the frame, by anything: it was in a register */
};

/* At the start of a function. */
struct unwind_code_state unwind_code_entry(void);
/* Behind the instruction @p. False if it makes no sense for code of a function. */
bool unwind_code_step(struct unwind_code_state *s, const struct x86_parts *p);
/* Other registers than those are not known any more. What is kept over a call, by the ABI: */
void unwind_code_called(struct unwind_code_state *s, uint16_t kept);
#define UNWIND_KEPT_BY_CALLS ((uint16_t)(1U << X86_BX | 0xfU << 12))
/* Where the one or the other was before, and control goes on at the same place. */
struct unwind_code_state unwind_code_meet(const struct unwind_code_state *a,
					  const struct unwind_code_state *b);
/* Nothing but the return address is on the stack, and rbp the caller's. */
bool unwind_code_may_return(const struct unwind_code_state *s);
/* What a walker does there; UNWIND_NO_ROW or UNWIND_UNSUP if that is not certain. */
struct unwind_rule unwind_code_rule(const struct unwind_code_state *s);

/*
 * Told of each instruction whose state is known, at rising addresses; of a call in two parts, if
 * less is known while it runs. @state is good until it returns. 0, or what ends it.
 */
typedef int unwind_code_fn(void *ctx, uint64_t addr, uint32_t len,
			   const struct unwind_code_state *state);
/*
 * Looks at @size bytes of code at @addr; @starts of the file may say of functions that nothing in
 * this code leads to. What is not certain is left out. 0; -ENOMEM; or what @fn said. When @work is
 * used up, what is known until then is told.
 */
int unwind_code_follow(const uint8_t *code, size_t size, uint64_t addr,
		       const struct unwind_starts *starts, struct rp_work *work, unwind_code_fn *fn,
		       void *ctx);
/* So many bytes at a time: what it takes in memory is seven times that. */
#define UNWIND_CODE_PIECE (2U << 20)
/* Instructions that may be looked at, by bytes of code. */
enum { UNWIND_CODE_WORK = 8 };

#endif
