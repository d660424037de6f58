/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes can be an ELF file (elf-seeds): the functions found in it lie within its executable
 * segments.
 */
#include <rawprof/symbolize.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const patterns[] = { "main", "*", "work_*" };
	const int fd = fuzz_file(data, size);
	struct sym_functions *f;

	if (!sym_functions_find(fd, patterns, 3, &f)) {
		for (size_t i = 0; i < f->count; i++) {
			const struct sym_function_found *s = &f->items[i];

			if (!s->name_count || !s->names[0] || s->pattern > 2 || s->alone == 0 ||
			    (i && s->offset < s[-1].offset))
				abort();
		}
		sym_functions_free(f);
	}
	close(fd);
	return 0;
}
