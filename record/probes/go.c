/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of Go, whose runtime moves stacks and checks the return addresses on them: a uretprobe,
 * which puts its own there, would end the program.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

enum { MOST_SECTIONS = 4096, MOST_NAMES = 1 << 20 };

static bool has_go_section(const Elf64_Shdr *sh, size_t n, const char *names, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = sh[i].sh_name < size ? names + sh[i].sh_name : "";

		if (!strcmp(name, ".gopclntab") || !strcmp(name, ".go.buildinfo") ||
		    !strcmp(name, ".data.rel.ro.gopclntab") || !strcmp(name, ".note.go.buildid"))
			return true;
	}
	return false;
}

bool record_probes_is_go(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr *sh = NULL;
	char *names = NULL;
	bool is_go = false;
	size_t n, size;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shentsize != sizeof(*sh) ||
	    eh.e_shstrndx >= eh.e_shnum || eh.e_shnum > MOST_SECTIONS)
		return false;
	n = eh.e_shnum;
	sh = calloc(n, sizeof(*sh));
	if (!sh || pread(fd, sh, n * sizeof(*sh), (off_t)eh.e_shoff) != (ssize_t)(n * sizeof(*sh)))
		goto out;
	size = sh[eh.e_shstrndx].sh_size;
	names = size < MOST_NAMES ? calloc(1, size + 1) : NULL;
	if (names && pread(fd, names, size, (off_t)sh[eh.e_shstrndx].sh_offset) == (ssize_t)size)
		is_go = has_go_section(sh, n, names, size);
out:
	free(names);
	free(sh);
	return is_go;
}
