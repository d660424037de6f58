/* SPDX-License-Identifier: BSD-2-Clause */
/* Equal things get equal small numbers: strings, and what makes an element of a set. */
#ifndef REPORT_INTERN_H
#define REPORT_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define NONE HASH_NONE

/* Holds elements of a set to having no padding: they are compared as bytes. */
#define SET_ELEMENT(type, sum_of_members)                                                          \
	_Static_assert(sizeof(type) == (sum_of_members), #type " has padding")

/* Strings by id, from 1; id 0 is "no string" (NULL). Pointers to them last until the next is added.
 */
struct strings {
	char *bytes;
	uint32_t len, cap;
	uint32_t *start; /* of string id, in bytes */
	uint32_t count, start_cap;
	struct hash_index index;
};

int report_strings_init(struct strings *s);
void report_strings_free(struct strings *s);
void report_strings_forget(struct strings *s);				   /* as after init */
int report_strings_add(struct strings *s, const char *text, uint32_t *id); /* NULL gives 0 */
/* Its id; 0: it has not been added. */
uint32_t report_strings_find(const struct strings *s, const char *text);

static inline const char *strings_get(const struct strings *s, uint32_t id)
{
	return id ? s->bytes + s->start[id] : NULL;
}

/* rank[id] is the place of the string in the order of strcmp; rank[0] is 0. NULL if memory ran out.
 */
uint32_t *report_strings_rank(const struct strings *s);

#endif
