/* SPDX-License-Identifier: BSD-2-Clause */
/* Small ELF files built in memory, right by construction, for tests to look at or to spoil. */
#ifndef TESTS_SYM_ELF_H
#define TESTS_SYM_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
	ELF_SIZE = 32768,
	ELF_TEXT = 0x1000, /* address and file offset of .text */
	ELF_TEXT_SIZE = 0x800,
	ELF_PLT = 0x1800, /* of .plt.sec */
	ELF_PLT_SIZE = 0x40,
	ELF_DATA = 0x3000, /* of .data, at offset 0x2000 */
	ELF_GOT = 0x3100,
};

struct elf_symbol {
	const char *name;
	uint64_t addr, size;
	int type, bind;
	int section; /* 0: .text */
};

struct elf_file {
	_Alignas(16) unsigned char bytes[ELF_SIZE];
	size_t size;
	size_t strings, symbols, section_headers; /* where these lie in it */
};

enum {
	S_NULL,
	S_TEXT,
	S_PLT,
	S_DATA,
	S_SYMTAB,
	S_STRTAB,
	S_DYNSYM,
	S_DYNSTR,
	S_RELA,
	S_NAMES,
	S_NOTE,
	S_COUNT
};

static inline size_t elf_put(struct elf_file *f, const void *data, size_t size)
{
	size_t at = (f->size + 7) & ~7UL;

	memcpy(f->bytes + at, data, size);
	f->size = at + size;
	return at;
}

/* Writes symbols and strings, and the two section headers that tell of them. */
static inline void elf_put_symbols(struct elf_file *f, Elf64_Shdr *table, Elf64_Shdr *strings,
				   const struct elf_symbol *s, size_t n)
{
	Elf64_Sym syms[128] = { 0 };
	char text[4096] = "";
	size_t used = 1;

	for (size_t i = 0; i < n; i++) {
		syms[i + 1] = (Elf64_Sym){ .st_name = used,
					   .st_info = ELF64_ST_INFO(s[i].bind, s[i].type),
					   .st_shndx = s[i].section ? s[i].section : S_TEXT,
					   .st_value = s[i].addr,
					   .st_size = s[i].size };
		strcpy(text + used, s[i].name);
		used += strlen(s[i].name) + 1;
	}
	*table = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
			       .sh_offset = elf_put(f, syms, (n + 1) * sizeof(syms[0])),
			       .sh_size = (n + 1) * sizeof(syms[0]),
			       .sh_entsize = sizeof(syms[0]),
			       .sh_addralign = 8 };
	*strings = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				 .sh_offset = elf_put(f, text, used),
				 .sh_size = used,
				 .sh_addralign = 1 };
}

static const char elf_names[] = "\0.text\0.plt.sec\0.data\0.symtab\0.strtab\0.dynsym\0.dynstr\0"
				".rela.plt\0.shstrtab\0.note";

static inline uint32_t elf_name(const char *name)
{
	for (size_t i = 1; i < sizeof(elf_names); i += strlen(elf_names + i) + 1) {
		if (!strcmp(elf_names + i, name))
			return i;
	}
	return 0;
}

/*
 * A shared object: one executable segment of .text and .plt.sec, one of data, two PLT stubs that
 * jump to the first two of @dynsym, and a build-id of @id[0..3] unless @id is NULL.
 */
