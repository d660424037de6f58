/* SPDX-License-Identifier: BSD-2-Clause */
/* Variables of an ELF file: which one is at an address. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include <rawprof/symbolize.h>

#include "data.h"
#include "file.h"
#include "base/clock.h"
#include "base/grow.h"

/* One variable; in order of address, and of those that begin together the largest first. */
struct variable {
	uint64_t vaddr, size;
	uint32_t name; /* in the strings of */
	uint32_t table;
};

enum { MOST = 1 << 20 }; /* of a file; what comes behind them has no name */

struct sym_data {
	struct sym_symtab *symtab;
	struct variable *items;
	size_t count, capacity;
};

/* What reading a table needs. */
struct reader {
	struct sym_data *data;
	uint32_t table;
};

static int take(void *ctx, const void *elf64_sym)
{
	const Elf64_Sym *s = elf64_sym;
	struct reader *r = ctx;
	struct sym_data *d = r->data;

	if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx == SHN_UNDEF ||
	    s->st_shndx == SHN_ABS || s->st_shndx == SHN_COMMON || !s->st_size ||
	    s->st_value + s->st_size < s->st_value)
		return 0;
	if (d->count == MOST)
		return 1; /* that is all */
	return RP_PUSH(d->items, d->count, d->capacity,
		       (struct variable){ .vaddr = s->st_value,
					  .size = s->st_size,
					  .name = s->st_name,
					  .table = r->table });
}

/* Of two names of one place that of .symtab, and there the first one. */
static int compare(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->table != y->table)
		return x->table > y->table ? -1 : 1;
	return x->name > y->name ? -1 : x->name < y->name;
}

int sym_data_open(struct sym_data **out, struct sym_symtab *t)
{
	struct sym_data *d = calloc(1, sizeof(*d));
	int err = d ? 0 : -ENOMEM;

	for (uint32_t which = 0; !err && which < SYM_TABLES; which++) {
		struct reader r = { d, which };

		d->symtab = t;
		err = sym_symtab_each(t->from[which], (int)which, take, &r);
	}
	if (err < 0) {
		sym_data_close(d);
		return err;
	}
	if (d->count)
		qsort(d->items, d->count, sizeof(*d->items), compare);
	*out = d;
	return 0;
}

void sym_data_close(struct sym_data *d)
{
	if (d)
		free(d->items);
	free(d);
}

/* A variable inside another one is rare, and not deep. */
#define MAX_STEPS_BACK 16

bool sym_data_lookup(struct sym_data *d, uint64_t vaddr, const char **name, uint64_t *start)
{
	size_t lo = 0, hi = d->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->items[mid].vaddr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i > 0 && lo - i < MAX_STEPS_BACK; i--) {
		const struct variable *v = &d->items[i - 1];
		const char *text;

		if (vaddr - v->vaddr >= v->size)
			continue;
		text = sym_symtab_name(d->symtab, (int)v->table, v->name, "");
		if (!text)
			continue;
		*name = text;
		*start = v->vaddr;
		return true;
	}
	return false;
}

/* Its owner pays, as for the functions. */
static int read_data(struct sym_image *image)
{
	const uint64_t began = rp_thread_cpu_ns();
	uint64_t bytes = 0;
	int err;

	if (!sym_held_may_read(image->files, image->holder))
		return -EDQUOT;
	err = sym_data_open(&image->data, image->symtab);
	if (!err)
		bytes = image->data->capacity * sizeof(*image->data->items);
	image->bytes += bytes;
	sym_held_has_read(image->files, image->holder, rp_thread_cpu_ns() - began, (int64_t)bytes);
	return err;
}

bool sym_user_data(const struct sym_frame *f, uint64_t code, uint64_t addr, struct sym_frame *out)
{
	const uint64_t vaddr = addr - (code - f->module_addr);
	struct sym_image *image = f->image;
	const char *name;
	uint64_t start;

	if (!image || !image->symtab)
		return false;
	if (!image->data && read_data(image))
		return false;
	if (!sym_data_lookup(image->data, vaddr, &name, &start))
		return false;
	*out = (struct sym_frame){ .kind = SYM_USER,
				   .name = name,
				   .offset = vaddr - start,
				   .module = f->module,
				   .module_addr = vaddr,
				   .build_id = f->build_id,
				   .image = image };
	return true;
}
