/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbol tables of an ELF file made into disjoint spans. Where symbols overlap, the one that
 * starts last has the address (a nested function hides the enclosing one, which comes back after
 * it); of those at one address the best binding, then a sized one, then the longest, then the name.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "radix.h"
#include "symtab.h"

enum {
	CHUNK = 2048, /* symbols read at once: 48 KB */
	PAID_AT_ONCE = 1 << 14,
	MOST_EACH =
		96, /* bytes for a function while the spans are made; half of it while it grows */
};

struct raw {
	uint32_t addr; /* from the base */
	uint32_t size;
	uint32_t name;
	uint32_t rank; /* greater is better; bit 0: it had a size */
};
_Static_assert(sizeof(struct raw) == 16, "radix.h sorts such");

struct raws {
	struct raw *item;
	size_t count, capacity;
	size_t paid; /* of the memory of all files, MOST_EACH bytes each */
};

static int add(struct raws *r, struct raw item)
{
	if (r->count == r->paid) {
		if (!rp_memory_take((uint64_t)PAID_AT_ONCE * MOST_EACH))
			return -EFBIG;
		r->paid += PAID_AT_ONCE;
	}
	return RP_PUSH(r->item, r->count, r->capacity, item);
}

static Elf64_Sym widen(const Elf32_Sym *s)
{
	return (Elf64_Sym){ .st_name = s->st_name,
			    .st_info = s->st_info,
			    .st_other = s->st_other,
			    .st_shndx = s->st_shndx,
			    .st_value = s->st_value,
			    .st_size = s->st_size };
}

bool sym_symtab_symbol(const struct sym_object *o, int which, uint64_t index, void *elf64_sym)
{
	const struct sym_symbols *s = &o->symbols[which];
	uint64_t offset = s->offset + index * s->entsize;
	Elf32_Sym small;

	if (index >= s->count)
		return false;
	if (o->is64)
		return sym_object_read(o, offset, elf64_sym, sizeof(Elf64_Sym)) ==
		       sizeof(Elf64_Sym);
	if (sym_object_read(o, offset, &small, sizeof(small)) != sizeof(small))
		return false;
	*(Elf64_Sym *)elf64_sym = widen(&small);
	return true;
}

int sym_symtab_each(const struct sym_object *o, int which,
		    int (*fn)(void *ctx, const void *elf64_sym), void *ctx)
{
	const struct sym_symbols *table = &o->symbols[which];
	char *chunk = table->count ? malloc(CHUNK * sizeof(Elf64_Sym)) : NULL;
	struct rp_work work = rp_work_for(UINT64_MAX, 1);
	uint64_t done = 0, n;
	int err = 0;

	if (!table->count)
		return 0;
	if (!chunk)
		return -ENOMEM;
	do {
		uint64_t want = table->count - done < CHUNK ? table->count - done : CHUNK;

		n = sym_object_read(o, table->offset + done * table->entsize, chunk,
				    want * table->entsize) /
		    table->entsize;
		for (uint64_t i = 0; i < n && !err; i++) {
			Elf64_Sym s;

			if (o->is64)
				memcpy(&s, chunk + i * sizeof(s), sizeof(s));
			else
				s = widen((const Elf32_Sym *)chunk + i);
			err = fn(ctx, &s);
		}
		done += n;
	} while (!err && n && done < table->count &&
		 rp_work_spend(&work, CHUNK * sizeof(Elf64_Sym)));
	free(chunk);
	return err;
}

struct search {
	const struct sym_object *object;
	int table;
	struct sym_sought *wanted;
	size_t n;
	uint32_t looked;
};

static int look_at(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *symbol = elf64_sym;
	struct search *s = ctx;
	char name[SYM_SOUGHT_NAME + 1] = "";

	if (++s->looked > SYM_MOST_SOUGHT)
		return 1;
	if (symbol->st_shndx == SHN_UNDEF)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		struct sym_sought *w = &s->wanted[i];

		if (w->found || ELF64_ST_TYPE(symbol->st_info) != w->type ||
		    symbol->st_size < w->least)
			continue;
		if (!*name) {
			s->looked += SYM_NAME_COUNTS;
			sym_object_read(s->object,
					s->object->symbols[s->table].strings + symbol->st_name,
					name, sizeof(name) - 1);
		}
		if (strcmp(name, w->name))
			continue;
		w->found = true;
		w->address = symbol->st_value;
		w->size = symbol->st_size;
	}
	return 0;
}

