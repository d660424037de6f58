/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's verifier says, read by a program: its log as a table by instruction, and a
 * refusal as a sentence; and the lint, which says much of it without a kernel. Nothing here talks
 * to the kernel; a log that was saved on another machine will do.
 *
 *	asm_lint(&image, &bindings, asm_diag_print, NULL);
 */
#ifndef RAWPROF_VERIFIER_H
#define RAWPROF_VERIFIER_H

#include <stdbool.h>

#include <rawprof/asm.h>

/* ---- lint (verifier/lint/lint.c) */

/*
 * Looks for what the verifier would refuse, and for stack bytes that no line wrote, without a
 * kernel. It follows paths as the verifier does and reports as an error only what it met on one
 * that the verifier has to follow as well: it may miss a fault, it does not cry wolf. A warning is
 * of what only newer kernels allow. The order is that of the instructions. bindings as for
 * asm_assemble(); only maps and nmaps are used. Reports at most ASM_LINT_MAX, and then says that
 * there are more. Returns the number of errors among them, or -ENOMEM with nothing reported.
 */
#define ASM_LINT_MAX 100
int asm_lint(const struct asm_image *image, const struct asm_bindings *bindings, asm_diag_fn report,
	     void *ctx);

/* ---- the log (verifier/log/vlog.c) */

/*
 * What a register or 8 bytes of the stack hold at an instruction, joined over all visits: equal
 * values stand as they are ("ctx", "map_value(counts+8)", "5"), a few different ones in a list
 * ("0 or 7"), more of one kind as a range ("0..31"). What is not readable on every path is left
 * out. Of the stack, one letter stands for a byte, from the highest address down, where the
 * verifier knows no more: '?' never written, 'm' written, '0' zero.
 */
struct asm_vlog_value {
	int where; /* a register (ASM_REG_NUMBER()), or an offset from R10, -8 to -512 */
	const char *text;
};

struct asm_vlog_insn {
	const char *text;   /* "(bf) r6 = r1", as the kernel printed it; NULL: never met */
	const char *source; /* "MOV_REG(R6, R1)": of line_info; NULL */
	const char *file;
	uint32_t line;
	uint32_t visits;  /* how often the verifier went through it */
	uint32_t pruned;  /* and how often it came here in a state that it had seen to be safe */
	const char *live; /* ".1....6...": registers still needed (Linux 6.18); NULL */
	const uint32_t *from; /* where control came from, ascending */
	uint32_t nfrom;
	const struct asm_vlog_value *before; /* all of the current frame */
	uint32_t nbefore;
	const struct asm_vlog_value *after; /* what the kernel printed as read or changed */
	uint32_t nafter;
};

/* One step of the verifier; frame is how deep in calls of subprograms. */
struct asm_vlog_step {
	uint32_t insn;
	uint32_t frame;
};

/*
 * A log, read. Paths that only speculation takes (programs of unprivileged users) count in nothing
 * but `speculative`.
 */
struct asm_vlog {
	struct asm_vlog_insn *insns;
	uint32_t ninsns; /* one more than the highest that was met */
	/* The last lines of the log; 0 and NULL where they are missing. */
	uint64_t processed, total_states, peak_states, max_states_per_insn, usec;
	const char *stack_depth; /* bytes of each function: "32", "16+8" */
	uint64_t speculative;	 /* visits */
	/* Bytes of the program's own frame that any path wrote: the byte at R10 - 1 - i. */
	unsigned char written[512];
	/* The path that the verifier was on when the log ended, from instruction 0. */
	const struct asm_vlog_step *path;
	size_t npath;
	/* What the refusal says, lines separated by '\n'; NULL: the log ends without one. */
	const char *message;
	/* The frame when the log ended, as the kernel wrote it. */
	const struct asm_vlog_value *last;
	uint32_t nlast;
	void *arena; /* holds all of the above but insns */
};

/*
 * Reads a log of level 1 or 2 (4 may be added), of Linux 5.4 and later. Any text is a log: lines
 * that mean nothing are passed over. 0 or -ENOMEM. Free with asm_vlog_free().
 */
int asm_vlog_parse(const char *text, struct asm_vlog *out);
void asm_vlog_free(struct asm_vlog *log);

/* ---- the walk (verifier/log/walk.c) */

/*
 * The way that the verifier took, step by step, with the whole state before each. A path begins at
 * instruction 0, or at the other branch of a jump that an earlier path went through; it ends at
 * the program's EXIT(), in a state that another one covers, or where the log ends.
 *
 *	asm_walk_read(text, &walk);
 *	for (uint32_t i = 0; i < walk.nsteps; i++)
 *		... walk.steps[i].insn, asm_walk_frame(&walk, walk.steps[i].state, 0, &frame) ...
 */
#define ASM_WALK_NONE UINT32_MAX
#define ASM_WALK_MAX_STEPS 200000 /* what is behind them is counted in asm_walk.left_out */

struct asm_walk_step {
	uint32_t insn;
	uint32_t prev; /* the step that led here; NONE: the first */
	uint32_t path;
	uint32_t state;	 /* before it: for asm_walk_frame() */
	uint32_t pushed; /* the path that its other branch became; NONE */
	bool safe;	 /* the path ended before the instruction: its state is covered */
};

enum asm_walk_end { ASM_WALK_STOPPED, ASM_WALK_EXIT, ASM_WALK_SAFE };
struct asm_walk_path {
	uint32_t first, last; /* steps */
	uint32_t from;	      /* the step that it was pushed at; NONE: the first path */
	enum asm_walk_end end;
	uint32_t match; /* of ASM_WALK_SAFE: an index into matches */
};

