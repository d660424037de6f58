/* SPDX-License-Identifier: BSD-2-Clause */
/* Program headers, of which every word may be wrong. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lack.h"
#include "table_loads.h"

static bool read_at(const struct table_source *src, uint64_t offset, void *to, size_t bytes)
{
	ssize_t n;

	if (!src->image) {
		n = pread(src->fd, to, bytes, (off_t)offset);
		if (n < 0)
			rp_lack_file(-errno, src->fd);
		return n == (ssize_t)bytes;
	}
	if (offset > src->size || bytes > src->size - offset)
		return false;
	memcpy(to, src->image + offset, bytes);
	return true;
}

int record_table_loads_read(const struct table_source *src, struct stored_load **out, uint32_t *n)
{
	enum { PARTS_MAX = 65536 / sizeof(Elf64_Phdr) }; /* as the kernel has it */
	struct stored_load *loads;
	uint32_t found = 0;
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (!read_at(src, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(part) ||
	    head.e_phnum > PARTS_MAX)
		return -ENOEXEC;
	loads = calloc(head.e_phnum + 1u, sizeof(*loads));
	if (!loads)
		return -ENOMEM;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		if (!read_at(src, head.e_phoff + i * sizeof(part), &part, sizeof(part))) {
			free(loads);
			return -ENOEXEC;
		}
		if (part.p_type == PT_LOAD && part.p_flags & PF_X)
			loads[found++] =
				(struct stored_load){ part.p_offset, part.p_vaddr, part.p_filesz };
	}
	*out = loads;
	*n = found;
	return 0;
}
