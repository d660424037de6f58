/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the two halves of what follows code: one function (code_follow.c), and all (code.c). */
#ifndef UNWIND_CODE_FOLLOW_H
#define UNWIND_CODE_FOLLOW_H

#include "base/hash.h"
#include "code.h"

enum {
	NONE = UINT32_MAX,
	NO_STATE = UINT16_MAX,
	TRIES = 64, /* calls of a function that do not return, beyond which it is let be */
	STRETCHES = UINT16_MAX, /* in a function: none of real code has so many calls */
	STATES = UINT16_MAX,	/* different ones in a piece of code */
	ROUNDS = 8,
	TABLES = 4, /* tried for a place that nothing leads to, so far before it: */
	TABLE_REACH = 64 << 10,
	TABLES_LOOKED_AT = 64, /* for that: many may have the same state */
	TABLES_MAX = 4096,
};

/* Of each byte of code. */
enum byte_flags {
	LENGTH = 15,  /* of the instruction that begins here, once it was reached */
	INSIDE = 16,  /* of one */
	SETTLED = 32, /* it is of a function that was taken */
	NO_RETURN = 64,
	CALLED = 128,  /* a call leads here, as far as one can see without following any */
	RETURNS = 256, /* a function begins here that was followed to its return */
	POINTED = 512, /* something in the file points here */
};

struct way {
	uint32_t at, state;
	uint32_t stretch;
};

/* That the function at hand begins where it is said to begin, and so. */
enum evidence {
	GUESS,
	LIKELY,	    /* by where it lies */
	POINTED_AT, /* or it is a place in one that jumps there: until it is seen to return */
	CALLED_FROM,
};

/* What follows a call; the first is what a function begins with. */
struct stretch {
	uint32_t call;
	uint32_t before;   /* the stretch that the call is in, a lower number; the first: itself */
	uint32_t same_as;  /* another that it met, and so on to one that is itself */
	bool is_confirmed; /* valid in that one */
	bool is_sure;	   /* confirmed from the start: all calls on the way to it come back */
};

struct follow {
	const uint8_t *code;
	uint32_t size;
	uint64_t addr;
	struct rp_work *work;
	struct hash_map states; /* set of struct unwind_code_state */
	uint16_t *flags;	/* of each byte */
	uint16_t *
		state; /* of each byte: number in states, NO_STATE if no instruction begins there */
	uint16_t *stretch; /* of each instruction */
	struct stretch *stretches;
	size_t nstretches, stretches_capacity;
	struct way *ways; /* to be followed */
	size_t nways, ways_capacity;
	struct way *after; /* calls: a heap, the lowest address first */
	size_t nafter, after_capacity;
	uint32_t *trail; /* instructions of the function at hand */
	size_t ntrail, trail_capacity;
	struct way *tables; /* jumps by tables, by address */
	size_t ntables, tables_capacity;
	enum evidence evidence;
	bool by_returns; /* a jump away shows nothing: a JIT's may be to what made the frame */
	bool has_returned;
	bool is_confirmed; /* it returned, or went on in another one, with a whole stack */
	int err;
};

static inline const struct unwind_code_state *unwind_code_state_of(const struct follow *f,
								   uint32_t number)
{
	return (const struct unwind_code_state *)f->states.items + number;
}

/* False: it is no instruction that is known. */
static inline bool unwind_code_decode(const struct follow *f, uint32_t at, struct x86_parts *p)
{
	const uint32_t left = f->size - at;

	*p = (struct x86_parts){ .code = f->code + at,
				 .n = left < X86_LONGEST ? left : X86_LONGEST };
	return rp_x86_take_apart(p);
}

/* It does nothing: what is between functions. */
bool unwind_code_is_padding(const struct x86_parts *p);
/* As compilers begin functions, and nothing else: with a push of what they keep for the caller. */
bool unwind_code_is_prologue(const struct follow *f, uint32_t at);
/*
 * What the function that begins at @at, in @s, was found to be is kept if nothing speaks against
 * it. @is_certain: nor need anything speak for it.
 */
bool unwind_code_try(struct follow *f, uint32_t at, const struct unwind_code_state *s,
		     enum evidence evidence, bool is_certain);
/* The target of a jump or call, in this piece of code; else false. */
bool unwind_code_target(const struct follow *f, uint32_t at, const struct x86_parts *p,
			uint32_t *to);
/*
 * Bits of the registers that the function which the call at @at leads to is seen not to change; 0
 * if none of those that @s knows is needed.
 */
uint16_t unwind_code_left_alone(const struct follow *f, uint32_t at, const struct x86_parts *p,
				const struct unwind_code_state *s);
/* The function that the call at @at leads to comes back for certain. */
bool unwind_code_comes_back(const struct follow *f, uint32_t at, const struct x86_parts *p);

#endif
