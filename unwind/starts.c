/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks through a file for addresses of its code: each is a bit, which is all that is believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arm64.h"
#include "base/budget.h"
#include "elf.h"
#include "starts.h"

enum {
	PIECE = 256 << 10, /* bytes that are read at once */
	LONGEST = 7,	   /* bytes of lea with a displacement of 4 */
	FUNCTION = 16,	   /* what functions are aligned to */
};
/* Of code, beyond which this is not worth the time; and of relocations and symbols. */
#define CODE_MAX (256ULL << 20)
#define OTHERS_MAX (64ULL << 20)

static void add(struct unwind_starts *t, uint64_t addr)
{
	uint64_t i;

	if (unwind_start_bit(t, addr, &i))
		t->bit[i / 8] |= (uint8_t)(1U << i % 8);
}

/* Told of @n bytes that lie at @addr in the program, or are of a table: then that is 0. */
typedef void piece_fn(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr);

struct search {
	struct unwind_starts *t;
	const struct unwind_source *source;
	struct rp_work work;
	uint8_t *piece; /* PIECE bytes */
};

/* call rel32: e8; lea disp32(%rip), of 64 bits: 48 or 4c, 8d, and ModRM 00 reg 101. */
static void look_at_byte(struct unwind_starts *t, const uint8_t *at, uint64_t addr)
{
	size_t disp;
	int32_t by;

	if (at[0] == 0xe8)
		disp = 1;
	else if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 5)
		disp = 3;
	else
		return;
	memcpy(&by, at + disp, sizeof(by));
	if (by) /* else it learns its own address */
		add(t, addr + disp + 4 + (uint64_t)(int64_t)by);
}

/* The highest bit of each byte that is 0: all are below 0x80 once the other bits are added. */
static uint64_t zero_bytes(uint64_t v)
{
	const uint64_t low = ~0ULL / 255 * 0x7f;

	return ~(((v & low) + low) | v | low);
}

static uint64_t word_at(const uint8_t *at)
{
	uint64_t w;

	memcpy(&w, at, sizeof(w));
	return w;
}

/* Eight bytes at a time: a hundred megabytes of code are looked at before anything is known. */
static void look_at_code(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr)
{
	const uint64_t each = ~0ULL / 255;
	size_t i = 0;

	for (; i + LONGEST + 8 <= n; i += 8) {
		const uint64_t w = word_at(at + i);
		uint64_t found = zero_bytes(w ^ each * 0xe8) |
				 (zero_bytes((w & each * 0xfb) ^ each * 0x48) &
				  zero_bytes(word_at(at + i + 1) ^ each * 0x8d));

		for (; found; found &= found - 1) {
			const size_t k = i + (size_t)__builtin_ctzll(found) / 8;

			look_at_byte(t, at + k, addr + k);
		}
	}
	for (; i + LONGEST <= n; i++)
		look_at_byte(t, at + i, addr + i);
}

/*
 * What was generated lies among data, which looks like calls, and its functions are called by
 * addresses in registers: they are known by how they begin. sub $n, %rsp; a push of what is kept
 * for the caller; endbr64.
 */
static bool is_beginning(const uint8_t *at)
{
	if (at[0] == 0x48 && (at[1] == 0x83 || at[1] == 0x81))
		return at[2] == 0xec;
	if (at[0] == 0x41)
		return at[1] >= 0x54 && at[1] <= 0x57;
	return at[0] == 0x53 || at[0] == 0x55 || !memcmp(at, "\xf3\x0f\x1e\xfa", 4);
}

static void look_at_beginnings(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr)
{
	for (size_t i = -addr % FUNCTION; i + 4 <= n; i += FUNCTION)
		if (is_beginning(at + i))
			add(t, addr + i);
}

static bool is_relative(const struct unwind_starts *t, uint32_t type)
{
	if (t->machine == EM_AARCH64)
		return type == R_AARCH64_RELATIVE || type == R_AARCH64_IRELATIVE;
	return type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE;
}

/* arm64: bl; and adrp of a register, which the next instruction adds the rest to. */
static void look_at_words(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr)
{
	for (size_t i = -addr % ARM64_BYTES; i + 2 * ARM64_BYTES <= n; i += ARM64_BYTES) {
		const uint64_t here = addr + i;
		uint32_t w[2];

		memcpy(w, at + i, sizeof(w));
		if ((w[0] & 0xfc000000) == 0x94000000)
			add(t, here + (uint64_t)(int64_t)rp_arm64_target(w[0]));
		else if ((w[0] & 0x9f000000) == 0x90000000 &&
			 (w[1] & 0xffc003e0) == (0x91000000 | (w[0] & 31) << 5))
			add(t, rp_arm64_page(w[0], here) + (w[1] >> 10 & 0xfff));
	}
}

static void look_at_relocations(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr)
{
	(void)addr;
	for (size_t i = 0; i + sizeof(Elf64_Rela) <= n; i += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, at + i, sizeof(r));
		if (is_relative(t, ELF64_R_TYPE(r.r_info)))
			add(t, (uint64_t)r.r_addend);
	}
}

static void look_at_symbols(struct unwind_starts *t, const uint8_t *at, size_t n, uint64_t addr)
{
	(void)addr;
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= n; i += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;

		memcpy(&sym, at + i, sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_shndx != SHN_UNDEF)
			add(t, sym.st_value);
	}
}

/* Whole entries of a table go into a piece. */
static void read_table(struct search *s, const Elf64_Shdr *sh, size_t entry, uint64_t *left,
		       piece_fn *look)
{
	uint64_t done = 0, size = sh->sh_size - sh->sh_size % entry, n;

	if (size > *left)
		return;
	*left -= size;
	for (; done < size && rp_work_spend(&s->work, PIECE); done += n) { /* however small */
		n = size - done < PIECE ? size - done : PIECE - PIECE % entry;
		look(s->t, s->piece,
		     unwind_image_read(&s->source->image, sh->sh_offset + done, s->piece, n), 0);
	}
}

