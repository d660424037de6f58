/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit [CPU-SECONDS]: writes machine code into memory and runs it, as a just-in-time compiler does,
 * and names it in /tmp/perf-PID.map, one line "START SIZE NAME" in hexadecimal per function.
 *
 * A profiler must find 75 % of the time in "jitted hot loop" (with its spaces: the name is the rest
 * of the line) and 25 % in "jitted_warm_loop", both called by run_jitted(). The map stays behind,
 * as those of real ones do. Prints its pid.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

/* void loop(uint64_t n): a frame pointer prologue, n rounds of nothing, and back. */
#if defined(__x86_64__)
static const unsigned char code[] = {
	0x55,			/* push rbp */
	0x48, 0x89, 0xe5,	/* mov  rbp, rsp */
	0x48, 0x83, 0xef, 0x01, /* sub  rdi, 1 */
	0x75, 0xfa,		/* jnz  the sub */
	0x5d,			/* pop  rbp */
	0xc3,			/* ret */
};
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xa9bf7bfd, /* stp  x29, x30, [sp, #-16]! */
	0x910003fd, /* mov  x29, sp */
	0xf1000400, /* subs x0, x0, #1 */
	0x54ffffe1, /* b.ne the subs */
	0xa8c17bfd, /* ldp  x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#else
#error "no code for this architecture"
#endif

typedef void loop_fn(uint64_t n);
enum { SLOT = 256 };

NOINLINE static void run_jitted(loop_fn *hot, loop_fn *warm, uint64_t end)
{
	uint64_t t = thread_cpu_ns(), random = 1;

	/*
	 * Three rounds to one: ratios of equal loops need no clock. It is read seldom, for the time
	 * that takes is neither's: after 40,000 rounds it would be 5 % in a virtual machine.
	 */
	while (t < end) {
		const uint64_t n = 150000 + next_random(&random) % 100000;

		hot(3 * n);
		warm(n);
		t = thread_cpu_ns();
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t end = thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 2) * 1e9);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[64];
	FILE *map;
	char *mem;

	mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return 1;
	memcpy(mem, code, sizeof(code));
	memcpy(mem + SLOT, code, sizeof(code));
	if (mprotect(mem, page, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache(mem, mem + page);

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx %x jitted hot loop\n", (unsigned long)mem, (unsigned)sizeof(code));
	fprintf(map, "%lx %x jitted_warm_loop\n", (unsigned long)mem + SLOT,
		(unsigned)sizeof(code));
	if (fclose(map))
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	run_jitted((loop_fn *)(void *)mem, (loop_fn *)(void *)(mem + SLOT), end);
	return 0;
}
