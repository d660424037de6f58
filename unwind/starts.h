/* SPDX-License-Identifier: BSD-2-Clause */
/* Where functions begin, by what points to them: for code that nothing else describes. */
#ifndef UNWIND_STARTS_H
#define UNWIND_STARTS_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_source;

/* A bit for each byte of a file's code, set where something points to. All zeroes: nothing does. */
struct unwind_starts {
	uint64_t entry; /* where the program begins, which is one of them */
	uint64_t base;	/* the address that bit 0 is of */
	uint64_t n;	/* bits */
	uint8_t *bit;	/* taken from the memory that files may have */
};

/*
 * Looks for addresses of code in the file: in its instructions (call, lea), relocations and
 * symbols. Not in the words of its data: of those that are addresses most are of places within a
 * function, as cases of a switch are. What is found may be chance, as the bytes of the code are
 * looked at one by one: it has to be followed to be believed. x86-64 only. 0 or -ENOMEM; what is
 * damaged in the file is passed over.
 */
int unwind_starts_find(struct unwind_starts *out, const struct unwind_source *s);
void unwind_starts_free(struct unwind_starts *t);

static inline bool unwind_is_start(const struct unwind_starts *t, uint64_t addr)
{
	const uint64_t i = addr - t->base;

	return i < t->n && t->bit[i / 8] >> i % 8 & 1;
}

/* The first from @addr on that is one; @end if there is none before. */
uint64_t unwind_starts_next(const struct unwind_starts *t, uint64_t addr, uint64_t end);

#endif
