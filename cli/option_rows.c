/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of options: which a command takes, how a value is read and put where its row says. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rawprof/loader.h>

#include "commands.h"
#include "option_rows.h"

static const struct option_row *find_row(const struct option_row *rows, const char *name)
{
	for (; rows && rows->name; rows++)
		if (rows->kind != OPTION_SAYS && !strcmp(rows->name, name))
			return rows;
	return NULL;
}

static const struct option_row *description(const struct command *c, const struct option_row *row)
{
	for (const struct option_row *own = c->own; own && own->name; own++)
		if (own->kind == OPTION_SAYS && own->letter == row->letter &&
		    !strcmp(own->name, row->name))
			return own;
	return row;
}

/* One of its own has the name and the letters. */
static bool is_covered(const struct command *c, const struct option_row *row)
{
	const struct option_row *own = find_row(c->own, row->name);

	return own && row->letter == own->letter && row->alias == own->alias;
}

size_t options_taken(const struct command *c, struct taken_option taken[MAX_OPTIONS])
{
	size_t n = 0;

	for (const struct option_row *own = c->own; own && own->name; own++)
		if (own->kind != OPTION_SAYS)
			taken[n++] = (struct taken_option){ own, own, .own = true };
	for (const struct option_row *row = common_options; row->name; row++)
		if ((!row->takes || row->takes & c->takes) && !is_covered(c, row))
			taken[n++] =
				(struct taken_option){ row, description(c, row),
						       .unnamed = find_row(c->own, row->name) };
	return n;
}

/* ---- values */

/* A decimal number from least to most, and nothing else. */
static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;
	unsigned long long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value < least || value > most)
		return false;
	*out = value;
	return true;
}

bool option_seconds(const char *text, double *out)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || !isfinite(value) || value <= 0)
		return false;
	if (*end && !end[1])
		value *= *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
	else if (*end)
		return false;
	if (value <= 0 || value > 365.0 * 86400)
		return false;
	*out = value;
	return true;
}

bool option_percent(const char *text, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return *text >= '0' && *text <= '9' && !errno && !*end && *out <= 100;
}

/* Milliseconds as nanoseconds. */
static bool read_ms(const char *text, uint64_t *out)
{
	char *end;
	double ms;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	errno = 0;
	ms = strtod(text, &end);
	if (errno || *end || !isfinite(ms) || ms > 1e12)
		return false;
	*out = (uint64_t)(ms * 1e6 + 0.5);
	return true;
}

static bool read_bytes(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long value;
	const char *unit;
	unsigned int shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
	}
	if (errno || (*end && strcasecmp(end, unit ? "iB" : "B") && strcasecmp(end, "B")) ||
	    value > UINT64_MAX >> shift)
		return false;
	*out = (uint64_t)value << shift;
	return true;
}

static bool read_ids(const char *text, struct record_ids *list)
{
	char *copy = strdup(text), *rest = copy, *word;
	bool good = copy && *text;

	while (good && (word = strsep(&rest, ","))) {
		uint64_t id;
		uint32_t *grown = realloc(list->id, (list->n + 1) * sizeof(*grown));

		if (grown)
			list->id = grown;
		good = grown && read_number(word, 1, INT32_MAX, &id);
		if (good)
			list->id[list->n++] = (uint32_t)id;
	}
	free(copy);
	return good;
}

static bool is_cpu_list(const char *text)
{
	struct rp_cpus cpus;
	const int err = rp_cpus_parse(text, &cpus);

	errno = -err;
	if (err)
		return false;
	rp_cpus_free(&cpus);
	return true;
}

/* Which of the words it is; -1: none. */
static int word_index(const char *words, const char *text)
{
	const size_t len = strlen(text);

	for (int i = 0; *words; i++) {
		const size_t here = strcspn(words, " ");

		if (here == len && !memcmp(words, text, len))
			return i;
		words += here + (words[here] == ' ');
	}
	return -1;
}

static bool take_number(void *at, const struct option_row *row, const char *text)
{
	const uint64_t most = row->most ? row->most : UINT64_MAX;
	uint64_t number;
	bool good = row->kind == OPTION_MS	? read_ms(text, &number)
		    : row->kind == OPTION_BYTES ? read_bytes(text, &number)
						: read_number(text, 0, UINT64_MAX, &number);

	if (!good || number < row->least || number > most)
		return false;
	if (row->kind == OPTION_UINT)
		*(unsigned int *)at = (unsigned int)number;
	else
		*(uint64_t *)at = number;
	return true;
}

