/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generated WORDS SECONDS: burns CPU time in code that it has generated, in a frame of so many
 * words without a frame pointer; what is in the register for it leads nowhere. 0: in a stub which a
 * frame of 23 has called. The code does not show how large its frame is: the caller says that.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

static const unsigned char enter[] = {
	0x48, 0x29, 0xf4,		       /* sub %rsi, %rsp */
	0x48, 0x89, 0x6c, 0x24, 0x60,	       /* mov %rbp, 96(%rsp) */
	0x48, 0x89, 0xbc, 0x24, 0xa8, 0, 0, 0, /* mov %rdi, 168(%rsp) */
	0xbd, 0x34, 0x12, 0,	0,	       /* mov $0x1234, %ebp */
	0x48, 0x89, 0xf9,		       /* mov %rdi, %rcx */
};
static const unsigned char call_stub[] = { 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xec, 8 }; /* sub */
static const unsigned char spin[] = { 0x48, 0xff, 0xc9, 0x75, 0xfb }; /* dec %rcx; jnz */
static const unsigned char leave_stub[] = { 0x48, 0x83, 0xc4, 16 };   /* add */
static const unsigned char leave[] = {
	0x48, 0x8b, 0x6c, 0x24, 0x60, /* mov 96(%rsp), %rbp */
	0x48, 0x01, 0xf4, 0xc3,	      /* add %rsi, %rsp; ret */
};

static unsigned char *put(unsigned char *at, const unsigned char *code, size_t n)
{
	memcpy(at, code, n);
	return at + n;
}

static void generate(unsigned char *at, bool has_stub)
{
	at = put(at, enter, sizeof(enter));
	if (has_stub)
		at = put(at, call_stub, sizeof(call_stub));
	at = put(at, spin, sizeof(spin));
	if (has_stub)
		at = put(at, leave_stub, sizeof(leave_stub));
	put(at, leave, sizeof(leave));
}

typedef void generated_fn(uint64_t loops, uint64_t frame);

NOINLINE static void calls_generated(generated_fn *code, int words, uint64_t end)
{
	do {
		code(1000000, 8 * (uint64_t)words);
	} while (thread_cpu_ns() < end);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const int words = argc > 1 ? atoi(argv[1]) : 23;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED || (words && words < 22))
		return 1;
	generate(code, !words);
	calls_generated((generated_fn *)(uintptr_t)code, words ? words : 23,
			thread_cpu_ns() + (uint64_t)(seconds_arg(argc, argv, 2, 5) * 1e9));
	return 0;
}
