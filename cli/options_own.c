/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that a command has for itself: their values go where its table says. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rawprof/loader.h>

#include "options_own.h"

bool option_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
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

static bool within(const struct own_option *own, uint64_t value)
{
	return value >= own->least && (!own->most || value <= own->most);
}

bool own_take(void *values, const struct own_option *own, const char *text)
{
	void *at = (char *)values + own->offset;
	uint64_t number = 0;

	switch (own->kind) {
	case OWN_FLAG:
		*(bool *)at = true;
		return true;
	case OWN_TEXT:
		*(const char **)at = text;
		return *text != '\0';
	case OWN_NUMBER:
		if (!option_number(text, own->least, own->most ? own->most : UINT64_MAX, &number))
			return false;
		break;
	case OWN_MS:
		if (!read_ms(text, &number) || !within(own, number))
			return false;
		break;
	case OWN_BYTES:
		if (!read_bytes(text, &number) || !within(own, number))
			return false;
		break;
	}
	*(uint64_t *)at = number;
	return true;
}

const char *own_wants(const struct own_option *own)
{
	return own->kind == OWN_MS	? "a time in milliseconds"
	       : own->kind == OWN_BYTES ? "a size in bytes (4096, 512K, 1M)"
	       : own->kind == OWN_TEXT	? "a text"
					: "a number";
}

void nearest_of(const char *word, const char *name, const char **best)
{
	const unsigned int far = rp_name_distance(word, name);

	if (far <= 2 && far < strlen(word) / 2 + 1 &&
	    (!*best || far < rp_name_distance(word, *best)))
		*best = name;
}

bool option_is_long(const char *word, bool lacks_value)
{
	return !strncmp(word, "--", 2) && (!optopt || lacks_value || strchr(word, '='));
}

void option_wrong(char text[OPTION_WRONG], const char *word, const struct option *options)
{
	char name[OPTION_WRONG / 2];
	const char *near = NULL;

	word += strlen("--");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (optopt) { /* it knows the option: so it is the value */
		snprintf(text, OPTION_WRONG, "--%s takes no value", name);
		return;
	}
	for (; options->name; options++)
		nearest_of(name, options->name, &near);
	snprintf(text, OPTION_WRONG, "there is no option --%s%s%s%s", name,
		 near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

const struct own_option *own_by_letter(const struct own_option *own, int letter)
{
	for (; own && own->name; own++)
		if (own->letter && own->letter == letter)
			return own;
	return NULL;
}
