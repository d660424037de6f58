/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of .eh_frame and .debug_frame and the pointers in them. */
#include <errno.h>

#include "frame.h"

/* LSB Core 5.0, table 10.1 and 10.2. */
enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_signed = 0x08,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_format = 0x0f,

	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_aligned = 0x50,
	DW_EH_PE_base = 0x70,
	DW_EH_PE_indirect = 0x80, /* the pointer is in memory, not in the file */
};

static uint64_t read_format(struct unwind_bytes *b, uint8_t encoding)
{
	switch (encoding & DW_EH_PE_format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_signed:
	case DW_EH_PE_sdata8:
		return unwind_uint(b, 8);
	case DW_EH_PE_uleb128:
		return unwind_uleb(b);
	case DW_EH_PE_sleb128:
		return unwind_sleb(b);
	case DW_EH_PE_udata2:
		return unwind_uint(b, 2);
	case DW_EH_PE_sdata2:
		return unwind_int(b, 2);
	case DW_EH_PE_udata4:
		return unwind_uint(b, 4);
	case DW_EH_PE_sdata4:
		return unwind_int(b, 4);
	}
	b->bad = true;
	return 0;
}

uint64_t unwind_pointer(const struct unwind_frames *f, struct unwind_bytes *b, uint8_t encoding,
			uint64_t base)
{
	uint64_t here = f->addr + (b->at - f->data);

	if (encoding & DW_EH_PE_indirect) {
		b->bad = true;
		return 0;
	}
	switch (encoding & DW_EH_PE_base) {
	case 0:
		return read_format(b, encoding);
	case DW_EH_PE_pcrel:
		return here + read_format(b, encoding);
	case DW_EH_PE_datarel:
		return base + read_format(b, encoding);
	case DW_EH_PE_aligned:
		unwind_skip(b, -here & 7);
		return unwind_uint(b, 8);
	}
	b->bad = true;
	return 0;
}

/*
 * What tells a CIE from an FDE, and where the FDE's CIE is. In .eh_frame: 0, or how far it is back
 * from here, in four bytes even if the length has eight. In .debug_frame: all ones, or its offset.
 */
static void read_id(const struct unwind_frames *f, struct unwind_bytes *b, unsigned int size,
		    struct unwind_record *r)
{
	size_t here = b->at - f->data;
	uint64_t id = unwind_uint(b, size);

	if (f->is_debug_frame) {
		r->is_cie = id == UINT64_MAX >> (64 - 8 * size);
		r->cie = id;
	} else {
		r->is_cie = !id;
		r->cie = here - id; /* too far back: beyond the end */
	}
}

/* What any record costs, in bytes: it is found, parsed, sorted and run. */
enum { RECORD_WORK = 64 };

bool unwind_frames_next(const struct unwind_frames *f, size_t *offset, struct unwind_record *out)
{
	struct unwind_record r = { .offset = *offset };
	unsigned int id_size = 4;
	struct unwind_bytes b;
	uint64_t len;

	if (*offset >= f->size)
		return false;
	b = (struct unwind_bytes){ f->data + *offset, f->data + f->size, false };
	len = unwind_uint(&b, 4);
	if (len == UINT32_MAX) {
		len = unwind_uint(&b, 8);
		if (f->is_debug_frame)
			id_size = 8;
	}
	if (b.bad || !len || len > unwind_left(&b) ||
	    (f->work && !rp_work_spend(f->work, len + RECORD_WORK)))
		return false;
	b.end = b.at + len;
	*offset = b.end - f->data;

	read_id(f, &b, id_size, &r);
	r.body = b;
	*out = r;
	return true;
}

/*
 * The letters after 'z' and what belongs to each. One that is not known ends the reading: 'z' told
 * how long all of it is.
 */
static void read_augmentation(const struct unwind_frames *f, struct unwind_cie *c,
			      struct unwind_bytes b, const char *letters)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			c->pointers = unwind_uint(&b, 1);
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'L':
			unwind_skip(&b, 1);
			break;
		case 'P': {
			uint8_t encoding = unwind_uint(&b, 1);

			unwind_pointer(f, &b, encoding & ~DW_EH_PE_indirect, 0);
			break;
		}
		case 'B': /* arm64: the other key signs return addresses */
		case 'G': /* arm64: tagged stack */
			break;
		default:
			return;
		}
	}
}

int unwind_cie_parse(const struct unwind_frames *f, size_t offset, struct unwind_cie *out)
{
	struct unwind_cie c = { 0 };
	struct unwind_record r;
	struct unwind_bytes *b = &r.body;
	const char *letters, *end;
	uint8_t version;
	uint64_t len;

	if (!unwind_frames_next(f, &offset, &r) || !r.is_cie)
		return -EBADMSG;
	version = unwind_uint(b, 1);
	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	letters = (const char *)b->at;
	end = memchr(letters, 0, unwind_left(b));
	if (!end)
		return -EBADMSG;
	b->at = (const uint8_t *)end + 1;
	if (version == 4 && (unwind_uint(b, 1) != 8 || unwind_uint(b, 1) != 0))
		return -EBADMSG; /* sizes of an address and of a segment selector */
	if (!strcmp(letters, "eh"))
		unwind_skip(b, 8); /* of gcc before 3.0 */
	else if (*letters && *letters != 'z')
		return -EBADMSG;
	c.code_align = unwind_uleb(b);
	c.data_align = unwind_sleb(b);
	c.ra_reg = version == 1 ? unwind_uint(b, 1) : unwind_uleb(b);
	if (*letters == 'z') {
		c.is_augmented = true;
		len = unwind_uleb(b);
		if (len > unwind_left(b))
			return -EBADMSG;
		read_augmentation(f, &c, (struct unwind_bytes){ b->at, b->at + len, false },
				  letters + 1);
		unwind_skip(b, len);
	}
	if (b->bad)
		return -EBADMSG;
	c.insns = *b;
	*out = c;
	return 0;
}

int unwind_fde_parse(const struct unwind_frames *f, const struct unwind_record *r,
		     const struct unwind_cie *cie, struct unwind_fde *out)
{
	struct unwind_bytes b = r->body;
	uint64_t start, len;

	start = unwind_pointer(f, &b, cie->pointers, 0);
	/* The length is a bare number in the same format. */
	len = read_format(&b, cie->pointers);
	if (cie->is_augmented)
		unwind_skip(&b, unwind_uleb(&b));
	if (b.bad || !len || start + len <= start)
		return -EBADMSG;
	*out = (struct unwind_fde){ start, start + len, b };
	return 0;
}
