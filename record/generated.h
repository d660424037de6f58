/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame of code that a process generates and jumps into: no table describes it, and it keeps no
 * frame pointer. But where all of it runs in one frame, made before, its size is known.
 */
#ifndef RECORD_GENERATED_H
#define RECORD_GENERATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/unwind.h>

/*
 * The rule of code that the library or program of this path generates, as struct unwind_proc has
 * it; kind UNWIND_NO_ROW if it is none that is known. Not PHP's, which is in its file:
 */
struct unwind_rule record_generated_by(const char *path);
/*
 * That of code which runs in the frame of a function, whose first @n bytes are @code: it pushes
 * registers, makes room once, and jumps. UNWIND_NO_ROW: it does not begin like that.
 */
struct unwind_rule record_generated_in(const uint8_t *code, size_t n);

/*
 * Where in generated code another rule begins to hold, without a return address's place. A function
 * is known by its beginning: it pushes two registers or more and makes room once, which is its
 * frame, UNWIND_FP_AT_CFA if rbp is in it; or it keeps a frame pointer, which needs no rule:
 * UNWIND_NO_ROW.
 */
struct generated_row {
	uint32_t at;
	struct unwind_rule rule;
};
/* Whether they can be found on this machine: x86-64 alone. */
bool record_generated_is_known(void);
/* Finds them in @n bytes of code, up to @most, in order; what is before the first is unknown. */
size_t record_generated_rows(const uint8_t *code, size_t n, struct generated_row *out, size_t most);

#endif
