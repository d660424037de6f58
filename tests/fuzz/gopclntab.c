/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gopclntab: whatever is in it, rules are told at rising addresses of the range asked for, and a
 * name lies in the table.
 */
#include "unwind/go.h"
#include "fuzz.h"

enum { START = 0x400000, END = 0x500000, ROWS = 100000 };

struct rows {
	uint64_t last;
	uint32_t n;
};

static int take_row(void *ctx, uint64_t addr, const struct unwind_rule *rule)
{
	struct rows *r = ctx;

	fuzz_check(addr >= START && addr < END && (!r->n || addr > r->last));
	fuzz_check(rule->kind != UNWIND_SP || rule->cfa_off >= 8);
	r->last = addr;
	return ++r->n < ROWS ? 0 : -1;
}

static int take_function(void *ctx, const char *name, const struct unwind_go_function *f)
{
	fuzz_check(f->start < f->end && *name);
	return ++*(uint32_t *)ctx < ROWS ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	const struct unwind_go go = { copy, size, START, 0 };
	struct unwind_go_function f;
	struct unwind_go_layout l;
	struct rp_work work = rp_work_for(size, 1);
	struct rows rows = { 0 };
	const char *name;
	size_t len;

	unwind_go_fill(&go, START, END, &work, take_row, &rows);
	for (uint64_t at = START; unwind_go_layout(&go, &l) && at < START + 4096; at += 64)
		if (unwind_go_find(&go, &l, at, &f) &&
		    unwind_go_string(&go, l.names + unwind_go_number(&go, f.at + GO_NAME, 4), &name,
				     &len))
			fuzz_check(len && (const uint8_t *)name >= copy &&
				   (const uint8_t *)name + len <= copy + size);
	rows.n = 0;
	unwind_go_each(&go, take_function, &rows.n);
	free(copy);
	return 0;
}
