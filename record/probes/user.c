/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of programs and libraries. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/lack.h"
#include "base/machine.h"
#include "list.h"
#include "record/recording.h"

/* A file that is looked at. */
struct look {
	struct record_probes *list;
	uint32_t pid;	/* 0: it is mapped by no process yet */
	bool of_target; /* the target executes from it */
	int err;
};

/* ---- one file */

struct matching {
	struct record_probes *list;
	uint64_t patterns; /* those that are for this file */
};

static uint64_t bit_of(size_t pattern)
{
	return 1ull << (pattern < 63 ? pattern : 63);
}

static size_t match(void *ctx, const char *name)
{
	const struct matching *m = ctx;

	for (size_t i = 0; i < m->list->npatterns; i++)
		if (m->patterns & bit_of(i) && m->list->patterns[i].kind != PATTERN_USDT &&
		    record_name_match(&m->list->names[i], m->list->demangler, name))
			return i;
	return SIZE_MAX;
}

/* The other names, with commas; NULL: none, or no memory. */
static const char *other_names(struct record_probes *list, const struct sym_function_found *f)
{
	char text[512];
	size_t used = 0;

	for (size_t i = 1; i < f->name_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 i > 1 ? ", " : "",
					 sym_demangle(list->demangler, f->names[i]));
	return used ? record_probes_text(list, text) : NULL;
}

/* Every function of it that is in the list already, by whichever pattern. */
static bool is_listed(const struct record_probes *list, uint32_t file, uint64_t offset)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct record_probe *p = list->items[i];

		if (p->kind == RECORD_PROBE_USER && p->user.file == file &&
		    p->user.offset == offset)
			return true;
	}
	return false;
}

/* The symbol is that of what chooses; the function is the one chosen. */
static void choose(const struct record_probes *list, const struct probe_file *in,
		   const struct sym_function_found *f, struct record_probe *p)
{
	uint64_t offset;

	/* Copying and comparing of all processes of the machine, at 20 us a call. */
	if (!list->scope.npids && !list->scope.alone) {
		p->why_not = "one of those that the dynamic linker chooses among (IFUNC), which "
			     "all processes call all the time: with -p PID, or --no-children";
		return;
	}
	if (!record_probes_chosen(in->dev, in->inode, p->symbol, &offset)) {
		p->why_not = "chosen by the dynamic linker among several (IFUNC), and not known "
			     "which: probe those behind it by their own names";
		return;
	}
	p->user.vaddr += offset - f->offset;
	p->user.offset = offset;
	p->user.size = p->user.alone = 0;
}

static int add_function(struct record_probes *list, uint32_t file,
			const struct sym_function_found *f)
{
	const struct probe_file *in = &list->files[file];
	const char *name = sym_demangle(list->demangler, f->names[0]);
	struct record_probe p = { .kind = RECORD_PROBE_USER,
				  .pattern = f->pattern,
				  .name = record_probes_text(list, name),
				  .symbol = record_probes_text(list, f->names[0]),
				  .also = other_names(list, f),
				  .module = in->path,
				  .user = { .file = file,
					    .offset = f->offset,
					    .vaddr = f->vaddr,
					    .size = f->size,
					    .alone = f->alone,
					    .at_returns = in->is_go } };

	if (!p.name || !p.symbol)
		return -ENOMEM;
	if (in->machine != rp_machine_host()->elf)
		p.why_not = "code of another machine";
	else if (f->is_ifunc)
		choose(list, in, f, &p);
	list->patterns[f->pattern].found++;
	/* Two names may have chosen the same one (memcpy and memmove). */
	return f->is_ifunc && is_listed(list, file, p.user.offset)
		       ? 0
		       : record_probes_add(list, &p, NULL);
}

static int add_functions(struct record_probes *list, uint32_t file, const struct sym_functions *f)
{
	const bool again = list->files[file].looked != 0;
	int err = 0;

	list->files[file].machine = f->machine;
	list->files[file].text_offset = f->text_offset;
	list->files[file].text_size = f->text_size;
	for (size_t i = 0; !err && i < f->count; i++)
		if (!again || !is_listed(list, file, f->items[i].offset))
			err = add_function(list, file, &f->items[i]);
	return err;
}

enum pattern_place record_pattern_place(const struct pattern *p)
{
	switch (p->kind) {
	case PATTERN_FILE:
		return PLACE_PATH;
	case PATTERN_LIBRARY:
		return PLACE_NAME;
	case PATTERN_TARGET:
		return PLACE_TARGET;
	case PATTERN_USDT:
		return strchr(p->place, '/') ? PLACE_PATH : *p->place ? PLACE_NAME : PLACE_TARGET;
	default:
		return PLACE_NONE;
	}
}

