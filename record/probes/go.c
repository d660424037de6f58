/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs to which a uretprobe, which puts its own return address on the stack, would be the end:
 * those of Go, whose runtime moves stacks and checks the addresses, and what has exceptions, which
 * find their way by them.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

enum { MOST_SECTIONS = 4096, MOST_NAMES = 1 << 20, MOST_STRINGS = 1 << 30 };

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

/* Whether the strings of a section have one of these. */
static bool has_string(int fd, const Elf64_Shdr *sh)
{
	static const char *const marks[] = {
		"__gxx_personality_v0", "libstdc++.so",	       "libc++.so",
		"libc++abi.so",		"rust_eh_personality", "_Unwind_Resume"
	};
	char *strings = sh->sh_size < MOST_STRINGS ? malloc(sh->sh_size + 1) : NULL;
	bool found = false;

	if (strings &&
	    pread(fd, strings, sh->sh_size, (off_t)sh->sh_offset) == (ssize_t)sh->sh_size)
		for (size_t i = 0; !found && i < sizeof(marks) / sizeof(marks[0]); i++)
			found = memmem(strings, sh->sh_size, marks[i], strlen(marks[i]));
	free(strings);
	return found;
}

static bool has_strings(int fd, const Elf64_Shdr *sh, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sh[i].sh_type == SHT_STRTAB && has_string(fd, &sh[i]))
			return true;
	return false;
}

/* The section headers; NULL. */
static Elf64_Shdr *read_sections(int fd, Elf64_Ehdr *eh)
{
	Elf64_Shdr *sh;
	size_t size;

	if (pread(fd, eh, sizeof(*eh), 0) != sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_shentsize != sizeof(*sh) ||
	    eh->e_shstrndx >= eh->e_shnum || eh->e_shnum > MOST_SECTIONS)
		return NULL;
	size = eh->e_shnum * sizeof(*sh);
	sh = malloc(size);
	if (sh && pread(fd, sh, size, (off_t)eh->e_shoff) == (ssize_t)size)
		return sh;
	free(sh);
	return NULL;
}

bool record_probes_is_go(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr *sh = read_sections(fd, &eh);
	const size_t size = sh ? sh[eh.e_shstrndx].sh_size : 0;
	char *names = sh && size < MOST_NAMES ? calloc(1, size + 1) : NULL;
	bool is_go = false;

	if (names && pread(fd, names, size, (off_t)sh[eh.e_shstrndx].sh_offset) == (ssize_t)size)
		is_go = has_go_section(sh, eh.e_shnum, names, size);
	free(names);
	free(sh);
	return is_go;
}

bool record_probes_throws(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr *sh = read_sections(fd, &eh);
	const bool throws = sh && has_strings(fd, sh, eh.e_shnum);

	free(sh);
	return throws;
}
