/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames of a kernel stack belong to an interrupt, by its entry functions' names. */
#include <string.h>

#include "interrupt.h"

/* arch/x86/include/asm/idtentry.h, arch/arm64/kernel/entry-common.c, arch/riscv/kernel/traps.c. */
bool record_interrupt_begins(const char *name)
{
	static const char *const functions[] = { "asm_common_interrupt",
						 "asm_spurious_interrupt",
						 "el1h_64_irq",
						 "el0t_64_irq",
						 "el1h_64_fiq",
						 "el0t_64_fiq",
						 "el0t_32_irq",
						 "el0_irq",
						 "el1_irq",
						 "do_irq",
						 "handle_riscv_irq" };
	size_t len = strlen(name), tail = strlen("_interrupt");

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		size_t n = strlen(functions[i]);

		if (!strncmp(name, functions[i], n) && (!name[n] || name[n] == '.'))
			return true;
	}
	return !strncmp(name, "asm_sysvec_", strlen("asm_sysvec_")) ||
	       (!strncmp(name, "asm_", 4) && len > tail &&
		!strcmp(name + len - tail, "_interrupt"));
}

size_t record_interrupt_frames(struct recording *rec, const uint64_t *addrs, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct sym_frame f;

		sym_kernel_lookup(rec->kernel, addrs[i], true, &f);
		if (f.name &&
		    record_interrupt_begins(f.name)) /* they interrupt each other: the outermost */
			found = i + 1;
	}
	return found;
}
