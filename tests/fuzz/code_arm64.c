/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any words as arm64 code that no table describes. The input: where it lies, of which the upper
 * half of the byte is taken from the end of all addresses, where the program begins in it, and the
 * code. What is told are instructions within it, one behind the other, with rules that can be
 * walked; and it comes to an end by its budget of work.
 */
#include "unwind/code.h"
#include "unwind/code_arm64.h"

#include "fuzz.h"

struct told {
	uint64_t next, end;
	bool is_first;
};

static int take(void *ctx, uint64_t addr, uint32_t len, const struct unwind_arm64_state *state)
{
	struct told *t = ctx;
	const struct unwind_rule rule = unwind_arm64_rule(state);
	const bool is_in_register = rule.flags & UNWIND_RA_REG;

	/* The end may be that of all addresses, 0. */
	fuzz_check(len && addr - t->next < t->end - t->next && len <= t->end - addr);
	fuzz_check(t->is_first || addr >= t->next);
	fuzz_check(rule.kind != UNWIND_SP || rule.cfa_off >= 0);
	fuzz_check(rule.kind != UNWIND_REG || (uint16_t)rule.arg < 31);
	fuzz_check(!is_in_register || (uint16_t)rule.ra_off < 31);
	t->next = addr + len;
	t->is_first = false;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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

	fuzz_check(n > UNWIND_CODE_PIECE ||
		   !unwind_arm64_follow(code, n, addr, &starts, &work, take, &told));
	free(code);
	return 0;
}
