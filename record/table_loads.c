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
	Elf64_Phdr *parts;

	if (!read_at(src, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(*parts) ||
	    head.e_phnum > PARTS_MAX)
		return -ENOEXEC;
	parts = malloc((head.e_phnum + 1u) * sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	if (!read_at(src, head.e_phoff, parts, head.e_phnum * sizeof(*parts))) {
		free(parts);
		return -ENOEXEC;
	}
	loads = calloc((head.e_phnum < STORED_LOADS ? head.e_phnum : STORED_LOADS) + 1u,
		       sizeof(*loads));
	for (uint32_t i = 0; loads && i < head.e_phnum && found < STORED_LOADS; i++)
		if (parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_X)
			loads[found++] = (struct stored_load){ parts[i].p_offset, parts[i].p_vaddr,
							       parts[i].p_filesz };
	free(parts);
	if (!loads)
		return -ENOMEM;
	*out = loads;
	*n = found;
	return 0;
}
