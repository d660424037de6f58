/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the two halves of what follows arm64 code: one function (code_arm64_follow.c), and all
 * (code_arm64.c).
 */
#ifndef UNWIND_CODE_ARM64_FOLLOW_H
#define UNWIND_CODE_ARM64_FOLLOW_H

#include <string.h>

#include "base/hash.h"
#include "code_arm64.h"

enum {
	NONE = UINT32_MAX,
	NO_STATE = UINT16_MAX,
	STATES = UINT16_MAX, /* different ones in a piece of code */
	TRIES = 64,	     /* calls of a function that do not return, beyond which it is let be */
	ROUNDS = 16,	     /* over a function, until nothing is new */
	TABLES_MAX = 4096,
	TABLE_REACH = 16384, /* words from a jump by a table to what it may lead to */
};

/* Of each word. */
enum word_flags {
	CALLED = 1,    /* a call leads here */
	POINTED = 2,   /* something else in the file does */
	SETTLED = 4,   /* it is of a function that was taken */
	NO_RETURN = 8, /* a call that does not come back */
	LEADS_ON = 16, /* to an end of the function that is as it should be; while it is followed */
	REACHED = 32,  /* from its start, over calls that come back; the same */
};

/* That the function at hand begins where it is said to begin. */
enum evidence {
	GUESS,	/* a case of a switch, maybe */
	LIKELY, /* by where it lies, or because something points there */
	CERTAIN,
};

struct arm64_follow {
	const uint8_t *code;
	uint32_t size; /* words */
	uint64_t addr;
	struct rp_work *work;
	struct hash_map states; /* set of struct unwind_arm64_state */
	uint8_t *flags;
	uint16_t *state; /* number in states */
	uint32_t *call;	 /* the last call on the way to it, NONE */
	uint32_t *ways;	 /* to be followed */
	size_t nways, ways_capacity;
	uint32_t *after; /* what follows calls: later */
	size_t nafter, after_capacity;
	uint32_t *trail; /* words of the function at hand */
	size_t ntrail, trail_capacity;
	uint32_t *tables; /* jumps by tables */
	size_t ntables, tables_capacity;
	enum evidence evidence;
	uint32_t fault; /* the call whose return would be a contradiction, NONE */
	int err;
};

static inline uint32_t unwind_arm64_word(const struct arm64_follow *f, uint32_t i)
{
	uint32_t w;

	memcpy(&w, f->code + ARM64_BYTES * (size_t)i, sizeof(w));
	return w;
}

static inline const struct unwind_arm64_state *unwind_arm64_state_at(const struct arm64_follow *f,
								     uint32_t i)
{
	return (const struct unwind_arm64_state *)f->states.items + f->state[i];
}

/* The target of a jump or call, in this piece of code; else false. */
static inline bool unwind_arm64_target(const struct arm64_follow *f, uint32_t i, uint32_t w,
				       uint32_t *to)
{
	const int64_t target = i + (int64_t)rp_arm64_target(w) / ARM64_BYTES;

	*to = (uint32_t)target;
	return target != i && target >= 0 && target < f->size;
}

/* nop, or nothing: what is between functions. */
static inline bool unwind_arm64_is_padding(uint32_t w)
{
	return !w || w == 0xd503201f; /* nop */
}

/* paciasp, bti c; a frame record, or another part of the stack, is taken. */
static inline bool unwind_arm64_is_prologue(uint32_t w)
{
	return w == 0xd503233f || w == 0xd503245f || (w & 0xffc07fff) == 0xa9807bfd ||
	       (w & 0xff8003ff) == 0xd10003ff;
}

/*
 * What the function that begins at word @at, in @s, was found to be is kept if something speaks for
 * it, and nothing against.
 */
bool unwind_arm64_try(struct arm64_follow *f, uint32_t at, const struct unwind_arm64_state *s,
		      enum evidence evidence);

#endif