static inline void elf_build(struct elf_file *f, const struct elf_symbol *symtab, size_t n,
			     const struct elf_symbol *dynsym, size_t m, const uint8_t *id)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = id ? 3 : 2,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = S_COUNT,
			  .e_shstrndx = S_NAMES };
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = 0x1000,
		  .p_vaddr = 0x1000,
		  .p_filesz = 0x840,
		  .p_memsz = 0x840,
		  .p_align = 0x1000 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = 0x2000,
		  .p_vaddr = 0x3000,
		  .p_filesz = 0x200,
		  .p_memsz = 0x200,
		  .p_align = 0x1000 },
	};
	Elf64_Shdr sh[S_COUNT] = { 0 };
	struct {
		Elf64_Nhdr h;
		char name[4];
		uint8_t id[4];
	} note = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 0 } };
	Elf64_Rela rela[2] = { 0 };

	memset(f, 0, sizeof(*f));
	f->size = 0x2200;
	for (int i = 0; i < 2; i++) { /* endbr64; jmp *slot(%rip) */
		uint8_t stub[16] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25 };
		int32_t to = ELF_GOT + 8 * i - (ELF_PLT + 16 * i + 10);

		memcpy(stub + 6, &to, 4);
		memcpy(f->bytes + ELF_PLT + 16 * i, stub, 16);
		rela[i] = (Elf64_Rela){ .r_offset = ELF_GOT + 8 * i,
					.r_info = ELF64_R_INFO(i + 1ULL, R_X86_64_JUMP_SLOT) };
	}
	if (id) {
		memcpy(note.id, id, 4);
		ph[2] = (Elf64_Phdr){ .p_type = PT_NOTE,
				      .p_offset = elf_put(f, &note, sizeof(note)),
				      .p_filesz = sizeof(note),
				      .p_align = 4 };
	}
	elf_put_symbols(f, &sh[S_SYMTAB], &sh[S_STRTAB], symtab, n);
	elf_put_symbols(f, &sh[S_DYNSYM], &sh[S_DYNSTR], dynsym, m);
	sh[S_SYMTAB].sh_link = S_STRTAB;
	sh[S_DYNSYM].sh_link = S_DYNSTR;
	sh[S_DYNSYM].sh_type = SHT_DYNSYM;
	f->strings = sh[S_STRTAB].sh_offset;
	f->symbols = sh[S_SYMTAB].sh_offset;
	sh[S_TEXT] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				   .sh_addr = ELF_TEXT,
				   .sh_offset = ELF_TEXT,
				   .sh_size = ELF_TEXT_SIZE,
				   .sh_addralign = 16 };
	sh[S_PLT] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				  .sh_addr = ELF_PLT,
				  .sh_offset = ELF_PLT,
				  .sh_size = ELF_PLT_SIZE,
				  .sh_entsize = 16,
				  .sh_addralign = 16 };
	sh[S_DATA] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS,
				   .sh_flags = SHF_ALLOC | SHF_WRITE,
				   .sh_addr = ELF_DATA,
				   .sh_offset = 0x2000,
				   .sh_size = 0x200,
				   .sh_addralign = 8 };
	sh[S_RELA] = (Elf64_Shdr){ .sh_type = SHT_RELA,
				   .sh_flags = SHF_ALLOC,
				   .sh_link = S_DYNSYM,
				   .sh_offset = elf_put(f, rela, sizeof(rela)),
				   .sh_size = sizeof(rela),
				   .sh_entsize = sizeof(rela[0]),
				   .sh_addralign = 8 };
	sh[S_NAMES] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = elf_put(f, elf_names, sizeof(elf_names)),
				    .sh_size = sizeof(elf_names),
				    .sh_addralign = 1 };
	sh[S_NOTE] = (Elf64_Shdr){ .sh_type = SHT_NULL };
	sh[S_TEXT].sh_name = elf_name(".text");
	sh[S_PLT].sh_name = elf_name(".plt.sec");
	sh[S_RELA].sh_name = elf_name(".rela.plt");
	eh.e_shoff = f->section_headers = elf_put(f, sh, sizeof(sh));
	memcpy(f->bytes, &eh, sizeof(eh));
	memcpy(f->bytes + sizeof(eh), ph, sizeof(ph));
}

/*
 * Writes the file, with a .symtab of about @n symbols that are @filler, and then the first that it
 * had. Returns @fd, or -1.
 */
static inline int elf_with_many(struct elf_file *f, int fd, uint32_t n, const Elf64_Sym *filler)
{
	Elf64_Shdr *symtab = (Elf64_Shdr *)(f->bytes + f->section_headers) + S_SYMTAB;
	const Elf64_Sym *first = (const Elf64_Sym *)(f->bytes + f->symbols) + 1;
	Elf64_Sym some[1024];
	off_t at = ELF_SIZE;
	bool is_written;

	for (size_t i = 0; i < 1024; i++)
		some[i] = *filler;
	n = n / 1024 * 1024;
	symtab->sh_offset = ELF_SIZE;
	symtab->sh_size = (n + 1) * sizeof(*first);
	is_written = pwrite(fd, f->bytes, f->size, 0) == (ssize_t)f->size;
	for (uint32_t i = 0; i < n; i += 1024, at += sizeof(some))
		is_written &= pwrite(fd, some, sizeof(some), at) == sizeof(some);
	is_written &= pwrite(fd, first, sizeof(*first), at) == sizeof(*first);
	return is_written ? fd : -1;
}

#endif
