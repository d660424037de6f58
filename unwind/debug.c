/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .debug_frame (DWARF 5, 6.4.1): the same records, for debuggers. It is all that there is in
 * programs that are built without unwind tables, such as Go's and musl; compressed often, and in a
 * separate file if the program was stripped.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/debug.h"
#include "elf.h"

/* libelf knows zlib, and zstd from 0.189 on. The older way of GNU shows in the name alone. */
static bool unpack(Elf_Scn *scn, const char *name)
{
	GElf_Shdr sh;
	GElf_Chdr ch;

	if (!gelf_getshdr(scn, &sh))
		return false;
	if (sh.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &ch) && ch.ch_size <= UNWIND_FRAMES_MAX &&
		       elf_compress(scn, 0, 0) >= 0;
	return strcmp(name, ".zdebug_frame") != 0 || elf_compress_gnu(scn, 0, 0) >= 0;
}

static int take_section(struct unwind_source *s, Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);

	if (!data || !data->d_size || !data->d_buf)
		return -ENODATA;
	if (data->d_size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	s->data = malloc(data->d_size);
	if (!s->data)
		return -ENOMEM;
	memcpy(s->data, data->d_buf, data->d_size);
	s->size = data->d_size;
	s->is_debug_frame = true;
	return 0;
}

static int read_here(struct unwind_source *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return -ENODATA;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS || !sh.sh_size)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame")) &&
		    unpack(scn, name))
			return take_section(s, scn);
	}
	return -ENODATA;
}

/* The path by which we see the file says where its debug link leads to. */
static int read_separate(struct unwind_source *s, int fd)
{
	char link[32], path[4096];
	struct sym_debug_place place = { .proc = "/proc", .pid = (uint32_t)getpid(), .path = path };
	struct sym_object *object, *debug;
	int own = dup(fd), err;
	ssize_t n;
	Elf *elf;

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
	elf = elf_begin(debug->fd, ELF_C_READ, NULL);
	err = elf ? read_here(s, elf) : -ENODATA;
	elf_end(elf);
	sym_object_close(debug);
	return err;
}

int unwind_debug_frame_read(struct unwind_source *s, Elf *elf, int fd)
{
	int err = read_here(s, elf);

	return err == -ENODATA && fd >= 0 ? read_separate(s, fd) : err;
}