static uint64_t wanted_in(const struct look *look, const char *path, const struct stat *st)
{
	uint64_t patterns = 0;

	for (size_t i = 0; i < look->list->npatterns; i++) {
		const struct pattern *p = &look->list->patterns[i];
		const enum pattern_place place = record_pattern_place(p);
		struct stat other;

		if ((place == PLACE_TARGET && look->of_target) ||
		    (place == PLACE_NAME && record_pattern_is_library(p->place, path)) ||
		    (place == PLACE_PATH && !stat(p->place, &other) && other.st_dev == st->st_dev &&
		     other.st_ino == st->st_ino))
			patterns |= bit_of(i);
	}
	return patterns;
}

/* The file's number. */
static int file_number(struct record_probes *list, const char *path, const struct stat *st,
		       uint32_t *out)
{
	const struct file_id id = { st->st_dev, st->st_ino };
	int err = rp_hash_number(&list->known, &id, out);

	if (err || *out < list->nfiles)
		return err;
	path = sym_strings_add(&list->paths, path, strlen(path));
	return path ? RP_PUSH(list->files, list->nfiles, list->files_capacity,
			      (struct probe_file){ .path = path,
						   .fd = -1,
						   .dev = st->st_dev,
						   .inode = st->st_ino })
		    : -ENOMEM;
}

/* Looks for the patterns of which bits are set. What is no ELF file has nothing. */
static int look_for_functions(struct look *look, uint32_t file, const char *path, int fd,
			      uint64_t patterns)
{
	struct record_probes *list = look->list;
	struct matching m = { list, patterns };
	const struct sym_functions_query query = {
		.fd = fd, .path = path, .pid = look->pid, .match = match, .ctx = &m
	};
	struct sym_functions *found;
	int err = patterns ? sym_functions_match(&query, &found) : -ENOENT;

	if (err == -ENOMEM)
		return err;
	if (err) {
		rp_lack(err, path);
		return 0;
	}
	list->files[file].is_go = record_probes_is_go(fd);
	list->files[file].throws = record_probes_throws(fd);
	err = add_functions(list, file, found);
	sym_functions_free(found);
	return err;
}

/* Shows what is in the list, of this file alone. */
static int show_file(struct record_probes *list, struct probe_file *file, int err)
{
	if (err == -E2BIG) {
		rp_log(RP_WARN, "%s has more than %zu USDT probes: the others are not listed",
		       file->path, list->scope.limit);
		err = 0;
	}
	if (!err)
		list->scope.show_file(list);
	record_probes_empty(list);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	return err;
}

static int look_for(struct look *look, const char *path, int fd, const struct stat *st,
		    uint64_t patterns)
{
	struct record_probes *list = look->list;
	const uint32_t before = list->count;
	uint64_t usdt = 0, functions = 0;
	uint32_t file;
	int err = file_number(list, path, st, &file);

	if (err)
		return err;
	patterns &= ~list->files[file].looked;
	for (size_t i = 0; i < list->npatterns; i++)
		*(list->patterns[i].kind == PATTERN_USDT ? &usdt : &functions) |=
			patterns & bit_of(i);
	if (!patterns)
		return 0;
	err = look_for_functions(look, file, path, fd, functions);
	if (!err && usdt)
		err = record_probes_add_usdt(list, file, fd, usdt);
	list->files[file].looked |= patterns;
	if (list->scope.show_file)
		return show_file(list, &list->files[file], err);
	if (!err && list->count > before && list->files[file].fd < 0) {
		list->files[file].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		err = list->files[file].fd < 0 ? -errno : 0;
	}
	return err;
}

static int look_at(struct look *look, const char *path, int fd)
{
	struct stat st;
	uint64_t patterns;

	if (fstat(fd, &st))
		return 0;
	patterns = wanted_in(look, path, &st);
	return patterns ? look_for(look, path, fd, &st, patterns) : 0;
}

static int look_at_path(void *ctx, const char *path)
{
	const int fd = rp_open_regular(AT_FDCWD, path);
	int err;

	if (fd < 0)
		return 0;
	err = look_at(ctx, path, fd);
	close(fd);
	return err;
}

/* ---- what a process executes from */

static int on_mapped(void *ctx, const struct sym_mapped_functions *file)
{
	return look_at(ctx, file->path, file->fd);
}

