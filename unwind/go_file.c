/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds .gopclntab in a file, and the two addresses that it counts from. They are in the first
 * words of runtime.firstmoduledata, which strip leaves without a name, but whose own first words
 * are known: the table's address, and that of the names in it. In a program that may be loaded
 * anywhere the words are relocations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "elf.h"
#include "go_table.h"

enum {
	WORD = 8,
	/* Words of struct moduledata (src/runtime/symtab.go): its start, and addresses in it. */
	NAMES = 1,
	TEXT = 22,
	FUNCDATA_1_18 = 38,
	FUNCDATA_1_20 = 40,
	WORDS = 41,
	BATCH = 64 << 10,
};
#define DATA_MAX (256ULL << 20) /* that is searched for them */

struct module {
	const struct unwind_image *image;
	uint64_t table, names; /* addresses */
	uint64_t at;	       /* its own; 0: not found yet */
	uint64_t word[WORDS];  /* 0: not known */
};

static bool is_relative(const struct unwind_image *m, const Elf64_Rela *r)
{
	return ELF64_R_TYPE(r->r_info) ==
	       (m->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE);
}

/* ---- words that are in the file */

/* The words at @at of @sh. */
static void read_words(struct module *d, const Elf64_Shdr *sh, uint64_t at)
{
	uint64_t word[WORDS] = { 0 };

	if (sh->sh_size - at < sizeof(word) ||
	    unwind_image_read(d->image, sh->sh_offset + at, word, sizeof(word)) != sizeof(word) ||
	    word[0] != d->table || word[NAMES] != d->names)
		return;
	d->at = sh->sh_addr + at;
	memcpy(d->word, word, sizeof(word));
}

static void search_section(struct module *d, const Elf64_Shdr *sh, uint64_t *words)
{
	for (uint64_t at = 0; at < sh->sh_size && !d->at; at += BATCH) {
		const size_t n = unwind_image_read(d->image, sh->sh_offset + at, words, BATCH);

		for (size_t i = 0; i < n / WORD && !d->at; i++)
			if (words[i] == d->table)
				read_words(d, sh, at + i * WORD);
		if (n < BATCH)
			break;
	}
}

/* ---- words that the loader writes */

/* One word; they come at rising addresses. */
static void take_relocation(struct module *d, const Elf64_Rela *before, const Elf64_Rela *r)
{
	if (!d->at && before->r_addend == (int64_t)d->table && r->r_addend == (int64_t)d->names &&
	    r->r_offset == before->r_offset + WORD)
		d->at = before->r_offset;
	if (d->at && r->r_offset > d->at && (r->r_offset - d->at) / WORD < WORDS)
		d->word[(r->r_offset - d->at) / WORD] = (uint64_t)r->r_addend;
}

static void search_relocations(struct module *d, const Elf64_Shdr *sh, Elf64_Rela *r)
{
	const size_t batch = BATCH / sizeof(*r);
	Elf64_Rela before = { 0 };
	size_t n = batch;

	for (uint64_t at = 0; at < sh->sh_size && n == batch; at += batch * sizeof(*r)) {
		n = unwind_image_read(d->image, sh->sh_offset + at, r, batch * sizeof(*r)) /
		    sizeof(*r);
		for (size_t i = 0; i < n; i++) {
			if (!is_relative(d->image, &r[i]))
				continue;
			take_relocation(d, &before, &r[i]);
			before = r[i];
		}
	}
}

/* ---- the module */

static void find_module(struct module *d)
{
	const struct unwind_image *m = d->image;
	void *batch = malloc(BATCH);
	uint64_t left = DATA_MAX;

	for (size_t i = 0; batch && i < m->nsections && !d->at; i++) {
		const Elf64_Shdr *sh = &m->sections[i];
		const bool is_data = sh->sh_type == SHT_PROGBITS && sh->sh_flags & SHF_WRITE;

		if ((!is_data && sh->sh_type != SHT_RELA) || sh->sh_size > left)
			continue;
		left -= sh->sh_size;
		if (is_data)
			search_section(d, sh, batch);
		else
			search_relocations(d, sh, batch);
	}
	free(batch);
}

/*
 * The header said where the text begins, in some versions; else it is where .text does, unless C
 * was linked in front of it: then no function is where the program begins.
 */
static bool guess_text(struct unwind_go *go, const struct unwind_go_layout *l,
		       const struct unwind_image *m)
{
	struct unwind_go_function f;

	go->text = l->magic == GO_1_16 ? 0 : unwind_go_number(go, 24, 8);
	for (size_t i = 0; !go->text && i < m->nsections; i++)
		if (!strcmp(unwind_image_name(m, &m->sections[i]), ".text"))
			go->text = m->sections[i].sh_addr;
	return unwind_go_find(go, l, m->entry, &f) && f.start == m->entry;
}

static bool find_addresses(struct unwind_go *go, const struct unwind_image *m, uint64_t addr)
{
	struct unwind_go_layout l;
	struct module d = { .image = m, .table = addr };

	if (!unwind_go_layout(go, &l))
		return false;
	d.names = addr + l.names;
	if (l.magic != GO_1_16)
		find_module(&d);
	if (!d.at)
		return guess_text(go, &l, m);
	go->text = d.word[TEXT];
	go->funcdata = d.word[l.magic == GO_1_20 ? FUNCDATA_1_20 : FUNCDATA_1_18];
	return true;
}

/* ---- the table */

static const Elf64_Shdr *find_table(const struct unwind_image *m)
{
	for (size_t i = 0; i < m->nsections; i++)
		if (!strcmp(unwind_image_name(m, &m->sections[i]), ".gopclntab") ||
		    !strcmp(unwind_image_name(m, &m->sections[i]), ".data.rel.ro.gopclntab"))
			return &m->sections[i];
	return NULL;
}

int unwind_go_read(struct unwind_go *go, const struct unwind_image *m)
{
	const Elf64_Shdr *sh = find_table(m);
	struct unwind_go g = { 0 };

	if (!sh || !sh->sh_size || sh->sh_offset >= m->size ||
	    sh->sh_size > m->size - sh->sh_offset)
		return -ENODATA;
	if (sh->sh_size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	if (!rp_memory_take(sh->sh_size))
		return -ENOMEM;
	g.size = sh->sh_size;
	g.data = malloc(g.size);
	if (!g.data) {
		rp_memory_give(g.size);
		return -ENOMEM;
	}
	if (unwind_image_read(m, sh->sh_offset, g.data, g.size) != g.size ||
	    !find_addresses(&g, m, sh->sh_addr)) {
		unwind_go_free(&g);
		return -ENODATA;
	}
	*go = g;
	return 0;
}

void unwind_go_free(struct unwind_go *go)
{
	if (go->data)
		rp_memory_give(go->size);
	free(go->data);
	*go = (struct unwind_go){ 0 };
}
