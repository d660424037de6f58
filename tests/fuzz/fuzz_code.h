/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as code that no table describes, of whichever machine. */
#ifndef FUZZ_CODE_H
#define FUZZ_CODE_H

#include "unwind/code.h"

#include "fuzz.h"

/* What may be told next: instructions within the code, one behind the other. */
struct told {
	uint64_t next, end;
	bool is_first;
};

static inline void told_next(struct told *t, uint64_t addr, uint32_t len)
{
	/* The end may be that of all addresses, 0. */
	fuzz_check(len && addr - t->next < t->end - t->next && len <= t->end - addr);
	fuzz_check(t->is_first || addr >= t->next);
	t->next = addr + len;
	t->is_first = false;
}

typedef int follow_fn(const uint8_t *code, size_t n, uint64_t addr,
		      const struct unwind_starts *starts, struct rp_work *work, struct told *told);

/*
 * The input: where the code lies, of which the upper half of the byte is taken from the end of all
 * addresses, where the program begins in it, and the code.
 */
static inline void fuzz_code(const uint8_t *data, size_t size, follow_fn *follow)
{
	struct fuzz_input in = { data, data + size };
	const uint64_t place = fuzz_take(&in, 1), begins = fuzz_take(&in, 2);
	const size_t n = (size_t)(in.end - in.at);
	const uint64_t addr = place & 0x80 ? -(uint64_t)n : 0x1000 + (place & 15);
	struct rp_work work = rp_work_for(n, UNWIND_CODE_WORK);
	struct told told = { addr, addr + n, true };
	uint8_t bits[] = { (uint8_t)place, (uint8_t)begins, (uint8_t)(begins >> 8), 0x55 };
	const struct unwind_starts starts = { .entry = addr + begins,
					      .base = addr,
					      .n = n < 8 * sizeof(bits) ? n : 8 * sizeof(bits),
					      .bit = bits };
	uint8_t *code = fuzz_copy(in.at, n);

	fuzz_check(n > UNWIND_CODE_PIECE || !follow(code, n, addr, &starts, &work, &told));
	free(code);
}

#endif
