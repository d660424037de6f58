/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the reader of verifier logs.
 *
 *	vlog.c		lines -> what they are about
 *	state.c		the state of the frame as the lines change it, collected by instruction
 *	value.c		one value, read
 *	join.c		several values, joined and written
 *	walk.c		every step with its state, where that is wanted: see walk.h
 */
#ifndef ASM_VLOG_H
#define ASM_VLOG_H

#include <stdbool.h>

#include <rawprof/verifier.h>

#include "asm/internal.h"

/* ---- values */

/*
 * A value as the kernel writes it, taken apart as far as joining needs. Two values of the same
 * kind, type, name and bytes differ in numbers only: the number itself, or how far a pointer lies
 * behind what it points to.
 */
struct value {
	const char *text; /* as the kernel wrote it */
	bool slot;	  /* 8 bytes of the stack */
	uint32_t hash;
	enum value_kind { VALUE_NUMBER, VALUE_POINTER, VALUE_BYTES } kind;
	char bytes[9]; /* of a stack slot: letters of what is not spilled, all 8 of VALUE_BYTES */
	const char *type; /* "map_value"; of numbers "" */
	const char *name; /* of the map, or the attributes that are no numbers */
	uint32_t id;	  /* equal ids: learning of one is learning of the others; 0: none */
	uint32_t ref;	  /* ref_obj_id: of what has to be released */
	bool or_null;
	int64_t least, most;	/* as signed numbers; of pointers, the distance */
	uint64_t uleast, umost; /* of numbers */
	struct bounds32 {	/* and what is known of their lower halves alone */
		int32_t least, most;
		uint32_t uleast, umost;
	} low;
	uint64_t unknown; /* bits that may be 1 or 0 */
	/* As it was written; of a pointer that of the variable part of its distance: bits that
	   are known to be 1, and those that are not known. */
	uint64_t var_known, var_unknown;
};

/* The verifier lets no pointer go further (BPF_MAX_VAR_OFF): beyond means anywhere. */
#define ANY_DISTANCE (INT64_C(1) << 29)

#define ANY_LOW ((struct bounds32){ INT32_MIN, INT32_MAX, 0, UINT32_MAX })

/* Values by their text; number 0 is none. */
struct values {
	struct value *all;
	uint32_t n, capacity;
	uint32_t *table; /* open addressing, at most half full: indices into all, 0 is free */
	uint32_t table_capacity;
};

/* Makes number 0. False without memory. */
bool asm_vlog_values_begin(struct values *values);
/* The number of a value; 0 without memory. slot: 8 bytes of the stack. */
uint32_t asm_vlog_value_intern(struct values *values, struct arena **arena, const char *text,
			       size_t len, bool slot);
void asm_vlog_values_free(struct values *values);

/* What several visits saw in one place. */
#define JOIN_LISTED 3
#define JOIN_GROUPS 3
struct join {
	int where;
	uint32_t count; /* visits that had it */
	uint32_t listed[JOIN_LISTED];
	uint32_t nlisted;
	bool unlisted; /* there are more than listed */
	struct value groups[JOIN_GROUPS];
	uint32_t ngroups;
	bool ungrouped;
};
/* Are they one and the same when written? Ids and marks are not. */
bool asm_vlog_value_same(const struct value *a, const struct value *b);
void asm_vlog_join_add(struct join *join, const struct values *values, uint32_t number);
/* Adds what the other saw in its place. True if that was more. */
bool asm_vlog_join_merge(struct join *join, const struct join *other, const struct values *values);
/* NULL without memory. */
const char *asm_vlog_join_text(const struct join *join, const struct values *values,
			       struct arena **arena);
/* The value alone, written the same way. */
const char *asm_vlog_value_text(const struct value *value, struct arena **arena);

/* ---- states */

