/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The form of a saved result, `.rawprof`: docs/saved.md describes it byte by byte.
 *
 * A file is one document, or, of a series, several one after the other. A document is a header, a
 * table of sections, and the sections without gaps, each a zlib stream. All numbers are little-
 * endian; within sections most are varints (proto.h). Every byte is under one of the checksums.
 *
 * What is equal in memory is equal in the file: it has everything in an order that follows from
 * the contents.
 */
#ifndef REPORT_SAVED_H
#define REPORT_SAVED_H

#include <zlib.h>

#include "report/file.h"
#include "report/proto.h"
#include "report/report.h"

/* As PNG: the first byte and the line ends show what a transfer as text does to it. */
#define SAVED_MAGIC "\x89RPROF\r\n"
enum {
	SAVED_MAGIC_SIZE = 8,
	SAVED_VERSION = 1,
	SAVED_HEADER = 16, /* magic, u16 version, u16 sections, u32 CRC of these and the table */
	SAVED_ENTRY = 24,  /* tag, u32 CRC, u64 size in the file, u64 size when inflated */
	SAVED_MAX_SECTIONS = 64,
};

/*
 * How much a file may say: a section may inflate to SAVED_SMALL, or to SAVED_RATIO times its size
 * in the file, all of them to SAVED_MOST. A node of two bytes takes 33 in memory, so nodes have a
 * lower ratio. The writer keeps to it: where zlib would do better, it stores.
 */
#define SAVED_RATIO 64ull
#define SAVED_RATIO_NODES 16ull
#define SAVED_SMALL (8ull << 20)
#define SAVED_MOST (1ull << 30)

/* Sections. A reader that does not know one refuses the file, but skips it if its tag begins with a
 * small letter. */
#define SAVED_TAGS(X)                                                                              \
	X(META) /* info, ledger, cost */                                                           \
	X(SHOW) /* how its maker shows it */                                                       \
	X(STRS) /* of a profile: strings, */                                                       \
	X(TYPE) /* value types, */                                                                 \
	X(MAPS) /* mappings, */                                                                    \
	X(FUNC) /* functions, */                                                                   \
	X(FRAM) /* frames, */                                                                      \
	X(NODE) /* the trie of stacks, */                                                          \
	X(LABL) /* sets of labels, */                                                              \
	X(SAMP) /* samples */                                                                      \
	X(TIME) /* and the stream */                                                               \
	X(HIST) /* histograms */                                                                   \
	X(GRID) /* a grid */
enum saved_tag {
#define SAVED_TAG(name) SAVED_##name,
	SAVED_TAGS(SAVED_TAG)
#undef SAVED_TAG
		SAVED_SECTIONS
};

static inline bool report_saved_is_bomb(int tag, uint64_t raw, uint64_t packed)
{
	return raw > SAVED_SMALL &&
	       raw / (tag == SAVED_NODE ? SAVED_RATIO_NODES : SAVED_RATIO) > packed;
}

extern const char *const report_saved_tags[SAVED_SECTIONS]; /* four letters each */

/* ---- writing */

struct saved_document {
	struct buf section[SAVED_SECTIONS];
	bool has[SAVED_SECTIONS];
};

/* The section, which is in the document from now on. */
struct buf *report_saved_section(struct saved_document *d, enum saved_tag tag);
/* 0 or -ENOMEM. */
int report_saved_put_profile(struct saved_document *d, const struct report *r);
int report_saved_put_hists(struct saved_document *d, const struct report_hists *set);
int report_saved_put_grid(struct saved_document *d, const struct report_grid *g);
void report_saved_put_meta(struct saved_document *d, const struct report_meta *meta);
void report_saved_put_show(struct saved_document *d, const struct report_options *options);

void report_put_signed(struct buf *b, int64_t v);
void report_put_double(struct buf *b, double v);
void report_put_text(struct buf *b, const char *text); /* or NULL */

/* ---- reading */

/*
 * Takes one thing after the other. Once something is not there, or too large, bad is set and
 * nothing but 0, NULL and "" follows.
 */
struct saved_input {
	const unsigned char *at, *end;
	bool bad;
};

uint64_t report_get_number(struct saved_input *in);
uint64_t report_get_below_wide(struct saved_input *in, uint64_t limit); /* less than that */
uint32_t report_get_below(struct saved_input *in, uint64_t limit);	/* limit <= 2^32 */
int64_t report_get_signed(struct saved_input *in);
double report_get_double(struct saved_input *in);
bool report_get_flag(struct saved_input *in);
/* A text without NUL bytes, in the input, NUL-terminated there; or NULL. */
const char *report_get_text(struct saved_input *in);

struct saved_sections {
	struct saved_input in[SAVED_SECTIONS];
	unsigned char *bytes[SAVED_SECTIONS]; /* what has been inflated; NULL: it is not there */
};

/* Each: 0, -ENOMEM, or -EINVAL: the section that *in is of makes no sense, or has a rest. */
int report_saved_get_meta(struct saved_input *in, struct report_meta *meta);
int report_saved_get_show(struct saved_input *in, struct report_file *out);
/* These take over *meta, after an error too; *bad is the section that makes no sense. */
int report_saved_get_profile(struct saved_sections *s, struct report_meta *meta,
			     struct report **out, enum saved_tag *bad);
/* *room: bytes that its slots or cells may take, less those that they took then. */
int report_saved_get_hists(struct saved_input *in, struct report_meta *meta, uint64_t *room,
			   struct report_hists **out);
int report_saved_get_grid(struct saved_input *in, struct report_meta *meta, uint64_t *room,
			  struct report_grid **out);

#endif
