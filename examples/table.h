/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of all lessons, as `explain` shows them; examples.mk writes the table. */
#ifndef EXAMPLES_TABLE_H
#define EXAMPLES_TABLE_H

#include "programs/programs.h"

/* Both lists end with an entry without program. */
struct example_lesson {
	const char *name; /* of its folder: "05-counting" */
	const struct program_entry *good, *bad;
};
extern const struct example_lesson example_lessons[]; /* ends with one without name */

#endif
