/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Go's functions: .gopclntab survives strip, as Go's own tracebacks need it. */
#include "symtab.h"
#include "unwind/image.h"

static void read_table(struct sym_symtab *t)
{
	const struct sym_object *o = t->object;
	struct unwind_image m;

	t->go_read = true;
	if (unwind_image_open(&m, o->fd, o->image, o->image_size))
		return;
	unwind_go_read(&t->go, &m);
	unwind_image_close(&m);
}

bool sym_symtab_go(struct sym_symtab *t, uint64_t vaddr, const char **name, uint64_t *start)
{
	const char *text, *kept;
	uint64_t from;
	size_t len;

	if (!t->go_read)
		read_table(t);
	if (!unwind_go_find(&t->go, vaddr, &text, &len, &from))
		return false;
	kept = sym_strings_add(t->strings, text, len);
	if (!kept)
		return false;
	*name = kept;
	*start = from;
	return true;
}
