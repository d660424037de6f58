/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compiled [CPU-SECONDS]: burns CPU time in functions that it has put into memory, as compilers
 * make them that run beside the program: LLVM's, and Mono's, which stores registers where LLVM
 * pushes them and has data between its functions. Neither keeps a frame pointer; what is in the
 * register for it leads nowhere. Built without them, too.
 *
 * A profiler has to find main;calls_compiled and two functions without a name.
 */
#include <string.h>
#include <sys/mman.h>

#include "work.h"

NOINLINE static void spin(void)
{
	for (int i = 0; i < 0x40000; i++)
		__asm__ volatile("");
}

#if defined(__x86_64__)
extern const char compiled[], by_llvm[], by_mono[], compiled_end[];

/* The inner ones burn in a loop; each of the outer ones calls its own. */
__asm__(".pushsection .rodata\n"
	".globl compiled, by_llvm, by_mono, compiled_end\n"
	".balign 16\n"
	"compiled:\n"
	"1: push %rbp\n"
	"mov $0x1234, %ebp\n"
	"mov $0x40000, %ecx\n"
	"2: dec %ecx\n"
	"jne 2b\n"
	"pop %rbp\n"
	"ret\n"
	".balign 16\n"
	"by_llvm:\n"
	"push %rbp\n"
	"push %rbx\n"
	"push %rax\n"
	"mov $0x5678, %ebp\n"
	"call 1b\n"
	"add $8, %rsp\n"
	"pop %rbx\n"
	"pop %rbp\n"
	"ret\n"
	".byte 0xe8, 1, 2, 3, 4, 8, 0x48, 0x8d, 0, 0, 0xe8, 0, 0\n"
	".balign 16, 0\n"
	"3: sub $24, %rsp\n"
	"mov %rbx, (%rsp)\n"
	"mov %rbp, 8(%rsp)\n"
	"mov $0x1234, %ebp\n"
	"lea 0(%rbp), %rbp\n"
	"mov $0x40000, %ecx\n"
	"4: dec %ecx\n"
	"jne 4b\n"
	"mov 8(%rsp), %rbp\n"
	"mov (%rsp), %rbx\n"
	"add $24, %rsp\n"
	"ret\n"
	".byte 0xe8, 1, 2, 3, 4, 8, 0x48, 0x8d, 0, 0, 0xe8, 0, 0\n"
	".balign 16, 0\n"
	"by_mono:\n"
	"sub $40, %rsp\n"
	"mov %rbp, 16(%rsp)\n"
	"mov %r12, 24(%rsp)\n"
	"lea 3b(%rip), %r11\n"
	"lea 0(%rsp), %rsp\n"
	"call *%r11\n"
	"mov 24(%rsp), %r12\n"
	"add $40, %rsp\n"
	"ret\n"
	"compiled_end:\n"
	".popsection\n");

static char *code;

static int make(void)
{
	code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		return -1;
	memcpy(code + 4096, compiled, (size_t)(compiled_end - compiled));
	code += 4096;
	return 0;
}

static void run(void)
{
	((void (*)(void))(uintptr_t)(code + (by_llvm - compiled)))();
	((void (*)(void))(uintptr_t)(code + (by_mono - compiled)))();
}
#else
static int make(void)
{
	return 0;
}

static void run(void)
{
	spin();
}
#endif

NOINLINE static void calls_compiled(double seconds)
{
	const uint64_t end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);

	do {
		run();
		spin();
	} while (thread_cpu_ns() < end);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	if (make())
		return 1;
	calls_compiled(seconds_arg(argc, argv, 1, 1));
	return 0;
}
