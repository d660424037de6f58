/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules for code that nothing describes, computed from its instructions: arm64. As for x86-64
 * (code.h), but the return address comes in x30, and the frame may be found by a register that has
 * it while nothing is on the stack: hand-written code keeps it in x15, say, while it calls its own
 * helpers.
 */
#ifndef UNWIND_CODE_ARM64_H
#define UNWIND_CODE_ARM64_H

#include <rawprof/unwind.h>

#include "base/arm64.h"
#include "base/budget.h"
#include "starts.h"

/* In place of a number that is not known. */
#define UNWIND_ARM64_UNKNOWN INT32_MIN

/*
 * Where the frame is before an instruction. Numbers count from the CFA, which is what sp was when
 * the function was called. No padding: states are compared as bytes.
 */
struct unwind_arm64_state {
	int32_t sp, fp; /* fp: of a frame record, or what else x29 has of the stack */
	int32_t fp_at;	/* where the caller's x29 was stored */
	int32_t ra_at;	/* where the return address was */
	int32_t copy;	/* another register that has an address of the stack */
	int8_t copy_reg;
	int8_t ra_reg;	     /* a register that has the return address; or see below */
	int8_t ra_copy;	     /* another that has it too; -1: none */
	uint8_t has_fp;	     /* the caller's x29 is in x29 */
	uint8_t is_compared; /* sp was compared with the copy just now */
	uint8_t unused[3];   /* 0 */
};

/* No register has it; and x30 has what the last call has left there, which nobody wants to keep. */
enum { UNWIND_ARM64_NOWHERE = -1, UNWIND_ARM64_LEFT = -2 };

/* At the start of a function. */
struct unwind_arm64_state unwind_arm64_entry(void);
/* Behind an instruction from which control goes on to the next. False: it makes no sense. */
bool unwind_arm64_step(struct unwind_arm64_state *s, uint32_t word);
/*
 * While a call's function runs, and behind it. It keeps x19 to x29, by the ABI; and another
 * register that has the return address, or the code would not have left it there.
 */
void unwind_arm64_called(struct unwind_arm64_state *s);
/* Where the one or the other was before, and control goes on at the same place. */
struct unwind_arm64_state unwind_arm64_meet(const struct unwind_arm64_state *a,
					    const struct unwind_arm64_state *b);
/* All is as when the function was called, and register @reg has the return address. */
bool unwind_arm64_may_return(const struct unwind_arm64_state *s, uint32_t reg);
/* What a walker does there; UNWIND_NO_ROW if that is not certain. */
struct unwind_rule unwind_arm64_rule(const struct unwind_arm64_state *s);

/* As unwind_code_fn, unwind_code_follow(): of @size bytes, of which whole words are looked at. */
typedef int unwind_arm64_fn(void *ctx, uint64_t addr, uint32_t len,
			    const struct unwind_arm64_state *state);
int unwind_arm64_follow(const uint8_t *code, size_t size, uint64_t addr,
			const struct unwind_starts *starts, struct rp_work *work,
			unwind_arm64_fn *fn, void *ctx);

#endif