/* One place of a state that was covered, beside the same place of the state that covers it. */
enum asm_walk_how {
	ASM_WALK_SAME,	    /* the same value, or a pointer of the same kind */
	ASM_WALK_WITHIN,    /* a number that had to be within the earlier one's bounds, and is */
	ASM_WALK_IMPRECISE, /* numbers of which nothing depended: any will do */
	ASM_WALK_UNUSED,    /* not read from here on, or not there in the earlier state */
	ASM_WALK_DIFFERS,   /* what kept an earlier state from matching */
};
struct asm_walk_verdict {
	uint8_t frame;
	uint8_t how;
	int16_t where; /* as asm_vlog_value.where */
};
/*
 * The state that a check of our own finds to cover that of a step that was safe; NONE: no earlier
 * state does, as far as the log tells. Then step is NONE, and there are no verdicts.
 */
struct asm_walk_match {
	uint32_t safe;	   /* the step */
	uint32_t step;	   /* whose state was met before */
	bool loop;	   /* it is on the path itself: another round would change nothing */
	uint32_t first, n; /* of verdicts */
};

/* The verifier went back to see where a number came from that something depends on. */
struct asm_walk_mark {
	uint32_t step; /* behind which these have to be known exactly */
	uint8_t frame;
	uint16_t regs;	/* a bit for each register */
	uint64_t slots; /* and for each 8 bytes of the stack, the one below R10 first */
};
struct asm_walk_chain {
	uint32_t step;	   /* that asked for it */
	uint32_t first, n; /* of marks */
};

/* A value, as the kernel wrote it and taken apart. */
struct asm_walk_value {
	const char *raw, *text; /* the kernel's, and as asm_vlog_value.text has it */
	bool is_number;
	int64_t smin, smax; /* of pointers the distance from what they point to */
	uint64_t umin, umax;
	int32_t smin32, smax32;
	uint32_t umin32, umax32;
	uint64_t ones, unknown; /* bits that are known to be 1; bits that are not known */
	uint32_t id;		/* equal ids, equal values; 0: none */
};
struct asm_walk_place {
	int32_t where;
	uint32_t value; /* for asm_walk_value() */
};
struct asm_walk_frame {
	const struct asm_walk_place *places; /* registers upwards, then slots downwards */
	uint32_t nplaces;
	uint32_t number;   /* frames of one number are equal; below asm_walk.nframes */
	uint32_t callsite; /* the instruction that called; NONE: the program itself */
};

struct asm_walk {
	struct asm_vlog log;
	struct asm_walk_step *steps;
	struct asm_walk_path *paths;
	struct asm_walk_match *matches;
	struct asm_walk_verdict *verdicts;
	struct asm_walk_chain *chains;
	struct asm_walk_mark *marks;
	uint32_t nsteps, npaths, nmatches, nverdicts, nchains, nmarks;
	uint32_t nstates, nframes, nvalues; /* what numbers are below */
	uint32_t left_out;		    /* steps */
	uint32_t last;			    /* the state when the log ended */
	/* Branches whose state, when it was taken up, was not what the jump had to leave there. */
	uint32_t surprises;
	struct walk *inside;
};

/* As asm_vlog_parse(), of level 2. 0 or -ENOMEM. Free with asm_walk_free(). */
int asm_walk_read(const char *text, struct asm_walk *out);
void asm_walk_free(struct asm_walk *walk);
/* How many frames a state has: 1 and the depth of calls. */
uint32_t asm_walk_frames(const struct asm_walk *walk, uint32_t state);
/* One of them; all zeroes beyond the last. */
void asm_walk_frame(const struct asm_walk *walk, uint32_t state, uint32_t frame,
		    struct asm_walk_frame *out);
/* What a place of a frame holds, ASM_WALK_NONE: nothing. */
uint32_t asm_walk_at(const struct asm_walk *walk, uint32_t state, uint32_t frame, int where);
/* -ENOMEM */
int asm_walk_value(struct asm_walk *walk, uint32_t value, struct asm_walk_value *out);
/* The state that a step left behind; ASM_WALK_NONE: its path ended there. */
uint32_t asm_walk_after(const struct asm_walk *walk, uint32_t step);

/* ---- refusals (verifier/log/refusal.c) */

/*
 * A program that was refused. Without its instructions less is known of the lines that the verifier
 * did not come to; without `line` the log's own source lines are quoted, or the instructions.
 */
struct asm_refused {
	const char *log;
	const struct bpf_insn *insns;
	uint32_t ninsns;
	/* "file.c:12: MOV(R0, 0)" of an instruction below ninsns; NULL: unknown. The text is good
	   until the next call. */
	const char *(*line)(void *ctx, uint32_t insn);
	void *line_ctx;
};

struct asm_refusal {
	int64_t insn;	     /* where the verifier stopped; -1: it did not say */
	const char *at;	     /* that line, as above; NULL */
	const char *message; /* the verifier's own words, lines separated by '\n' */
	const char *history; /* where what it complains of came from, one fact a line; NULL */
	/* What that means and what to do, a sentence each. NULL: a message that is not known, or
	   that the kernel explains itself (7.3 and later). */
	const char *why;
	const char *advice;
	void *arena; /* holds all of the above */
};

/* -ENOENT: the log ends without a refusal; -ENOMEM. Free with asm_refusal_free(). */
int asm_refusal_explain(const struct asm_refused *refused, struct asm_refusal *out);
void asm_refusal_free(struct asm_refusal *refusal);

/*
 * The messages that are known, for tests and lists; NULL beyond the last. %r stands for a register,
 * %c for one of R1-R5, %n for a number, %w for a word, * for anything.
 */
const char *asm_refusal_pattern(size_t i);

#endif
