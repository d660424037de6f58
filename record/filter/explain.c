/* SPDX-License-Identifier: BSD-2-Clause */
/* What is wrong with an expression, for a person. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/text.h"
#include "record/filter/tree.h"

/* As wide as bytes [from, to) of the text are in print. */
static unsigned int width(const char *text, size_t from, size_t to)
{
	const char *s = text + from;
	unsigned int sum = 0, columns;
	char unit[RP_TEXT_UNIT];

	while (*s && s < text + to) {
		rp_text_unit(&s, unit, &columns);
		sum += columns;
	}
	return sum;
}

/* Spaces, then "^~~~": what stands below the expression. */
static char *carets(const char *text, const struct record_filter_error *error)
{
	const unsigned int before = width(text, 0, error->at);
	const unsigned int under = width(text, error->at, error->at + error->length);
	char *line = malloc(before + under + 2);

	if (!line)
		return NULL;
	memset(line, ' ', before);
	line[before] = '^';
	memset(line + before + 1, '~', under);
	line[before + (under ? under : 1)] = '\0';
	return line;
}

int record_filter_new(const char *what, const char *text, const char *event,
		      const struct record_filter_field *fields, size_t nfields,
		      struct record_filter **out)
{
	struct record_filter_error error;
	const int err = record_filter_parse(text, event, fields, nfields, out, &error);
	char *below;

	if (err != -EINVAL)
		return err ? rp_fail(err, "%s: %s", what, strerror(-err)) : 0;
	below = carets(text, &error);
	rp_fail(err, "%s: %s\n  %s\n  %s", what, error.message, text, below ? below : "");
	free(below);
	return err;
}
