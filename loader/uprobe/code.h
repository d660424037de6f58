/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files that choose places for probes. */
#ifndef LOADER_UPROBE_CODE_H
#define LOADER_UPROBE_CODE_H

#include "insn.h"

enum {
	PROLOGUE = 64,	     /* bytes from the entry in which a place is looked for */
	BODY_MOST = 8 << 20, /* bytes of a function that is looked through */
};

/*
 * One function, followed from its entry along every jump that says where it goes, and read once
 * more from its first byte to its last.
 */
struct body {
	const uint8_t *code;
	uint32_t size;
	uint64_t entered;  /* bit i: something jumps from within to offset i, i < PROLOGUE */
	uint32_t *returns; /* ascending; NULL unless asked for */
	uint32_t nreturns, capacity;
	struct rp_jump_out *jumps; /* to what is outside; ascending */
	uint32_t njumps, jumps_capacity;
	bool leaves_otherwise;	  /* than by a return or by one of the jumps */
	enum rp_step return_step; /* of the dearest */
	bool calls_itself;
	const char *unknown; /* what could not be followed; NULL: nothing */
	const char *leaves;  /* by what other than a return it may leave; NULL: nothing */
};

/* What is known of the code, beside what follows from its instructions. */
enum body_how {
	BODY_ANY,
	BODY_ONLY_CODE, /* there is no data among them */
	BODY_CATCHES,	/* exceptions lead to some of it */
};
/* Reads @code, of @size bytes. -ENOMEM. Free with rp_body_free. */
int rp_body_read(const struct insn_arch *arch, const uint8_t *code, uint32_t size,
		 enum body_how how, struct body *out);
void rp_body_free(struct body *b);

/*
 * Fills in everything of @out for the code of @b. @outside: bits as body.entered, of what jumps
 * there from elsewhere. @nops: the kernel treats nops well (RP_HAS_UPROBE_NOP).
 */
void rp_place_choose(const struct insn_arch *arch, const struct body *b,
		     const struct rp_function *f, uint64_t outside, bool nops,
		     struct rp_place *out);

/* Takes the returns of @b. */
void rp_returns_choose(struct body *b, struct rp_returns *out);

#endif
