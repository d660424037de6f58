/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions by name in the files that a process executes from. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "proc.h"
#include <rawprof/symbolize.h>

/* The executable mappings, the first one of each file. */
struct mapped {
	struct sym_files files;
	struct sym_strings strings;
	struct sym_mapping *maps;
	size_t count, capacity;
	struct hash_map seen; /* of device and inode */
};

static int take(void *ctx, const struct sym_proc_map *m)
{
	struct mapped *all = ctx;
	const struct sym_file key = { .path = m->path,
				      .dev = makedev(m->dev_major, m->dev_minor),
				      .inode = m->inode };
	const size_t known = all->files.count;
	uint32_t file;
	int err;

	if (!(m->prot & PROT_EXEC) || !m->inode)
		return 0;
	err = sym_files_add(&all->files, 0, &key, &file);
	if (err || file < known)
		return err;
	return RP_PUSH(
		all->maps, all->count, all->capacity,
		(struct sym_mapping){
			.start = m->start, .end = m->end, .offset = m->offset, .file = file });
}

/* One file under two paths is looked at once. */
static bool is_first(struct mapped *all, const struct sym_file *f)
{
	const uint64_t key[] = { f->dev, f->inode };
	const uint32_t before = all->seen.count;

	return !rp_hash_add(&all->seen, key) || all->seen.count > before;
}

static int stop_at_first(void *ctx, const struct sym_proc_map *m)
{
	(void)ctx;
	(void)m;
	return 1;
}

/* A zombie has no mappings; of one that was reaped there is not even a directory. */
static bool has_ended(const char *proc, uint32_t pid)
{
	const int ret = sym_proc_maps(proc, pid, stop_at_first, NULL);

	return !ret || ret == -ESRCH;
}

int sym_functions_mapped(const char *proc, uint32_t pid, const char *const *patterns, size_t n,
			 bool (*skip)(void *ctx, const struct sym_mapped_functions *m),
			 int (*fn)(void *ctx, const struct sym_mapped_functions *m), void *ctx,
			 size_t *unread)
{
	struct mapped all = { .seen = HASH_SET(uint64_t[2]) };
	size_t failed = 0;
	int ret;

	if (!proc)
		proc = "/proc";
	sym_files_init(&all.files, &all.strings, proc);
	ret = sym_proc_maps(proc, pid, take, &all);
	for (size_t i = 0; !ret && i < all.count; i++) {
		const struct sym_mapping *m = &all.maps[i];
		const struct sym_file *f = &all.files.items[m->file];
		struct sym_mapped_functions found = {
			.path = f->path,
			.fd = -1,
			.dev = f->dev,
			.inode = f->inode,
			.start = m->start,
			.offset = m->offset,
		};
		struct sym_functions *functions = NULL;
		int err = 0;

		if (f->kind != SYM_FILE || !is_first(&all, f) || (skip && skip(ctx, &found)))
			continue;
		found.fd = sym_files_open(&all.files, pid, m);
		if (found.fd < 0) {
			failed++;
			continue;
		}
		if (n)
			err = sym_functions_find(found.fd, patterns, n, &functions);
		if (!err) {
			found.functions = functions;
			ret = fn(ctx, &found);
			sym_functions_free(functions);
		} else if (err != -ENOEXEC) {
			ret = err;
		}
		close(found.fd);
	}
	if (failed && has_ended(proc, pid)) /* that is why */
		failed = 0;
	sym_files_free(&all.files);
	sym_strings_free(&all.strings);
	free(all.maps);
	rp_hash_free(&all.seen);
	if (unread && ret >= 0)
		*unread = failed;
	return ret;
}
