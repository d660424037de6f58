/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of procedure linkage stubs, which have no symbols: a stub jumps through a slot of the
 * global offset table, and the relocation of that slot has the name (x86-64 psABI, "Procedure
 * Linkage Table").
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symtab.h"

struct sym_plt_entry {
	uint64_t start;
	const char *name; /* NULL: it has none, or is not known yet */
};

enum {
	CHUNK = 1024,	      /* relocations read at once: 24 KB */
	MAX_RELOCS = 1 << 20, /* looked through for one stub */
};

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * What the stub at @start jumps through: *slot, or, where only the lazy half of a split stub is
 * left (endbr64; push N; jmp), the number *index of its relocation.
 */
static bool decode(const struct sym_object *o, uint64_t start, uint64_t offset, size_t size,
		   uint64_t *slot, uint64_t *index)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16] = { 0 }, *p = code;

	if (o->machine != EM_X86_64 || sym_object_read(o, offset, code, size) != size)
		return false;
	if (!memcmp(p, endbr64, sizeof(endbr64)))
		p += sizeof(endbr64);
	if (*p == 0xf2) /* bnd */
		p++;
	*slot = 0;
	if (p[0] == 0xff && p[1] == 0x25) { /* jmp *disp32(%rip) */
		*slot = start + (p + 6 - code) + (int32_t)load32(p + 2);
		return true;
	}
	if (p[0] == 0x68) { /* push imm32 */
		*index = load32(p + 1);
		return true;
	}
	return false;
}

static const char *name_of_reloc(struct sym_symtab *t, const Elf64_Rela *r)
{
	uint32_t type = ELF64_R_TYPE(r->r_info);
	const char *name;
	uint64_t start;
	Elf64_Sym sym;

	if (type == R_X86_64_IRELATIVE) {
		/* In a static program: the resolver carries the name of what it resolves. */
		const struct sym_section *code = sym_object_code(t->object, r->r_addend);

		if (!code || code->is_plt || !sym_symtab_lookup(t, r->r_addend, &name, &start))
			return NULL;
		return sym_strings_join(t->strings, name, "@plt");
	}
	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    !sym_symtab_symbol(t->object, SYM_DYNSYM, ELF64_R_SYM(r->r_info), &sym))
		return NULL;
	return sym_symtab_name(t, SYM_DYNSYM, sym.st_name, "@plt");
}

static bool find_slot(struct sym_symtab *t, const struct sym_relocs *table, uint64_t slot,
		      Elf64_Rela *out)
{
	Elf64_Rela *chunk = malloc(CHUNK * sizeof(*chunk));
	uint64_t count = table->size / sizeof(*chunk), done = 0, n = 1;
	bool found = false;

	if (count > MAX_RELOCS)
		count = MAX_RELOCS;
	for (; chunk && !found && n && done < count; done += n) {
		if (!rp_work_spend(&t->work, CHUNK * sizeof(*chunk)))
			break;
		n = count - done < CHUNK ? count - done : CHUNK;
		n = sym_object_read(t->object, table->offset + done * sizeof(*chunk), chunk,
				    n * sizeof(*chunk)) /
		    sizeof(*chunk);
		for (uint64_t i = 0; i < n && !found; i++) {
			found = chunk[i].r_offset == slot;
			if (found)
				*out = chunk[i];
		}
	}
	free(chunk);
	return found;
}

static const char *name_stub(struct sym_symtab *t, uint64_t start, uint64_t offset, size_t size)
{
	const struct sym_object *o = t->object;
	uint64_t slot, index = 0;
	Elf64_Rela r;

	if (!decode(o, start, offset, size, &slot, &index))
		return NULL;
	for (size_t i = 0; i < o->reloc_count; i++) {
		const struct sym_relocs *table = &o->relocs[i];

		if (slot) {
			if (find_slot(t, table, slot, &r))
				return name_of_reloc(t, &r);
		} else if (table->is_plt && index < table->size / sizeof(r) &&
			   sym_object_read(o, table->offset + index * sizeof(r), &r, sizeof(r)) ==
				   sizeof(r)) {
			return name_of_reloc(t, &r);
		}
	}
	return NULL;
}

bool sym_plt_lookup(struct sym_symtab *t, const struct sym_section *plt, uint64_t vaddr,
		    const char **name, uint64_t *start)
{
	size_t size = plt->entsize == 8 ? 8 : 16;
	uint64_t within = (vaddr - plt->addr) & -size;
	uint64_t at = plt->addr + within;
	const struct sym_plt_entry *known = rp_hash_find(&t->plt, &at);
	struct sym_plt_entry entry = { .start = at }, *added;

	if (!known) {
		if (plt->size - within >= size)
			entry.name = name_stub(t, at, plt->offset + within, size);
		added = rp_hash_add(&t->plt, &at);
		if (added)
			*added = entry;
		known = &entry;
	}
	if (!known->name)
		return false;
	*name = known->name;
	*start = at;
	return true;
}

void sym_plt_prepare(struct sym_symtab *t)
{
	t->plt = HASH_MAP(struct sym_plt_entry, start);
}
