/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text can be a pattern: a line is one, and is matched with the lines behind it as names of
 * functions and files. Its parts are within it.
 */
#include <rawprof/loader.h>

#include "fuzz.h"
#include "record/probes/pattern.h"

static void drop(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	if (!*message)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	const char *line = strsep(&rest, "\n");
	struct sym_demangler *demangler;
	struct name_pattern name;
	struct pattern p;

	rp_log_setup(RP_ERROR, drop, NULL);
	if (!record_pattern_parse(line, &p)) {
		if (!p.name || !*p.name || strlen(p.name) > strlen(line) ||
		    (p.place && strlen(p.place) > strlen(line)) || !strstr(line, p.name))
			abort();
		if (sym_demangler_open(&demangler))
			abort();
		record_name_make(p.name, &name);
		for (int i = 0; rest && i < 16; i++) {
			const char *other = strsep(&rest, "\n");

			record_name_match(&name, demangler, other);
			if (p.place && *p.place)
				record_pattern_is_library(p.place, other);
		}
		/* A plain name matches itself, unless it is that of a part. */
		if (!record_pattern_is_glob(p.name) && !strchr(p.name, '.') &&
		    !record_name_match(&name, demangler, p.name))
			abort();
		sym_demangler_close(demangler);
		record_pattern_free(&p);
	}
	free(text);
	return 0;
}
