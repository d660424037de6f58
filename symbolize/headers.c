/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of headers of an ELF file, no larger than any linker makes them. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lack.h"
#include "headers.h"

enum {
	SEGMENTS_MAX =
		4096, /* the kernel runs no file with more than 1,170, and linkers make ten */
	SECTIONS_MAX = 1 << 16,
	NAMES_MAX = 4 << 20,
};

#define WIDEN_EHDR(e)                                                                              \
	((Elf64_Ehdr){ .e_type = (e).e_type,                                                       \
		       .e_machine = (e).e_machine,                                                 \
		       .e_phoff = (e).e_phoff,                                                     \
		       .e_shoff = (e).e_shoff,                                                     \
		       .e_phnum = (e).e_phnum,                                                     \
		       .e_shnum = (e).e_shnum,                                                     \
		       .e_shstrndx = (e).e_shstrndx })

static bool read_ehdr(struct sym_object *o, Elf64_Ehdr *eh)
{
	const unsigned char order = BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	Elf32_Ehdr small;
	size_t n = sym_object_read(o, 0, eh, sizeof(*eh));

	if (n < sizeof(small) || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_DATA] != order || eh->e_ident[EI_VERSION] != EV_CURRENT)
		return false;
	o->is64 = eh->e_ident[EI_CLASS] == ELFCLASS64;
	if (o->is64)
		return n == sizeof(*eh);
	memcpy(&small, eh, sizeof(small));
	*eh = WIDEN_EHDR(small);
	return small.e_ident[EI_CLASS] == ELFCLASS32;
}

static Elf64_Phdr widen_phdr(const Elf32_Phdr *p)
{
	return (Elf64_Phdr){ .p_type = p->p_type,
			     .p_flags = p->p_flags,
			     .p_offset = p->p_offset,
			     .p_vaddr = p->p_vaddr,
			     .p_filesz = p->p_filesz,
			     .p_memsz = p->p_memsz,
			     .p_align = p->p_align };
}

static Elf64_Shdr widen_shdr(const Elf32_Shdr *s)
{
	return (Elf64_Shdr){ .sh_name = s->sh_name,
			     .sh_type = s->sh_type,
			     .sh_flags = s->sh_flags,
			     .sh_addr = s->sh_addr,
			     .sh_offset = s->sh_offset,
			     .sh_size = s->sh_size,
			     .sh_link = s->sh_link,
			     .sh_info = s->sh_info,
			     .sh_addralign = s->sh_addralign,
			     .sh_entsize = s->sh_entsize };
}

/* *@n of @size bytes each at @offset, or of the smaller 32-bit ones; *@n is how many there were. */
static void *read_table(const struct sym_object *o, uint64_t offset, size_t *n, size_t size,
			size_t size32)
{
	const size_t each = o->is64 ? size : size32, wanted = *n;
	void *table;

	*n = 0;
	if (sym_object_there(o, offset, wanted * each) < wanted * each)
		return NULL;
	table = malloc(wanted * size + 1);
	if (!table)
		rp_lack_file(-ENOMEM, o->fd);
	else
		*n = sym_object_read(o, offset, table, wanted * each) / each;
	return table;
}

/* From the last to the first, as each one gets larger where it is. */
static void read_segment_headers(const struct sym_object *o, struct sym_headers *h)
{
	if (h->phnum > SEGMENTS_MAX)
		h->phnum = 0;
	h->ph = read_table(o, h->eh.e_phoff, &h->phnum, sizeof(Elf64_Phdr), sizeof(Elf32_Phdr));
	for (size_t i = o->is64 ? 0 : h->phnum; i-- > 0;) {
		Elf32_Phdr small;

		memcpy(&small, (char *)h->ph + i * sizeof(small), sizeof(small));
		h->ph[i] = widen_phdr(&small);
	}
}

static void read_section_headers(const struct sym_object *o, struct sym_headers *h)
{
	if (h->shnum > SECTIONS_MAX)
		h->shnum = 0;
	h->sh = read_table(o, h->eh.e_shoff, &h->shnum, sizeof(Elf64_Shdr), sizeof(Elf32_Shdr));
	for (size_t i = o->is64 ? 0 : h->shnum; i-- > 0;) {
		Elf32_Shdr small;

		memcpy(&small, (char *)h->sh + i * sizeof(small), sizeof(small));
		h->sh[i] = widen_shdr(&small);
	}
}

/* Numbers too large for the header of the file are in that of section 0 (gABI, e_shnum). */
static void count_headers(const struct sym_object *o, struct sym_headers *h, size_t *names)
{
	struct sym_headers first = { .eh = h->eh, .shnum = 1 };

	h->phnum = h->eh.e_phnum;
	h->shnum = h->eh.e_shoff ? h->eh.e_shnum : 0;
	*names = h->eh.e_shstrndx;
	if (!h->eh.e_shoff)
		return;
	read_section_headers(o, &first);
	if (first.shnum && !h->eh.e_shnum)
		h->shnum = first.sh->sh_size;
	if (first.shnum && h->eh.e_phnum == PN_XNUM)
		h->phnum = first.sh->sh_info;
	if (first.shnum && h->eh.e_shstrndx == SHN_XINDEX)
		*names = first.sh->sh_link;
	free(first.sh);
}

static void read_names(const struct sym_object *o, struct sym_headers *h, size_t names)
{
	const Elf64_Shdr *sh = names < h->shnum ? &h->sh[names] : NULL;
	uint64_t size = sh && sh->sh_type == SHT_STRTAB ? sh->sh_size : 0;

	size = sh && size <= NAMES_MAX ? sym_object_there(o, sh->sh_offset, size) : 0;
	h->names = malloc(size + 1);
	if (!h->names) {
		rp_lack_file(-ENOMEM, o->fd);
		return;
	}
	h->names_size = sym_object_read(o, sh ? sh->sh_offset : 0, h->names, size);
	h->names[h->names_size] = '\0';
}

const char *sym_headers_name(const struct sym_headers *h, const Elf64_Shdr *sh)
{
	return sh->sh_name < h->names_size ? h->names + sh->sh_name : "";
}

bool sym_headers_read(struct sym_object *o, struct sym_headers *h)
{
	size_t names;

	*h = (struct sym_headers){ 0 };
	if (!read_ehdr(o, &h->eh))
		return false;
	count_headers(o, h, &names);
	read_segment_headers(o, h);
	read_section_headers(o, h);
	read_names(o, h, names);
	return true;
}

void sym_headers_free(struct sym_headers *h)
{
	free(h->ph);
	free(h->sh);
	free(h->names);
}
