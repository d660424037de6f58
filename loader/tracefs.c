/* SPDX-License-Identifier: BSD-2-Clause */
/* tracefs.c: finding tracefs, and the tracepoints in it. */
#include "internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WHY_SIZE = 512 };

static int tracefs = -1;

static int open_existing(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const int fd = rp_root_open(places[i], O_RDONLY | O_DIRECTORY);
		int events = -1;

		/* The directory is there without a file system on it as well. access(2) would not
		 * count capabilities. */
		if (fd >= 0)
			events = openat(fd, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (events >= 0) {
			close(events);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

/*
 * A mount that is attached nowhere: no other process sees it, it ends with the descriptor.
 * Linux 5.2; a kernel without these calls answers ENOSYS.
 */
static int mount_detached(void)
{
	const int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd = -1, err;

	if (fs < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	err = fd < 0 ? -errno : 0;
	close(fs);
	return err ? err : fd;
}

/* As rp_tracefs(), which says what is the matter. */
static int find_tracefs(void)
{
	int fd;

	if (tracefs >= 0)
		return tracefs;
	fd = open_existing();
	if (fd < 0) {
		fd = mount_detached();
		if (fd >= 0)
			rp_log(RP_INFO,
			       "tracefs is mounted nowhere: mounted it for this process alone");
	}
	if (fd >= 0)
		tracefs = fd;
	return fd;
}

int rp_tracefs(void)
{
	const int fd = find_tracefs();

	if (fd == -ENODEV)
		return rp_fail(fd, "this kernel has no tracefs (CONFIG_TRACING), and so no "
				   "tracepoints by name");
	if (fd < 0)
		return rp_fail(
			fd,
			"tracefs is not to be read at /sys/kernel/tracing and cannot be mounted "
			"(%s): run as root, or with CAP_DAC_READ_SEARCH too, or `mount -t tracefs "
			"tracefs /sys/kernel/tracing`",
			strerror(-fd));
	return fd;
}

/* Names come from users: nothing that leads elsewhere. */
static bool is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static int read_event_file(const char *group, const char *event, const char *file, char **out)
{
	char path[PATH_MAX];
	int fd, err;

	if (!is_plain(group) || !is_plain(event))
		return -ENOENT;
	err = rp_tracefs();
	if (err < 0)
		return err;
	if (snprintf(path, sizeof(path), "events/%s/%s/%s", group, event, file) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(err, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = rp_read_fd(fd, 1 << 20, out, NULL);
	close(fd);
	return err;
}

/* ---- listing */

static int each_entry(int dir, const char *path, int (*fn)(void *ctx, const char *name), void *ctx)
{
	const int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int err = 0;
	DIR *d;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (err >= 0 && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG)
			err = fn(ctx, entry->d_name);
	closedir(d);
	return err;
}

struct listing {
	int dir;
	const char *glob, *group;
	int (*fn)(void *ctx, const char *group, const char *event);
	void *ctx;
	int n;
};

static int list_event(void *ctx, const char *event)
{
	struct listing *l = ctx;
	char name[512];
	int err;

	snprintf(name, sizeof(name), "%s:%s", l->group, event);
	if (fnmatch(l->glob, name, 0))
		return 0;
	err = l->fn(l->ctx, l->group, event);
	if (err >= 0)
		l->n++;
	return err;
}

static int list_group(void *ctx, const char *group)
{
	struct listing *l = ctx;
	char path[PATH_MAX];

	l->group = group;
	snprintf(path, sizeof(path), "events/%s", group);
	return each_entry(l->dir, path, list_event, l);
}

int rp_tp_each(const char *glob, int (*fn)(void *ctx, const char *group, const char *event),
	       void *ctx)
{
	struct listing l = { .dir = rp_tracefs(), .glob = glob, .fn = fn, .ctx = ctx };
	int err;

	if (l.dir < 0)
		return l.dir;
	err = each_entry(l.dir, "events", list_group, &l);
	return err < 0 ? err : l.n;
}

/* ---- one event */

struct nearest {
	const char *group, *event;
	unsigned best;
	char name[256];
};

static int nearer(void *ctx, const char *group, const char *event)
{
	struct nearest *n = ctx;
	const unsigned far = rp_name_distance(n->group, group) + rp_name_distance(n->event, event);

	if (far < n->best) {
		n->best = far;
		snprintf(n->name, sizeof(n->name), "%s:%s", group, event);
	}
	return 0;
}

static int no_event(int err, const char *group, const char *event, char *why, size_t size)
{
	struct nearest n = { .group = group, .event = event, .best = 5 };

	if (!why)
		return err;
	if (tracefs < 0) {
		snprintf(why, size, "%s:%s: tracefs cannot be read", group, event);
	} else if (err != -ENOENT) {
		snprintf(why, size, "cannot read the tracepoint %s:%s: %s%s", group, event,
			 strerror(-err), err == -EMFILE ? ", raise `ulimit -n`" : "");
	} else {
		rp_tp_each("*", nearer, &n);
		snprintf(why, size, "this kernel has no tracepoint %s:%s%s%s%s", group, event,
			 *n.name ? "; did you mean " : "", n.name, *n.name ? "?" : "");
	}
	return err;
}

int rp_tp_format_read(const char *group, const char *event, struct rp_tp_format *out, char *why,
		      size_t why_size)
{
	struct rp_tp_format format = { 0 };
	char *text;
	int err;

	err = read_event_file(group, event, "format", &text);
	if (!err) {
		err = rp_tp_format_parse(text, &format);
		free(text);
	}
	if (err)
		return no_event(err, group, event, why, why_size);
	format.group = strdup(group);
	format.event = strdup(event);
	if (!format.group || !format.event) {
		rp_tp_format_free(&format);
		return -ENOMEM;
	}
	*out = format;
	return 0;
}

int rp_tp_try(const char *group, const char *event)
{
	int err = find_tracefs();
	char *text;

	if (err >= 0)
		err = read_event_file(group, event, "id", &text);
	if (!err)
		free(text);
	return err;
}

int rp_tp_format(const char *group, const char *event, struct rp_tp_format *out)
{
	char why[WHY_SIZE] = "out of memory";
	const int err = rp_tp_format_read(group, event, out, why, sizeof(why));

	return err ? rp_fail(err, "%s", why) : 0;
}

int rp_tp_id(const char *group, const char *event)
{
	char why[WHY_SIZE], *text;
	int id = read_event_file(group, event, "id", &text);

	if (!id) {
		id = atoi(text);
		free(text);
		if (id > 0)
			return id;
		id = -EINVAL;
	}
	return rp_fail(no_event(id, group, event, why, sizeof(why)), "%s", why);
}
