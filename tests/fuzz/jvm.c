/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of HotSpot as a process has them in its memory. The input: the kind of numbers, what is
 * asked for, and the bytes of a table, which is taken for one of lines and of scopes.
 */
#include <stdlib.h>

#include "symbolize/jvm.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	const unsigned int excluded = fuzz_take(&in, 1) & 1;
	const uint32_t asked = (uint32_t)fuzz_take(&in, 2);
	const size_t n = (size_t)(in.end - in.at);
	uint8_t *bytes = fuzz_copy(in.at, n);
	struct sym_jvm_stream s = { bytes, bytes + n, excluded };
	struct sym_jvm_scope scope;
	uint32_t ends = (uint32_t)n, line;

	line = sym_jvm_line(bytes, &ends, excluded, asked);
	fuzz_check(ends <= n && sym_jvm_line(bytes, &ends, excluded, asked) == line);
	while (sym_jvm_scope(&s, &scope))
		fuzz_check(s.at <= s.end);
	free(bytes);
	return 0;
}
