/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jumped [CPU-SECONDS]: runs code that has no FDEs and no frames on this stack, that was jumped to,
 * as GHC's is: jumps() leaves room on the stack, keeps the registers of its caller in it, and tells
 * of it as StgRun() does. A half of the time is in what was jumped to, the other half in C that is
 * called from there. Built without frame pointers.
 *
 * A profiler has to find main;calls_jumps;jumped_to and main;calls_jumps;jumped_to;called.
 */
#include "work.h"

NOINLINE static void spin(void)
{
	for (int i = 0; i < 0x40000; i++)
		__asm__ volatile("");
}

#if defined(__x86_64__)
static uint64_t end;

/* 1: it is enough. */
int called(void);
NOINLINE int called(void)
{
	spin();
	return thread_cpu_ns() >= end;
}

/*
 * The CFA is told as rsp, and the caller's rsp as rsp + 16408: rbx, rbp and the return address are
 * at 16384, 16392 and 16400. Meanwhile rbp is no frame pointer, but that of another stack.
 */
void jumps(void);
__asm__(".text\n"
	".globl jumps\n"
	".type jumps, %function\n"
	"jumps:\n"
	".cfi_startproc\n"
	"sub $16400, %rsp\n"
	"mov %rbx, 16384(%rsp)\n"
	"mov %rbp, 16392(%rsp)\n"
	".cfi_def_cfa rsp, 0\n"
	".cfi_offset rbx, 16384\n"
	".cfi_offset rbp, 16392\n"
	".cfi_offset rip, 16400\n"
	".cfi_escape 0x16, 7, 4, 0x77, 0x98, 0x80, 0x01\n"
	"lea jumps(%rip), %rbp\n"
	"jmp jumped_to\n"
	"back:\n"
	"mov 16384(%rsp), %rbx\n"
	"mov 16392(%rsp), %rbp\n"
	"add $16400, %rsp\n"
	".cfi_def_cfa rsp, 8\n"
	".cfi_restore rbx\n"
	".cfi_restore rbp\n"
	".cfi_offset rip, -8\n"
	".cfi_escape 0x08, 7\n"
	"ret\n"
	".cfi_endproc\n"
	".size jumps, . - jumps\n"
	".type jumped_to, %function\n"
	"jumped_to:\n"
	"mov $0x40000, %ecx\n"
	"1: dec %ecx\n"
	"jne 1b\n"
	"sub $8, %rsp\n"
	"call called\n"
	"add $8, %rsp\n"
	"test %eax, %eax\n"
	"je jumped_to\n"
	"jmp back\n"
	".size jumped_to, . - jumped_to\n");

NOINLINE static void calls_jumps(double seconds)
{
	end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);
	jumps();
	__asm__ volatile("");
}
#else
NOINLINE static void calls_jumps(double seconds)
{
	const uint64_t end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);

	while (thread_cpu_ns() < end)
		spin();
}
#endif

int main(int argc, char **argv)
{
	calls_jumps(seconds_arg(argc, argv, 1, 1));
	return 0;
}
