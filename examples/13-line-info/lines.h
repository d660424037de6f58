/* SPDX-License-Identifier: BSD-2-Clause */
/* The strings that the lines refer to, and how a line is written down. */
#ifndef EXAMPLES_LINES_H
#define EXAMPLES_LINES_H

#include "../lesson.h"

/* BTF names everything by its offset in one block of strings, which begins with an empty one. */
struct strings {
	char empty[1];
	char type_int[sizeof("int")];
	char function[sizeof("by_hand")];
	char file[sizeof("poem.txt")];
	char first[sizeof("A constant of sixty-four bits,")];
	char second[sizeof("a register that nobody wrote:")];
	char third[sizeof("this is where it ends.")];
};
enum {
	TEXT_INT = offsetof(struct strings, type_int),
	TEXT_FUNCTION = offsetof(struct strings, function),
	TEXT_FILE = offsetof(struct strings, file),
	TEXT_FIRST = offsetof(struct strings, first),
	TEXT_SECOND = offsetof(struct strings, second),
	TEXT_THIRD = offsetof(struct strings, third),
};

/* From the instruction `at` on the source is line `number` of the file, and reads `text`. The line
 * number stands in the upper 22 bits, below it is room for a column. */
#define LINE(at, text, number)                                                    \
	{                                                                         \
		.insn_off = (at), .file_name_off = TEXT_FILE, .line_off = (text), \
		.line_col = (number) << 10                                        \
	}

/* Loads the program of good.c with these lines, or none, and prints what the verifier logs. */
void show_lines(const char *title, const struct bpf_line_info *lines, uint32_t n);
/* In bad.c. */
void show_refused(void);

#endif
