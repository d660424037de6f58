/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with debug data that a test has made, byte by byte, of another user's. */
#ifndef TESTS_DWARF_MADE_H
#define TESTS_DWARF_MADE_H

#include "sym_user.h"

#include <elf.h>

enum { CODE = 0x1000, CODE_BYTES = 0x4000, ANOTHER_USER = 1234 };
/* DWARF 5, sections 7.5.3 to 7.5.6 */
enum {
	TAG_UNIT = 0x11,
	TAG_NAMESPACE = 0x39,
	TAG_VARIABLE = 0x34,
	AT_SIBLING = 0x01,
	AT_LINES = 0x10,
	AT_LOW = 0x11,
	AT_HIGH = 0x12,
	AT_DIRECTORY = 0x1b,
	FORM_ADDRESS = 0x01,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_REF4 = 0x13,
	FORM_OFFSET = 0x17,
};

struct bytes {
	unsigned char *at;
	size_t n, capacity;
};

static inline void put(struct bytes *b, const void *from, size_t n)
{
	if (b->n + n > b->capacity) {
		b->capacity = 2 * (b->n + n);
		b->at = realloc(b->at, b->capacity);
		ck_assert_ptr_nonnull(b->at);
	}
	memcpy(b->at + b->n, from, n);
	b->n += n;
}

static inline void put1(struct bytes *b, unsigned int value)
{
	put(b, &(uint8_t){ (uint8_t)value }, 1);
}

static inline void put4(struct bytes *b, size_t value)
{
	put(b, &(uint32_t){ (uint32_t)value }, 4);
}

static inline void put8(struct bytes *b, uint64_t value)
{
	put(b, &value, 8);
}

static inline void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

/* A tag, whether it has children, and pairs of attribute and form up to a 0. */
static inline void put_abbreviation(struct bytes *b, const unsigned char *code)
{
	size_t n = 3;

	while (code[n])
		n += 2;
	put(b, code, n);
	put(b, "\0", 2);
}

/* ---- the three sections */

struct debug {
	struct bytes abbrev, info, line;
};

static inline void begin_unit(struct debug *d)
{
	put4(&d->info, 0);
	put(&d->info, &(uint16_t){ 4 }, 2);
	put4(&d->info, 0);
	put1(&d->info, 8);
}

static inline void end_unit(struct debug *d, size_t at)
{
	memcpy(d->info.at + at, &(uint32_t){ (uint32_t)(d->info.n - at - 4) }, 4);
}

/* Of all that is there, but for its end. */
static inline void put_unit(struct debug *d, const char *directory)
{
	begin_unit(d);
	put1(&d->info, 1);
	put8(&d->info, CODE);
	put8(&d->info, CODE_BYTES);
	put4(&d->info, 0);
	put(&d->info, directory, strlen(directory));
}

static inline void put_abbreviations(struct debug *d)
{
	static const unsigned char unit[] = {
		1,	    TAG_UNIT, 1,	   AT_LOW,	 FORM_ADDRESS, AT_HIGH,
		FORM_DATA8, AT_LINES, FORM_OFFSET, AT_DIRECTORY, FORM_STRING,  0
	};

	put_abbreviation(&d->abbrev, unit);
}

static inline void put_number(struct bytes *b, uint32_t n)
{
	for (; n > 0x7f; n >>= 7)
		put1(b, 0x80 | n);
	put1(b, n);
}

/*
 * All of the code is line 14 of a file; of so many files in a directory of so long a name. Or, if
 * they are @each one's, each byte of it is of another.
 */
static inline void put_lines(struct debug *d, size_t directory, uint32_t files, bool each)
{
	static const unsigned char head[] = { 1, 1, 1, 0xfb, 14, 13, 0, 1, 1,
					      1, 1, 0, 0,    0,	 1,  0, 0, 1 };
	struct bytes h = { 0 }, p = { 0 };
	char *name = malloc(directory + 1);

	ck_assert_ptr_nonnull(name);
	put(&h, head, sizeof(head));
	memset(name, 'd', directory);
	name[directory] = '\0';
	if (directory)
		put_text(&h, name);
	put1(&h, 0);
	for (uint32_t i = 0; i < files; i++) {
		char file[16] = "f";

		if (each)
			snprintf(file, sizeof(file), "f%u", i);
		put_text(&h, file);
		put1(&h, directory ? 1 : 0);
		put(&h, "\0", 2);
	}
	put1(&h, 0);
	put(&p, "\0\11\2", 3); /* DW_LNE_set_address */
	put8(&p, CODE);
	put(&p, "\3\15\1", 3); /* 13 lines on, a row */
	for (uint32_t i = 1; each && i < files; i++) {
		put(&p, "\2\1\4", 3); /* a byte on, the file, a row */
		put_number(&p, i + 1);
		put1(&p, 1);
	}
	put1(&p, 2); /* to the end, and the end */
	put_number(&p, CODE_BYTES);
	put(&p, "\0\1\1", 3);
	put4(&d->line, 2 + 4 + h.n + p.n);
	put(&d->line, &(uint16_t){ 4 }, 2);
	put4(&d->line, h.n);
	put(&d->line, h.at, h.n);
	put(&d->line, p.at, p.n);
	free(name);
	free(h.at);
	free(p.at);
}

/* The info is what lies at the end, which is at a multiple of @align. */
static uid_t owner = ANOTHER_USER;
static inline void write_debug(const char *name, struct debug *d, size_t align)
{
	static const char names[] = "\0.text\0.debug_abbrev\0.debug_line\0.debug_info\0.shstrtab";
	const struct bytes *parts[] = { &d->abbrev, &d->line, &d->info };
	static const uint32_t name_of[] = { 7, 21, 33 };
	Elf64_Shdr sh[6] = { 0 };
	Elf64_Ehdr eh = { .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = 1,
			  .e_ehsize = sizeof(eh),
			  .e_shentsize = sizeof(*sh),
			  .e_shoff = sizeof(eh),
			  .e_shnum = 6,
			  .e_shstrndx = 5 };
	size_t at = sizeof(eh) + sizeof(sh) + sizeof(names);
	const size_t all = d->abbrev.n + d->line.n + d->info.n;
	FILE *f = fopen(in_dir(name), "w");

	ck_assert_ptr_nonnull(f);
	memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
	sh[1] = (Elf64_Shdr){ .sh_name = 1,
			      .sh_type = SHT_NOBITS,
			      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = CODE,
			      .sh_size = CODE_BYTES };
	sh[5] = (Elf64_Shdr){ .sh_name = 45,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = at - sizeof(names),
			      .sh_size = sizeof(names) };
	at = (at + all + align - 1) / align * align - all;
	for (int i = 0; i < 3; i++) {
		sh[2 + i] = (Elf64_Shdr){ .sh_name = name_of[i],
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = at,
					  .sh_size = parts[i]->n,
					  .sh_addralign = 1 };
		ck_assert_int_eq(fseek(f, (long)at, SEEK_SET), 0);
		ck_assert_uint_eq(fwrite(parts[i]->at, 1, parts[i]->n, f), parts[i]->n);
		at += parts[i]->n;
		free(parts[i]->at);
	}
	rewind(f);
	ck_assert_uint_eq(fwrite(&eh, sizeof(eh), 1, f), 1);
	ck_assert_uint_eq(fwrite(sh, sizeof(sh), 1, f), 1);
	ck_assert_uint_eq(fwrite(names, sizeof(names), 1, f), 1);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chown(in_dir(name), owner, owner), 0);
}

#endif
