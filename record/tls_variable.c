/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways that code has to a thread-local variable of its own file, by the relocations that there
 * are of it (x86-64 psABI, "Thread-Local Storage"; ELF for the Arm 64-bit Architecture; Drepper,
 * ELF Handling For Thread-Local Storage).
 */
#include <elf.h>
#include <string.h>

#include "symbolize/symtab.h"

#include "remote.h"
#include "tls_variable.h"

enum {
	AT_ONCE = 256,
	MOST_SYMBOLS = 1 << 20,
	MOST_RELOCS = 1 << 20,
	MOST_NAMES = 256,   /* of variables, that are read; of thread-locals a file has few */
	MOST_NAMED = 4096,  /* relocations: their variables are read as well */
	MOST_BLOCKS = 4096, /* with thread-locals, of a process */
	NAME_BYTES = 32,
	/* What a descriptor's function takes is a pointer from here on: below nothing is mapped */
	LEAST_POINTER = 1 << 16,
};

/* The block of thread-locals of a file: false: it has none. */
static bool find_block(const struct sym_object *o, Elf64_Phdr *part)
{
	Elf64_Ehdr head;

	if (sym_object_read(o, 0, &head, sizeof(head)) != sizeof(head))
		return false;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		if (sym_object_read(o, head.e_phoff + (uint64_t)i * sizeof(*part), part,
				    sizeof(*part)) != sizeof(*part))
			return false;
		if (part->p_type == PT_TLS && part->p_memsz < 1u << 30 && part->p_align <= 4096)
			return true;
	}
	return false;
}

static uint64_t rounded(uint64_t bytes, uint64_t align)
{
	return align > 1 ? (bytes + align - 1) / align * align : bytes;
}

uint64_t record_tls_bytes(const struct sym_object *o)
{
	Elf64_Phdr part;

	return find_block(o, &part) ? rounded(part.p_memsz, part.p_align) : 0;
}

/* Before the thread pointer (x86-64), or behind the 16 bytes that it points to (arm64). */
static bool place_in_program(const struct sym_object *o, uint64_t value, int64_t *offset)
{
	Elf64_Phdr part;

	if (!find_block(o, &part) || value >= part.p_memsz)
		return false;
	*offset = o->machine == EM_AARCH64 ? (int64_t)(rounded(16, part.p_align) + value)
					   : (int64_t)(value - rounded(part.p_memsz, part.p_align));
	return true;
}

/* glibc's and musl's struct pthread, tcbhead_t. */
int record_tls_blocks(bool musl)
{
#ifdef __aarch64__
	return musl ? -8 : 0;
#else
	(void)musl;
	return 8;
#endif
}

/* ---- the symbol */

struct search {
	const struct sym_object *o;
	int table;
	const char *name;
	uint32_t symbols, names;
	uint64_t value;
};

static bool has_name(const struct sym_object *o, int table, const Elf64_Sym *symbol,
		     const char *name)
{
	char text[NAME_BYTES] = "";

	sym_object_read(o, o->symbols[table].strings + symbol->st_name, text, sizeof(text) - 1);
	return !strcmp(text, name);
}

static int take_symbol(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *symbol = elf64_sym;
	struct search *s = ctx;

	if (++s->symbols > MOST_SYMBOLS)
		return -1;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS || symbol->st_shndx == SHN_UNDEF)
		return 0;
	if (++s->names > MOST_NAMES)
		return -1;
	s->value = symbol->st_value;
	return has_name(s->o, s->table, symbol, s->name);
}

/* In .dynsym; a static program has none, but may have .symtab. */
static bool find_symbol(const struct sym_object *o, const char *name, uint64_t *value)
{
	const int table = o->symbols[SYM_DYNSYM].count ? SYM_DYNSYM : SYM_SYMTAB;
	struct search s = { .o = o, .table = table, .name = name };

	if (sym_symtab_each(o, table, take_symbol, &s) != 1)
		return false;
	*value = s.value;
	return true;
}

/* ---- its relocations */

/* Of x86-64; of AArch64, whose names glibc has otherwise than its psABI. */
static enum tls_way way_of(const struct sym_object *o, const Elf64_Rela *r)
{
	const uint32_t type = ELF64_R_TYPE(r->r_info);
	const bool arm = o->machine == EM_AARCH64;

	if (type == (arm ? R_AARCH64_TLS_TPREL : R_X86_64_TPOFF64))
		return TLS_BY_OFFSET;
	if (type == (arm ? R_AARCH64_TLSDESC : R_X86_64_TLSDESC))
		return TLS_BY_DESCRIPTOR;
	return type == (arm ? R_AARCH64_TLS_DTPMOD : R_X86_64_DTPMOD64) ? TLS_BY_BLOCK : TLS_NONE;
}

