/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files, and the one that is packed into .gnu_debugdata. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "proc.h"

#include "debug.h"

#define DEBUG_DIR "/usr/lib/debug"

enum {
	CHUNK = 1 << 16,
	PACKED_MAX = 64 << 20,
	UNPACKED_MAX = 256 << 20, /* of a large program: 10 MB */
};

/* ---- files */

struct search {
	const struct sym_object *object;
	const struct sym_debug_place *place;
	bool has_crc; /* else only the build-id will do */
	uint32_t crc;
};

static bool checksum_is(const struct sym_object *o, uint32_t expected)
{
	uint8_t *buf = malloc(CHUNK);
	uint64_t offset = 0;
	uLong crc = crc32(0, NULL, 0);
	size_t n;

	if (!buf)
		return false;
	while ((n = sym_object_read(o, offset, buf, CHUNK))) {
		crc = crc32(crc, buf, n);
		offset += n;
	}
	free(buf);
	return crc == expected;
}

static bool belongs(const struct search *s, const struct sym_object *debug)
{
	const struct sym_object *o = s->object;

	if (debug->machine != o->machine || debug->is64 != o->is64 ||
	    (!debug->symbols[SYM_SYMTAB].count && !debug->has_dwarf))
		return false;
	if (o->build_id[0] && debug->build_id[0])
		return !strcmp(o->build_id, debug->build_id);
	return s->has_crc && checksum_is(debug, s->crc);
}

static int open_here(const char *path)
{
	int path_fd = open(path, O_PATH | O_CLOEXEC), fd;

	if (path_fd < 0)
		return -errno;
	fd = sym_proc_open_regular(path_fd);
	close(path_fd);
	return fd;
}

/* -ENOENT if it is not there, or of another file. */
static int try_path(const struct search *s, const char *path, struct sym_object **out)
{
	for (int here = 0; here < 2; here++) {
		int fd = here ? open_here(path)
			      : sym_proc_follow_in_root(s->place->proc, s->place->pid, path);
		struct sym_object *debug;

		if (fd < 0 || sym_object_open(&debug, fd))
			continue;
		if (belongs(s, debug)) {
			*out = debug;
			return 0;
		}
		sym_object_close(debug);
	}
	return -ENOENT;
}

static int find_by_build_id(const struct search *s, struct sym_object **out)
{
	const char *id = s->object->build_id;
	char path[sizeof(DEBUG_DIR "/.build-id/xx/.debug") + SYM_BUILD_ID_TEXT];

	if (strlen(id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%.2s/%s.debug", id, id + 2);
	return try_path(s, path, out);
}

/* A file name, padded with zeroes to four bytes, and the checksum. */
static bool read_link(const struct sym_object *o, char name[NAME_MAX + 1], uint32_t *crc)
{
	char link[NAME_MAX + 1 + 8];
	size_t n = sym_object_read(o, o->debuglink.offset, link,
				   o->debuglink.size < sizeof(link) ? o->debuglink.size
								    : sizeof(link));
	size_t len = strnlen(link, n), at = (len + 4) & ~3UL;

	if (!len || len > NAME_MAX || at + sizeof(*crc) > n || strchr(link, '/'))
		return false;
	memcpy(name, link, len + 1);
	memcpy(crc, link + at, sizeof(*crc));
	return true;
}

static int find_by_link(struct search *s, struct sym_object **out)
{
	static const char *const forms[][2] = { { "", "" }, { "", ".debug/" }, { DEBUG_DIR, "" } };
	const char *slash = strrchr(s->place->path, '/');
	char name[NAME_MAX + 1], path[PATH_MAX];

	if (!slash || s->place->path[0] != '/' || !read_link(s->object, name, &s->crc))
		return -ENOENT;
	s->has_crc = true;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s/%s%s", forms[i][0],
				 (int)(slash - s->place->path), s->place->path, forms[i][1], name);

		if (n < (int)sizeof(path) && !try_path(s, path, out))
			return 0;
	}
	return -ENOENT;
}

int sym_debug_open(struct sym_object **out, const struct sym_object *object,
		   const struct sym_debug_place *place)
{
	struct search s = { .object = object, .place = place };

	if (!find_by_build_id(&s, out))
		return 0;
	return find_by_link(&s, out);
}

int sym_debug_fetch(struct sym_object **out, const struct sym_object *object,
		    struct sym_debuginfod *server)
{
	const struct search s = { .object = object };
	struct sym_object *debug;
	int fd = object->build_id[0] ? sym_debuginfod_find(server, object->build_id) : -ENOENT;

	if (fd < 0 || sym_object_open(&debug, fd))
		return -ENOENT;
	if (!belongs(&s, debug)) {
		sym_object_close(debug);
		return -ENOENT;
	}
	*out = debug;
	return 0;
}

/* ---- .gnu_debugdata */

#ifdef HAVE_LZMA

/* 0, -ENOSPC if it needs more than @size bytes, -EBADMSG. */
static int unpack(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size,
		  size_t *used)
{
	uint64_t memory = 128 << 20;
	size_t in = 0, at = 0;
	lzma_ret ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed, &in, packed_size, out,
						 &at, size);

	*used = at;
	return ret == LZMA_OK ? 0 : ret == LZMA_BUF_ERROR ? -ENOSPC : -EBADMSG;
}

#else

static int unpack(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t size,
		  size_t *used)
{
	(void)packed;
	(void)packed_size;
	(void)out;
	(void)size;
	(void)used;
	return -EBADMSG;
}

#endif

/* What it will be is not told beforehand: room is doubled until it fits. */
static int unpack_all(const uint8_t *packed, size_t n, uint8_t **out, size_t *size)
{
	int err = -ENOSPC;

	for (size_t capacity = 8 * n + CHUNK; err == -ENOSPC; capacity *= 2) {
		uint8_t *p;

		if (capacity > UNPACKED_MAX)
			return -EFBIG;
		p = malloc(capacity);
		if (!p)
			return -ENOMEM;
		err = unpack(packed, n, p, capacity, size);
		if (!err)
			*out = p;
		else
			free(p);
	}
	return err;
}

int sym_debug_unpack(struct sym_object **out, const struct sym_object *object)
{
	uint8_t *packed, *image;
	size_t size;
	int err;

	if (!object->debugdata.size)
		return -ENOENT;
	if (object->debugdata.size > PACKED_MAX)
		return -EFBIG;
	packed = malloc(object->debugdata.size);
	if (!packed)
		return -ENOMEM;
	size = sym_object_read(object, object->debugdata.offset, packed, object->debugdata.size);
	err = unpack_all(packed, size, &image, &size);
	free(packed);
	if (err)
		return err;
	err = sym_object_open_image(out, image, size);
	free(image);
	return err == -ENOEXEC ? -EBADMSG : err;
}
