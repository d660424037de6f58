/* SPDX-License-Identifier: BSD-2-Clause */
/* USDT probes of programs and libraries: those that patterns name, each with all of its places. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/machine.h"
#include "list.h"

static uint64_t bit_of(size_t pattern)
{
	return 1ull << (pattern < 63 ? pattern : 63);
}

/* Names are those of C, and whoever made the file may have written others to move a terminal. */
static bool is_printable(const struct sym_usdt_site *s)
{
	const char *const texts[] = { s->provider, s->name, s->args };

	for (size_t i = 0; i < 3; i++)
		for (const char *c = texts[i]; *c; c++)
			if (*c < ' ' || *c > '~')
				return false;
	return true;
}

/* sym_usdt_read() without what is not printable. */
static int read_probes(int fd, struct sym_usdt **out)
{
	int err = sym_usdt_read(fd, out);
	size_t kept = 0;

	if (err)
		return err;
	for (size_t i = 0; i < (*out)->count; i++)
		if (is_printable(&(*out)->items[i]))
			(*out)->items[kept++] = (*out)->items[i];
	(*out)->unusable += (*out)->count - kept;
	(*out)->count = kept;
	return 0;
}

/* DTrace writes a dash where the name of a probe has two underscores. */
static void spell(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (const char *s = name; *s && n + 3 < size; s++) {
		out[n++] = *s == '-' ? '_' : *s;
		if (*s == '-')
			out[n++] = '_';
	}
	out[n] = '\0';
}

/* Is @name, "provider:name" or "name", with wildcards, this probe? */
static bool is_named(const char *name, const char *provider, const char *probe)
{
	const char *colon = strchr(name, ':'), *last = colon ? colon + 1 : name;
	char before[PATTERN_MAX + 1], spelled[2 * PATTERN_MAX + 4];

	spell(last, spelled, sizeof(spelled));
	if (fnmatch(last, probe, 0) && fnmatch(spelled, probe, 0))
		return false;
	if (!colon)
		return true;
	snprintf(before, sizeof(before), "%.*s", (int)(colon - name), name);
	return !fnmatch(before, provider, 0);
}

static size_t match(const struct record_probes *list, uint64_t patterns,
		    const struct sym_usdt_site *s)
{
	for (size_t i = 0; i < list->npatterns; i++) {
		const struct pattern *p = &list->patterns[i];

		if (p->kind == PATTERN_USDT && !p->end_name && patterns & bit_of(i) &&
		    is_named(p->name, s->provider, s->name))
			return i;
	}
	return SIZE_MAX;
}

/* ---- one probe */

void record_probes_usdt_free(struct record_usdt *usdt)
{
	if (!usdt)
		return;
	free(usdt->places);
	free(usdt->args);
	free(usdt);
}

static int find_variable(void *ctx, const char *name, uint64_t *vaddr)
{
	return sym_usdt_variable(ctx, name, vaddr);
}

/* Those that are read by the same instructions are kept once. */
static int add_args(struct record_usdt *usdt, const struct rp_usdt_args *args, uint32_t *at)
{
	for (*at = 0; *at < usdt->nargs; ++*at)
		if (rp_usdt_same(&usdt->args[*at], args))
			return 0;
	return RP_PUSH(usdt->args, usdt->nargs, usdt->args_capacity, *args);
}

/* Of one probe: each is compared with all before it. No compiler inlines one so often. */
#define MOST_PLACES 1024

static int add_place(struct record_probes *list, struct record_usdt *usdt, struct sym_usdt *found,
		     const struct sym_usdt_site *s)
{
	struct rp_usdt_place place = { .machine = found->machine,
				       .vaddr = s->vaddr,
				       .variable = find_variable,
				       .ctx = found };
	struct record_usdt_place at = { .offset = s->offset, .semaphore = s->semaphore };
	struct rp_usdt_args args;
	int err = 0;

	/* Shown are those at the first place, and whether others have others. */
	if (!list->scope.show_file || usdt->nargs < 2) {
		place.args = record_probes_text(list, s->args);
		if (!place.args)
			return -ENOMEM;
		rp_usdt_parse(&place, &args);
		err = add_args(usdt, &args, &at.args);
	}
	return err ? err : RP_PUSH(usdt->places, usdt->nplaces, usdt->places_capacity, at);
}

