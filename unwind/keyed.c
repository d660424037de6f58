/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4 with 128 bits, over the blocks' NH. */
#include <string.h>

#include "keyed.h"

static inline void rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = unwind_rotate(v[1], 13) ^ v[0];
		v[0] = unwind_rotate(v[0], 32);
		v[2] += v[3];
		v[3] = unwind_rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = unwind_rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = unwind_rotate(v[1], 17) ^ v[2];
		v[2] = unwind_rotate(v[2], 32);
	}
}

/* The numbers are "somepseudorandomlygeneratedbytes"; 0xee, and 0xdd below, say 128 bits. */
void unwind_sip_begin(struct unwind_sip *s, const uint64_t key[2])
{
	s->v[0] = key[0] ^ 0x736f6d6570736575;
	s->v[1] = key[1] ^ 0x646f72616e646f6d ^ 0xee;
	s->v[2] = key[0] ^ 0x6c7967656e657261;
	s->v[3] = key[1] ^ 0x7465646279746573;
}

void unwind_sip_word(struct unwind_sip *s, uint64_t word)
{
	s->v[3] ^= word;
	rounds(s->v, 2);
	s->v[0] ^= word;
}

struct unwind_key unwind_sip_end(struct unwind_sip *s, uint64_t last)
{
	uint64_t *v = s->v;
	struct unwind_key k;

	unwind_sip_word(s, last);
	v[2] ^= 0xee;
	rounds(v, 4);
	k.word[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
	v[1] ^= 0xdd;
	rounds(v, 4);
	k.word[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
	return k;
}

static unsigned __int128 nh(const struct unwind_secret *secret, const uint8_t *block)
{
	unsigned __int128 sum = 0;
	uint64_t w[2];

	for (int i = 0; i < UNWIND_BLOCK_WORDS; i += 2) {
		memcpy(w, block + 8 * i, sizeof(w));
		sum += (unsigned __int128)(w[0] + secret->nh[i]) * (w[1] + secret->nh[i + 1]);
	}
	return sum;
}

void unwind_sip_data(struct unwind_sip *s, const struct unwind_secret *secret, const void *data,
		     size_t size)
{
	enum { BLOCK = 8 * UNWIND_BLOCK_WORDS };
	uint8_t rest[BLOCK] = { 0 };
	const uint8_t *p = data;

	unwind_sip_word(s, size);
	while (size) {
		size_t n = size < BLOCK ? size : BLOCK;
		unsigned __int128 sum;

		if (n < BLOCK)
			memcpy(rest, p, n);
		sum = nh(secret, n < BLOCK ? rest : p);
		unwind_sip_word(s, (uint64_t)sum);
		unwind_sip_word(s, (uint64_t)(sum >> 64));
		p += n;
		size -= n;
	}
}
