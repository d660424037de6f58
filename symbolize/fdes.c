/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of FDEs, without the rules for unwinding that take so much longer to work out: by the
 * file's own table, or else by all of .eh_frame.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/grow.h"
#include "fde_table.h"
#include "fdes.h"
#include "guide.h"
#include "radix.h"
#include "unwind/elf.h"
#include "unwind/frame.h"

struct sym_fdes {
	struct sym_fde_table table; /* if it has entries, the rest is empty */
	uint64_t base;		    /* of the lowest code; the .id of a span counts from it */
	struct sym_span *spans;
	size_t count, capacity;
	struct sym_guide guide;
};

static int add(struct sym_fdes *f, const struct unwind_fde *fde)
{
	uint64_t start = fde->start - f->base, len = fde->end - fde->start;

	if (start > UINT32_MAX)
		return 0;
	return RP_PUSH(f->spans, f->count, f->capacity,
		       (struct sym_span){ .start = fde->start,
					  .len = len < UINT32_MAX ? len : UINT32_MAX,
					  .id = start });
}

/* What a linker left of functions that it dropped lies at address 0 or thereabouts: no code. */
static int collect(struct sym_fdes *f, const struct unwind_source *s)
{
	struct rp_work work = rp_work_for(s->size, UNWIND_WORK_TIMES);
	const struct unwind_frames frames = { s->data, s->size, s->addr, s->is_debug_frame, &work };
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
		if (is_good && !unwind_fde_parse(&frames, &r, &cie, &fde) &&
		    unwind_source_code(s, fde.start))
			err = add(f, &fde);
	}
	return err || work.left ? err : -EFBIG;
}

_Static_assert(sizeof(struct sym_span) == 16, "radix.h sorts such");

static int sort(struct sym_fdes *f)
{
	void *items = f->spans;
	struct sym_span *flat;
	int err = sym_radix_sort(&items, f->count, offsetof(struct sym_span, id));

	if (err)
		return err;
	f->spans = items;
	err = sym_spans_flatten(f->spans, f->count, &flat, &f->count);
	if (err)
		return err;
	free(f->spans);
	f->spans = flat;
	sym_guide_make(&f->guide, flat, f->count);
	return 0;
}

int sym_fdes_read(struct sym_fdes **out, const struct sym_object *object)
{
	struct sym_fdes *f = calloc(1, sizeof(*f));
	struct unwind_source s = { 0 };
	int err = -ENOMEM;

	if (!f)
		return err;
	if (!sym_fde_table_read(&f->table, object)) {
		*out = f;
		return 0;
	}
	err = unwind_source_read(&s, object->fd, object->image, object->image_size);
	if (err)
		goto out;
	f->base = s.code[0].start;
	err = collect(f, &s);
	unwind_source_free(&s);
	if (!err && !f->count)
		err = -ENODATA;
	if (!err)
		err = sort(f);
	if (err)
		goto out;
	*out = f;
	return 0;
out:
	sym_fdes_close(f);
	return err;
}

void sym_fdes_close(struct sym_fdes *f)
{
	if (!f)
		return;
	sym_fde_table_free(&f->table);
	sym_guide_free(&f->guide);
	free(f->spans);
	free(f);
}

size_t sym_fdes_count(const struct sym_fdes *f)
{
	return f->table.count ? f->table.count : f->count;
}

bool sym_fdes_find(const struct sym_fdes *f, uint64_t vaddr, uint64_t *start, size_t *index)
{
	const struct sym_span *span;

	if (f->table.count)
		return sym_fde_table_find(&f->table, vaddr, start, index);
	span = sym_guide_find(&f->guide, f->spans, f->count, vaddr);
	if (!span)
		return false;
	*start = f->base + span->id;
	*index = span - f->spans;
	return true;
}
