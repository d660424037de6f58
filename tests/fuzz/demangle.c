/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust: each line of the input is one. */
#include <rawprof/symbolize.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sym_demangler *d;
	char *text, *rest, *name;

	if (sym_demangler_open(&d))
		return 0;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while ((name = strsep(&rest, "\n"))) {
		const char *readable = sym_demangle(d, name);

		if (strlen(readable) > SYM_DEMANGLED_MAX + strlen(name) ||
		    sym_demangle(d, name) != readable)
			abort();
	}
	free(text);
	sym_demangler_close(d);
	return 0;
}
