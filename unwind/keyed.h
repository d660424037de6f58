/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fingerprints that cannot be aimed at without a secret: the bytes by blocks through NH, which is
 * one multiplication for 16 bytes, and what comes of the blocks through SipHash-2-4 of 128 bits.
 *
 * Two inputs that were chosen without the secret agree in NH of a block with a chance of 2^-64 (J.
 * Black et al., UMAC, 1999; RFC 4418, 5.2.2, with words of 64 bits); SipHash keeps what NH gave
 * from those that see fingerprints (J.-P. Aumasson, D. J. Bernstein, 2012).
 */
#ifndef UNWIND_KEYED_H
#define UNWIND_KEYED_H

#include <stddef.h>
#include <stdint.h>

enum { UNWIND_BLOCK_WORDS = 128 };

/* Random bits throughout. */
struct unwind_secret {
	uint64_t sip[2], nh[UNWIND_BLOCK_WORDS];
};

struct unwind_sip {
	uint64_t v[4];
};

struct unwind_key {
	uint64_t word[2];
};

/* To the left, by 1 to 63 bits. */
static inline uint64_t unwind_rotate(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

/* SipHash-2-4 by words; the last one has the bytes that are left, and above them the length. */
void unwind_sip_begin(struct unwind_sip *s, const uint64_t key[2]);
void unwind_sip_word(struct unwind_sip *s, uint64_t word);
struct unwind_key unwind_sip_end(struct unwind_sip *s, uint64_t last);

/* Adds the length of @data and what it is. */
void unwind_sip_data(struct unwind_sip *s, const struct unwind_secret *secret, const void *data,
		     size_t size);

#endif
