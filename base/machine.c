/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of each machine whose files are read. */
#include <elf.h>

#include "machine.h"

static const struct machine machines[] = {
	{ .elf = EM_X86_64,
	  .objdump = "i386:x86-64",
	  .sp = 7,
	  .fp = 6,
	  .ra = 16,
	  .signal = { .pc = 168, .sp = 160, .fp = 120 },
	  .syscall = { 2, { 0x0f, 0x05 } },
	  /* mov $15, %rax; syscall. mov $15, %eax; syscall */
	  .trampolines = { { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
			   { 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } } } },
	{ .elf = EM_AARCH64,
	  .objdump = "aarch64",
	  .sp = 31,
	  .fp = 29,
	  .ra = 30,
	  .has_link_register = true,
	  .signal = { .pc = 568, .sp = 560, .fp = 544, .link = 552 },
	  .syscall = { 4, { 0x01, 0x00, 0x00, 0xd4 } }, /* svc #0 */
	  /* mov x8, #139; svc #0 */
	  .trampolines = { { 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } } } },
	{ .elf = EM_RISCV,
	  .objdump = "riscv:rv64",
	  .sp = 2,
	  .fp = 8,
	  .ra = 1,
	  .has_link_register = true,
	  .signal = { .pc = 304, .sp = 320, .fp = 368, .link = 312 },
	  .syscall = { 4, { 0x73, 0x00, 0x00, 0x00 } }, /* ecall */
	  /* li a7, 139; ecall */
	  .trampolines = { { 8, { 0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00 } } } },
};

const struct machine *rp_machine(uint16_t elf)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf == elf)
			return &machines[i];
	return NULL;
}

const struct machine *rp_machine_host(void)
{
#if defined(__aarch64__)
	return rp_machine(EM_AARCH64);
#elif defined(__riscv)
	return rp_machine(EM_RISCV);
#else
	return rp_machine(EM_X86_64);
#endif
}
