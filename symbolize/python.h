/* SPDX-License-Identifier: BSD-2-Clause */
/* What CPython keeps of its functions: texts and line tables, as they lie in a process's memory. */
#ifndef SYMBOLIZE_PYTHON_H
#define SYMBOLIZE_PYTHON_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of an instruction: @position counts units of two bytes. @version is 0x030b for 3.11; the
 * table is co_lnotab (3.8, 3.9) or co_linetable, of @n bytes. 0: it has none, or the table was cut.
 */
uint32_t sym_python_line(unsigned int version, const uint8_t *table, size_t n, uint32_t first_line,
			 uint32_t position);

/*
 * The characters of a str in UTF-8, malloc'd: @state is the object's, @n bytes were copied. What is
 * no character becomes U+FFFD. NULL without memory.
 */
char *sym_python_text(uint32_t state, const void *bytes, size_t n);

#endif
