/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c: asks addr2line, of binutils, for the source lines of return addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "place.h"

enum { MAX_PLACES = 1 << 16, NAME = 120 };

struct place {
	uint32_t at;
	char name[NAME];
};

static struct place *places_of;
static size_t nplaces;

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void place_begin(void)
{
	places_of = calloc(MAX_PLACES, sizeof(*places_of));
}

static void sort(void)
{
	size_t n = 0;

	qsort(places_of, nplaces, sizeof(*places_of), by_address);
	for (size_t i = 0; i < nplaces; i++) {
		if (!n || places_of[n - 1].at != places_of[i].at)
			places_of[n++] = places_of[i];
	}
	nplaces = n;
}

void place_add(const struct site *site)
{
	if (nplaces + SITE_DEPTH > MAX_PLACES)
		sort();
	for (int i = 0; i < SITE_DEPTH && nplaces < MAX_PLACES; i++) {
		if (site->at[i])
			places_of[nplaces++].at = site->at[i];
	}
}

/* The path without the folder that the compiler ran in. */
static const char *below(const char *path)
{
	static const char *const folders[] = { "/base/",   "/asm/",	  "/verifier/", "/loader/",
					       "/unwind/", "/symbolize/", "/programs/", "/report/",
					       "/record/", "/cli/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at = strstr(path, folders[i]);

		if (at)
			return at + 1;
	}
	return path;
}

/* The instruction before a return address is the call. */
void place_end(void)
{
	char list[600], command[1300], function[256], line[512];
	FILE *f;

	sort();
	snprintf(list, sizeof(list), "%s/addresses", places.work);
	f = fopen(list, "we");
	for (size_t i = 0; f && i < nplaces; i++)
		fprintf(f, "%x\n", places_of[i].at - 1);
	if (f)
		fclose(f);
	snprintf(command, sizeof(command), "addr2line -f -e '%s' <'%s'", places.rawprof, list);
	f = popen(command, "re");
	for (size_t i = 0; f && i < nplaces && fgets(function, sizeof(function), f) &&
			   fgets(line, sizeof(line), f);
	     i++) {
		function[strcspn(function, "\n")] = 0;
		line[strcspn(line, " \n")] = 0;
		snprintf(places_of[i].name, NAME, "%.70s %.48s", below(line), function);
	}
	if (f)
		pclose(f);
}

void place_name(const struct site *site, char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (int i = 0; i < SITE_DEPTH && site->at[i] && n < size; i++) {
		const struct place key = { .at = site->at[i] };
		const struct place *p = bsearch(&key, places_of, nplaces, sizeof(key), by_address);

		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? " < " : "", p ? p->name : "?");
	}
}
