/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any words as arm64 code that no table describes: what is told are instructions, with rules that
 * can be walked, and it comes to an end by its budget of work.
 */
#include "unwind/code_arm64.h"

#include "fuzz_code.h"

static int take(void *ctx, uint64_t addr, uint32_t len, const struct unwind_arm64_state *state)
{
	const struct unwind_rule rule = unwind_arm64_rule(state);

	fuzz_check(rule.kind != UNWIND_SP || rule.cfa_off >= 0);
	fuzz_check(rule.kind != UNWIND_REG || (uint16_t)rule.arg < 31);
	fuzz_check(!(rule.flags & UNWIND_RA_REG) || (uint16_t)rule.ra_off < 31);
	told_next(ctx, addr, len);
	return 0;
}

static int follow(const uint8_t *code, size_t n, uint64_t addr, const struct unwind_starts *starts,
		  struct rp_work *work, struct told *told)
{
	return unwind_arm64_follow(code, n, addr, starts, work, take, told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_code(data, size, follow);
	return 0;
}
