/* SPDX-License-Identifier: BSD-2-Clause */
/* A result as a file that can be read again: sections, compressed, with checksums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "saved.h"

const char *const report_saved_tags[SAVED_SECTIONS] = {
#define SAVED_TAG(name) #name,
	SAVED_TAGS(SAVED_TAG)
#undef SAVED_TAG
};

struct buf *report_saved_section(struct saved_document *d, enum saved_tag tag)
{
	d->has[tag] = true;
	return &d->section[tag];
}

static void put_bytes(unsigned char *at, uint64_t v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		at[i] = (unsigned char)(v >> 8 * i);
}

/* An empty buf has no bytes to point at. */
static const Bytef *bytes_of(const struct buf *b)
{
	return (const Bytef *)(b->len ? b->s : "");
}

static uint32_t checksum(const struct buf *b)
{
	return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes_of(b), b->len);
}

static int compress_into(struct buf *packed, const struct buf *raw, int level)
{
	uLongf size = compressBound(raw->len);
	Bytef *bytes = malloc(size);
	int err = bytes ? compress2(bytes, &size, bytes_of(raw), raw->len, level) : Z_MEM_ERROR;

	report_buf_reset(packed);
	if (err == Z_OK)
		report_buf_add(packed, bytes, size);
	free(bytes);
	return err != Z_OK ? -ENOMEM : packed->err;
}

/*
 * Compresses what is in *b. What says one thing over and over again may shrink to a thousandth, and
 * then a reader would take it for a bomb.
 */
static int compress_section(struct buf *b, int tag)
{
	struct buf packed = { 0 };
	int err = b->err;

	if (!err)
		err = compress_into(&packed, b, Z_DEFAULT_COMPRESSION);
	if (!err && report_saved_is_bomb(tag, b->len, packed.len))
		err = compress_into(&packed, b, Z_NO_COMPRESSION);
	report_buf_free(b);
	*b = packed;
	return err;
}

/* Compresses all sections; sizes: what they inflate to. -EFBIG: no reader would take it. */
static int compress_all(struct saved_document *d, uint64_t sizes[SAVED_SECTIONS])
{
	uint64_t sum = 0;
	int err = 0;

	for (int i = 0; i < SAVED_SECTIONS && !err; i++) {
		sizes[i] = d->section[i].len;
		sum += sizes[i];
		err = sum > SAVED_MOST ? -EFBIG
		      : d->has[i]      ? compress_section(&d->section[i], i)
				       : 0;
	}
	return err;
}

static void write_document(struct out *out, const struct saved_document *d,
			   const uint64_t sizes[SAVED_SECTIONS])
{
	unsigned char head[SAVED_HEADER + SAVED_SECTIONS * SAVED_ENTRY], *entry;
	unsigned int n = 0;
	uLong crc;

	memcpy(head, SAVED_MAGIC, SAVED_MAGIC_SIZE);
	for (int i = 0; i < SAVED_SECTIONS; i++) {
		if (!d->has[i])
			continue;
		entry = head + SAVED_HEADER + n++ * SAVED_ENTRY;
		memcpy(entry, report_saved_tags[i], 4);
		put_bytes(entry + 4, checksum(&d->section[i]), 4);
		put_bytes(entry + 8, d->section[i].len, 8);
		put_bytes(entry + 16, sizes[i], 8);
	}
	put_bytes(head + 8, SAVED_VERSION, 2);
	put_bytes(head + 10, n, 2);
	crc = crc32(crc32(0, NULL, 0), head, 12);
	crc = crc32(crc, head + SAVED_HEADER, n * SAVED_ENTRY);
	put_bytes(head + 12, crc, 4);
	report_out_write(out, head, SAVED_HEADER + n * SAVED_ENTRY);
	for (int i = 0; i < SAVED_SECTIONS; i++)
		if (d->has[i])
			report_out_buf(out, &d->section[i]);
}

/* Writes and frees the document; err: so far. */
static int finish(struct saved_document *d, FILE *file, int err)
{
	uint64_t sizes[SAVED_SECTIONS];
	struct out out = { .file = file };

	if (!err)
		err = compress_all(d, sizes);
	if (!err) {
		write_document(&out, d, sizes);
		err = report_out_end(&out);
	}
	for (int i = 0; i < SAVED_SECTIONS; i++)
		report_buf_free(&d->section[i]);
	return err;
}

int report_write_saved(const struct report *r, FILE *out, const struct report_options *options)
{
	struct saved_document d = { 0 };

	if (options && options->weight >= r->ntypes)
		return -EINVAL;
	report_saved_put_meta(&d, &r->meta);
	report_saved_put_show(&d, options);
	return finish(&d, out, report_saved_put_profile(&d, r));
}

int report_hists_write_saved(const struct report_hists *set, FILE *out,
			     const struct report_options *options)
{
	struct saved_document d = { 0 };

	report_saved_put_show(&d, options);
	return finish(&d, out, report_saved_put_hists(&d, set));
}

int report_grid_write_saved(const struct report_grid *g, FILE *out,
			    const struct report_options *options)
{
	struct saved_document d = { 0 };

	report_saved_put_show(&d, options);
	return finish(&d, out, report_saved_put_grid(&d, g));
}
