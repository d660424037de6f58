/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that a program will map, before it has: what the dynamic linker will take, as ld.so(8) has
 * it. Names are looked for where the file that needs them says (DT_RUNPATH, DT_RPATH), in
 * LD_LIBRARY_PATH, /etc/ld.so.cache, and the usual folders.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/machine.h"
#include "list.h"

/* ---- ld.so.cache */

/* The form that glibc has written since 2.2; all integers are of this machine. */
static const char magic[] = "glibc-ld.so.cache1.1";
struct cache_header {
	char magic[20];
	uint32_t nlibs, strings;
	uint32_t unused[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of strings, from the header */
	uint32_t osversion;
	uint64_t hwcap;
};

struct cache {
	char *text; /* a NUL stands behind it */
	size_t size;
	const char *header;
};

static void read_cache(struct cache *c)
{
	size_t capacity = 0;
	ssize_t n = 1;
	int fd = rp_open_regular(AT_FDCWD, "/etc/ld.so.cache");

	*c = (struct cache){ 0 };
	while (fd >= 0 && n > 0 && c->size < 64 << 20) {
		if (RP_GROW_TO(c->text, c->size + 65537, capacity))
			break;
		n = read(fd, c->text + c->size, 65536);
		c->size += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!c->text)
		return;
	c->text[c->size] = '\0';
	/* The older form may stand before it. */
	c->header = memmem(c->text, c->size, magic, sizeof(magic) - 1);
	if (c->header && (size_t)(c->text + c->size - c->header) < sizeof(struct cache_header))
		c->header = NULL;
}

/* Entry @i: its SONAME and path. False behind the last. */
static bool cache_entry(const struct cache *c, uint32_t i, const char **key, const char **value)
{
	const size_t size = c->header ? (size_t)(c->text + c->size - c->header) : 0;
	struct cache_header h;
	struct cache_entry e;

	if (!c->header)
		return false;
	memcpy(&h, c->header, sizeof(h));
	if (i >= h.nlibs || (size - sizeof(h)) / sizeof(e) <= i)
		return false;
	memcpy(&e, c->header + sizeof(h) + i * sizeof(e), sizeof(e));
	*key = e.key < size ? c->header + e.key : "";
	*value = e.value < size ? c->header + e.value : "";
	return true;
}

/* ---- files of this machine's kind */

/* ELF header of a file of this machine; false otherwise. */
static bool read_elf(int fd, Elf64_Ehdr *eh)
{
	return pread(fd, eh, sizeof(*eh), 0) == sizeof(*eh) &&
	       !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == rp_machine_host()->elf;
}

static bool is_ours(const char *path)
{
	const int fd = rp_open_regular(AT_FDCWD, path);
	Elf64_Ehdr eh;
	const bool ours = fd >= 0 && read_elf(fd, &eh);

	if (fd >= 0)
		close(fd);
	return ours;
}

/* ---- what a file needs */

/* Parts of its dynamic section. */
struct dynamic {
	char *strings;
	size_t size;
	uint64_t needed[256], runpath; /* places of strings; runpath 0: none */
	size_t n;
	char interpreter[256];
};

static uint64_t offset_of(const Elf64_Phdr *ph, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD && vaddr >= ph[i].p_vaddr &&
		    vaddr - ph[i].p_vaddr < ph[i].p_filesz)
			return vaddr - ph[i].p_vaddr + ph[i].p_offset;
	return 0;
}

static void read_strings(int fd, uint64_t offset, uint64_t size, struct dynamic *d)
{
	ssize_t n;

	d->strings = offset && size < 16 << 20 ? malloc(size + 1) : NULL;
	if (!d->strings)
		return;
	n = pread(fd, d->strings, size, (off_t)offset);
	d->size = n > 0 ? (size_t)n : 0;
	d->strings[d->size] = '\0';
}

static void read_entries(int fd, const Elf64_Phdr *ph, size_t n, const Elf64_Phdr *dynamic,
			 struct dynamic *d)
{
	uint64_t strings = 0, size = 0;
	Elf64_Dyn e;

	for (uint64_t at = 0; at + sizeof(e) <= dynamic->p_filesz; at += sizeof(e)) {
		if (pread(fd, &e, sizeof(e), (off_t)(dynamic->p_offset + at)) != sizeof(e) ||
		    e.d_tag == DT_NULL)
			break;
		if (e.d_tag == DT_NEEDED && d->n < 256)
			d->needed[d->n++] = e.d_un.d_val;
		else if (e.d_tag == DT_RUNPATH || (e.d_tag == DT_RPATH && !d->runpath))
			d->runpath = e.d_un.d_val;
		else if (e.d_tag == DT_STRTAB)
			strings = offset_of(ph, n, e.d_un.d_ptr);
		else if (e.d_tag == DT_STRSZ)
			size = e.d_un.d_val;
	}
	read_strings(fd, strings, size, d);
}

static void read_dynamic(int fd, const Elf64_Ehdr *eh, struct dynamic *d)
{
	Elf64_Phdr ph[64];
	const size_t n = eh->e_phnum < 64 ? eh->e_phnum : 64;
	ssize_t got;

	if (eh->e_phentsize != sizeof(ph[0]) ||
	    pread(fd, ph, n * sizeof(ph[0]), (off_t)eh->e_phoff) != (ssize_t)(n * sizeof(ph[0])))
		return;
	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type == PT_DYNAMIC && !d->strings)
			read_entries(fd, ph, n, &ph[i], d);
		if (ph[i].p_type != PT_INTERP || ph[i].p_filesz >= sizeof(d->interpreter))
			continue;
		got = pread(fd, d->interpreter, ph[i].p_filesz, (off_t)ph[i].p_offset);
		d->interpreter[got > 0 ? got : 0] = '\0';
	}
}

