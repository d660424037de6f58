/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the walk: every step of the verifier with its state.
 *
 *	walk.c		steps and paths, as the reader meets them
 *	walk_state.c	states: frames that are equal are kept once
 *	walk_branch.c	what the other branch of a jump knows
 *	walk_effect.c	what the last instruction before a state that was safe did
 *	walk_safe.c	which earlier state covers one
 *	walk_talk.c	what the verifier says of its work: precision, and stack slots that are read
 */
#ifndef ASM_WALK_H
#define ASM_WALK_H

#include "base/hash.h"

#include "vlog.h"

/* Of what is needed later: of each instruction and frame, a bit for each slot. */
struct live_slots {
	uint64_t slots[MAX_FRAMES];
	uint16_t said; /* frames of which the log says something */
};

/* What has to be known exactly before a step, in one frame, from another step on. */
struct precise {
	uint32_t step, since, frame, regs;
	uint64_t slots;
};

struct walk {
	struct asm_walk *out;
	struct values values;
	struct arena *arena;
	uint32_t step_capacity, path_capacity, match_capacity, verdict_capacity;
	uint32_t chain_capacity, mark_capacity;

	/* Frames and states, each kept once. */
	struct kept_frame {
		uint32_t first, n, callsite;
	} * frames;
	struct asm_walk_place *places;
	struct kept_state {
		uint32_t first, n;
	} * states;
	uint32_t *state_frames;
	uint32_t nframes, frame_capacity, nplaces, place_capacity;
	uint32_t nstates, state_capacity, nstate_frames, state_frame_capacity;
	struct hash_index frame_index, state_index;
	uint32_t callsites[MAX_FRAMES]; /* of the reader's frames */
	uint32_t depth;			/* the frame of the step before */

	uint32_t *same;	  /* beside steps: the one before it that was at the same instruction + 1 */
	uint32_t *latest; /* by instruction: the last step there + 1 */
	uint32_t same_capacity, latest_capacity;
	struct precise *precise; /* in the end by their steps */
	uint32_t nprecise, precise_capacity;
	struct live_slots *live; /* by instruction */
	uint32_t live_capacity;

	/* A branch that was taken up: the state that it has to have, until the log shows it. */
	uint32_t expected; /* ASM_WALK_NONE: none */
	uint32_t from;	   /* the step that pushed it */
	uint32_t made_ids; /* of values that are not the kernel's own */
	size_t back;	   /* going back for precision: the place on the path, at most npath */
};

/* ---- what the reader calls, with or without a walk */

/* The number of the step, ASM_WALK_NONE. */
uint32_t asm_walk_visit(struct reader *r, uint32_t insn);
void asm_walk_prune(struct reader *r, uint32_t insn);
/* Does the step at that place of the path go back to its caller, rather than push a branch? */
bool asm_walk_returns(const struct reader *r, size_t at);
void asm_walk_take_up(struct reader *r, uint32_t step, uint32_t to);
void asm_walk_talk(struct reader *r, const char *line, const char *end);

/* ---- states */

/* The reader's frames, kept. ASM_WALK_NONE without memory. */
uint32_t asm_walk_keep(struct reader *r);
/* And back into the reader. */
void asm_walk_restore(struct reader *r, uint32_t state);

/* ---- the parts */

/* The reader's frames become those of the branch of a conditional jump that leads to `to`. */
void asm_walk_branch(struct reader *r, uint32_t insn, uint32_t to);
/* The reader's frames become what its current instruction leaves to the next one. */
void asm_walk_effect(struct reader *r, uint32_t next);
/* The number of a value that is written as the kernel would; 0 without memory. */
uint32_t asm_walk_number(struct reader *r, const struct value *v);
/* Tightens a number's bounds by each other. */
void asm_walk_agree(struct value *v);
/* Is everything that a may be among what b may be? Ids aside. */
bool asm_walk_within(const struct value *a, const struct value *b);
/* Looks for what covers each step that was safe, when all has been read. 0 or -ENOMEM. */
int asm_walk_find_matches(struct asm_walk *walk);
/* What has to be known exactly before a step, as far as it was said until then. */
struct precise asm_walk_precise(const struct walk *w, uint32_t step, uint32_t frame,
				uint32_t until);
/* Puts what the verifier said of its work in order. 0 or -ENOMEM. */
int asm_walk_order_talk(struct asm_walk *walk);
/* Slots of a frame that are read from that instruction on; all, if the log does not say. */
uint64_t asm_walk_live_slots(const struct walk *w, uint32_t insn, uint32_t frame);

#endif
