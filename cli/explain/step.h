/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `rawprof explain --step` share: the walk of the verifier, step by step.
 *
 *	step.c		reading it, and the words for its parts
 *	step_text.c	the whole walk as text
 *	step_json.c	as JSON, also within the page
 *	step_html.c	the page
 *	step_tui.c	in a terminal, forward and back
 *	why.c		where a register's value comes from
 */
#ifndef CLI_EXPLAIN_STEP_H
#define CLI_EXPLAIN_STEP_H

#include "explain.h"

struct stepping {
	FILE *out;
	const struct explained *e;
	const struct explain_colors *c;
	struct asm_walk walk;
};

/* "R6", "fp-8", "frame1.R6" */
void step_place(char text[32], uint32_t frame, int where);
/* The value of a place in our words; "" where it holds nothing. */
const char *step_value(struct stepping *s, uint32_t value);
/* "00000000 ... 0000xx10": the 64 bits, x where one is not known; false: the range says it all. */
bool step_bits(struct stepping *s, uint32_t value, char text[80]);
/*
 * What differs between two states, place by place: its frame, where, and the numbers of what it
 * held and holds, ASM_WALK_NONE where it holds nothing.
 */
typedef void (*step_change_fn)(struct stepping *s, uint32_t frame, int where, uint32_t was,
			       uint32_t is);
void step_changes(struct stepping *s, uint32_t from, uint32_t to, step_change_fn fn);
/* The match of a step that was safe; NULL: none is known. */
const struct asm_walk_match *step_match(const struct stepping *s, uint32_t step);

void step_text_step(struct stepping *s, uint32_t step);
void step_text(struct stepping *s);
int step_json(struct stepping *s);
int step_html(struct stepping *s);
int step_tui(struct stepping *s);
int step_why(struct stepping *s);

#endif
