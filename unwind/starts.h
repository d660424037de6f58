/* SPDX-License-Identifier: BSD-2-Clause */
/* Where functions begin, by what points to them: for code that nothing else describes. */
#ifndef UNWIND_STARTS_H
#define UNWIND_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_source;

/*
 * A bit for each byte of a file's code, set where something points to. All zeroes: nothing does.
 * There are bits only for pages in which somebody will ask: of 200 MB of code that is little.
 */
struct unwind_starts {
	bool is_memory; /* of no file: what is a function is seen by its return alone */
	uint64_t entry; /* where the program begins, which is one of them */
	uint16_t machine;
	uint64_t base; /* the address that bit 0 is of */
	uint64_t n;    /* bytes of code */
	uint8_t *bit;
	uint32_t *page; /* 1 + which of those that have bits; 0: it has none. NULL: all have */
	uint64_t taken; /* of the memory that files may have */
	bool is_lost;	/* there was too little of that: some other time there may be bits */
};
enum { UNWIND_STARTS_PAGE = 1 << 12 };

/*
 * Looks for addresses of code in the file: in its instructions (call, lea; bl, adrp and add),
 * relocations and symbols. Not in the words of its data: of those that are addresses most are of
 * places within a function, as cases of a switch are. What is found may be chance, as the bytes of
 * x86-64 code are looked at one by one: it has to be followed to be believed. Asked about will be
 * the ranges between each two of the @n numbers @at, from the start of the file's code; NULL: all
 * of it. What is damaged in the file is passed over. 0; -ENOMEM; -EFBIG: the person wants to stop.
 */
int unwind_starts_find(struct unwind_starts *out, const struct unwind_source *s, const uint32_t *at,
		       size_t n);
void unwind_starts_free(struct unwind_starts *t);

/* Which bit is of @addr; false: it has none. */
static inline bool unwind_start_bit(const struct unwind_starts *t, uint64_t addr, uint64_t *bit)
{
	const uint64_t i = addr - t->base;
	uint32_t page;

	*bit = i;
	if (i >= t->n || !t->page)
		return i < t->n;
	page = t->page[i / UNWIND_STARTS_PAGE];
	*bit = (uint64_t)(page - 1) * UNWIND_STARTS_PAGE + i % UNWIND_STARTS_PAGE;
	return page;
}

static inline bool unwind_is_start(const struct unwind_starts *t, uint64_t addr)
{
	uint64_t i;

	return unwind_start_bit(t, addr, &i) && t->bit[i / 8] >> i % 8 & 1;
}

/* The first from @addr on that is one; @end if there is none before. */
uint64_t unwind_starts_next(const struct unwind_starts *t, uint64_t addr, uint64_t end);

#endif
