/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `explain --repair` share.
 *
 *	repair.c	offering changed programs to the kernel
 *	repair_edits.c	which changes what the verifier says gives rise to
 *	repair_flow.c	those of jumps, loops and ends
 *	repair_lines.c	the lines that changes consist of
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
	bool choice; /* one of several, of which no more than one may load */
	char means[200];
};

/* Called with a program that loads, before its descriptor is closed. */
typedef void (*repair_loads_fn)(void *ctx, const struct asm_image *image, int prog_fd);
/* As explain_repair(), of an image with its bindings; loads may be NULL. */
int repair_program(FILE *out, struct explained *e, repair_loads_fn loads, void *ctx);

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
	repair_loads_fn loads;
	void *loads_ctx;
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

/* ---- repair_flow.c: each adds its changes */

void repair_jump_away(struct candidates *c);
void repair_loop(struct candidates *c);
void repair_unreachable(struct candidates *c);
void repair_recursion(struct candidates *c);
void repair_end(struct candidates *c);
void repair_removal(struct candidates *c, size_t at, const char *means);

/* ---- repair_lines.c */

bool repair_says(const char *message, const char *words);
/* A text that is freed with the rest; "" without memory. */
__attribute__((format(printf, 2, 3))) const char *repair_text(struct repairing *r, const char *fmt,
							      ...);
struct asm_insn repair_line(uint8_t code, int dst, int src, int16_t off, int32_t imm,
			    const char *text);
struct asm_insn repair_mov(struct repairing *r, int dst, int32_t imm);
struct asm_insn repair_mov_reg(struct repairing *r, int dst, int src);
struct asm_insn repair_leave(void);
struct asm_insn repair_jump(struct repairing *r, uint8_t op, const char *name, int reg, int32_t imm,
			    const char *label);
struct asm_insn repair_label(struct repairing *r, const char *name);
/* A change in front of line `at`, and what it means: behind "then". */
__attribute__((format(printf, 3, 4))) struct edit *repair_add(struct candidates *c, size_t at,
							      const char *fmt, ...);
/* Where the program, or the function that the line is in, begins. */
size_t repair_begin_of(const struct candidates *c, size_t at);
/* A condition in front of line `at` that leaves: to a label that is there, or at once. */
void repair_guard(struct candidates *c, size_t at, uint8_t op, const char *name, uint8_t otherwise,
		  const char *other_name, int reg, int32_t imm, const char *when);
/* A register that no line uses, from R6 on; NOWHERE. */
int repair_unused_reg(const struct candidates *c);

#endif
