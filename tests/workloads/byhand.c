/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * byhand [CPU-SECONDS]: all time in functions written in assembly, of which no .eh_frame tells: a
 * third each in one without a frame; in one that has part of the stack, while another runs; and in
 * one that keeps its return address in a register meanwhile, as codecs on arm64 do. Built without
 * frame pointers.
 *
 * A profiler has to find main;calls_bare;bare, main;calls_framed;framed;spins and
 * main;calls_keeping;keeping;spins.
 */
#include "work.h"

#define FUNCTION(name) ".balign 16\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"

void bare(void), framed(void), keeping(void);
/* One function a line. */
/* clang-format off */
#if defined(__aarch64__)
#define LOOP "mov x9, #0xf0000\n1: subs x9, x9, #1\nb.ne 1b\n"
__asm__(".text\n" FUNCTION(bare) LOOP "ret\n" END(bare)
	FUNCTION(spins) LOOP "ret\n" END(spins)
	FUNCTION(framed)
	"sub sp, sp, #48\nstr x30, [sp, #8]\nstp d8, d9, [sp, #16]\nbl spins\n"
	"ldp d8, d9, [sp, #16]\nldr x30, [sp, #8]\nadd sp, sp, #48\nret\n" END(framed)
	FUNCTION(keeping) "mov x15, x30\nbl spins\nret x15\n" END(keeping));
#elif defined(__x86_64__)
#define LOOP "mov $0xf0000, %ecx\n1: dec %ecx\njne 1b\n"
__asm__(".text\n" FUNCTION(bare) LOOP "ret\n" END(bare)
	FUNCTION(spins) LOOP "ret\n" END(spins)
	FUNCTION(framed)
	"push %rbx\nsub $32, %rsp\ncall spins\nadd $32, %rsp\npop %rbx\nret\n" END(framed)
	FUNCTION(keeping) "sub $8, %rsp\ncall spins\nadd $8, %rsp\nret\n" END(keeping));
#else
/* clang-format on */
void spins(void);
NOINLINE void spins(void)
{
	for (int i = 0; i < 0xf0000; i++)
		__asm__ volatile("");
}
NOINLINE void bare(void)
{
	spins();
}
NOINLINE void framed(void)
{
	spins();
}
NOINLINE void keeping(void)
{
	spins();
}
#endif

NOINLINE static void calls_bare(void)
{
	bare();
	__asm__ volatile("");
}

NOINLINE static void calls_framed(void)
{
	framed();
	__asm__ volatile("");
}

NOINLINE static void calls_keeping(void)
{
	keeping();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const uint64_t end = thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 5) * 1e9);

	while (thread_cpu_ns() < end) {
		calls_bare();
		calls_framed();
		calls_keeping();
	}
	return 0;
}
