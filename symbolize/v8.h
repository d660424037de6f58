/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What V8 keeps of JavaScript's functions, as it lies in the memory of a process: objects, whose
 * addresses have their lowest bit set. Nothing in them is believed: all walks have an end.
 */
#ifndef SYMBOLIZE_V8_H
#define SYMBOLIZE_V8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All @n bytes at the address, or false. */
struct sym_v8_memory {
	bool (*read)(void *ctx, uint64_t address, void *out, size_t n);
	void *ctx;
	uint64_t *code_map; /* of the code that was found last; 0: none yet. NULL: it is not kept */
	bool no_code;	    /* what is asked for lies elsewhere */
};

#define SYM_V8_BYTECODES 256
/* How a version lays out its objects: offsets in bytes from their starts, and types of objects. */
struct sym_v8_layout {
	uint16_t version; /* 11.3 is 0x0b03 */
	uint16_t type_bytecode, type_shared, type_script, type_scope, type_code;
	uint16_t type_stream; /* what has the instructions */
	uint16_t type_bytes, type_trusted_bytes, type_interpreter_data;
	uint16_t function_shared;
	uint16_t shared_data, shared_name, shared_script;
	uint16_t script_source, script_name, script_line_offset;
	uint16_t bytecode_positions, bytecode_data;
	uint16_t stream_code;		  /* in what has the instructions; 0: it is the code */
	uint16_t code_start, code_inline; /* its address; or 0: it is at code_inline */
	uint16_t code_size, code_flags, code_deopt, code_positions;
	uint16_t code_kind_mask, code_kind_baseline;
	/* bytes that a bytecode takes: of single width, behind Wide, behind ExtraWide */
	uint16_t bytecodes; /* how many there are; 0: it is not known */
	uint8_t bytecode_bytes[3][SYM_V8_BYTECODES];
};

/* A place in a function; position counts characters of the source; -1: it is not known. */
struct sym_v8_place {
	uint64_t shared; /* SharedFunctionInfo */
	int32_t position;
};

/* What v8.h of the programs calls the check of a function. */
bool sym_v8_check(const struct sym_v8_memory *m, uint64_t shared, uint32_t *check);

/* UTF-8, cut to fit and NUL-ended, "" if there is none. False: it is no function. */
bool sym_v8_name(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t shared,
		 char *out, size_t size);

/* The script of a function, 0: it has none; its source, which tells it from others. */
uint64_t sym_v8_script(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		       uint64_t shared, uint64_t *source);
bool sym_v8_script_name(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
			uint64_t script, char *out, size_t size);

/* Where the lines of a script end, malloc'd, and the number of its first line. False: unknown. */
struct sym_v8_lines {
	uint32_t *ends, n, first;
};
bool sym_v8_lines(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t script,
		  struct sym_v8_lines *out);
/* 0: it is behind the end. */
uint32_t sym_v8_line(const struct sym_v8_lines *lines, int32_t position);

/* Where an interpreted function is: @offset as its frame has it. */
struct sym_v8_place sym_v8_interpreted(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
				       uint64_t shared, uint64_t offset);
/*
 * Which functions are at a return address in compiled code, the innermost of inlined ones first;
 * returns how many, at most @max. 0: there is no compiled code.
 */
size_t sym_v8_compiled(const struct sym_v8_memory *m, const struct sym_v8_layout *l,
		       uint64_t shared, uint64_t address, struct sym_v8_place *out, size_t max);

/*
 * The same of where the CPU was, in code whose frame is not there yet or that has none. *is_regexp:
 * it is that of a regular expression. 0: no function of JavaScript.
 */
size_t sym_v8_innermost(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t pc,
			struct sym_v8_place *out, size_t max, bool *is_regexp);

/* ---- between the files */

bool sym_v8_word(const struct sym_v8_memory *m, uint64_t address, uint64_t *out);
/* The type of an object; -1: there is none. */
int sym_v8_type(const struct sym_v8_memory *m, uint64_t object);

#endif
