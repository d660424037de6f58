/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .debug_frame (DWARF 5, 6.4.1): the same records, for debuggers. It is all that there is in
 * programs that are built without unwind tables, such as Go's and musl; compressed often, and in a
 * separate file if the program was stripped.
 */
#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "symbolize/debug.h"
#include "elf.h"
#include "image.h"

/* No stream of zlib's becomes more than so many times longer; no table does by zstd. */
#define RATIO_MAX 1032

/* ---- compressed */

/*
 * A file in memory that consists of one section. libelf unpacks that one, not the one in the file,
 * whose header might say something else by the time that it is read.
 */
struct packed {
	Elf64_Ehdr head;
	Elf64_Shdr sections[2]; /* section 0 is none */
	uint8_t bytes[];
};

/* The older way of GNU shows in the name alone: "ZLIB", and the size in big-endian. */
static bool unpacked_size(const struct packed *p, bool is_gnu, uint64_t *size)
{
	const Elf64_Shdr *sh = &p->sections[1];
	Elf64_Chdr ch;

	if (is_gnu) {
		memcpy(size, p->bytes + 4, sizeof(*size));
		*size = __builtin_bswap64(*size);
		return sh->sh_size > 12 && !memcmp(p->bytes, "ZLIB", 4);
	}
	memcpy(&ch, p->bytes, sizeof(ch));
	*size = ch.ch_size;
	return sh->sh_size > sizeof(ch);
}

static int unpack(struct unwind_source *s, const struct packed *p, size_t bytes, bool is_gnu)
{
	Elf *elf = elf_memory((char *)p, bytes);
	Elf_Scn *scn = elf ? elf_getscn(elf, 1) : NULL;
	Elf_Data *data = NULL;
	int err = -ENODATA;

	if (scn && (is_gnu ? elf_compress_gnu(scn, 0, 0) : elf_compress(scn, 0, 0)) >= 0)
		data = elf_rawdata(scn, NULL);
	if (data && data->d_size && data->d_buf)
		err = unwind_source_data(s, data->d_size);
	if (!err)
		memcpy(s->data, data->d_buf, data->d_size);
	elf_end(elf);
	return err;
}

/* Counts what libelf needs as it needs it: the section as it is, and twice what it becomes. */
static int take_packed(struct unwind_source *s, const struct unwind_image *m, const Elf64_Shdr *sh,
		       bool is_gnu)
{
	size_t bytes = sizeof(struct packed) + sh->sh_size;
	uint64_t size = 0;
	struct packed *p;
	int err = -ENODATA;

	if (!rp_memory_take(bytes))
		return -ENOMEM;
	p = calloc(1, bytes + sizeof(Elf64_Chdr)); /* whose fields may be read beyond the end */
	if (!p) {
		rp_memory_give(bytes);
		return -ENOMEM;
	}
	p->head = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
				.e_type = ET_EXEC,
				.e_machine = m->machine,
				.e_version = EV_CURRENT,
				.e_ehsize = sizeof(p->head),
				.e_shoff = offsetof(struct packed, sections),
				.e_shentsize = sizeof(*sh),
				.e_shnum = 2 };
	p->sections[1] = *sh;
	p->sections[1].sh_offset = offsetof(struct packed, bytes);
	if (unwind_image_read(m, sh->sh_offset, p->bytes, sh->sh_size) == sh->sh_size &&
	    unpacked_size(p, is_gnu, &size))
		err = size > UNWIND_FRAMES_MAX || size / RATIO_MAX > sh->sh_size ? -EFBIG : 0;
	if (!err && !rp_memory_take(size))
		err = -ENOMEM;
	if (!err) {
		err = unpack(s, p, bytes, is_gnu);
		rp_memory_give(size);
	}
	free(p);
	rp_memory_give(bytes);
	return err;
}

/* ---- the section */

static int take_section(struct unwind_source *s, const struct unwind_image *m, const Elf64_Shdr *sh,
			bool is_gnu)
{
	int err;

	if (sh->sh_offset >= m->size || sh->sh_size > m->size - sh->sh_offset)
		return -ENODATA;
	if (sh->sh_size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	if (is_gnu || sh->sh_flags & SHF_COMPRESSED)
		return take_packed(s, m, sh, is_gnu);
	err = unwind_source_data(s, sh->sh_size);
	if (!err && unwind_image_read(m, sh->sh_offset, s->data, s->size) != s->size)
		err = -EIO;
	return err;
}

static int read_here(struct unwind_source *s, const struct unwind_image *m)
{
	for (size_t i = 0; i < m->nsections; i++) {
		const Elf64_Shdr *sh = &m->sections[i];
		const char *name = unwind_image_name(m, sh);
		bool is_gnu = !strcmp(name, ".zdebug_frame");

		if (sh->sh_type == SHT_PROGBITS && sh->sh_size &&
		    (is_gnu || !strcmp(name, ".debug_frame"))) {
			s->is_debug_frame = true;
			return take_section(s, m, sh, is_gnu);
		}
	}
	return -ENODATA;
}

/* The path by which we see the file says where its debug link leads to. */
static int read_separate(struct unwind_source *s, int fd)
{
	char link[32], path[4096];
	struct sym_debug_place place = { .proc = "/proc", .pid = (uint32_t)getpid(), .path = path };
	struct sym_object *object, *debug;
	struct unwind_image m;
	int own = dup(fd), err;
	ssize_t n;

	if (own < 0)
		return -errno;
	if (sym_object_open(&object, own))
		return -ENODATA;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	err = sym_debug_open(&debug, object, &place);
	sym_object_close(object);
	if (err)
		return -ENODATA;
	err = unwind_image_open(&m, debug->fd, NULL, 0);
	if (!err) {
		err = read_here(s, &m);
		unwind_image_close(&m);
	}
	sym_object_close(debug);
	return err;
}

int unwind_debug_frame_read(struct unwind_source *s, const struct unwind_image *m)
{
	int err = read_here(s, m);

	/* A file whose sections cannot be read has no link either. */
	s->is_elsewhere = err == -ENODATA && m->fd >= 0 && m->nsections;
	return s->is_elsewhere ? read_separate(s, m->fd) : err;
}
