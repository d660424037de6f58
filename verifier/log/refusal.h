/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the explanation of refusals.
 *
 *	refusal_table.c	the verifier's messages, and what they mean
 *	refusal_trace.c	where a register's value came from on the way there
 *	refusal_shape.c	lines that the verifier does not name
 *	refusal_c.c	advice for programs made of C
 *	refusal.c	all of it put together
 */
#ifndef ASM_REFUSAL_H
#define ASM_REFUSAL_H

#include <stdbool.h>

#include <rawprof/verifier.h>

#include "asm/internal.h"

/* What to say of the past. */
enum trace {
	TRACE_NONE,
	TRACE_VALUE,	/* where the register's value came from */
	TRACE_OPERAND,	/* where that of the register came from which is added, or gone through */
	TRACE_READ,	/* why the register holds nothing */
	TRACE_FRAME,	/* which bytes of the frame were never written */
	TRACE_PLACE,	/* nothing: the first number is the instruction */
	TRACE_NOWHERE,	/* nothing: it is said of the program, when all paths have been followed */
	TRACE_ACQUIRED, /* the second number is the instruction that acquired */
	TRACE_MAP,	/* where the map came from that is passed to the call */
	TRACE_SIZE, /* where the register's value came from, and the size in the one behind it */

	/* Of what is found in the instructions: refusal_shape.c. */
	TRACE_END,	   /* where control runs past the end */
	TRACE_MIDDLE,	   /* the jump into the second half of the first number */
	TRACE_UNREACHABLE, /* the first number is the instruction; what keeps control from it */
	TRACE_OPCODE,	   /* the instruction with the first word, in hexadecimal, as its opcode */
	TRACE_DESCRIPTOR,  /* the constant with the first number as its descriptor */
	TRACE_FRAMES,	   /* none; how deep the functions' frames are */
};

/* What a row asks of the path beside the message. */
enum when {
	WHEN_ALWAYS,
	WHEN_AT_EXIT,	/* the verifier stopped at EXIT() */
	WHEN_STORE,	/* at an instruction that writes memory */
	WHEN_DESTROYED, /* the register was destroyed by a call */
	WHEN_LOADED,	/* the register's value was loaded from memory */
	WHEN_CALL,	/* at a call */
	WHEN_SUBTRACTS, /* at one that subtracts a register */
	WHEN_INDEXED,	/* a register was added to the pointer that is gone through */
};

/*
 * A message begins with the pattern: %r is a register (%c: one of R1-R5), %n a number, %w a word;
 * an asterisk is anything. In why and advice {1}, {2}, ... are what these matched, in order; {r} is
 * the first register, {v} what it holds, {o} the register that the instruction adds or goes through
 * and what it holds, {f} the function that is called.
 */
struct known_message {
	const char *pattern;
	enum trace trace;
	const char *why;
	const char *advice;
	enum when when;
};
/* The more special before the more general; ends with a NULL pattern. */
extern const struct known_message asm_refusal_messages[];

#define MAX_MATCHED 6
struct matched {
	const char *at[MAX_MATCHED];
	size_t len[MAX_MATCHED];
	int n;
	int reg; /* -1: none is named */
	int64_t number[MAX_MATCHED];
	int numbers;
};

/* What the parts of an explanation need. */
struct explaining {
	const struct asm_refused *refused;
	const struct asm_vlog *log;
	struct arena *arena;
	struct {
		char at[2000];
		size_t used;
	} facts; /* lines */
};

__attribute__((format(printf, 2, 3))) void asm_refusal_add_fact(struct explaining *e,
								const char *fmt, ...);
/* "cpu.c:12: MOV(R0, 0)", "instruction 5: (b7) r0 = 0", "instruction 5". */
const char *asm_refusal_name_insn(struct explaining *e, uint32_t insn);
/* The instruction as the kernel prints it; NULL: the log has it not. */
const char *asm_refusal_insn_text(const struct explaining *e, uint32_t insn);

/* The line that is to be named, of a row whose trace is one of the last; -1: there is none. */
int64_t asm_refusal_find_line(struct explaining *e, const struct known_message *k,
			      const struct matched *m);
/* The function that the instruction is in, from its first to behind its last. */
void asm_refusal_function(const struct asm_refused *r, uint32_t insn, uint32_t *begin,
			  uint32_t *end);
/* What to do in C, where the log quotes such a line there; NULL: nothing else than the row's. */
const char *asm_refusal_in_c(const struct explaining *e, const char *pattern, int64_t insn);
/* Was a register added to what the register points to? */
bool asm_refusal_is_indexed(const struct explaining *e, int reg);
/* The register among R1-R5 that holds a map; -1. */
int asm_refusal_map_argument(const struct explaining *e);
bool asm_refusal_is_destroyed(const struct explaining *e, int reg);
bool asm_refusal_is_loaded(const struct explaining *e, int reg);
void asm_refusal_trace_value(struct explaining *e, int reg);
void asm_refusal_trace_unreadable(struct explaining *e, int reg);

#endif
