/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The image is an anonymous mapping: pages of it that nothing is read into do not exist. Headers
 * come last, as a section may claim to lie where they do. Behind it is an empty page, as libdw
 * believes that what is last in it has an end.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "headers.h"
#include "lines_image.h"
#include "proc.h"

/* ---- whose file it is */

static bool read_path(const struct sym_object *data, char path[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", data->fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * In another mount namespace a file has another path, and what lies beside it there is not what
 * lies beside it here.
 */
static bool is_where_it_says(const struct sym_object *data)
{
	char path[PATH_MAX];
	struct stat it, there;
	bool is_same;
	int fd;

	if (!read_path(data, path))
		return false;
	fd = sym_proc_follow_here(path);
	is_same = fd >= 0 && !fstat(data->fd, &it) && !fstat(fd, &there) &&
		  it.st_dev == there.st_dev && it.st_ino == there.st_ino;
	if (fd >= 0)
		close(fd);
	return is_same;
}

static bool is_ours(uid_t owner)
{
	const char *sudo = secure_getenv("SUDO_UID");
	const uid_t nobody = 65534; /* whom a recording becomes that root began, and others too */

	return !owner || (owner == geteuid() && owner != nobody) ||
	       (sudo && *sudo && owner == (uid_t)strtoul(sudo, NULL, 10));
}

bool sym_lines_may_name_others(const struct sym_object *data)
{
	return is_ours(data->owner) && is_where_it_says(data);
}

bool sym_lines_are_ours(const struct sym_object *data)
{
	return is_ours(data->owner);
}

/*
 * Whether others may put something there, or in the place of what is: a directory on the way is
 * theirs, or they may write to it, more than to one that keeps what is there from them (t). @path
 * is cut off. A link may lead anywhere.
 */
static bool may_change(char *path, bool is_missing)
{
	struct stat st;
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (lstat(*path ? path : "/", &st)) {
			if (errno != ENOENT)
				return true;
			is_missing = true;
			continue;
		}
		if (!S_ISDIR(st.st_mode) || !is_ours(st.st_uid))
			return true;
		if ((st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != st.st_uid)) &&
		    (is_missing || !(st.st_mode & S_ISVTX)))
			return true;
		is_missing = false;
	}
	return false;
}

/* Whether nothing is there, or a plain file of ours, and stays so. */
static bool may_open(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	bool may;
	int fd;

	if (snprintf(path, sizeof(path), "%s%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = sym_proc_follow_here(path);
	may = fd < 0 ? fd == -ENOENT : !fstat(fd, &st) && is_ours(st.st_uid);
	if (fd >= 0)
		close(fd);
	return may && !may_change(path, fd < 0);
}

bool sym_lines_may_split(const struct sym_object *data, const char *dir, const char *name)
{
	char path[PATH_MAX], in[PATH_MAX];

	/* All units may be in one package. */
	if (!name || !read_path(data, path) || !may_open(path, ".dwp"))
		return false;
	if (*name == '/')
		return may_open("", name);
	strrchr(path, '/')[1] = '\0';
	if (!may_open(path, name))
		return false;
	return !dir ||
	       (snprintf(in, sizeof(in), "%s%s/", *dir == '/' ? "" : path, dir) < (int)sizeof(in) &&
		may_open(in, name));
}

/* ---- an image of it */

enum { BEHIND = 4096 };

static bool is_debug(const struct sym_headers *h, const Elf64_Shdr *sh)
{
	return sh->sh_type != SHT_NOBITS && sh->sh_size && strstr(sym_headers_name(h, sh), "debug");
}

/* Where the last byte is that is needed; 0: they are more than @most, or not all in the file. */
static uint64_t find_end(const struct sym_object *o, const struct sym_headers *h, uint64_t most)
{
	uint64_t end = h->eh.e_shoff + h->shnum * sizeof(*h->sh), sum = 0;

	for (size_t i = 0; i < h->shnum; i++) {
		const Elf64_Shdr *sh = &h->sh[i];

		if (h->names_size && sh->sh_type == SHT_STRTAB &&
		    sym_object_there(o, sh->sh_offset, sh->sh_size) == sh->sh_size &&
		    sh->sh_offset + sh->sh_size > end)
			end = sh->sh_offset + sh->sh_size;
		if (!is_debug(h, sh))
			continue;
		if (sh->sh_size > most - sum ||
		    sym_object_there(o, sh->sh_offset, sh->sh_size) < sh->sh_size)
			return 0;
		sum += sh->sh_size;
		if (sh->sh_offset + sh->sh_size > end)
			end = sh->sh_offset + sh->sh_size;
	}
	return sum ? end : 0;
}

static size_t names_at(const struct sym_headers *h)
{
	return h->eh.e_shstrndx == SHN_XINDEX ? h->sh->sh_link : h->eh.e_shstrndx;
}

static void fill(const struct sym_object *o, const struct sym_headers *h,
		 const struct sym_lines_image *image)
{
	const size_t names = names_at(h);

	for (size_t i = 0; i < h->shnum; i++)
		if (is_debug(h, &h->sh[i]))
			sym_object_read(o, h->sh[i].sh_offset, image->bytes + h->sh[i].sh_offset,
					h->sh[i].sh_size);
	if (names < h->shnum && h->sh[names].sh_offset < image->size &&
	    h->names_size <= image->size - h->sh[names].sh_offset)
		memcpy(image->bytes + h->sh[names].sh_offset, h->names, h->names_size);
	/* Each name that is asked for would unpack it first, to a size that nobody has counted. */
	if (names < h->shnum)
		h->sh[names].sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	memcpy(image->bytes + h->eh.e_shoff, h->sh, h->shnum * sizeof(*h->sh));
	memcpy(image->bytes, &h->eh, sizeof(h->eh));
}

static int make(const struct sym_object *o, const struct sym_headers *h, uint64_t most,
		struct sym_lines_image *out)
{
	const uint64_t size = o->is64 && h->shnum ? find_end(o, h, most) : 0;
	void *bytes;

	if (size < sizeof(h->eh) || size > SIZE_MAX / 2)
		return -ENODATA;
	bytes = mmap(NULL, size + BEHIND, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return -ENOMEM;
	*out = (struct sym_lines_image){ bytes, size };
	fill(o, h, out);
	return 0;
}

int sym_lines_image_read(const struct sym_object *data, uint64_t most, struct sym_lines_image *out)
{
	struct sym_object own = *data; /* of which the headers set what they are of */
	struct sym_headers h;
	int err = sym_headers_read(&own, &h) ? 0 : -ENODATA;

	if (err)
		return err;
	err = make(&own, &h, most, out);
	sym_headers_free(&h);
	return err;
}

void sym_lines_image_free(struct sym_lines_image *image)
{
	if (image->bytes)
		munmap(image->bytes, image->size + BEHIND);
	*image = (struct sym_lines_image){ 0 };
}
