/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal trampolines by their code: what a handler returns to, and what makes the kernel go back to
 * where it was interrupted. musl and Go describe theirs nowhere, and arm64's vdso does not since
 * Linux 5.9.
 */
#include <string.h>

#include "base/machine.h"
#include "elf.h"

bool unwind_trampoline_next(uint16_t machine, const uint8_t *code, size_t size, size_t *at,
			    size_t *start)
{
	const struct machine *m = rp_machine(machine);
	const uint8_t *best = NULL;
	size_t skip = 0;

	for (size_t i = 0; m && i < 2 && m->trampolines[i].size; i++) {
		const struct machine_bytes *c = &m->trampolines[i];
		const uint8_t *p = memmem(code + *at, size - *at, c->bytes, c->size);

		if (p && (!best || p < best)) {
			best = p;
			skip = c->size;
		}
	}
	if (!best)
		return false;
	*start = best - code;
	*at = *start + skip;
	return true;
}