void sym_symtab_find(const struct sym_object *o, struct sym_sought *wanted, size_t n)
{
	struct search s = { o, SYM_DYNSYM, wanted, n, 0 };

	sym_symtab_each(o, s.table, look_at, &s);
	s.table = SYM_SYMTAB;
	if (!wanted[0].found)
		sym_symtab_each(o, s.table, look_at, &s);
}

/*
 * Where instructions and data are marked by symbols ($x, $d, $a, $t, with suffixes), these are
 * local, untyped and without size, and nothing worth a name is: known without reading names.
 */
static bool is_mapping_symbol(const struct sym_object *o, const Elf64_Sym *s)
{
	return (o->machine == EM_ARM || o->machine == EM_AARCH64 || o->machine == EM_RISCV) &&
	       ELF64_ST_TYPE(s->st_info) == STT_NOTYPE && ELF64_ST_BIND(s->st_info) == STB_LOCAL &&
	       !s->st_size;
}

static bool is_function(const struct sym_object *o, const Elf64_Sym *s)
{
	int type = ELF64_ST_TYPE(s->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON)
		return false;
	return s->st_name && !is_mapping_symbol(o, s);
}

static uint32_t rank_of(const Elf64_Sym *s)
{
	int bind = ELF64_ST_BIND(s->st_info);

	return (bind == STB_LOCAL ? 0 : bind == STB_WEAK ? 2 : 4) | (s->st_size != 0);
}

static int take(struct raws *r, const struct sym_symtab *t, int which, const Elf64_Sym *s)
{
	const struct sym_object *o = t->object;
	uint64_t addr = s->st_value, size = s->st_size;
	const struct sym_section *code;

	if (!is_function(o, s) || s->st_name > SYM_NAME_OFFSET ||
	    s->st_name >= t->from[which]->symbols[which].strings_size)
		return 0;
	if (o->machine == EM_ARM)
		addr &= ~1ULL; /* Thumb */
	code = sym_object_code(o, addr);
	if (!code || addr - t->base > UINT32_MAX)
		return 0;
	if (size > code->addr + code->size - addr)
		size = code->addr + code->size - addr;
	return add(r,
		   (struct raw){ .addr = addr - t->base,
				 .size = size < UINT32_MAX ? size : UINT32_MAX,
				 .name = s->st_name | (which == SYM_DYNSYM ? SYM_NAME_DYNSYM : 0),
				 .rank = rank_of(s) });
}

/* What take() needs of a table's reading. */
struct table_reader {
	struct raws *r;
	const struct sym_symtab *t;
	int which;
};

static int take_one(void *ctx, const void *elf64_sym)
{
	const struct table_reader *reader = ctx;

	return take(reader->r, reader->t, reader->which, elf64_sym);
}

static int read_table(struct raws *r, const struct sym_symtab *t, int which)
{
	return sym_symtab_each(t->from[which], which, take_one,
			       &(struct table_reader){ r, t, which });
}

/* At one address, from worst to best; equal but for the name are neighbours. */
static int compare(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* By address, then what shares an address. */
static int sort(struct raws *r)
{
	void *items = r->item;
	int err = sym_radix_sort(&items, r->count, offsetof(struct raw, addr));

	if (err)
		return err;
	r->item = items;
	r->capacity = r->count;
	for (size_t i = 0, n; i < r->count; i += n) {
		for (n = 1; i + n < r->count && r->item[i + n].addr == r->item[i].addr;)
			n++;
		if (n > 1)
			qsort(&r->item[i], n, sizeof(*r->item), compare);
	}
	return 0;
}

/* A label inside a sized function names nothing: the function's size says that it goes on. */
static void drop_inner_labels(struct raws *r)
{
	uint64_t sized_end = 0, end_here = 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct raw *s = &r->item[i];
		uint64_t end = (uint64_t)s->addr + s->size;

		if (i && s->addr != r->item[i - 1].addr && end_here > sized_end)
			sized_end = end_here;
		if (!s->size && s->addr < sized_end)
			continue;
		if (end > end_here)
			end_here = end;
		r->item[kept++] = *s;
	}
	r->count = kept;
}

