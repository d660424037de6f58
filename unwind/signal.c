/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal trampolines by their code: what a handler returns to, and what makes the kernel go back to where it was
 * interrupted. musl and Go describe theirs nowhere, and arm64's vdso does not since Linux 5.9.
 */
#include <elf.h>
#include <string.h>

#include "elf.h"

/* Number of rt_sigreturn into the register for it, and the system call. */
static const struct {
	uint16_t machine;
	uint8_t size;
	uint8_t code[9];
} trampolines[] = {
	/* mov $15, %rax; syscall */
	{ EM_X86_64, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ EM_X86_64, 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov x8, #139; svc #0 */
	{ EM_AARCH64, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } },
	/* li a7, 139; ecall */
	{ EM_RISCV, 8, { 0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00 } },
};

bool unwind_trampoline_next(uint16_t machine, const uint8_t *code, size_t size, size_t *at,
			    size_t *start)
{
	const uint8_t *best = NULL;
	size_t skip = 0;

	for (size_t i = 0; i < sizeof(trampolines) / sizeof(trampolines[0]); i++) {
		const uint8_t *p = NULL;

		if (trampolines[i].machine == machine)
			p = memmem(code + *at, size - *at, trampolines[i].code,
				   trampolines[i].size);
		if (p && (!best || p < best)) {
			best = p;
			skip = trampolines[i].size;
		}
	}
	if (!best)
		return false;
	*start = best - code;
	*at = *start + skip;
	return true;
}
