/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as code that no table describes: what is told are instructions, with rules that can be
 * walked, and it comes to an end by its budget of work.
 */
#include "unwind/code.h"

#include "fuzz_code.h"

static int take(void *ctx, uint64_t addr, uint32_t len, const struct unwind_code_state *state)
{
	const struct unwind_rule rule = unwind_code_rule(state);

	fuzz_check(rule.kind != UNWIND_SP || rule.cfa_off >= 8);
	fuzz_check(rule.kind != UNWIND_SP || rule.ra_off == -8);
	told_next(ctx, addr, len);
	return 0;
}

static int follow(const uint8_t *code, size_t n, uint64_t addr, const struct unwind_starts *starts,
		  struct rp_work *work, struct told *told)
{
	return unwind_code_follow(code, n, addr, starts, work, take, told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_code(data, size, follow);
	return 0;
}