#define FRAME_REGS 11
#define FRAME_SLOTS (ASM_STACK_SIZE / 8)
#define FRAME_PLACES (FRAME_REGS + FRAME_SLOTS)
#define MAX_FRAMES 16

/* Numbers of values: registers, then slots from the one at R10 - 8 down. */
struct frame {
	uint32_t at[FRAME_PLACES];
};

struct joins {
	struct join *all;
	uint32_t n, capacity;
};

struct edges {
	uint32_t *from; /* ascending */
	uint32_t n, capacity;
};

/* What is collected of an instruction. */
struct met {
	struct joins before, after;
	struct edges came;  /* all, visited or pruned */
	struct edges ended; /* where a path ended that came from there, in a state not printed */
	uint32_t states;    /* how many `before` was joined of */
};

struct reader {
	struct asm_vlog *log;
	struct arena *arena;
	struct values values;
	struct met *met; /* in parallel with log->insns */
	uint32_t capacity;
	bool no_memory;

	/* The path: what its subprograms' frames hold, and how it came here. */
	struct frame frames[MAX_FRAMES];
	uint32_t frame; /* the current one */
	struct step {
		struct asm_vlog_step at;
		uint32_t step; /* of the walk */
		bool taken_up; /* its other branch has been, too */
	} * path;
	size_t npath, path_capacity;
	int64_t prev;	 /* where control comes from; -1: nowhere */
	int64_t current; /* the instruction that was visited last, unless its path has ended; -1 */
	uint8_t code;	 /* its opcode */
	int writes;	 /* the register it writes, -1 */
	bool calling;	 /* it is a call, whose effect on the frame is still to come */
	int32_t helper;	 /* which one it calls, -1: none */
	bool shown;	 /* what it left behind was printed */
	bool speculative;
	struct walk *walk; /* NULL: it is not kept */
};

/* What a text of registers and slots says of the frame. */
enum state_kind {
	STATE_WHOLE,   /* all of it */
	STATE_USED,    /* what the current instruction read or changed */
	STATE_CHANGED, /* the same, or all of it: kernels differ */
};

/* Makes room for an instruction. NULL: it is out of range, or there is no memory. */
struct asm_vlog_insn *asm_vlog_reader_meet(struct reader *r, uint32_t insn);
/* "N: (op) ...": the verifier is at the instruction. writes: a register, or -1; helper: of a call,
 * -1: none. */
void asm_vlog_reader_visit(struct reader *r, uint32_t insn, uint8_t code, int writes,
			   int32_t helper);
/* "N: safe"; printed: the state was, or is what the instruction before left. */
void asm_vlog_reader_prune(struct reader *r, uint32_t insn, bool printed);
/* "from A to B:" */
void asm_vlog_reader_branch(struct reader *r, uint32_t from, uint32_t to, bool speculative);
/* "frame1: R1=ctx() fp-8=0" */
void asm_vlog_reader_state(struct reader *r, enum state_kind kind, const char *text,
			   const char *end);
/* A place from 0 to FRAME_PLACES - 1: a register's number, or a slot's offset from R10. */
static inline int where_of(uint32_t place)
{
	return place < FRAME_REGS ? (int)place : -8 * (int)(place - FRAME_REGS + 1);
}
/* Reads a log into a reader that is empty but for its log and walk. */
void asm_vlog_read(struct reader *reader, const char *text);
/* The comparison at insn has changed a place from one value to the other: so it has its equals. */
void asm_vlog_reader_tell_equals(struct reader *r, uint32_t insn, uint32_t from, uint32_t to);
/* Writes what was collected to the log. */
void asm_vlog_reader_finish(struct reader *r);
void asm_vlog_reader_free(struct reader *r);

/* BPF_JMP or BPF_JMP32 with a condition */
static inline bool is_conditional(uint8_t code)
{
	const uint8_t class = BPF_CLASS(code), op = BPF_OP(code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_JA && op != BPF_CALL &&
	       op != BPF_EXIT;
}

#endif
