/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `explain --repair` share.
 *
 *	repair.c	offering changed programs to the kernel
 *	repair_edits.c	which changes what the verifier says gives rise to
 */
#ifndef CLI_EXPLAIN_REPAIR_H
#define CLI_EXPLAIN_REPAIR_H

#include "explain.h"

enum { MAX_ADDED = 5, MAX_TRIES = 300, MAX_EDITS = 3, MAX_CANDIDATES = 64, NOWHERE = -1 };

/* Lines in front of line `at`; `removed` lines there go. */
struct edit {
	size_t at, removed, nadded;
	struct asm_insn added[MAX_ADDED];
	struct {
		bool is;
		size_t at;
		struct asm_insn line;
	} also; /* and one more, nearer to the beginning */
	const char *license;
	char means[200];
};

/* A program with the edits so far, its answer from the kernel. */
struct attempt {
	struct asm_program code;
	struct asm_insn *lines;
	struct asm_image image;
	bool has_image;
	char *log;
	struct asm_refusal refusal;
	bool refused;
	int loaded;
};

struct repairing {
	FILE *out;
	struct explained *e;
	uint32_t tries;
	struct {
		const struct attempt *in;
		const struct edit *edit;
	} made[MAX_EDITS];
	char *texts[2048]; /* of lines that were added */
	size_t ntexts;
};

struct candidates {
	struct repairing *r;
	const struct attempt *a;
	struct edit all[MAX_CANDIDATES];
	size_t n;
	size_t at; /* the line where it was refused */
	struct bpf_insn insn;
	int reg; /* the first that the message names, or NOWHERE */
};

/* Fills in the changes for a, c->at and c->insn. */
void repair_candidates(struct candidates *c);

#endif
