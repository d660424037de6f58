/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that are looked for. */
#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "text.h"

struct pattern {
	char *globs; /* with commas between them; NULL: a regular expression */
	regex_t regex;
};

int report_pattern_new(const char *text, bool regex, struct pattern **out, char why[REPORT_WHY])
{
	struct pattern *p = calloc(1, sizeof(*p));
	char message[REPORT_WHY / 2];
	int wrong = 0;

	if (!p)
		return -ENOMEM;
	if (regex)
		wrong = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
	else
		p->globs = strdup(text);
	if (!wrong && (regex || p->globs)) {
		*out = p;
		return 0;
	}
	if (wrong) {
		regerror(wrong, &p->regex, message, sizeof(message));
		snprintf(why, REPORT_WHY, "'%.60s' is no regular expression: %s", text, message);
	}
	free(p);
	return wrong ? -EINVAL : -ENOMEM;
}

void report_pattern_free(struct pattern *p)
{
	if (p && !p->globs)
		regfree(&p->regex);
	if (p)
		free(p->globs);
	free(p);
}

/* Functions of C++ have commas and brackets: the whole may be the name itself. */
bool report_pattern_fits(const struct pattern *p, const char *text)
{
	char *rest, *glob, *copy;
	bool fits = false;

	if (!p->globs)
		return !regexec(&p->regex, text, 0, NULL, 0);
	if (!strcmp(p->globs, text) || !fnmatch(p->globs, text, 0))
		return true;
	if (!strchr(p->globs, ','))
		return false;
	copy = rest = strdup(p->globs);
	while (copy && !fits && (glob = strsep(&rest, ",")))
		fits = !fnmatch(glob, text, 0);
	free(copy);
	return fits;
}

const char *report_function_name(const struct report *r, uint32_t function)
{
	const char *name = text(r, function_of(r, function)->name);

	return name && *name ? name : "[unknown]";
}

const char *report_dso_name(const struct report *r, uint32_t function)
{
	const struct function *fn = function_of(r, function);
	const char *path = text(r, fn->path);

	if (path && *path)
		return path;
	return fn->kind == REPORT_KERNEL ? "[kernel]"
	       : fn->kind == REPORT_JIT	 ? "[jit]"
					 : "[unknown]";
}

bool *report_pattern_functions(const struct report *r, const struct pattern *p, bool dso)
{
	bool *fits = calloc((size_t)r->functions.count + 1, sizeof(*fits));

	for (uint32_t i = 0; fits && i < r->functions.count; i++) {
		const char *name = dso ? report_dso_name(r, i) : report_function_name(r, i);

		fits[i] = report_pattern_fits(p, name) ||
			  (dso && report_pattern_fits(p, report_text_base(name)));
	}
	return fits;
}
