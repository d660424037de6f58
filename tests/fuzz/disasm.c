/* SPDX-License-Identifier: BSD-2-Clause */
/* Any 64 bits can be given to the disassembler: it says something, and stays within its buffer. */
#include <rawprof/asm.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t n = (uint32_t)(size / sizeof(struct bpf_insn));
	struct bpf_insn *insns = calloc(n + 1, sizeof(*insns));
	struct asm_disasm_options options = { 0 };
	char text[128];

	if (!insns)
		return 0;
	memcpy(insns, data, n * sizeof(*insns));
	for (int dialect = 0; dialect < 2; dialect++) {
		options.dialect = (enum asm_dialect)dialect;
		for (uint32_t at = 0; at < n; at++) {
			memset(text, 'x', sizeof(text));
			asm_disasm(&options, insns, n, at, text, sizeof(text) / 2);
			if (!memchr(text, 0, sizeof(text) / 2) || text[sizeof(text) / 2] != 'x')
				abort();
		}
	}
	free(insns);
	return 0;
}