/* "100", "100+20" */
/* Both ends of a stack lie in one record, which has room for so many frames. */
enum { BOTH_ENDS_MOST = 1024 };

static bool take_depth(struct record_depth *at, const struct option_row *row, const char *text)
{
	const char *plus = strchr(text, '+');
	const size_t len = plus ? (size_t)(plus - text) : strlen(text);
	uint64_t innermost, outermost = 0;
	char first[16];

	if (len >= sizeof(first))
		return false;
	memcpy(first, text, len);
	first[len] = '\0';
	if (!read_number(first, row->least, row->most, &innermost) ||
	    (plus && (innermost < 2 || !read_number(plus + 1, 1, row->most, &outermost))) ||
	    (plus && innermost + outermost > BOTH_ENDS_MOST))
		return false;
	*at = (struct record_depth){ (unsigned int)innermost, (unsigned int)outermost };
	return true;
}

static bool take_text(const char **at, const struct option_row *row, const char *text)
{
	double percent;

	*at = text;
	if (row->kind == OPTION_PERCENT)
		return option_percent(text, &percent);
	return row->kind == OPTION_CPUS	  ? is_cpu_list(text)
	       : row->kind == OPTION_WORD ? word_index(row->words, text) >= 0
					  : strlen(text) >= row->least;
}

bool option_take(void *values, const struct option_row *row, const char *text)
{
	void *at = (char *)values + row->offset;
	int word;

	errno = 0;
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return true;
	case OPTION_MORE:
		++*(int *)at;
		return true;
	case OPTION_QUIET:
		*(int *)at = -1;
		return true;
	case OPTION_NUMBER:
	case OPTION_UINT:
	case OPTION_MS:
	case OPTION_BYTES:
		return take_number(at, row, text);
	case OPTION_DEPTH:
		return take_depth(at, row, text);
	case OPTION_SECONDS:
		return option_seconds(text, at);
	case OPTION_TEXT:
	case OPTION_WORD:
	case OPTION_CPUS:
	case OPTION_PERCENT:
		return take_text(at, row, text);
	case OPTION_CHOICE:
		word = word_index(row->words, text);
		*(int *)at = (int)row->least + word;
		return word >= 0;
	case OPTION_IDS:
		return read_ids(text, at);
	case OPTION_FORMAT:
		*(const struct report_format **)at = report_format_by_name(text);
		return *(const struct report_format **)at != NULL;
	default:
		return true;
	}
}

/* ---- words for a person */

void option_join(char *text, size_t size, const char *words, const char *between, const char *last)
{
	size_t used = strlen(text);

	for (bool first = true; *words && used < size; first = false) {
		const size_t len = strcspn(words, " ");
		const char *sep = first ? "" : words[len] ? between : last;

		used += (size_t)snprintf(text + used, size - used, "%s%.*s", sep, (int)len, words);
		words += len + (words[len] == ' ');
	}
}

void option_wants(const struct option_row *row, char text[OPTION_WANTS])
{
	const char *what = row->kind == OPTION_MS	 ? "a time in milliseconds"
			   : row->kind == OPTION_BYTES	 ? "a size in bytes (4096, 512K, 1M)"
			   : row->kind == OPTION_TEXT	 ? "a text"
			   : row->kind == OPTION_PERCENT ? "a number from 0 to 100"
			   : row->kind == OPTION_DEPTH	 ? "a number, or two with + between them,"
							 : "a number";

	*text = '\0';
	if (row->kind == OPTION_WORD || row->kind == OPTION_CHOICE)
		option_join(text, OPTION_WANTS, row->words, ", ", " or ");
	else if (row->most)
		snprintf(text, OPTION_WANTS, "%s from %llu to %llu", what,
			 (unsigned long long)row->least, (unsigned long long)row->most);
	else
		snprintf(text, OPTION_WANTS, "%s", what);
}

void nearest_of(const char *word, const char *name, const char **best)
{
	const unsigned int far = rp_name_distance(word, name);

	if (far <= 2 && far < strlen(word) / 2 + 1 &&
	    (!*best || far < rp_name_distance(word, *best)))
		*best = name;
}