/*
 * One without a symbol is of the file's own block: a variable that nothing can take the place of
 * is found so, by what is added; the number of a block alone is as good as any.
 */
static enum tls_way way_to(const struct sym_object *o, const Elf64_Rela *r, const char *name,
			   uint64_t value, uint32_t *names)
{
	const enum tls_way way = way_of(o, r);
	Elf64_Sym symbol;

	if (way == TLS_NONE)
		return TLS_NONE;
	if (!ELF64_R_SYM(r->r_info)) {
		if (way == TLS_BY_BLOCK)
			return TLS_IN_BLOCK;
		return (uint64_t)r->r_addend == value ? way : TLS_NONE;
	}
	if (*names == MOST_NAMED) /* a file may have a million that are none */
		return TLS_NONE;
	++*names;
	return sym_symtab_symbol(o, SYM_DYNSYM, ELF64_R_SYM(r->r_info), &symbol) &&
			       ELF64_ST_TYPE(symbol.st_info) == STT_TLS &&
			       has_name(o, SYM_DYNSYM, &symbol, name)
		       ? way
		       : TLS_NONE;
}

static void look_through(const struct sym_object *o, const struct sym_relocs *table,
			 const char *name, uint64_t value, struct tls_variable *out)
{
	Elf64_Rela r[AT_ONCE];
	const uint64_t all = table->size / sizeof(r[0]);
	uint32_t names = 0;
	size_t n;

	for (uint64_t at = 0; at < all && at < MOST_RELOCS; at += n) {
		n = sym_object_read(o, table->offset + at * sizeof(r[0]), r, sizeof(r)) /
		    sizeof(r[0]);
		if (!n)
			break;
		for (size_t i = 0; i < n && at + i < all; i++) {
			const enum tls_way way = way_to(o, &r[i], name, value, &names);

			if (way == TLS_NONE || (way == TLS_IN_BLOCK && out->way != TLS_NONE))
				continue;
			*out = (struct tls_variable){ way, (int64_t)value, r[i].r_offset };
			if (way != TLS_IN_BLOCK)
				return;
		}
	}
}

void record_tls_variable(const struct sym_object *o, const char *name, struct tls_variable *out)
{
	uint64_t value;

	*out = (struct tls_variable){ .way = TLS_NONE };
	if (!o->is64 || (o->machine != EM_X86_64 && o->machine != EM_AARCH64) ||
	    !find_symbol(o, name, &value))
		return;
	for (size_t i = 0; i < o->reloc_count; i++)
		if (out->way == TLS_NONE || out->way == TLS_IN_BLOCK)
			look_through(o, &o->relocs[i], name, value, out);
	if (out->way != TLS_NONE)
		return;
	out->way = place_in_program(o, value, &out->offset) ? TLS_IN_PROGRAM : TLS_UNKNOWN;
}

/* ---- in a process */

static bool take_block(const uint64_t words[2], int64_t offset, struct tls_place *out)
{
	if (!words[0] || words[0] >= MOST_BLOCKS)
		return false;
	*out = (struct tls_place){ words[0], offset };
	return true;
}

static bool take_descriptor(const uint64_t words[2], struct record_remote *memory,
			    struct tls_place *out)
{
	uint64_t block[2];

	if (!words[0]) /* not relocated yet */
		return false;
	if ((int64_t)words[1] < LEAST_POINTER) {
		*out = (struct tls_place){ 0, (int64_t)words[1] };
		return true;
	}
	return record_remote_read(memory, words[1], block, sizeof(block)) &&
	       take_block(block, (int64_t)block[1], out);
}

bool record_tls_place(const struct tls_variable *v, uint64_t bias, struct record_remote *memory,
		      struct tls_place *out)
{
	uint64_t words[2] = { 0 };
	const size_t bytes = v->way == TLS_BY_OFFSET || v->way == TLS_IN_BLOCK ? sizeof(words[0])
									       : sizeof(words);

	if (v->way == TLS_IN_PROGRAM) {
		*out = (struct tls_place){ 0, v->offset };
		return true;
	}
	if (v->way == TLS_NONE || v->way == TLS_UNKNOWN ||
	    !record_remote_read(memory, v->slot + bias, words, bytes))
		return false;
	switch (v->way) {
	case TLS_BY_OFFSET:
		*out = (struct tls_place){ 0, (int64_t)words[0] };
		return words[0] != 0;
	case TLS_BY_DESCRIPTOR:
		return take_descriptor(words, memory, out);
	case TLS_BY_BLOCK:
		return take_block(words, (int64_t)words[1], out);
	default:
		return take_block(words, v->offset, out);
	}
}
