/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof diff: the profiles that one of its two names stands for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/file.h"
#include "cli/diff/side.h"

enum { MOST_RUNS = 1000 };

/* ---- which files */

/* path: allocated, and taken; NULL: there was no memory. */
static int add_path(struct diff_side *side, char *path)
{
	int err;

	if (!path)
		return rp_fail(-ENOMEM, "%s: no memory", side->name);
	if (side->n == MOST_RUNS) {
		free(path);
		return rp_fail(-E2BIG, "%s: these are more than %d profiles", side->name,
			       MOST_RUNS);
	}
	err = RP_PUSH(side->paths, side->n, side->capacity, path);
	if (err)
		free(path);
	return err;
}

static char *path_in(const char *directory, const char *file)
{
	const size_t n = strlen(directory);
	char *path;

	return asprintf(&path, "%s%s%s", directory, n && directory[n - 1] != '/' ? "/" : "", file) <
			       0
		       ? NULL
		       : path;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A pipe or a device is opened only for whom it was named by: others may have put one there. */
static bool is_plain(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

/* The plain files of a directory whose names fit; none is hidden. */
static int add_fitting(struct diff_side *side, const char *directory, const char *pattern)
{
	struct dirent **entries;
	const int n = scandir(*directory ? directory : ".", &entries, NULL, versionsort);
	int err = 0;

	if (n < 0)
		return rp_fail(-errno, "%s: %s", side->name, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path = NULL;

		if (!err && !fnmatch(pattern, entries[i]->d_name, FNM_PERIOD)) {
			path = path_in(directory, entries[i]->d_name);
			if (path && !is_plain(path))
				free(path);
			else
				err = add_path(side, path);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int find_paths(struct diff_side *side)
{
	const char *name = side->name, *slash = strrchr(name, '/');
	char *directory;
	struct stat st;
	int err;

	side->chosen = true;
	if (is_directory(name)) {
		err = add_fitting(side, name, "*");
		return err || side->n ? err : rp_fail(-ENOENT, "%s: it has no files", name);
	}
	if (!stat(name, &st) || !strpbrk(name, "*?[")) {
		side->chosen = false;
		return add_path(side, strdup(name));
	}
	directory = strndup(name, slash ? (size_t)(slash + 1 - name) : 0);
	err = directory ? add_fitting(side, directory, slash ? slash + 1 : name) : -ENOMEM;
	free(directory);
	return err || side->n ? err : rp_fail(-ENOENT, "%s: no file fits", name);
}

/* ---- what is in them */

/* What was looked at before may be a pipe by now. */
static int open_plain(const char *path, struct report_file *file)
{
	const int fd = rp_open_regular(AT_FDCWD, path);
	char same[32];
	int err;

	if (fd < 0)
		return fd;
	snprintf(same, sizeof(same), "/proc/self/fd/%d", fd);
	err = report_open(same, file);
	close(fd);
	return err;
}

static int open_profile(const char *path, bool plain, struct report_file *file)
{
	int err = plain ? open_plain(path, file) : report_open(path, file);

	if (err)
		return rp_fail(err, "%s: %s", path, *file->why ? file->why : strerror(-err));
	if (file->report)
		return 0;
	return rp_fail(-EINVAL, "%s: it holds figures and no stacks", path);
}

int diff_side_open(struct diff_side *side, const char *name)
{
	int err;

	*side = (struct diff_side){ .name = name };
	err = find_paths(side);
	if (err)
		return err;
	side->files = calloc(side->n, sizeof(*side->files));
	side->runs = calloc(2 * (size_t)side->n, sizeof(*side->runs));
	if (!side->files || !side->runs)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < side->n; i++) {
		err = open_profile(side->paths[i], side->chosen, &side->files[i]);
		side->runs[i] = side->files[i].report;
	}
	return err;
}

void diff_side_free(struct diff_side *side)
{
	for (uint32_t i = 0; i < side->n; i++) {
		if (side->files)
			report_file_free(&side->files[i]);
		if (side->parts)
			report_free(side->parts[i]);
		free(side->paths[i]);
	}
	free(side->paths);
	free(side->files);
	free(side->parts);
	free((void *)side->runs);
}

static bool is_same_type(const struct report *a, const struct report *b, unsigned int weight)
{
	struct report_value_type x = report_value_type(a, weight), y;

	if (weight >= report_value_types(b))
		return false;
	y = report_value_type(b, weight);
	return !strcmp(x.type, y.type) && !strcmp(x.unit, y.unit);
}

int diff_side_choose_weight(struct diff_side *side, const char *type)
{
	const struct report *first = side->runs[0];
	const int found =
		type ? report_value_by_name(first, type) : (int)side->files[0].show.weight;

	if (found < 0)
		return rp_fail(found, "%s has no weight '%s'", side->paths[0], type);
	side->weight = (unsigned int)found;
	for (uint32_t i = 1; i < side->n; i++)
		if (!is_same_type(first, side->runs[i], side->weight))
			return rp_fail(-EINVAL,
				       "%s has other values than %s: runs of one side are of the "
				       "same command",
				       side->paths[i], side->paths[0]);
	return 0;
}

int diff_side_filter(struct diff_side *side, const char *condition, bool *unfit)
{
	char why[REPORT_WHY];
	int err = 0;

	side->parts = calloc(side->n, sizeof(*side->parts));
	if (!side->parts)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < side->n; i++) {
		err = report_select(side->runs[i], condition, &side->parts[i], why);
		side->runs[side->n + i] = side->parts[i];
		*unfit = err == -EINVAL;
		if (*unfit)
			return rp_fail(err, "%s: --filter '%s': %s", side->paths[i], condition,
				       why);
	}
	return err;
}

struct report_runs diff_side_runs(const struct diff_side *side, bool filtered)
{
	return (struct report_runs){ side->runs + (filtered ? side->n : 0), side->n };
}