/* A file that all patterns for it were looked for in is not opened again. */
static bool is_known(void *ctx, const struct sym_mapped_functions *m)
{
	const struct look *look = ctx;
	const struct stat st = { .st_dev = m->dev, .st_ino = m->inode };
	const struct file_id id = { m->dev, m->inode };
	const struct file_id *known = rp_hash_find(&look->list->known, &id);
	uint64_t patterns = wanted_in(look, m->path, &st);

	if (known)
		patterns &= ~look->list->files[known - (struct file_id *)look->list->known.items]
				     .looked;
	return !patterns;
}

int record_probes_find_process(struct record_probes *list, uint32_t pid)
{
	struct look look = { .list = list, .pid = pid, .of_target = true };
	size_t unread = 0;
	int err = sym_functions_mapped(NULL, pid, NULL, 0, is_known, on_mapped, &look, &unread);

	if (unread)
		record_target_tell_unopened(pid, unread, "functions there are not probed");
	if (err == -EACCES || err == -EPERM)
		return rp_fail(err,
			       "cannot see what process %u executes: %s: that takes CAP_SYS_PTRACE "
			       "and the capabilities that it has",
			       pid, strerror(-err));
	return err == -ESRCH ? 0 : err;
}

/* ---- patterns by their places */

static int find_in_file(struct record_probes *list, size_t at)
{
	struct look look = { .list = list };
	const struct pattern *p = &list->patterns[at];
	const int fd = rp_open_regular(AT_FDCWD, p->place);
	char path[PATH_MAX];
	struct stat st;
	int err = 0;

	if (fd < 0)
		return rp_fail(fd, "'%s': %s: %s", p->text, p->place, strerror(-fd));
	if (!fstat(fd, &st))
		err = look_for(&look, realpath(p->place, path) ? path : p->place, fd, &st,
			       bit_of(at));
	close(fd);
	return err;
}

/* The target has no such library: the one that this machine has, which it may map later. */
static int find_in_library(struct record_probes *list, size_t at)
{
	struct look look = { .list = list };
	struct pattern *p = &list->patterns[at];
	char found[PATH_MAX], path[PATH_MAX];
	struct stat st;
	int fd, err;

	for (uint32_t i = 0; i < list->nfiles; i++)
		if (list->files[i].looked & bit_of(at))
			return 0;
	err = record_probes_library(p->place, found);
	if (err == -ENOENT && list->scope.later)
		return 0;
	if (err)
		return rp_fail(err,
			       "'%s': there is no library and no program %s: FILE:FUNCTION takes a "
			       "path too%s",
			       p->text, p->place,
			       !strcmp(p->place, "k") ? "; functions of the kernel need no place"
						      : "");
	fd = rp_open_regular(AT_FDCWD, found);
	if (fd < 0)
		return rp_fail(fd, "'%s': %s: %s", p->text, found, strerror(-fd));
	err = fstat(fd, &st)
		      ? -errno
		      : look_for(&look, realpath(found, path) ? path : found, fd, &st, bit_of(at));
	close(fd);
	return err;
}

static int find_target(struct record_probes *list)
{
	struct look look = { .list = list, .of_target = true };
	int err = 0;

	if (list->scope.program)
		err = record_probes_needed(list->scope.program, look_at_path, &look);
	for (size_t i = 0; !err && i < list->scope.npids; i++)
		err = record_probes_find_process(list, list->scope.pids[i]);
	return err;
}

int record_probes_find_user(struct record_probes *list)
{
	const bool has_target = list->scope.program || list->scope.npids;
	int err = has_target ? find_target(list) : 0;

	for (size_t i = 0; !err && i < list->npatterns; i++) {
		const struct pattern *p = &list->patterns[i];

		const enum pattern_place place = record_pattern_place(p);

		if (place == PLACE_PATH && !p->found)
			err = find_in_file(list, i);
		else if (place == PLACE_NAME && !p->found)
			err = find_in_library(list, i);
		else if (place == PLACE_TARGET && !has_target)
			err = rp_fail(-EINVAL,
				      "'%s': in which program? Say -p PID or -- PROGRAM, or %s",
				      p->text,
				      p->kind == PATTERN_USDT ? "usdt:FILE:NAME" : "FILE:FUNCTION");
		if (!err && !p->found && p->name && place != PLACE_NONE && !list->scope.later)
			err = p->kind == PATTERN_USDT ? record_probes_usdt_missing(list, i)
						      : record_probes_user_missing(list, i);
	}
	return err;
}
