/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files (elf-seeds): headers, symbol tables, PLT, from memory and from a descriptor. */
#include "symbolize/symtab.h"
#include "fuzz.h"

static void look_up(struct sym_object *o)
{
	struct sym_strings strings = { 0 };
	struct sym_symtab *t;
	uint64_t vaddr, start;
	const char *name;

	if (!sym_symtab_open(&t, o, NULL, &strings)) {
		for (size_t i = 0; i < o->segment_count; i++)
			if (!sym_object_vaddr(o, o->segments[i].offset, &vaddr))
				sym_symtab_lookup(t, vaddr, &name, &start);
		for (size_t i = 0; i < o->code_count; i++)
			for (uint64_t at = 0; at < o->code[i].size && at < 4096; at += 15)
				if (sym_symtab_lookup(t, o->code[i].addr + at, &name, &start) &&
				    strlen(name) > 1 << 20)
					abort();
		sym_symtab_close(t);
	}
	sym_strings_free(&strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sym_object *o;

	if (!sym_object_open_image(&o, data, size)) {
		look_up(o);
		sym_object_close(o);
	}
	if (!sym_object_open(&o, fuzz_file(data, size))) {
		look_up(o);
		sym_object_close(o);
	}
	return 0;
}
