/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions by .eh_frame_hdr. */
#include <errno.h>
#include <stdlib.h>

#include "base/budget.h"
#include "fde_table.h"

struct header {
	uint8_t version, frames_encoding, count_encoding, table_encoding;
	int32_t frames;
	uint32_t count;
};

/* Of DWARF's pointer encodings those that GNU ld, gold, lld and mold write. */
enum { PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

static bool is_usual(const struct header *h)
{
	return h->version == 1 && h->frames_encoding == PCREL_SDATA4 &&
	       h->count_encoding == UDATA4 && h->table_encoding == DATAREL_SDATA4;
}

/* How an FDE begins whose CIE has addresses of 4 bytes relative to where they stand. */
struct fde {
	uint32_t length, cie;
	int32_t begin;
	uint32_t range;
};

/* How long the function is; 0: its FDE does not begin so, or is another's. */
static uint32_t length_of(const struct sym_fde_table *t, const struct sym_fde_entry *e)
{
	const uint64_t at = t->addr + (uint64_t)(int64_t)e->fde;
	const uint64_t begin_at = at + offsetof(struct fde, begin);
	struct fde fde;

	if (sym_object_read_at(t->object, at, &fde, sizeof(fde)) != sizeof(fde) || !fde.cie)
		return 0;
	return begin_at + (uint64_t)(int64_t)fde.begin == t->addr + (uint64_t)(int64_t)e->start
		       ? fde.range
		       : 0;
}

static int read_entries(struct sym_fde_table *t, size_t count)
{
	const uint64_t bytes = count * sizeof(*t->entries);

	if (!rp_memory_take(bytes))
		return -ENOMEM;
	t->count = count;
	t->entries = malloc(bytes);
	if (!t->entries)
		return -ENOMEM;
	return sym_object_read_at(t->object, t->addr + sizeof(struct header), t->entries, bytes) ==
			       bytes
		       ? 0
		       : -ENODATA;
}

int sym_fde_table_read(struct sym_fde_table *t, const struct sym_object *object)
{
	const struct sym_bytes *section = &object->eh_frame_hdr;
	struct header h;
	uint64_t addr;
	int err;

	*t = (struct sym_fde_table){ .object = object };
	if (!object->is64 || sym_object_vaddr(object, section->offset, &addr) ||
	    section->size < sizeof(h) ||
	    sym_object_read(object, section->offset, &h, sizeof(h)) != sizeof(h) || !is_usual(&h) ||
	    !h.count || h.count > (section->size - sizeof(h)) / sizeof(*t->entries))
		return -ENODATA;
	t->addr = addr;
	err = read_entries(t, h.count);
	if (!err && !length_of(t, t->entries))
		err = -ENODATA;
	if (err)
		sym_fde_table_free(t);
	return err;
}

void sym_fde_table_free(struct sym_fde_table *t)
{
	rp_memory_give(t->count * sizeof(*t->entries));
	free(t->entries);
	*t = (struct sym_fde_table){ 0 };
}

/* Where two overlap, the one that starts last is looked at. */
bool sym_fde_table_find(const struct sym_fde_table *t, uint64_t vaddr, uint64_t *start,
			size_t *index)
{
	const int64_t wanted = (int64_t)(vaddr - t->addr);
	size_t low = 0, high = t->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->entries[middle].start <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*index = low - 1;
	*start = t->addr + (uint64_t)(int64_t)t->entries[low - 1].start;
	return vaddr - *start < length_of(t, &t->entries[low - 1]);
}
