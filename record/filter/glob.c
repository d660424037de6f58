/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns: parsed into runs of sets with a * between them, and matched in user space. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/filter/tree.h"

static void add(struct filter_set *set, unsigned int from, unsigned int to)
{
	for (unsigned int c = from; c <= to; c++)
		set->bits[c / 32] |= UINT32_C(1) << c % 32;
}

/* The byte at *s, or behind the backslash there. */
static unsigned char take(const char **s, const char *end)
{
	if (**s == '\\' && *s + 1 < end)
		(*s)++;
	return (unsigned char)*(*s)++;
}

/* Behind a '['. What is wrong, or NULL. */
static const char *parse_set(const char **s, const char *end, struct filter_set *out)
{
	struct filter_set set = { { 0 } };
	bool opposite = *s < end && (**s == '!' || **s == '^'), any = false;
	const char *at = *s + opposite;

	/* A ] that comes first is itself. */
	for (bool first = true; at < end && (first || *at != ']'); first = false) {
		unsigned char from = take(&at, end), to = from;

		if (end - at > 1 && *at == '-' && at[1] != ']') {
			at++;
			to = take(&at, end);
		}
		if (to < from)
			return "a range in [] goes upwards";
		add(&set, from, to);
	}
	if (at >= end)
		return "no ] closes a [; \\[ is the byte";
	for (int i = 0; i < 8; i++)
		out->bits[i] = opposite ? ~set.bits[i] : set.bits[i];
	out->bits[0] &= ~1U;
	for (int i = 0; i < 8; i++)
		any |= out->bits[i] != 0;
	*s = at + 1;
	return any ? NULL : "a [] that no byte is in";
}

/* Appends what is at *s to the last run. */
static const char *parse_one(const char **s, const char *end, struct filter_glob *glob)
{
	struct filter_set *set = &glob->set[glob->nsets];
	const char *wrong = NULL;

	if (**s == '?') {
		add(set, 1, 255);
		(*s)++;
	} else if (**s == '[') {
		(*s)++;
		wrong = parse_set(s, end, set);
	} else {
		const unsigned char c = take(s, end);

		add(set, c, c);
	}
	glob->nsets++;
	glob->run[glob->nruns - 1]++;
	return wrong;
}

int record_filter_glob_parse(const char *pattern, size_t length, struct filter_glob *out,
			     size_t *at, const char **message)
{
	const char *s = pattern, *end = pattern + length;
	struct filter_glob glob = { .set = calloc(length + 1, sizeof(*glob.set)),
				    .run = calloc(length + 2, sizeof(*glob.run)),
				    .nruns = 1 };
	const char *wrong = NULL;

	if (!glob.set || !glob.run) {
		record_filter_glob_free(&glob);
		return -ENOMEM;
	}
	while (s < end && !wrong) {
		*at = (size_t)(s - pattern);
		if (*s != '*') {
			wrong = parse_one(&s, end, &glob);
			continue;
		}
		/* Several in a row are one: no run in the middle is empty. */
		s++;
		if (glob.nruns == 1 || glob.run[glob.nruns - 1])
			glob.nruns++;
	}
	if (wrong) {
		*message = wrong;
		record_filter_glob_free(&glob);
		return -EINVAL;
	}
	*out = glob;
	return 0;
}

void record_filter_glob_free(struct filter_glob *glob)
{
	free(glob->set);
	free(glob->run);
	*glob = (struct filter_glob){ 0 };
}

/* Does the run stand at s? There are enough bytes. */
static bool stands(const struct filter_set *set, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (!filter_set_has(&set[i], (unsigned char)s[i]))
			return false;
	return true;
}

/*
 * The first run at the beginning, the last one at the end, each between them as early as it can.
 */
bool record_filter_glob_matches(const struct filter_glob *glob, const char *s, size_t length)
{
	const struct filter_set *set = glob->set;
	const size_t first = glob->run[0], last = glob->run[glob->nruns - 1];
	size_t at = first, end;

	if (length < glob->nsets || !stands(set, first, s))
		return false;
	if (glob->nruns == 1)
		return length == first;
	end = length - last;
	if (!stands(set + glob->nsets - last, last, s + end))
		return false;
	set += first;
	for (size_t i = 1; i + 1 < glob->nruns; i++) {
		const size_t n = glob->run[i];

		while (at + n <= end && !stands(set, n, s + at))
			at++;
		if (at + n > end)
			return false;
		at += n;
		set += n;
	}
	return true;
}