/* The @n sites of one probe. A list shows the first of too many. */
static int make(struct record_probes *list, uint32_t file, struct sym_usdt *found,
		const struct sym_usdt_site *s, size_t n, struct record_usdt **out)
{
	struct record_usdt *usdt = calloc(1, sizeof(*usdt));
	int err = usdt ? 0 : -ENOMEM;

	if (usdt)
		usdt->file = file;
	if (!err && n > MOST_PLACES && !list->scope.list_only)
		err = rp_fail(-E2BIG, "%s: the USDT probe %s:%s is at %zu places, more than %d",
			      list->files[file].path, s->provider, s->name, n, MOST_PLACES);
	for (size_t i = 0; !err && i < n && i < MOST_PLACES; i++)
		err = add_place(list, usdt, found, &s[i]);
	if (err)
		record_probes_usdt_free(usdt);
	else
		*out = usdt;
	return err;
}

/* Takes what @p has of USDT probes. */
static int add(struct record_probes *list, const struct sym_usdt *found, struct record_probe *p)
{
	int err = p->name && p->symbol ? 0 : -ENOMEM;

	if (found->machine != rp_machine_host()->elf)
		p->why_not = "code of another machine";
	if (!err)
		err = record_probes_add(list, p, NULL);
	if (err) {
		record_probes_usdt_free(p->usdt);
		record_probes_usdt_free(p->usdt_end);
		return err;
	}
	list->patterns[p->pattern].found++;
	return 0;
}

static int add_probe(struct record_probes *list, uint32_t file, size_t pattern,
		     struct sym_usdt *found, const struct sym_usdt_site *s, size_t n)
{
	struct record_probe p = { .kind = RECORD_PROBE_USDT,
				  .pattern = pattern,
				  .name = record_probes_textf(list, "%s:%s", s->provider, s->name),
				  .symbol = record_probes_text(list, s->name),
				  .module = list->files[file].path };
	int err = make(list, file, found, s, n, &p.usdt);

	return err ? err : add(list, found, &p);
}

/* How many sites from @s on are of its probe. */
static size_t same_probe(const struct sym_usdt_site *s, size_t left)
{
	size_t n = 1;

	while (n < left && !strcmp(s[n].name, s->name) && !strcmp(s[n].provider, s->provider))
		n++;
	return n;
}

/* The first probe of that name; NULL: there is none. */
static const struct sym_usdt_site *find_named(const struct sym_usdt *found, const char *name)
{
	for (size_t i = 0; i < found->count; i++)
		if (is_named(name, found->items[i].provider, found->items[i].name))
			return &found->items[i];
	return NULL;
}

/* From one to the other, if this file has both. */
static int add_pair(struct record_probes *list, uint32_t file, size_t pattern,
		    struct sym_usdt *found)
{
	const struct pattern *which = &list->patterns[pattern];
	const struct sym_usdt_site *begin = find_named(found, which->name);
	const struct sym_usdt_site *end = find_named(found, which->end_name);
	const struct sym_usdt_site *behind = found->items + found->count;
	struct record_probe p = { .kind = RECORD_PROBE_PAIR,
				  .pattern = pattern,
				  .module = list->files[file].path };
	int err;

	if (!begin || !end)
		return 0;
	p.name = p.symbol =
		record_probes_textf(list, "%s:%s..%s", begin->provider, begin->name, end->name);
	err = make(list, file, found, begin, same_probe(begin, (size_t)(behind - begin)), &p.usdt);
	if (!err)
		err = make(list, file, found, end, same_probe(end, (size_t)(behind - end)),
			   &p.usdt_end);
	if (err) {
		record_probes_usdt_free(p.usdt);
		return err;
	}
	return add(list, found, &p);
}

