/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a result suggests. A recording is confined by then: files are read, nothing is executed, so
 * what dpkg knows of packages is looked up in its lists.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "advice.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

#define DPKG_LISTS "/var/lib/dpkg/info"
#define LARGEST_LIST (1 << 20)
#define LOOK_FOR_NS (NS_PER_SECOND / 5)

/* Whether one of the lines is the path, with or without the /usr before directories that are links
 * into it. */
static bool has_line(const char *list, const char *path)
{
	const size_t n = strlen(path);

	for (const char *at = list; (at = strstr(at, path)); at += n) {
		const bool begins = at == list || at[-1] == '\n' ||
				    (at - list >= 4 && !memcmp(at - 4, "/usr", 4) &&
				     (at - list == 4 || at[-5] == '\n'));

		if (begins && (at[n] == '\n' || !at[n]))
			return true;
	}
	return false;
}

static bool list_has(int dir, const char *name, const char *path, char *text)
{
	const int fd = rp_open_regular(dir, name);
	size_t size = 0;
	ssize_t n = 1;

	if (fd < 0)
		return false;
	while (size < LARGEST_LIST && (n = read(fd, text + size, LARGEST_LIST - size)) > 0)
		size += (size_t)n;
	close(fd);
	text[size] = '\0';
	return has_line(text, path);
}

struct list {
	char name[NAME_MAX + 1];
	size_t alike; /* so many bytes of it are those that the file's name begins with */
};

struct lists {
	struct list *items;
	size_t count, capacity;
};

static size_t alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static int by_likeness(const void *a, const void *b)
{
	const struct list *x = a, *y = b;

	return x->alike != y->alike ? (x->alike < y->alike ? 1 : -1) : strcmp(x->name, y->name);
}

/*
 * A package is named as what is in it, more often than not: bash of bash, libc.so.6 of libc6. Those
 * that are most alike come first, as all of them are ten megabytes.
 */
static void find_lists(DIR *dir, const char *file, struct lists *lists)
{
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		const size_t n = strlen(e->d_name);
		struct list *l;

		if (n <= 5 || strcmp(e->d_name + n - 5, ".list"))
			continue;
		if (RP_PUSH(lists->items, lists->count, lists->capacity, (struct list){ 0 }))
			break;
		l = &lists->items[lists->count - 1];
		memcpy(l->name, e->d_name, n + 1);
		l->alike = alike(l->name, file);
	}
	if (lists->count)
		qsort(lists->items, lists->count, sizeof(lists->items[0]), by_likeness);
}

/* "libfoo6:amd64.list" has libfoo6-dbgsym; those of the C library are in libc6-dbg. */
static void name_symbols(const char *list, char text[REPORT_PACKAGE])
{
	const char *colon = strchr(list, ':');
	const int n = (int)(colon ? colon - list : (long)strlen(list) - 5);
	const bool libc = n == 5 && !strncmp(list, "libc6", 5);

	snprintf(text, REPORT_PACKAGE, "%.*s-%s", n, list, libc ? "dbg" : "dbgsym");
}

/* dpkg's lists have the files of what it has installed. A disk that is slow is not waited for. */
static bool package_of(const char *path, char text[REPORT_PACKAGE])
{
	const uint64_t until = rp_monotonic_ns() + LOOK_FOR_NS;
	const char *slash = strrchr(path, '/');
	DIR *dir = opendir(DPKG_LISTS);
	char *list = malloc(LARGEST_LIST + 1);
	struct lists lists = { 0 };
	bool found = false;

	if (list)
		find_lists(dir, slash ? slash + 1 : path, &lists);
	if (!strncmp(path, "/usr/", 5))
		path += 4;
	for (size_t i = 0; i < lists.count && !found && rp_monotonic_ns() < until; i++) {
		found = list_has(dirfd(dir), lists.items[i].name, path, list);
		if (found)
			name_symbols(lists.items[i].name, text);
	}
	free(lists.items);
	free(list);
	if (dir)
		closedir(dir);
	return found;
}

static bool wanted(const struct options *opt)
{
	return !opt->advice_off && opt->verbosity >= 0 && !opt->record.samples;
}

/* Without memory there is a result all the same, and no advice. */
void advice_of_report(const struct options *opt, const struct report *r,
		      const struct report_options *show, struct report_advice *advice)
{
	const struct report_info *info = report_get_info(r);
	struct utsname here;
	bool ours = !uname(&here) && info->host && !strcmp(info->host, here.nodename);

	advice->asked_debuginfod = opt->record.debuginfod;
	if (wanted(opt) && !show->part)
		report_advise(r, show, ours ? package_of : NULL, advice);
}

void advice_of_hists(const struct options *opt, const struct report_hists *set,
		     struct report_advice *advice)
{
	if (wanted(opt))
		report_advise_hists(set, advice);
}

void advice_of_grid(const struct options *opt, const struct report_grid *g,
		    struct report_advice *advice)
{
	if (wanted(opt))
		report_advise_grid(g, advice);
}

void advice_print(struct report_advice *advice)
{
	for (size_t i = 0; i < advice->n; i++)
		rp_text_print(stderr, "advice: %s\n", advice->text[i]);
	report_advice_free(advice);
}
