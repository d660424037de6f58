/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of headers of an ELF file (elf(5)), each read once: the file may be changed by whoever
 * made it between a first look, at how large they are, and a second one.
 */
#ifndef SYMBOLIZE_HEADERS_H
#define SYMBOLIZE_HEADERS_H

#include <elf.h>

#include "object.h"

/* Those of 32-bit files are widened. A table that is too large or not there has no entries. */
struct sym_headers {
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	Elf64_Shdr *sh;
	size_t phnum, shnum;
	char *names;
	size_t names_size;
};

/* Sets .is64 of @o. False: that is no ELF file, or one of the other byte order. */
bool sym_headers_read(struct sym_object *o, struct sym_headers *h);
void sym_headers_free(struct sym_headers *h);

/* "" if it has none. */
const char *sym_headers_name(const struct sym_headers *h, const Elf64_Shdr *sh);

#endif
