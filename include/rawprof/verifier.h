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
