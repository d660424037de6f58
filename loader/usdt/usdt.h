/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files that read arguments of USDT probes.
 *
 *	args.c		"-4@%eax 8@-16(%rbp)" -> arguments, their sizes and what stands behind the @
 *	operand_x86.c	the latter, as the assembler of x86 has it (AT&T)
 *	operand_arm64.c	as that of arm64 has it
 *	lines.c		arguments -> lines of a program
 */
#ifndef LOADER_USDT_H
#define LOADER_USDT_H

#include <rawprof/uprobe.h>

/* What is left of the text of one operand. */
struct usdt_text {
	const char *at, *end;
	const struct rp_usdt_place *place;
};

/* Is @c next? Then it is taken. */
bool rp_usdt_take(struct usdt_text *t, char c);
/* Takes a number in C's notation; false: there is none, or it is too large. */
bool rp_usdt_number(struct usdt_text *t, uint64_t *out);
/* Takes a word of letters, digits, _ and .; its length, 0: there is none. */
size_t rp_usdt_word(struct usdt_text *t, const char **word);

/*
 * Fill kind and what goes with it; size is known. NULL, or why it cannot be read. The whole text
 * has to be taken.
 */
const char *rp_usdt_operand_x86(struct usdt_text *t, struct rp_usdt_arg *arg);
const char *rp_usdt_operand_arm64(struct usdt_text *t, struct rp_usdt_arg *arg);

#define USDT_NOT_UNDERSTOOD "what it is in is not understood"
#define USDT_IN_VECTOR "it is in a vector register, and probes see none of those"

#endif
