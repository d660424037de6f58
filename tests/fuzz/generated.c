/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as code that a process has generated: the rules that are found in it are in order and
 * inside, of frames that a walk can leave; what is computed of all its instructions is a table.
 */
#include <elf.h>
#include <stdlib.h>

#include "record/generated.h"
#include "unwind/table.h"

#include "fuzz.h"

enum { MOST = 16, FRAME_MAX = 1 << 17 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct generated_row f[MOST];
	const size_t n = record_generated_rows(data, size, f, MOST);
	const struct unwind_rule loop = record_generated_in(data, size);
	const uint16_t machine = size % 2 ? EM_X86_64 : EM_AARCH64;
	struct unwind_table *t;

	fuzz_check(n <= MOST);
	for (size_t i = 0; i < n; i++) {
		fuzz_check(f[i].at < size && (!i || f[i].at > f[i - 1].at));
		if (f[i].rule.kind == UNWIND_NO_ROW)
			continue;
		fuzz_check(f[i].rule.kind == UNWIND_SP && f[i].rule.cfa_off >= 32);
		fuzz_check(f[i].rule.cfa_off % 8 == 0 && f[i].rule.cfa_off < FRAME_MAX);
		fuzz_check(f[i].rule.fp_off <= 0 && f[i].rule.fp_off > -f[i].rule.cfa_off);
	}
	if (size && !unwind_table_build_code(&t, machine, data, size)) {
		fuzz_check(unwind_table_is_sound(t));
		unwind_table_free(t);
	}
	fuzz_check(!loop.kind || (loop.cfa_off > 8 && loop.cfa_off < FRAME_MAX));
	return 0;
}
