/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `rawprof explain` share.
 *
 *	explain.c		options, where it is written
 *	find.c			the list of programs
 *	load.c			a program assembled, loaded, and everything that is known of it
 *	break.c			a program with one instruction taken out
 *	repair.c		the smallest change with which a refused program loads
 *	head.c			totals, maps, the stack drawn
 *	text.c			instruction by instruction
 *	lint.c			what is wrong with it, without asking the kernel
 *	bytes.c			an instruction's bit fields
 *	kernel.c	what the kernel made of it: rewritten, and as machine code
 *	across.c	what several kernels say of it
 *	json.c, dot.c		other shapes
 *	step.c		the verifier's walk, step by step: see step.h
 *
 * Everything but explain.c needs no command line: explain_entry() shows any program that comes with
 * its maps.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include <rawprof/loader.h>
#include <rawprof/program.h>
#include <rawprof/verifier.h>

struct explain_options {
	const char *kernel_log; /* a file to take the verifier's log from, rather than the kernel */
	bool bytes, xlated, jit, state;
	enum { EXPLAIN_TEXT, EXPLAIN_JSON, EXPLAIN_DOT, EXPLAIN_LOG } shape;
	const char *broken;  /* an instruction to take out: its number, FILE:LINE or its text */
	bool flip;	     /* turn its condition round rather than taking it out */
	const char *event;   /* of the program trace: which it is for; NULL: any program */
	const char *filter;  /*   and an expression; NULL */
	bool repair;	     /* look for the smallest change that loads */
	bool step;	     /* the verifier's walk, rather than what it led to */
	bool html;	     /*   as a page */
	bool interactive;    /*   in a terminal */
	const char *why;     /* a line: where what is known there comes from, */
	const char *why_reg; /*   of this register or slot */
	const char *across;  /* a directory of what other kernels said, to compare with */
	bool lint;	     /* what is wrong with it, rather than what it is */
	bool color;
};

/* Of an original instruction: what it has become. */
struct explained_insn {
	uint32_t xlated, nxlated; /* rewritten instructions, nxlated 0: none, or not known */
	uint32_t jited, njited;	  /* bytes of machine code */
};

/*
 * Everything that is known of one program. Either of the two may be missing: the image when there
 * is only a log, the log when the kernel may not be asked.
 */
struct explained {
	const struct explain_options *opt;
	const struct rp_program *entry; /* NULL: a log alone */
	struct asm_bindings bind;
	struct asm_image image;
	bool has_image;
	struct asm_vlog log;
	char *log_text;
	bool has_log;
	int *fds; /* of entry->maps */

	int loaded;	  /* the program's descriptor, or why there is none */
	bool asked;	  /* the kernel was */
	uint64_t load_ns; /* BPF_PROG_LOAD, without a log */
	struct rp_prog_stats stats;

	int64_t broken_slot;	     /* the instruction that was changed; -1 */
	struct bpf_insn broken_insn; /* what it was */

	struct explained_insn *insns; /* of the image; NULL */
	struct bpf_insn *xlated;
	uint32_t nxlated;
	uint8_t *jited;
	uint32_t jited_size;
};

/* Shows a program. 0, or a negative errno after a message. */
int explain_entry(FILE *out, const struct rp_program *entry, const struct explain_options *opt);
/* Shows what a log says by itself, of whatever program. */
int explain_log(FILE *out, const struct explain_options *opt);

/* The program that `rawprof trace` loads for opt->event, with opt->filter (cli/trace/explain.c). */
int explain_event(FILE *out, const struct explain_options *opt);

/* ---- load.c */

int explained_make(struct explained *e, const struct rp_program *entry,
		   const struct explain_options *opt);
void explained_free(struct explained *e);

/* Instructions there are, in slots of 8 bytes. */
uint32_t explained_count(const struct explained *e);
/* How many slots it takes; 0 for the second half of a 64-bit constant, and where nothing is. */
uint32_t explained_slots(const struct explained *e, uint32_t slot);
/* As the verifier prints it, with the names of labels and maps. */
void explained_disasm(const struct explained *e, uint32_t slot, char text[ASM_DISASM_SIZE]);
/* Its line; false: not known. macro: the composed macro that it is part of, text then only the
 * inner line; NULL. */
struct explained_line {
	const char *file, *text, *macro;
	size_t macro_len;
	uint32_t line;
};
bool explained_line(const struct explained *e, uint32_t slot, struct explained_line *out);
/* "cpu.c:79: MOV_REG(R6, R1)", macro included. */
void explained_name(const struct explained *e, uint32_t slot, char *text, size_t size);
/* Why it was refused: as asm_refusal_explain(). */
int explained_refusal(const struct explained *e, struct asm_refusal *out);
/* NULL: the verifier never came there, or was not asked. */
const struct asm_vlog_insn *explained_met(const struct explained *e, uint32_t slot);
/* The value of a register (0 to 10) or slot in a list; NULL: it is not in it. */
const char *explained_value(const struct asm_vlog_value *values, uint32_t n, int where);

/* ---- the others: 0 or a negative errno after a message */

int explain_broken(FILE *out, struct explained *e);
/* Tries changes of a refused program; -ENOENT: none makes it load. */
int explain_repair(FILE *out, struct explained *e);
/* Also a negative errno, after the findings, if one of them is an error. */
int explain_lint(FILE *out, const struct explained *e);
/* Fills in insns, xlated and jited as the options ask for; says what the kernel does not show. */
int explain_what_became(struct explained *e);
/* The members of a layout by offset, those of a struct in it one by one; how many. */
struct explain_field {
	char name[64];
	uint32_t offset, size;
};
enum { EXPLAIN_MAX_FIELDS = 64 };
uint32_t explain_fields(const struct asm_layout *layout,
			struct explain_field fields[EXPLAIN_MAX_FIELDS]);
void explain_head(FILE *out, const struct explained *e);
void explain_refusal(FILE *out, const struct explained *e);
int explain_text(FILE *out, const struct explained *e);
int explain_json(FILE *out, const struct explained *e);
int explain_dot(FILE *out, const struct explained *e);
int explain_across(FILE *out, const struct explained *e);
/* The walk: step by step, or where a register's value comes from. */
int explain_step(FILE *out, const struct explained *e);
void explain_bytes(FILE *out, const struct bpf_insn *insn, const char *indent);

/* Rewritten code with the kernel's own names for what it calls. */
struct xlated_names;
int xlated_names_open(const struct explained *e, struct xlated_names **out);
void xlated_names_close(struct xlated_names *names);
void xlated_disasm(struct xlated_names *names, uint32_t at, char text[ASM_DISASM_SIZE]);

/* The machine code as text, a line for each instruction, by offset; from objdump. */
struct machine_code {
	struct machine_line {
		uint32_t offset;
		char *text;
	} * lines;
	size_t n;
};
/* -ENOENT: there is no objdump. */
int machine_code_read(const struct explained *e, struct machine_code *out);
void machine_code_free(struct machine_code *code);

/* Escape sequences, or nothing. */
struct explain_colors {
	const char *label, *source, *state, *dim, *warn, *off;
};
const struct explain_colors *explain_colors(const struct explained *e);

/* Every program of rawprof and of the course, a line each. */
int explain_list(FILE *out);
/* By name or by its beginning; false after a message. */
bool explain_find(const char *name, struct rp_program *out);

#endif