static const char *dynamic_string(const struct dynamic *d, uint64_t at)
{
	return at < d->size ? d->strings + at : "";
}

/* ---- the dynamic linker's search */

static const char *const usual[] = {
#if defined(__aarch64__)
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#elif defined(__riscv)
	"/lib/riscv64-linux-gnu",
	"/usr/lib/riscv64-linux-gnu",
#else
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#endif
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

/* In the folders of a list with colons between them; $ORIGIN is that of the file at @from. */
static bool in_folders(const char *list, const char *from, const char *name, char path[PATH_MAX])
{
	const size_t origin = from && strrchr(from, '/') ? (size_t)(strrchr(from, '/') - from) : 0;
	size_t n;

	for (; list && *list; list += n + (list[n] == ':')) {
		size_t skip = 0;

		n = strcspn(list, ":");
		if (!strncmp(list, "$ORIGIN", 7))
			skip = 7;
		else if (!strncmp(list, "${ORIGIN}", 9))
			skip = 9;
		if (!n)
			continue;
		snprintf(path, PATH_MAX, "%.*s%.*s/%s", skip ? (int)origin : 0, skip ? from : "",
			 (int)(n - skip), list + skip, name);
		if (is_ours(path))
			return true;
	}
	return false;
}

static bool in_cache(const struct cache *c, const char *name, char path[PATH_MAX])
{
	const char *key, *value;

	for (uint32_t i = 0; cache_entry(c, i, &key, &value); i++)
		if (!strcmp(key, name) && is_ours(value)) {
			snprintf(path, PATH_MAX, "%s", value);
			return true;
		}
	return false;
}

static bool find_needed(const struct cache *c, const struct dynamic *d, const char *from,
			const char *name, char path[PATH_MAX])
{
	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return is_ours(path);
	}
	if ((d->runpath && in_folders(dynamic_string(d, d->runpath), from, name, path)) ||
	    in_folders(getenv("LD_LIBRARY_PATH"), from, name, path) || in_cache(c, name, path))
		return true;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		snprintf(path, PATH_MAX, "%s/%s", usual[i], name);
		if (is_ours(path))
			return true;
	}
	return false;
}

/* ---- all that a program needs */

struct walk {
	struct cache cache;
	char **path;
	size_t n, capacity;
	int (*fn)(void *ctx, const char *path);
	void *ctx;
};

static int add(struct walk *w, const char *name)
{
	char *path = realpath(name, NULL);
	int err;

	for (size_t i = 0; path && i < w->n; i++)
		if (!strcmp(w->path[i], path)) {
			free(path);
			return 0;
		}
	if (!path)
		return 0;
	err = RP_PUSH(w->path, w->n, w->capacity, path);
	if (err)
		free(path);
	return err ? err : w->fn(w->ctx, path);
}

/* "#!": the program is what stands there. */
static int add_script(struct walk *w, int fd)
{
	char line[256] = "";
	char *name = line + 2;
	const ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || strncmp(line, "#!", 2))
		return 0;
	name += strspn(name, " \t");
	name[strcspn(name, " \t\r\n")] = '\0';
	return *name ? add(w, name) : 0;
}

static int follow(struct walk *w, const char *from)
{
	struct dynamic *d = calloc(1, sizeof(*d));
	const int fd = rp_open_regular(AT_FDCWD, from);
	char path[PATH_MAX];
	Elf64_Ehdr eh;
	int err = d ? 0 : -ENOMEM;

	if (!err && fd >= 0 && !read_elf(fd, &eh))
		err = add_script(w, fd);
	else if (!err && fd >= 0)
		read_dynamic(fd, &eh, d);
	if (!err && *d->interpreter)
		err = add(w, d->interpreter);
	for (size_t i = 0; !err && i < d->n; i++) {
		const char *name = dynamic_string(d, d->needed[i]);

		if (*name && find_needed(&w->cache, d, from, name, path))
			err = add(w, path);
	}
	if (fd >= 0)
		close(fd);
	if (d)
		free(d->strings);
	free(d);
	return err;
}

int record_probes_needed(const char *path, int (*fn)(void *ctx, const char *path), void *ctx)
{
	struct walk w = { .fn = fn, .ctx = ctx };
	int err;

	read_cache(&w.cache);
	err = add(&w, path);
	for (size_t i = 0; !err && i < w.n && i < 4096; i++)
		err = follow(&w, w.path[i]);
	for (size_t i = 0; i < w.n; i++)
		free(w.path[i]);
	free(w.path);
	free(w.cache.text);
	return err;
}

int record_probes_library(const char *name, char path[PATH_MAX])
{
	const char *key, *value;
	struct cache cache;
	bool found = false;

	read_cache(&cache);
	for (uint32_t i = 0; !found && cache_entry(&cache, i, &key, &value); i++) {
		found = (record_pattern_is_library(name, key) ||
			 record_pattern_is_library(name, value)) &&
			is_ours(value);
		if (found)
			snprintf(path, PATH_MAX, "%s", value);
	}
	free(cache.text);
	for (size_t i = 0; !found && i < sizeof(usual) / sizeof(usual[0]); i++) {
		snprintf(path, PATH_MAX, "%s/lib%s.so", usual[i], name);
		found = is_ours(path);
	}
	return found || in_folders(getenv("PATH"), NULL, name, path) ? 0 : -ENOENT;
}