static void look_at_tables(struct search *s)
{
	const struct unwind_image *m = &s->source->image;
	uint64_t left = OTHERS_MAX;

	for (size_t i = 0; i < m->nsections; i++) {
		const Elf64_Shdr *sh = &m->sections[i];

		if (sh->sh_type == SHT_RELA && sh->sh_flags & SHF_ALLOC)
			read_table(s, sh, sizeof(Elf64_Rela), &left, look_at_relocations);
		else if (sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM)
			read_table(s, sh, sizeof(Elf64_Sym), &left, look_at_symbols);
	}
}

/*
 * Each piece begins @overlap bytes before the end of the last one, or where the segment ended which
 * that one was of: none comes twice, however many segments say that they have it.
 */
static void read_code(struct search *s, const struct unwind_code *c, size_t overlap, piece_fn *look)
{
	uint64_t at = c->start, size;

	while ((size = c->end - at) > overlap && rp_work_spend(&s->work, PIECE)) {
		const size_t want = size < PIECE ? (size_t)size : PIECE,
			     got = unwind_source_text(s->source, at, s->piece, want);

		look(s->t, s->piece, got, at);
		if (!got || got == size)
			break;
		at += got < want ? got : got - overlap;
	}
}

static void look_at_all_code(struct search *s)
{
	piece_fn *look = s->t->machine == EM_AARCH64 ? look_at_words
			 : s->t->is_memory	     ? look_at_beginnings
						     : look_at_code;

	for (size_t i = 0; i < s->source->ncode; i++)
		read_code(s, &s->source->code[i], look == look_at_beginnings ? 0 : LONGEST - 1,
			  look);
}

static int search(struct unwind_starts *t, const struct unwind_source *source)
{
	/* Only to be asked whether to stop: there is no more than CODE_MAX and OTHERS_MAX. */
	struct search s = { t, source, { .left = UINT64_MAX }, malloc(PIECE) };

	if (!s.piece)
		return -ENOMEM;
	look_at_all_code(&s);
	look_at_tables(&s);
	free(s.piece);
	return s.work.left ? 0 : -EFBIG;
}

/* ---- pages */

static uint64_t pages_of(const struct unwind_starts *t)
{
	return t->n / UNWIND_STARTS_PAGE + 1;
}

/* Numbers the pages that the ranges are in; returns how many. */
static uint32_t number_pages(struct unwind_starts *t, const uint32_t *at, size_t n)
{
	uint32_t count = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		uint64_t p = at[i] / UNWIND_STARTS_PAGE;

		for (; p * UNWIND_STARTS_PAGE < at[i + 1] && p < pages_of(t); p++)
			if (!t->page[p])
				t->page[p] = ++count;
	}
	return count;
}

static bool take(struct unwind_starts *t, uint64_t bytes)
{
	t->is_lost = !rp_memory_take(bytes);
	if (!t->is_lost)
		t->taken += bytes;
	return !t->is_lost;
}

/* Without any where files may not have the memory: t->is_lost. 0 or -ENOMEM. */
static int make_bits(struct unwind_starts *t, const uint32_t *at, size_t n)
{
	uint64_t bytes = t->n / 8 + 1;

	if (at) {
		if (!take(t, pages_of(t) * sizeof(*t->page)))
			return 0;
		t->page = calloc(pages_of(t), sizeof(*t->page));
		if (!t->page)
			return -ENOMEM;
		bytes = (uint64_t)number_pages(t, at, n) * (UNWIND_STARTS_PAGE / 8) + 1;
	}
	if (!take(t, bytes))
		return 0;
	t->bit = calloc(1, bytes);
	return t->bit ? 0 : -ENOMEM;
}

int unwind_starts_find(struct unwind_starts *out, const struct unwind_source *s, const uint32_t *at,
		       size_t n)
{
	struct unwind_starts t = { .is_memory = s->is_memory,
				   .entry = s->image.entry,
				   .machine = s->machine };
	const bool is_known = s->machine == EM_X86_64 || s->machine == EM_AARCH64;
	int err = 0;

	if (s->ncode && is_known) {
		t.base = s->code[0].start;
		t.n = s->code[s->ncode - 1].end - t.base;
		if (t.n <= CODE_MAX)
			err = make_bits(&t, at, n);
	}
	if (t.bit && !err)
		err = search(&t, s);
	if (!t.bit || err) {
		const struct unwind_starts none = { .entry = t.entry, .is_lost = t.is_lost };

		unwind_starts_free(&t);
		t = none;
	}
	if (!err)
		*out = t;
	return err;
}

uint64_t unwind_starts_next(const struct unwind_starts *t, uint64_t addr, uint64_t end)
{
	while (addr < end && addr - t->base < t->n) {
		unsigned int bits;
		uint64_t i;

		if (!unwind_start_bit(t, addr, &i)) {
			addr += UNWIND_STARTS_PAGE - (addr - t->base) % UNWIND_STARTS_PAGE;
			continue;
		}
		bits = t->bit[i / 8] >> i % 8;
		if (bits) {
			addr += (unsigned int)__builtin_ctz(bits);
			return addr < end ? addr : end;
		}
		addr += 8 - i % 8;
	}
	return end;
}

void unwind_starts_free(struct unwind_starts *t)
{
	rp_memory_give(t->taken);
	free(t->bit);
	free(t->page);
	*t = (struct unwind_starts){ 0 };
}
