/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_pmu.c: events of a PMU as sysfs describes it. In its directory below
 * /sys/bus/event_source/devices are its type; format/NAME, the bits of perf_event_attr that the
 * term NAME goes to ("config:0-7,32-35"); and events/NAME, the terms that the event NAME stands for
 * ("event=0x3c,umask=0x00"), with NAME.scale and NAME.unit beside it.
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events}.
 */
#include "internal.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"
/* An event may stand for another one; more often than this it stands for itself. */
#define MAX_DEPTH 4

static int read_of_pmu(const char *pmu, const char *dir, const char *name, const char *suffix,
		       char **out)
{
	char path[PATH_MAX];
	int err;

	if (!*name || strchr(name, '/') || strstr(name, "..") || strchr(pmu, '/'))
		return -ENOENT;
	snprintf(path, sizeof(path), DEVICES "/%s/%s%s%s", pmu, dir, name, suffix);
	err = rp_read_file(path, out);
	if (!err)
		(*out)[strcspn(*out, "\n")] = '\0';
	return err;
}

/* Calls fn for each entry of a directory, until it returns something else than 0. */
static int each_entry(const char *path, int (*fn)(void *ctx, const char *name), void *ctx)
{
	int fd = rp_root_open(path, O_RDONLY | O_DIRECTORY), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		err = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			err = fn(ctx, entry->d_name);
	closedir(dir);
	return err;
}

/* ---- the nearest name, for a message */

struct nearest {
	const char *name;
	unsigned far;
	char best[64];
};

static int nearer(void *ctx, const char *name)
{
	struct nearest *n = ctx;
	const unsigned far = rp_name_distance(n->name, name);

	if (far < n->far && strlen(name) < sizeof(n->best)) {
		n->far = far;
		snprintf(n->best, sizeof(n->best), "%s", name);
	}
	return 0;
}

static int no_such(int err, const char *what, const char *pmu, const char *name)
{
	struct nearest n = { .name = name, .far = 4 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DEVICES "/%s/format", pmu);
	each_entry(path, nearer, &n);
	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	each_entry(path, nearer, &n);
	return rp_fail(err, "the PMU %s has no %s `%s'%s%s%s", pmu, what, name,
		       *n.best ? "; did you mean " : "", n.best, *n.best ? "?" : "");
}

static int no_pmu(const char *pmu)
{
	struct nearest n = { .name = pmu, .far = 3 };

	each_entry(DEVICES, nearer, &n);
	return rp_fail(-ENOENT, "this machine has no PMU `%s' (" DEVICES ")%s%s%s", pmu,
		       *n.best ? "; did you mean " : "", n.best, *n.best ? "?" : "");
}

/* ---- one term */

static uint64_t *word_of(struct rp_event *e, const char *format, size_t length)
{
	if (length == 6 && !memcmp(format, "config", 6))
		return &e->config;
	if (length == 7 && !memcmp(format, "config1", 7))
		return &e->config1;
	if (length == 7 && !memcmp(format, "config2", 7))
		return &e->config2;
	return NULL;
}

/* The low bits of the value go to the first range of "config:0-7,32-35", and so on. */
static int put_bits(uint64_t *word, const char *ranges, uint64_t *value)
{
	while (isdigit((unsigned char)*ranges)) {
		char *end;
		unsigned long first = strtoul(ranges, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > 63 || last > 63 || last < first)
			return -EINVAL;
		for (unsigned long bit = first; bit <= last; bit++, *value >>= 1)
			*word = (*word & ~(1ull << bit)) | (*value & 1) << bit;
		ranges = *end == ',' ? end + 1 : end;
	}
	return *ranges ? -EINVAL : 0;
}

static int put_term(const char *pmu, const char *name, uint64_t value, struct rp_event *e)
{
	uint64_t *word = word_of(e, name, strlen(name)), left = value;
	char *format;
	int err;

	if (word) {
		*word = value;
		return 0;
	}
	err = read_of_pmu(pmu, "format/", name, "", &format);
	if (err)
		return no_such(-EINVAL, "term", pmu, name);
	word = word_of(e, format, strcspn(format, ":"));
	err = !word || !strchr(format, ':') ? -EOPNOTSUPP
					    : put_bits(word, strchr(format, ':') + 1, &left);
	if (err)
		rp_fail(err, "%s/%s: the format `%s' is of a kernel that is newer than rawprof",
			pmu, name, format);
	else if (left)
		err = rp_fail(-EINVAL, "%s/%s=0x%llx/: the value is too large: it goes to %s", pmu,
			      name, (unsigned long long)value, format);
	free(format);
	return err;
}

/* ---- terms with commas between them */

static int put_terms(const char *pmu, const char *terms, size_t length, int depth,
		     struct rp_event *e);

