/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that processes have mapped, found again and shared. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/lack.h"
#include "base/subuid.h"
#include "debug.h"
#include "file.h"
#include "others.h"
#include "proc.h"

enum { MAX_TRIES = 8 };

void sym_files_init(struct sym_files *fs, struct sym_strings *strings, const char *proc)
{
	*fs = (struct sym_files){ .strings = strings, .proc = proc };
}

void sym_files_free(struct sym_files *fs)
{
	sym_images_free(fs);
	sym_debuginfod_close(fs->server);
	for (size_t i = 0; i < fs->count; i++) {
		if (fs->items[i].fd >= 0)
			close(fs->items[i].fd);
	}
	free(fs->items);
	rp_index_free(&fs->index);
	rp_hash_free(&fs->holders);
	*fs = (struct sym_files){ 0 };
}

/* ---- which file a mapping is of */

/* Devices are never opened: for some of them that alone does something. */
static enum sym_file_kind kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return SYM_FILE_VDSO;
	if (path[0] != '/' || path[1] == '/' || !strncmp(path, "/SYSV", 5) ||
	    !strncmp(path, "/anon_hugepage", 14))
		return SYM_FILE_ANON;
	if (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9))
		return SYM_FILE_ANON;
	return SYM_FILE;
}

static bool is_same_key(const struct sym_file *a, const struct sym_file *b)
{
	return a->path == b->path && a->dev == b->dev && a->inode == b->inode &&
	       a->finder == b->finder && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

uint32_t sym_file_hash(const struct sym_file *f)
{
	const uint64_t parts[] = { (uintptr_t)f->path, f->dev, f->inode, f->finder };

	return rp_hash_bytes(parts, sizeof(parts)) ^ rp_hash_bytes(f->build_id, f->build_id_size);
}

static uint32_t find_file(const struct sym_files *fs, const struct sym_file *f)
{
	const uint32_t hash = sym_file_hash(f);
	uint32_t at = hash, found = HASH_NONE;

	while (fs->count && (found = rp_index_next(&fs->index, hash, &at)) != HASH_NONE)
		if (is_same_key(&fs->items[found], f))
			break;
	return found;
}

/* Arrays grow by half, and the text is in an index as the file is. */
static size_t cost_of(const char *path)
{
	return sizeof(struct sym_file) / 2 * 3 + strlen(path) + 4 * sizeof(path);
}

static bool has_room(const struct sym_files *fs, uint32_t pid, const char *path, uid_t *payer)
{
	return !fs->room.take || fs->room.take(fs->room.ctx, pid, cost_of(path), payer);
}

void sym_file_give(const struct sym_files *fs, const struct sym_file *f)
{
	if (fs->room.give && f->payer)
		fs->room.give(fs->room.ctx, f->payer, cost_of(f->path));
}

static int add_file(struct sym_files *fs, struct sym_file f, const char *path, uint32_t *number)
{
	int err;

	f.path = sym_strings_add(fs->strings, path, strlen(path));
	if (!f.path || rp_index_reserve(&fs->index))
		return -ENOMEM;
	f.kind = kind_of(f.path);
	f.fd = -1;
	err = RP_PUSH(fs->items, fs->count, fs->capacity, f);
	if (err)
		return err;
	*number = (uint32_t)fs->count - 1;
	rp_index_put(&fs->index, sym_file_hash(&f), *number);
	return 0;
}

static const char anonymous[] = "[anon]";

int sym_files_add(struct sym_files *fs, uint32_t pid, const struct sym_file *key, uint32_t *number)
{
	const bool is_anonymous = !*key->path || !strcmp(key->path, "//anon");
	const char *path = is_anonymous ? anonymous : key->path;
	struct sym_file f = *key;

	f.path = sym_strings_find(fs->strings, path, strlen(path));
	*number = f.path ? find_file(fs, &f) : HASH_NONE;
	if (*number != HASH_NONE)
		return 0;
	if (has_room(fs, pid, path, &f.payer))
		return add_file(fs, f, path, number);
	path = anonymous;
	f = (struct sym_file){ .path = sym_strings_find(fs->strings, path, strlen(path)) };
	*number = f.path ? find_file(fs, &f) : HASH_NONE;
	return *number != HASH_NONE ? 0 : add_file(fs, f, path, number);
}

/* ---- where it is */

enum match { OTHER, BY_INODE, SAME };

/* On an overlay or btrfs mappings show another device. */
static enum match match_of(const struct sym_file *f, int fd)
{
	struct stat st;

	if (fstat(fd, &st)) {
		rp_lack(-errno, f->path);
		return OTHER;
	}
	if (!S_ISREG(st.st_mode))
		return OTHER;
	if (!f->inode)
		return SAME; /* the build-id will tell */
	if (st.st_ino != f->inode)
		return OTHER;
	return st.st_dev == f->dev ? SAME : sym_proc_has_two_devices(fd) ? BY_INODE : OTHER;
}

/*
 * A descriptor of the file by way number @way, or a negative errno: by the mapping itself, which
 * leads even to files that are deleted; by its path in the process's root; by its path here, for
 * processes that are gone.
 */
enum { WAYS = 3 };

static int open_way(const struct sym_files *fs, const struct sym_file *f, uint32_t pid,
		    const struct sym_mapping *m, int way, enum match *match)
{
	int fd;

	if (way == 0)
		fd = sym_proc_open_mapped(fs->proc, pid, m->start, m->end);
	else if (way == 1)
		fd = sym_proc_open_in_root(fs->proc, pid, f->path);
	else
		fd = sym_proc_follow_here(f->path);
	*match = fd < 0 ? OTHER : match_of(f, fd);
	if (fd >= 0 && *match == OTHER) {
		close(fd);
		fd = -ENOENT;
	}
	return fd;
}

/*
 * Users can give a file any inode number, that of the C library: on an overlay in a namespace of
 * theirs, or in a subvolume of btrfs. So what is found by that is everybody's only if it is root's
 * process that leads there, or the path here leads to a file of root's; or to whose ever, if the
 * process has ended.
 */
static bool is_trusted(const struct sym_files *fs, uint32_t pid, int way, int fd)
{
	struct sym_proc_ids ids;
	struct stat st;

	if (way == 2 && !fstat(fd, &st) && (!st.st_uid || sym_is_ours(st.st_uid)))
		return true;
	if (sym_proc_ids(fs->proc, pid, &ids))
		return way == 2;
	return !ids.uid || sym_is_ours(ids.uid);
}

/* The same of a file that all may be led to by it, or by that user's processes. */
static int open_for_all(const struct sym_files *fs, struct sym_file *f, uint32_t pid,
			const struct sym_mapping *m, int way)
{
	enum match match;
	const int fd = open_way(fs, f, pid, m, way, &match);

	if (fd < 0 || match == SAME || f->finder || is_trusted(fs, pid, way, fd))
		return fd;
	close(fd);
	f->elsewhere = true;
	return -ENOENT;
}

/* Whose process it is, of the users that have one; of one that has ended, the only one. */
static bool find_finder(const struct sym_files *fs, struct sym_file *f, uint32_t pid, uid_t *uid)
{
	struct sym_proc_ids ids;

	if (!sym_is_of_others(fs->proc, pid, uid)) {
		*uid = f->only;
		return f->only && !f->many && sym_proc_ids(fs->proc, pid, &ids);
	}
	*uid = rp_subuid_first(*uid);
	f->many |= f->only && f->only != *uid;
	f->only = *uid;
	return true;
}

/* Where else it may be found: the one that is of this user's processes alone. False: nowhere. */
static bool find_own(struct sym_files *fs, uint32_t pid, uint32_t *number)
{
	struct sym_file *f = &fs->items[*number];
	struct sym_file key = {
		.path = f->path, .dev = f->dev, .inode = f->inode, .build_id_size = f->build_id_size
	};
	uint32_t own;

	if (!f->elsewhere || !find_finder(fs, f, pid, &key.finder))
		return false;
	memcpy(key.build_id, f->build_id, sizeof(key.build_id));
	if (sym_files_add(fs, pid, &key, &own) || fs->items[own].kind != SYM_FILE)
		return false;
	*number = own;
	return true;
}

/* ---- what is in it */

static bool has_build_id(const struct sym_file *f, const struct sym_object *o)
{
	char text[SYM_BUILD_ID_TEXT];

	if (!f->build_id_size)
		return true;
	sym_note_hex(f->build_id, f->build_id_size, text);
	return !strcmp(text, o->build_id);
}

static bool try_known(const struct sym_files *fs, struct sym_file *f, int fd)
{
	struct sym_image *image = sym_image_known(fs, fd);

	if (!image || !has_build_id(f, image->object))
		return false;
	image->used = fs->age;
	f->image = image;
	return f->settled = true;
}

/* Takes @fd. As sym_object_open(); -EDQUOT: its owner's files have taken too long. */
static int open_object(struct sym_files *fs, struct sym_object **out, int fd)
{
	const uint64_t began = rp_thread_cpu_ns();
	struct stat st;
	uid_t payer = 0;
	int err;

	if (!fstat(fd, &st))
		payer = sym_held_payer(st.st_uid);
	if (!sym_held_may_read(fs, payer)) {
		close(fd);
		return -EDQUOT;
	}
	err = sym_object_open(out, fd);
	sym_held_has_read(fs, payer, rp_thread_cpu_ns() - began, 0);
	return err;
}

/* Takes @fd. Settles @f if this is the file, be it ELF or not. */
static void try_fd(struct sym_files *fs, struct sym_file *f, uint32_t pid, int fd)
{
	const struct sym_debug_place place = { .proc = fs->proc, .pid = pid, .path = f->path };
	struct sym_object *object;
	int err;

	if (try_known(fs, f, fd)) {
		close(fd);
		return;
	}
	err = open_object(fs, &object, fd);
	if (err) {
		rp_lack(err, f->path);
		f->settled = err == -ENOEXEC && !f->build_id_size;
		return;
	}
	if (!has_build_id(f, object)) {
		sym_object_close(object);
		return;
	}
	err = sym_image_get(fs, object, &place, &f->image);
	if (f->image)
		f->image->used = fs->age;
	f->settled = f->image;
	if (err)
		rp_lack(err, f->path);
}

/* Of a process that has ended the one that has made the mapping, and was forked, has it still. */
static uint32_t who_has(const struct sym_files *fs, uint32_t pid, const struct sym_mapping *m)
{
	struct sym_proc_ids ids;

	return m->pid == pid || !sym_proc_ids(fs->proc, pid, &ids) ? pid : m->pid;
}

static void try_ways(struct sym_files *fs, struct sym_file *f, uint32_t pid,
		     const struct sym_mapping *m)
{
	int err = 0;

	if (f->fd < 0 && (f->tries >= MAX_TRIES || (f->tries && f->last_pid == pid)))
		return;
	f->tries++;
	f->last_pid = pid;
	if (f->fd >= 0)
		try_fd(fs, f, pid, sym_file_release(fs, f));
	for (int way = 0; way < WAYS && !f->settled; way++) {
		const int fd = open_for_all(fs, f, pid, m, way);

		if (fd >= 0)
			try_fd(fs, f, pid, fd);
		else if (!err)
			err = fd;
	}
	if (!f->settled)
		rp_lack(err, f->path);
}

struct sym_image *sym_files_image(struct sym_files *fs, uint32_t pid, const struct sym_mapping *m)
{
	uint32_t number = m->file;
	struct sym_file *f = &fs->items[number];
	const bool is_asked = f->elsewhere;

	if (is_asked && !f->settled)
		pid = who_has(fs, pid, m);
	if (f->kind == SYM_FILE && !f->settled && !find_own(fs, pid, &number)) {
		try_ways(fs, f, pid, m);
		if (!f->settled && !is_asked)
			find_own(fs, pid, &number);
	}
	f = &fs->items[number]; /* there may be one more, and all of them have moved */
	if (number != m->file && !f->settled)
		try_ways(fs, f, pid, m);
	if (f->image)
		f->image->used = fs->age;
	return f->image;
}

/* Where files outlive the processes that run them; elsewhere they may be built, run and deleted. */
static bool is_installed(const char *path)
{
	static const char *const places[] = { "/usr/", "/lib", "/bin/", "/sbin/", "/opt/" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!strncmp(path, places[i], strlen(places[i])))
			return true;
	return false;
}

int sym_files_open(const struct sym_files *fs, uint32_t pid, const struct sym_mapping *m)
{
	const struct sym_file *f = &fs->items[m->file];
	enum match unused;
	const int fd = open_way(fs, f, pid, m, 0, &unused);

	return fd >= 0 ? fd : open_way(fs, f, pid, m, 1, &unused);
}

static void keep(struct sym_files *fs, struct sym_file *f, uint32_t pid,
		 const struct sym_mapping *m)
{
	struct stat st;
	int fd = -1;

	f->reachable = is_installed(f->path) && !stat(f->path, &st) && S_ISREG(st.st_mode) &&
		       (!f->inode || (st.st_ino == f->inode && st.st_dev == f->dev));
	for (int way = 0; way < 2 && !f->reachable && fd < 0; way++)
		fd = open_for_all(fs, f, pid, m, way);
	if (fd >= 0)
		sym_file_hold(fs, f, pid, fd);
}

static bool is_wanted(const struct sym_file *f)
{
	return f->kind == SYM_FILE && !f->settled && !f->reachable && f->fd < 0;
}

uint32_t sym_files_keep(struct sym_files *fs, uint32_t pid, const struct sym_mapping *m)
{
	uint32_t number = m->file;

	if (is_wanted(&fs->items[number]) && !find_own(fs, pid, &number)) {
		keep(fs, &fs->items[number], pid, m);
		if (is_wanted(&fs->items[number]))
			find_own(fs, pid, &number);
	}
	if (number != m->file && is_wanted(&fs->items[number]))
		keep(fs, &fs->items[number], pid, m);
	return number;
}
