/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame of code that a process generates and jumps into: no table describes it, and it keeps no
 * frame pointer. But where all of it runs in one frame, made before, its size is known.
 */
#ifndef RECORD_GENERATED_H
#define RECORD_GENERATED_H

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

#endif
