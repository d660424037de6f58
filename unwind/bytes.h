/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading numbers out of bytes that may be anything. */
#ifndef UNWIND_BYTES_H
#define UNWIND_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * at <= end, always. What would pass the end reads as 0 and sets @bad, which stays: a caller may
 * read a whole record and ask once. Little-endian, as the files and the machines that read them.
 */
struct unwind_bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t unwind_left(const struct unwind_bytes *b)
{
	return b->end - b->at;
}

static inline void unwind_skip(struct unwind_bytes *b, uint64_t n)
{
	if (n > unwind_left(b)) {
		b->bad = true;
		n = unwind_left(b);
	}
	b->at += n;
}

/* A number of @n bytes, at most 8. */
static inline uint64_t unwind_uint(struct unwind_bytes *b, unsigned int n)
{
	uint64_t v = 0;

	if (n > unwind_left(b)) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	memcpy(&v, b->at, n);
	b->at += n;
	return v;
}

static inline int64_t unwind_int(struct unwind_bytes *b, unsigned int n)
{
	return (int64_t)(unwind_uint(b, n) << (64 - 8 * n)) >> (64 - 8 * n);
}

/* LEB128 (DWARF 5, 7.6); bits beyond the 64th are dropped. @sign: of the last byte's bit 6. */
static inline uint64_t unwind_leb(struct unwind_bytes *b, bool sign)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t c;

	do {
		c = unwind_uint(b, 1);
		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	if (sign && (c & 0x40) && shift < 64)
		v |= -1ULL << shift;
	return v;
}

static inline uint64_t unwind_uleb(struct unwind_bytes *b)
{
	return unwind_leb(b, false);
}

static inline int64_t unwind_sleb(struct unwind_bytes *b)
{
	return unwind_leb(b, true);
}

#endif