/* The scale and the unit are texts of the kernel's own: a number with a point, a word. */
static void read_unit(const char *pmu, const char *name, struct rp_event *e)
{
	char *text;

	if (!read_of_pmu(pmu, "events/", name, ".scale", &text)) {
		e->scale = strtod(text, NULL);
		free(text);
	}
	if (!read_of_pmu(pmu, "events/", name, ".unit", &text)) {
		snprintf(e->unit, sizeof(e->unit), "%s", text);
		free(text);
	}
}

static int put_alias(const char *pmu, const char *name, int depth, struct rp_event *e)
{
	char *terms;
	int err = read_of_pmu(pmu, "events/", name, "", &terms);

	if (err)
		return err;
	err = depth < MAX_DEPTH ? put_terms(pmu, terms, strlen(terms), depth + 1, e)
				: rp_fail(-ELOOP, "the event %s/%s/ stands for itself", pmu, name);
	free(terms);
	read_unit(pmu, name, e);
	return err;
}

static int put_name(const char *value, struct rp_event *e)
{
	const size_t quoted = *value == '\'' || *value == '"';
	size_t length = strlen(value);

	length -= quoted && length > 1 ? 2 : 0;
	snprintf(e->name, sizeof(e->name), "%.*s", (int)length, value + quoted);
	return 0;
}

/* "umask=0x1", or a word: an event of this PMU, or a term of one bit. */
static int put_word(const char *pmu, char *word, int depth, struct rp_event *e)
{
	char *value = strchr(word, '='), *end;
	uint64_t number;
	int err;

	if (!value) {
		err = put_alias(pmu, word, depth, e);
		if (err != -ENOENT)
			return err;
		if (!read_of_pmu(pmu, "format/", word, "", &end)) {
			free(end);
			return put_term(pmu, word, 1, e);
		}
		return no_such(-ENOENT, "event or term", pmu, word);
	}
	*value++ = '\0';
	if (!strcmp(word, "name"))
		return put_name(value, e);
	if (*value == '?')
		return depth ? 0 : rp_fail(-EINVAL, "%s/%s=?/: a number belongs there", pmu, word);
	errno = 0;
	number = strtoull(value, &end, 0);
	if (errno || *end || !isdigit((unsigned char)*value))
		return rp_fail(-EINVAL, "%s/%s=%s/: the value is no number", pmu, word, value);
	return put_term(pmu, word, number, e);
}

static int put_terms(const char *pmu, const char *terms, size_t length, int depth,
		     struct rp_event *e)
{
	char *copy = strndup(terms, length), *rest = copy, *word;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (word = strsep(&rest, ",")))
		if (*word)
			err = put_word(pmu, word, depth, e);
	free(copy);
	return err;
}

/* ---- events */

static int open_pmu(const char *pmu, struct rp_event *e)
{
	char path[PATH_MAX];
	long long type;
	int err;

	if (!*pmu || *pmu == '.' || strlen(pmu) >= sizeof(e->pmu))
		return -ENOENT;
	snprintf(path, sizeof(path), DEVICES "/%s/type", pmu);
	err = rp_read_number(path, &type);
	if (err)
		return err;
	e->type = (uint32_t)type;
	e->hardware = e->type != PERF_TYPE_SOFTWARE && e->type != PERF_TYPE_TRACEPOINT;
	snprintf(e->pmu, sizeof(e->pmu), "%s", pmu);
	return 0;
}

int rp_event_parse_pmu(const char *pmu, const char *terms, size_t length, struct rp_event *e)
{
	int err = open_pmu(pmu, e);

	return err ? no_pmu(pmu) : put_terms(pmu, terms, length, 0, e);
}

struct search {
	const char *name;
	struct rp_event *event;
};

/* 1: this PMU has it. */
static int search_pmu(void *ctx, const char *pmu)
{
	const struct search *s = ctx;
	char *terms;
	int err = read_of_pmu(pmu, "events/", s->name, "", &terms);

	if (err)
		return 0;
	free(terms);
	err = open_pmu(pmu, s->event);
	return err ? 0 : put_alias(pmu, s->name, 0, s->event) ? 0 : 1;
}

int rp_event_find_alias(const char *name, struct rp_event *e)
{
	struct rp_event found = { 0 };
	struct search s = { name, &found };

	if (strchr(name, '.') || each_entry(DEVICES, search_pmu, &s) != 1)
		return -ENOENT;
	*e = found;
	return 0;
}

static int nearest_of_pmu(void *ctx, const char *pmu)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	each_entry(path, nearer, ctx);
	return 0;
}

void rp_event_nearest_alias(const char *name, unsigned *far, char best[64])
{
	struct nearest n = { .name = name, .far = *far };

	each_entry(DEVICES, nearest_of_pmu, &n);
	if (!*n.best)
		return;
	*far = n.far;
	memcpy(best, n.best, sizeof(n.best));
}
