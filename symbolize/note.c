/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF notes: the GNU build-id (elf(5), "Notes (Nhdr)"). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "note.h"

void sym_note_hex(const uint8_t *id, size_t size, char text[SYM_BUILD_ID_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*text++ = digits[id[i] >> 4];
		*text++ = digits[id[i] & 15];
	}
	*text = '\0';
}

size_t sym_note_build_id(const void *data, size_t size, size_t align, uint8_t id[SYM_BUILD_ID_MAX])
{
	const uint8_t *p = data;
	Elf64_Nhdr h; /* the same in 32-bit files */

	while (size >= sizeof(h)) {
		uint64_t name_end, desc, next;

		memcpy(&h, p, sizeof(h));
		name_end = sizeof(h) + (uint64_t)h.n_namesz;
		desc = (name_end + align - 1) & -align;
		next = (desc + h.n_descsz + align - 1) & -align;
		if (desc + h.n_descsz > size)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz &&
		    !memcmp(p + sizeof(h), "GNU", 4)) {
			size_t n = h.n_descsz < SYM_BUILD_ID_MAX ? h.n_descsz : SYM_BUILD_ID_MAX;

			memcpy(id, p + desc, n);
			return n;
		}
		if (next >= size)
			break;
		p += next;
		size -= next;
	}
	return 0;
}

int sym_note_read_build_id(const char *path, char text[SYM_BUILD_ID_TEXT])
{
	uint8_t notes[4096], id[SYM_BUILD_ID_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, notes, sizeof(notes));
	close(fd);
	if (n < 0)
		return -EIO;
	n = sym_note_build_id(notes, n, 4, id);
	if (!n)
		return -ENODATA;
	sym_note_hex(id, n, text);
	return 0;
}
