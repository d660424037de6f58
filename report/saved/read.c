/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saved results, which may be anything. A document is looked at from the outside in: the header and
 * its checksum, what the table of sections says, the checksum of each, and only then what is in
 * them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "saved.h"

/* No series is that long: an hour, each second. */
enum { MAX_PARTS = 4096 };

static uint64_t get_bytes(const unsigned char *at, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

struct document {
	const unsigned char *at; /* its first byte, */
	uint64_t left;		 /*   and how many there are from there to the end of the file */
	uint64_t size;		 /* its own */
	uint64_t *room;		 /* bytes that it may still become */
	unsigned int nsections;
	struct report_file *file;
	struct saved_sections sections;
};

static int truncated(struct document *d)
{
	return report_why(d->file, -EINVAL, "it is truncated: %" PRIu64 " bytes of it are there",
			  d->left);
}

static int check_header(struct document *d)
{
	uint64_t table;
	uLong crc;

	if (memcmp(d->at, SAVED_MAGIC,
		   d->left < SAVED_MAGIC_SIZE ? (size_t)d->left : SAVED_MAGIC_SIZE))
		return report_why(d->file, -EINVAL,
				  "it is damaged: no part begins behind the last");
	if (d->left < SAVED_HEADER)
		return truncated(d);
	if (get_bytes(d->at + 8, 2) > SAVED_VERSION)
		return report_why(d->file, -EINVAL,
				  "it is of version %u, from a newer rawprof: this one reads %u",
				  (unsigned int)get_bytes(d->at + 8, 2), SAVED_VERSION);
	d->nsections = (unsigned int)get_bytes(d->at + 10, 2);
	table = (uint64_t)d->nsections * SAVED_ENTRY;
	if (!d->nsections || d->nsections > SAVED_MAX_SECTIONS)
		return report_why(d->file, -EINVAL, "it is damaged: it has %u sections",
				  d->nsections);
	if (d->left - SAVED_HEADER < table)
		return truncated(d);
	crc = crc32(crc32(0, NULL, 0), d->at, 12);
	crc = crc32(crc, d->at + SAVED_HEADER, (uInt)table);
	if (crc != get_bytes(d->at + 12, 4))
		return report_why(d->file, -EINVAL, "it is damaged: the checksum of its head");
	d->size = SAVED_HEADER + table;
	return 0;
}

static int inflate_all(struct saved_input *in, const unsigned char *packed, uint64_t size,
		       uint64_t inflated, unsigned char **bytes)
{
	uLongf got = inflated, used = size;
	int err;

	/* One more: no memory at all would be NULL. */
	*bytes = malloc(inflated + 1);
	if (!*bytes)
		return -ENOMEM;
	err = uncompress2(*bytes, &got, packed, &used);
	if (err == Z_MEM_ERROR)
		return -ENOMEM;
	*in = (struct saved_input){ *bytes, *bytes + inflated, false };
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) the document frees them: it loses count */
	return err != Z_OK || got != inflated || used != size ? -EINVAL : 0;
}

/* -1: none that we know. */
static int find_tag(const unsigned char *tag)
{
	for (int i = 0; i < SAVED_SECTIONS; i++)
		if (!memcmp(tag, report_saved_tags[i], 4))
			return i;
	return -1;
}

static int damaged_section(struct document *d, const unsigned char *tag, const char *what)
{
	return report_why(d->file, -EINVAL, "it is damaged: %s of the section %.4s", what, tag);
}

static int read_section(struct document *d, const unsigned char *entry)
{
	const uint64_t size = get_bytes(entry + 8, 8), inflated = get_bytes(entry + 16, 8);
	const unsigned char *packed = d->at + d->size;
	const int tag = find_tag(entry);
	int err;

	if (size > d->left - d->size)
		return truncated(d);
	d->size += size;
	if (crc32_z(crc32_z(0, NULL, 0), packed, size) != get_bytes(entry + 4, 4))
		return damaged_section(d, entry, "the checksum");
	if (tag < 0 && entry[0] >= 'a' && entry[0] <= 'z')
		return 0;
	if (tag < 0)
		return report_why(d->file, -EINVAL,
				  "its section %.4s is unknown: it is from a newer rawprof",
				  (const char *)entry);
	if (d->sections.bytes[tag])
		return damaged_section(d, entry, "a second one");
	if (inflated > *d->room || report_saved_is_bomb(tag, inflated, size))
		return report_why(d->file, -EFBIG, "its section %.4s would have %" PRIu64 " bytes",
				  (const char *)entry, inflated);
	*d->room -= inflated;
	err = inflate_all(&d->sections.in[tag], packed, size, inflated, &d->sections.bytes[tag]);
	return err == -EINVAL ? damaged_section(d, entry, "the compression") : err;
}

