/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof (proto/profile.proto of github.com/google/pprof), read as far as its numbers can be wrong:
 * every text and every id that is referred to is there. */
#ifndef FUZZ_PPROF_H
#define FUZZ_PPROF_H

#include <zlib.h>

#include "fuzz.h"

struct pprof_part {
	const uint8_t *at, *end;
};

struct pprof_field {
	uint32_t number;
	bool is_part;
	uint64_t value;
	struct pprof_part part;
};

static inline uint64_t pprof_varint(struct pprof_part *p)
{
	uint64_t v = 0;

	for (unsigned int shift = 0;; shift += 7) {
		fuzz_check(p->at < p->end && shift < 70);
		v |= shift < 64 ? (uint64_t)(*p->at & 0x7f) << shift : 0;
		if (!(*p->at++ & 0x80))
			return v;
	}
}

static inline bool pprof_next(struct pprof_part *p, struct pprof_field *f)
{
	uint64_t tag;

	if (p->at == p->end)
		return false;
	tag = pprof_varint(p);
	*f = (struct pprof_field){ .number = (uint32_t)(tag >> 3), .is_part = (tag & 7) == 2 };
	fuzz_check((tag & 7) == 0 || (tag & 7) == 2);
	f->value = pprof_varint(p);
	if (f->is_part) {
		fuzz_check(f->value <= (uint64_t)(p->end - p->at));
		f->part = (struct pprof_part){ p->at, p->at + f->value };
		p->at += f->value;
	}
	return true;
}

/* Numbers of the profile's own fields, and which of a part's fields name what. */
enum {
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6
};

struct pprof_counts {
	uint64_t n[PPROF_STRING + 1];
};

static inline void pprof_below(uint64_t value, uint64_t limit)
{
	fuzz_check(value < limit);
}

/* Ids count from 1; 0 is none, which a location may have for a mapping. */
static inline void pprof_check_part(uint32_t kind, struct pprof_part p,
				    const struct pprof_counts *c)
{
	struct pprof_field f, inner;

	while (pprof_next(&p, &f)) {
		if (kind == PPROF_SAMPLE && f.number == 1 && f.is_part)
			while (f.part.at < f.part.end)
				pprof_below(pprof_varint(&f.part) - 1, c->n[PPROF_LOCATION]);
		if (kind == PPROF_SAMPLE && f.number == 3)
			while (pprof_next(&f.part, &inner))
				if (inner.number == 1 || inner.number == 2 || inner.number == 4)
					pprof_below(inner.value, c->n[PPROF_STRING]);
		if (kind == PPROF_MAPPING && (f.number == 5 || f.number == 6))
			pprof_below(f.value, c->n[PPROF_STRING]);
		if (kind == PPROF_LOCATION && f.number == 2)
			pprof_below(f.value, c->n[PPROF_MAPPING] + 1);
		if (kind == PPROF_LOCATION && f.number == 4)
			while (pprof_next(&f.part, &inner))
				if (inner.number == 1)
					pprof_below(inner.value - 1, c->n[PPROF_FUNCTION]);
		if (kind == PPROF_FUNCTION && f.number >= 2 && f.number <= 4)
			pprof_below(f.value, c->n[PPROF_STRING]);
	}
}

static inline uint8_t *pprof_unpack(const char *bytes, size_t size, size_t *n)
{
	enum { ROOM = 4 << 20 };
	z_stream z = { .next_in = (uint8_t *)bytes, .avail_in = (unsigned int)size };
	uint8_t *raw = malloc(ROOM);

	fuzz_check(raw && inflateInit2(&z, 15 + 16) == Z_OK);
	z.next_out = raw;
	z.avail_out = ROOM;
	fuzz_check(inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_in);
	*n = z.total_out;
	inflateEnd(&z);
	return raw;
}

static inline void fuzz_check_pprof(const char *bytes, size_t size)
{
	struct pprof_counts c = { { 0 } };
	struct pprof_part all, p;
	struct pprof_field f;
	size_t n;
	uint8_t *raw = pprof_unpack(bytes, size, &n);

	p = all = (struct pprof_part){ raw, raw + n };
	while (pprof_next(&p, &f)) {
		if (f.number <= PPROF_STRING)
			c.n[f.number]++;
		for (const uint8_t *s = f.part.at; f.number == PPROF_STRING && s < f.part.end;) {
			char text[5] = { 0 };
			size_t length;

			memcpy(text, s, f.part.end - s < 4 ? (size_t)(f.part.end - s) : 4);
			length = fuzz_utf8((const unsigned char *)text);
			fuzz_check(length);
			s += length;
		}
	}
	for (p = all; pprof_next(&p, &f);)
		if (f.is_part && f.number <= PPROF_FUNCTION)
			pprof_check_part(f.number, f.part, &c);
	free(raw);
}

#endif
