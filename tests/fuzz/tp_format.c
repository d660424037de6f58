/* SPDX-License-Identifier: BSD-2-Clause */
/* The format file of a tracepoint: fields have names and types of one line, and are found again. */
#include <rawprof/loader.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct rp_tp_format f = { .id = 7 };

	if (rp_tp_format_parse(text, &f)) {
		fuzz_check(f.id == 7 && !f.fields);
		free(text);
		return 0;
	}
	fuzz_check(f.id && f.nfields && (!f.print || !strchr(f.print, '\n')));
	for (uint32_t i = 0; i < f.nfields; i++) {
		const struct rp_tp_field *field = &f.fields[i], *found;

		fuzz_check(*field->name && *field->type && field->count);
		fuzz_check(!strchr(field->name, '\n') && !strchr(field->type, '\n'));
		found = rp_tp_format_field(&f, field->name);
		fuzz_check(found && found <= field && !strcmp(found->name, field->name));
		fuzz_check((uint64_t)field->count <= (field->size ? field->size : 1));
	}
	rp_tp_format_free(&f);
	free(text);
	return 0;
}