/* Which of the three it is: what must be there for it. */
static int fill(struct document *d)
{
	static const enum saved_tag profile[] = { SAVED_STRS, SAVED_TYPE, SAVED_MAPS, SAVED_FUNC,
						  SAVED_FRAM, SAVED_NODE, SAVED_LABL, SAVED_SAMP };
	struct saved_sections *s = &d->sections;
	struct report_file *file = d->file;
	enum saved_tag at = SAVED_META;
	struct report_meta meta = { 0 };
	int err = -EINVAL;

	if (!s->bytes[SAVED_META] || !s->bytes[SAVED_SHOW])
		return report_why(file, -EINVAL, "it is damaged: a section is not there");
	for (size_t i = 0; i < sizeof(profile) / sizeof(*profile); i++)
		if (!s->bytes[SAVED_HIST] && !s->bytes[SAVED_GRID] && !s->bytes[profile[i]])
			return report_why(file, -EINVAL, "it is damaged: it has no section %s",
					  report_saved_tags[profile[i]]);
	err = report_saved_get_meta(&s->in[at], &meta);
	if (!err)
		err = report_saved_get_show(&s->in[at = SAVED_SHOW], file);
	if (err) {
		report_meta_free(&meta);
	} else if (s->bytes[SAVED_HIST]) {
		err = report_saved_get_hists(&s->in[at = SAVED_HIST], &meta, d->room, &file->hists);
	} else if (s->bytes[SAVED_GRID]) {
		err = report_saved_get_grid(&s->in[at = SAVED_GRID], &meta, d->room, &file->grid);
	} else {
		err = report_saved_get_profile(s, &meta, &file->report, &at);
		if (!err && file->show.weight >= file->report->ntypes) {
			at = SAVED_SHOW;
			err = -EINVAL;
		}
	}
	return err == -EINVAL ? damaged_section(d, (const unsigned char *)report_saved_tags[at],
						"the contents")
			      : err;
}

/* Reads one document; *size is how long it is. *room: what it may take of all memory. */
static int read_document(const unsigned char *at, uint64_t left, struct report_file *file,
			 uint64_t *room, uint64_t *size)
{
	struct document d = { .at = at, .left = left, .file = file, .room = room };
	int err = check_header(&d);

	for (unsigned int i = 0; !err && i < d.nsections; i++)
		err = read_section(&d, at + SAVED_HEADER + (size_t)i * SAVED_ENTRY);
	if (!err)
		err = fill(&d);
	for (int i = 0; i < SAVED_SECTIONS; i++)
		free(d.sections.bytes[i]);
	*size = d.size;
	return err;
}

int report_read_saved(const void *data, size_t size, struct report_file *out)
{
	const unsigned char *at = data;
	struct report_file *part = out;
	uint64_t left = size, taken, room = SAVED_MOST;
	int err, n = 0;

	while (!(err = read_document(at, left, part, &room, &taken)) && left > taken &&
	       n++ < MAX_PARTS) {
		at += taken;
		left -= taken;
		part->next = calloc(1, sizeof(*part));
		if (!part->next) {
			err = -ENOMEM;
			break;
		}
		part = part->next;
	}
	if (!err && left > taken)
		err = report_why(part, -EFBIG, "it has more than %d parts", MAX_PARTS);
	/* A series ends with what is no part of it. */
	if (!err && part->show.part)
		err = report_why(part, -EINVAL, "it is truncated: its recording did not end");
	if (err) {
		char why[REPORT_WHY];

		memcpy(why, part->why, sizeof(why));
		report_file_free(out);
		memcpy(out->why, why, sizeof(why));
	}
	return err;
}
