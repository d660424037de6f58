/* SPDX-License-Identifier: BSD-2-Clause */
/* Every program there is: the lists of all profilers. */
#include <string.h>

#include "programs/registry.h"

#define LIST(name) rp_##name##_programs,
const struct rp_program *const rp_program_lists[] = { RP_PROGRAM_LISTS(LIST) NULL };

const struct rp_program *rp_program_of(const struct rp_program *list, uint32_t roles)
{
	while (list->code.name && list->role && !(list->role & roles))
		list++;
	return list->code.name ? list : NULL;
}

const struct rp_program *rp_program_number(size_t number)
{
	for (const struct rp_program *const *list = rp_program_lists; *list; list++)
		for (const struct rp_program *p = *list; p->code.name; p++)
			if (!number--)
				return p;
	return NULL;
}

const struct rp_program *rp_program_named(const char *name)
{
	const struct rp_program *p;
	size_t i = 0;

	while ((p = rp_program_number(i++)) && strcmp(p->code.name, name))
		;
	return p;
}
