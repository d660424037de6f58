/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of ELF files, read by pread(2): a file that shrinks meanwhile is a short read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lack.h"
#include "base/machine.h"
#include "image.h"

enum {
	/* The kernel takes 64 KB of program headers (fs/binfmt_elf.c); usual are 4 to 20. */
	SEGMENTS_MAX = 65536 / sizeof(Elf64_Phdr),
	SECTIONS_MAX = 4096, /* of programs and libraries some 40 */
	NAMES_MAX = 64 << 10,
};

size_t unwind_image_read(const struct unwind_image *m, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	if (offset >= m->size)
		return 0;
	if (len > m->size - offset)
		len = m->size - offset;
	if (m->fd < 0) {
		memcpy(buf, m->bytes + offset, len);
		return len;
	}
	while (done < len) {
		ssize_t n = pread(m->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rp_lack_file(-errno, m->fd);
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

/* Allocates and reads @size bytes at @offset, and a NUL behind them. 0, -ENOMEM or -EIO. */
static int read_piece(const struct unwind_image *m, uint64_t offset, size_t size, void *out)
{
	char *piece = malloc(size + 1);

	if (!piece)
		return -ENOMEM;
	if (unwind_image_read(m, offset, piece, size) != size) {
		free(piece);
		return -EIO;
	}
	piece[size] = 0;
	memcpy(out, &piece, sizeof(piece));
	return 0;
}

static int read_segments(struct unwind_image *m, const Elf64_Ehdr *eh)
{
	int err;

	if (!eh->e_phnum)
		return 0;
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	if (eh->e_phnum > SEGMENTS_MAX)
		return -EFBIG;
	err = read_piece(m, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr), &m->segments);
	if (!err)
		m->nsegments = eh->e_phnum;
	return err == -EIO ? -ENOEXEC : err;
}

/* Counts that do not fit into the header are in section 0. Those of a damaged file count for 0. */
static int read_sections(struct unwind_image *m, const Elf64_Ehdr *eh)
{
	uint64_t count = eh->e_shnum, names = eh->e_shstrndx;
	Elf64_Shdr first, *s;
	int err;

	if (eh->e_shentsize != sizeof(first) || !eh->e_shoff ||
	    unwind_image_read(m, eh->e_shoff, &first, sizeof(first)) != sizeof(first))
		return 0;
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (count > SECTIONS_MAX || names >= count)
		return 0;
	err = read_piece(m, eh->e_shoff, count * sizeof(first), &m->sections);
	if (err)
		return err == -EIO ? 0 : err;
	s = &m->sections[names];
	m->names_size = s->sh_size < NAMES_MAX ? s->sh_size : NAMES_MAX;
	err = read_piece(m, s->sh_offset, m->names_size, &m->names);
	if (!err)
		m->nsections = count;
	return err == -EIO ? 0 : err;
}

int unwind_image_open(struct unwind_image *out, int fd, const void *bytes, uint64_t size)
{
	struct unwind_image m = { .fd = fd, .bytes = bytes, .size = size };
	Elf64_Ehdr eh;
	struct stat st;
	int err;

	if (fd >= 0) {
		if (fstat(fd, &st))
			return -errno;
		if (!S_ISREG(st.st_mode))
			return -ENOEXEC;
		m.size = st.st_size;
	}
	if (unwind_image_read(&m, 0, &eh, sizeof(eh)) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || !rp_machine(eh.e_machine))
		return -ENOEXEC;
	m.machine = eh.e_machine;
	m.entry = eh.e_entry;
	err = read_segments(&m, &eh);
	if (!err)
		err = read_sections(&m, &eh);
	if (err)
		unwind_image_close(&m);
	else
		*out = m;
	return err;
}

void unwind_image_close(struct unwind_image *m)
{
	free(m->segments);
	free(m->sections);
	free(m->names);
}

const char *unwind_image_name(const struct unwind_image *m, const Elf64_Shdr *section)
{
	return section->sh_name < m->names_size ? m->names + section->sh_name : "";
}