/* A probe that an earlier pattern named: one of the first so many. */
static bool is_listed(const struct record_probes *list, uint32_t before, uint32_t file,
		      const struct sym_usdt_site *s)
{
	const size_t n = strlen(s->provider);

	for (uint32_t i = 0; i < before; i++) {
		const struct record_probe *p = list->items[i];

		if (p->kind == RECORD_PROBE_USDT && p->usdt->file == file &&
		    !strncmp(p->name, s->provider, n) && p->name[n] == ':' &&
		    !strcmp(p->name + n + 1, s->name))
			return true;
	}
	return false;
}

int record_probes_add_usdt(struct record_probes *list, uint32_t file, int fd, uint64_t patterns)
{
	const uint32_t before = list->count;
	struct sym_usdt *found;
	int err = read_probes(fd, &found);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (found->unusable)
		rp_log(RP_WARN,
		       "%s: %zu USDT probes of it are damaged, or in no part that is loaded",
		       list->files[file].path, found->unusable);
	for (size_t i = 0, n; !err && i < found->count; i += n) {
		const struct sym_usdt_site *s = &found->items[i];
		const size_t pattern = match(list, patterns, s);

		n = same_probe(s, found->count - i);
		if (pattern != SIZE_MAX && !is_listed(list, before, file, s))
			err = add_probe(list, file, pattern, found, s, n);
	}
	for (size_t i = 0; !err && i < list->npatterns; i++)
		if (list->patterns[i].kind == PATTERN_USDT && list->patterns[i].end_name &&
		    patterns & bit_of(i))
			err = add_pair(list, file, i, found);
	sym_usdt_free(found);
	if (err || list->count == before)
		return err;
	if (list->files[file].fd < 0)
		list->files[file].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (list->files[file].fd < 0)
		return -errno;
	for (uint32_t i = before; i < list->count; i++) {
		list->items[i]->usdt->fd = list->files[file].fd;
		if (list->items[i]->usdt_end)
			list->items[i]->usdt_end->fd = list->files[file].fd;
	}
	return 0;
}

/* ---- what is not there */

/* The probes of a file that may be what was meant by @name. */
static size_t try_names(int fd, const char *name, struct nearest *nearest, bool *there)
{
	const bool has_provider = strchr(name, ':');
	struct sym_usdt *found;
	size_t n;

	if (read_probes(fd, &found))
		return 0;
	n = found->count;
	for (size_t i = 0; i < n; i++) {
		const struct sym_usdt_site *s = &found->items[i];
		char full[256];

		*there |= is_named(name, s->provider, s->name);
		snprintf(full, sizeof(full), "%s%s%s", has_provider ? s->provider : "",
			 has_provider ? ":" : "", s->name);
		record_nearest_try(nearest, full, full);
	}
	sym_usdt_free(found);
	return n;
}

/* Looks for the name in the files that pattern @at was looked for in. */
static int name_missing(struct record_probes *list, size_t at, const char *name)
{
	const char *text = list->patterns[at].text;
	size_t files = 0, probes = 0;
	const char *path = NULL;
	struct nearest nearest;
	bool there = false;
	char hint[300];

	record_nearest_begin(&nearest, name);
	for (uint32_t i = 0; i < list->nfiles; i++) {
		const struct probe_file *f = &list->files[i];
		const int fd = f->looked & bit_of(at) ? rp_open_regular(AT_FDCWD, f->path) : -1;

		if (fd < 0)
			continue;
		files++;
		path = f->path;
		probes += try_names(fd, name, &nearest, &there);
		close(fd);
	}
	if (there)
		return 0;
	if (!probes)
		return rp_fail(-ENOENT, "'%s': %s%s no USDT probes (no .note.stapsdt)", text,
			       files == 1 ? path : "these files", files == 1 ? " has" : " have");
	return rp_fail(-ENOENT, "'%s': no such USDT probe in %s%s", text,
		       files == 1 ? path : "any of these files",
		       record_nearest_hint(&nearest, hint, sizeof(hint)));
}

int record_probes_usdt_missing(struct record_probes *list, size_t at)
{
	const struct pattern *p = &list->patterns[at];
	int err = name_missing(list, at, p->name);

	if (!err && p->end_name)
		err = name_missing(list, at, p->end_name);
	return err ? err : rp_fail(-ENOENT, "'%s': no file has both of these USDT probes", p->text);
}
