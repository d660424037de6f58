/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.h: where in rawprof a call comes from: the innermost return addresses into rawprof's own
 * code that its stack holds, whatever library lies between. Found by looking at each word of the
 * stack, since libraries have no frame pointers. The memory that it is counted in is shared by the
 * process that calls and the one that supervises it.
 */
#ifndef SITES_H
#define SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SITE_DEPTH = 3, SITE_MAX = 16384, SITE_WORDS = 2048 };

/* The upper half is the number of the system call, or this; the lower what is called. */
#define KIND_MEMORY 0xffffULL
#define KIND(number, sub) ((uint64_t)(number) << 32 | (uint32_t)(sub))

struct site {
	uint64_t kind;
	uint32_t at[SITE_DEPTH]; /* offsets in rawprof's file of the instruction behind each call */
	uint32_t count;
};

struct injection {
	bool counting, memory; /* memory: the preloaded library does it, else the supervisor */
	uint32_t fired;
	uint32_t nth; /* of the calls at the site, from 1 */
	int err;
	struct site fail;
	uint32_t nsites, lost, lock;
	struct site sites[SITE_MAX];
};

struct code {
	const uint8_t *bytes; /* where this process can read it */
	uint64_t start, size; /* its addresses in the process that calls */
	uint64_t offset;      /* of start in the file */
};

/* Whether the instruction before it is a call. */
static inline bool site_is_return(const struct code *code, uint64_t address)
{
	const uint64_t at = address - code->start;
	const uint8_t *end = code->bytes + at;

	if (address < code->start || at < 8 || at >= code->size)
		return false;
#ifdef __x86_64__
	return end[-5] == 0xe8 || (end[-2] == 0xff && (end[-1] & 0x38) == 0x10) ||
	       (end[-3] == 0xff && (end[-2] & 0x38) == 0x10) ||
	       (end[-6] == 0xff && (end[-5] & 0x38) == 0x10);
#else
	return !(at & 3) && (end[-1] >> 2 == 0x25 || (end[-1] == 0xd6 && end[-2] == 0x3f));
#endif
}

/* False if nothing of rawprof is on the stack: the dynamic linker's calls before main(). */
static inline bool site_find(const struct code *code, const uint64_t *words, size_t n,
			     struct site *out)
{
	unsigned int depth = 0;

	for (size_t i = 0; i < n && depth < SITE_DEPTH; i++) {
		if (site_is_return(code, words[i]))
			out->at[depth++] = (uint32_t)(words[i] - code->start + code->offset);
	}
	return depth > 0;
}

static inline bool site_same(const struct site *a, const struct site *b)
{
	for (int i = 0; i < SITE_DEPTH; i++) {
		if (a->at[i] != b->at[i])
			return false;
	}
	return a->kind == b->kind;
}

/* Whether this call is the one to fail. */
static inline bool site_count(struct injection *in, const struct site *site)
{
	uint64_t hash = site->kind;
	bool due = false;

	for (int i = 0; i < SITE_DEPTH; i++)
		hash = (hash ^ site->at[i]) * 0x9e3779b97f4a7c15ULL;
	while (__atomic_exchange_n(&in->lock, 1, __ATOMIC_ACQUIRE))
		;
	if (!in->counting) {
		due = site_same(site, &in->fail) && ++in->fail.count == in->nth;
		in->fired += due;
	} else {
		for (uint32_t i = 0;; i++) {
			struct site *s = &in->sites[(hash >> 40 ^ (hash + i)) % SITE_MAX];

			if (s->count && !site_same(s, site) && i < 64)
				continue;
			if (s->count && !site_same(s, site)) {
				in->lost++;
				break;
			}
			in->nsites += !s->count;
			s->kind = site->kind;
			for (int k = 0; k < SITE_DEPTH; k++)
				s->at[k] = site->at[k];
			s->count++;
			break;
		}
	}
	__atomic_store_n(&in->lock, 0, __ATOMIC_RELEASE);
	return due;
}

#endif
