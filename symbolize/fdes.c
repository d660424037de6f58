/* SPDX-License-Identifier: BSD-2-Clause */
/* The ranges of FDEs, without the rules for unwinding that take so much longer to work out. */
#include <errno.h>
#include <stdlib.h>

#include "fdes.h"
#include "grow.h"
#include "unwind_elf.h"
#include "unwind_frame.h"

struct range {
	uint32_t start, end; /* from the base */
};

/* Sorted by start. Where ranges overlap, the one that starts last has the address. */
struct sym_fdes {
	uint64_t base; /* of the lowest code */
	struct range *ranges;
	size_t count, room;
};

static bool is_code(const struct unwind_source *s, uint64_t addr)
{
	for (size_t i = 0; i < s->ncode; i++) {
		if (addr - s->code[i].start < s->code[i].end - s->code[i].start)
			return true;
	}
	return false;
}

static int add(struct sym_fdes *f, const struct unwind_fde *fde)
{
	uint64_t start = fde->start - f->base, end = fde->end - f->base;
	struct range *p;

	if (start > UINT32_MAX)
		return 0;
	p = sym_grow(f->ranges, f->count, &f->room, sizeof(*p));
	if (!p)
		return -ENOMEM;
	f->ranges = p;
	p[f->count++] = (struct range){ start, end < UINT32_MAX ? end : UINT32_MAX };
	return 0;
}

/* What a linker left of functions that it dropped lies at address 0 or thereabouts: no code. */
static int collect(struct sym_fdes *f, const struct unwind_source *s)
{
	const struct unwind_frames frames = { s->data, s->size, s->addr };
	size_t offset = 0, cie_offset = SIZE_MAX;
	struct unwind_record r;
	struct unwind_cie cie;
	bool is_good = false;
	int err = 0;

	while (!err && unwind_frames_next(&frames, &offset, &r)) {
		struct unwind_fde fde;

		if (r.is_cie)
			continue;
		if (r.cie != cie_offset) { /* the next has the same, mostly */
			cie_offset = r.cie;
			is_good = !unwind_cie_parse(&frames, r.cie, &cie);
		}
		if (is_good && !unwind_fde_parse(&frames, &r, &cie, &fde) && is_code(s, fde.start))
			err = add(f, &fde);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

int sym_fdes_read(struct sym_fdes **out, const struct sym_object *object)
{
	struct sym_fdes *f = calloc(1, sizeof(*f));
	struct unwind_source s;
	int err = -ENOMEM;

	if (!f)
		return err;
	err = unwind_source_read(&s, object->fd, object->image, object->image_size);
	if (err)
		goto out;
	f->base = s.code[0].start;
	err = collect(f, &s);
	unwind_source_free(&s);
	if (!err && !f->count)
		err = -ENODATA;
	if (err)
		goto out;
	qsort(f->ranges, f->count, sizeof(*f->ranges), compare);
	*out = f;
	return 0;
out:
	sym_fdes_close(f);
	return err;
}

void sym_fdes_close(struct sym_fdes *f)
{
	if (f)
		free(f->ranges);
	free(f);
}

bool sym_fdes_find(const struct sym_fdes *f, uint64_t vaddr, uint64_t *start)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->ranges[mid].start <= vaddr - f->base)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr < f->base || vaddr - f->base >= f->ranges[lo - 1].end)
		return false;
	*start = f->base + f->ranges[lo - 1].start;
	return true;
}
