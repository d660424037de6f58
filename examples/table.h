/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of all lessons, for who shows programs; examples.mk writes the table. */
#ifndef EXAMPLES_TABLE_H
#define EXAMPLES_TABLE_H

#include <rawprof/asm.h>

/* A program of a lesson, with its maps. */
struct lesson_program {
	const struct asm_program *program;
	const struct asm_map *maps;
	size_t nmaps;
	const char *summary;
};

/* Both lists end with an entry without program. */
struct example_lesson {
	const char *name; /* of its folder: "05-counting" */
	const struct lesson_program *good, *bad;
};
extern const struct example_lesson example_lessons[]; /* ends with one without name */

#endif
