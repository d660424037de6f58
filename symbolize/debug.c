/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files, and the one that is packed into .gnu_debugdata. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/budget.h"
#include "base/fuse.h"
#include "debug.h"
#include "others.h"
#include "proc.h"

#define DEBUG_DIR "/usr/lib/debug"

enum {
	CHUNK = 1 << 16,
	PACKED_MAX = 64 << 20,
	UNPACKED_MAX = 256 << 20, /* of a large program: 10 MB */
	LZMA_MEMORY = 72 << 20,	  /* xz -9 needs 65 */
};

/* ---- files */

struct search {
	const struct sym_object *object;
	const struct sym_debug_place *place;
	bool has_crc; /* else only the build-id will do */
	uint32_t crc;
};

/* For all programs of users together, and for root's: so much takes two seconds or so. */
#define SUMS_MAX (2ULL << 30)
static _Atomic uint64_t summed[2];

static bool checksum_is(const struct sym_object *o, uint32_t expected, bool of_root)
{
	uint8_t *buf = o->size <= o->believed ? malloc(CHUNK) : NULL;
	struct rp_work work = rp_work_for(o->size, 2);
	uint64_t offset = 0;
	uLong crc = crc32(0, NULL, 0);
	size_t n;

	if (!buf)
		return false;
	while (summed[of_root] < SUMS_MAX && rp_work_spend(&work, CHUNK) &&
	       (n = sym_object_read(o, offset, buf, CHUNK))) {
		summed[of_root] += n;
		crc = crc32(crc, buf, n);
		offset += n;
	}
	free(buf);
	return offset == o->size && crc == expected;
}

/*
 * What another user put beside a program, or where its process sees /usr/lib/debug, is not its. A
 * recording that root began is nobody by now, and so is, to it, whom a user namespace does not map:
 * as nobody it has made nothing itself but what a server sent.
 */
static bool is_of_its_owner(const struct search *s, const struct sym_object *debug)
{
	return debug->owner == s->object->owner || !debug->owner ||
	       (s->place ? sym_is_ours(debug->owner) : debug->owner == geteuid());
}

/* Whoever has a user namespace can put any file in the place of the debug file of one of root's. */
static bool is_roots(const struct search *s)
{
	return !s->object->owner && rp_is_our_user_namespace(s->place->proc, s->place->pid);
}

static bool belongs(const struct search *s, const struct sym_object *debug)
{
	const struct sym_object *o = s->object;

	if (debug->machine != o->machine || debug->is64 != o->is64 ||
	    (!debug->symbols[SYM_SYMTAB].count && !debug->has_dwarf) || !is_of_its_owner(s, debug))
		return false;
	if (o->build_id[0] && debug->build_id[0])
		return !strcmp(o->build_id, debug->build_id);
	return s->has_crc && checksum_is(debug, s->crc, is_roots(s));
}

/* -ENOENT if it is not there, or of another file. */
static int try_path(const struct search *s, const char *path, struct sym_object **out)
{
	for (int here = 0; here < 2; here++) {
		int fd = here ? sym_proc_follow_here(path)
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
		    struct sym_debuginfod *server, uid_t uid)
{
	const struct search s = { .object = object };
	struct sym_object *debug;
	int fd = object->build_id[0] ? sym_debuginfod_find(server, object->build_id, uid) : -ENOENT;

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

/* *@size becomes what it is. -EFBIG: it does not fit; -EBADMSG. */
static int unpack(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t *size)
{
	uint64_t memory = LZMA_MEMORY;
	size_t in = 0, at = 0;
	lzma_ret ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed, &in, packed_size, out,
						 &at, *size);

	*size = at;
	return ret == LZMA_OK ? 0 : ret == LZMA_BUF_ERROR ? -EFBIG : -EBADMSG;
}

/* What it will be stands in the index at the end, if it is one stream, as it is. */
static uint64_t unpacked_size(const uint8_t *packed, size_t size)
{
	uint64_t memory = LZMA_MEMORY, out = 0;
	lzma_stream_flags footer;
	lzma_index *index;
	size_t at = 0;

	if (size < 2 * LZMA_STREAM_HEADER_SIZE ||
	    lzma_stream_footer_decode(&footer, packed + size - LZMA_STREAM_HEADER_SIZE) !=
		    LZMA_OK ||
	    footer.backward_size > size - 2 * LZMA_STREAM_HEADER_SIZE)
		return 0;
	packed += size - LZMA_STREAM_HEADER_SIZE - footer.backward_size;
	if (lzma_index_buffer_decode(&index, &memory, NULL, packed, &at, footer.backward_size) !=
	    LZMA_OK)
		return 0;
	out = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return out;
}

#else

static int unpack(const uint8_t *packed, size_t packed_size, uint8_t *out, size_t *size)
{
	(void)packed;
	(void)packed_size;
	(void)out;
	(void)size;
	return -EBADMSG;
}

static uint64_t unpacked_size(const uint8_t *packed, size_t size)
{
	(void)packed;
	(void)size;
	return 0;
}

#endif

/* The image is the object's, with the memory taken for it. */
static int unpack_object(struct sym_object **out, const uint8_t *packed, size_t packed_size)
{
	const uint64_t taken = unpacked_size(packed, packed_size);
	size_t size = taken;
	uint8_t *image;
	int err = -ENOMEM;

	if (!taken)
		return -EBADMSG;
	if (taken > UNPACKED_MAX || !sym_object_may_unpack(packed_size, taken))
		return -EFBIG;
	image = malloc(size);
	if (image)
		err = unpack(packed, packed_size, image, &size);
	if (!err && size != taken)
		err = -EBADMSG;
	if (!err)
		return sym_object_take_image(out, image, size);
	free(image);
	rp_memory_give(taken);
	return err;
}

int sym_debug_unpack(struct sym_object **out, const struct sym_object *object)
{
	const struct sym_bytes *data = &object->debugdata;
	uint64_t size = sym_object_there(object, data->offset, data->size);
	uint8_t *packed;
	int err = -ENOMEM;

	if (!data->size)
		return -ENOENT;
	if (data->size > PACKED_MAX)
		return -EFBIG;
	if (!rp_memory_take(size))
		return -ENOMEM;
	packed = malloc(size + 1);
	if (packed) {
		size_t n = sym_object_read(object, data->offset, packed, size);

		err = unpack_object(out, packed, n);
	}
	free(packed);
	rp_memory_give(size);
	return err == -ENOEXEC ? -EBADMSG : err;
}