/*
 * A symbol without size goes on to the next one or the end of its section, but not for ever: of a
 * stripped library written by hand it may be the last that is left, before much other code.
 */
static void extend_unsized(struct raws *r, const struct sym_symtab *t)
{
	uint64_t next = UINT64_MAX; /* from the base: the first address after this one's */

	for (size_t i = r->count; i-- > 0;) {
		struct raw *s = &r->item[i];
		const struct sym_section *code = sym_object_code(t->object, t->base + s->addr);
		uint64_t end = code->addr + code->size - t->base;

		if (i + 1 < r->count && r->item[i + 1].addr != s->addr)
			next = r->item[i + 1].addr;
		if (s->size)
			continue;
		end = end < next ? end : next;
		s->size = end - s->addr < SYM_UNSIZED_MOST ? end - s->addr : SYM_UNSIZED_MOST;
	}
}

static bool are_tied(const struct raw *a, const struct raw *b)
{
	return a->addr == b->addr && a->rank == b->rank && a->size == b->size;
}

/*
 * The symbols [r, r + n) are tied: their name is chosen when it is wanted. Those of .symtab come
 * first, and where there are any, .dynsym only says the same again.
 */
static uint32_t tie(struct sym_symtab *t, const struct raw *r, size_t n)
{
	uint32_t first = t->tie_count;

	while (n > 1 && r[n - 1].name & SYM_NAME_DYNSYM && !(r->name & SYM_NAME_DYNSYM))
		n--;
	if (n == 1)
		return r->name;
	for (size_t i = 0; i < n; i++)
		t->ties[t->tie_count++] = r[i].name;
	t->ties[t->tie_count - 1] |= SYM_LAST;
	return SYM_NAME_SPECIAL | first;
}

static int make_spans(struct sym_symtab *t, const struct raws *r)
{
	struct sym_span *spans = malloc(r->count * sizeof(*spans));
	size_t count = 0;
	int err = -ENOMEM;

	t->functions = malloc(r->count * sizeof(*t->functions));
	t->ties = malloc(r->count * sizeof(*t->ties));
	if (!spans || !t->functions || !t->ties)
		goto out;
	for (size_t i = 0, n; i < r->count; i += n, count++) {
		const struct raw *s = &r->item[i];

		for (n = 1; i + n < r->count && are_tied(s, s + n);)
			n++;
		t->functions[count] = (struct sym_function){ s->addr, tie(t, s, n) };
		spans[count] = (struct sym_span){ t->base + s->addr, s->size, count };
	}
	err = sym_spans_flatten(spans, count, &t->spans, &t->span_count);
out:
	free(spans);
	return err;
}

static void shrink(struct sym_symtab *t)
{
	size_t functions = t->span_count ? t->spans[0].id + 1 : 0;
	void *p;

	for (size_t i = 1; i < t->span_count; i++) {
		if (t->spans[i].id >= functions)
			functions = t->spans[i].id + 1;
	}
	p = functions ? realloc(t->functions, functions * sizeof(*t->functions)) : NULL;
	if (p)
		t->functions = p;
	p = t->tie_count ? realloc(t->ties, t->tie_count * sizeof(*t->ties)) : NULL;
	if (p)
		t->ties = p;
	sym_symtab_take(t, functions * sizeof(*t->functions) + t->tie_count * sizeof(*t->ties) +
				   t->span_count * (sizeof(*t->spans) + sizeof(uint32_t)));
}

int sym_symtab_read(struct sym_symtab *t)
{
	struct raws r = { 0 };
	int err;

	if (!t->object->code_count)
		return 0;
	t->base = t->object->code[0].addr;
	err = read_table(&r, t, SYM_SYMTAB);
	if (!err)
		err = read_table(&r, t, SYM_DYNSYM);
	if (!err && r.count)
		err = sort(&r);
	if (!err && r.count) {
		drop_inner_labels(&r);
		extend_unsized(&r, t);
		err = make_spans(t, &r);
		if (!err) {
			rp_memory_give(r.paid * MOST_EACH);
			r.paid = 0;
			shrink(t);
			sym_guide_make(&t->guide, t->spans, t->span_count);
		}
	}
	free(r.item);
	rp_memory_give(r.paid * MOST_EACH);
	return err == -EFBIG ? 0 : err; /* that there are too many is as if there were none */
}
