/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks like Perl 5.36 and lies: its contexts and stacks go round in circles, lead
 * nowhere, or are enormous in number. Burns CPU time in burn() meanwhile.
 *
 *	fakeperl circle|nowhere|huge SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

/* Offsets of 5.36, as record/script_layouts.c has them. */
enum {
	OP = 8,
	COP = 208,
	STACK = 224,
	CONTEXTS = 8,
	PREVIOUS = 16,
	INDEX = 32,
	SUB_INDEX = 40,
	CONTEXT_BYTES = 104,
	OLD_COP = 16,
	RETURN = 48,
	SUB_BELOW = 56,
	CV = 72,
	FIRST = 40,
	FILE_NAME = 48,
	CV_NAME = 56,
	SUB_CALL = 9,
	NESTED = 3,
};

/* A section of its own, so that a test may say another one. */
__attribute__((section("perl_version"))) const uint8_t PL_version = 36;
const uint8_t PL_revision = 5;
const uint16_t PL_interp_size = 3768;
unsigned int PL_thr_key;

static unsigned char interpreter[4096], stacks[2][48], contexts[NESTED][CONTEXT_BYTES];
static unsigned char cop[64], ops[2][48], sub[24], body[104], glob[24];

static void put(void *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_int(void *at, int32_t value)
{
	memcpy(at, &value, sizeof(value));
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

void Perl_runops_standard(double seconds);
NOINLINE void Perl_runops_standard(double seconds)
{
	burn(seconds);
	burn(0); /* else the first call were a jump */
}

static void lie(const char *how)
{
	for (int i = 0; i < NESTED; i++) {
		contexts[i][0] = SUB_CALL;
		put(contexts[i] + OLD_COP, (uintptr_t)cop);
		put(contexts[i] + RETURN, (uintptr_t)(i ? ops[1] : 0));
		put_int(contexts[i] + SUB_BELOW, i ? i - 1 : NESTED - 1);
		put(contexts[i] + CV, (uintptr_t)sub);
	}
	put(sub, (uintptr_t)body);
	put(body + CV_NAME, (uintptr_t)glob);
	put(glob, (uintptr_t)glob);
	put(glob + 16, (uintptr_t)glob);
	/* Operations whose children are themselves. */
	put(cop + 8, (uintptr_t)ops[0]);
	put(cop + 32, 0x4000);
	for (int i = 0; i < 2; i++) {
		put(ops[i] + 8, (uintptr_t)ops[!i]);
		put(ops[i] + 32, 4 << 16 | 0x4000);
		put(ops[i] + FIRST, (uintptr_t)ops[i]);
	}
	for (int i = 0; i < 2; i++) {
		put(stacks[i] + CONTEXTS, (uintptr_t)contexts);
		put(stacks[i] + PREVIOUS, (uintptr_t)stacks[!i]);
		put_int(stacks[i] + INDEX, NESTED - 1);
		put_int(stacks[i] + SUB_INDEX, NESTED - 1);
	}
	if (!strcmp(how, "nowhere")) {
		put(contexts[1] + CV, 0x123456789abc);
		put(stacks[0] + PREVIOUS, 0x123456789abc);
	}
	if (!strcmp(how, "huge")) {
		put_int(stacks[1] + INDEX, INT32_MAX);
		put_int(stacks[1] + SUB_INDEX, INT32_MAX);
	}
	/* A file with a name that has no end. */
	memset(interpreter + 1024, 'x', sizeof(interpreter) - 1024);
	put(cop + FILE_NAME, (uintptr_t)(interpreter + 1024));
	put(interpreter + OP, 1);
	put(interpreter + COP, (uintptr_t)cop);
	put(interpreter + STACK, (uintptr_t)stacks[0]);
}

int main(int argc, char **argv)
{
	pthread_key_t key;

	if (argc != 3 || pthread_key_create(&key, NULL))
		return 2;
	lie(argv[1]);
	PL_thr_key = key;
	pthread_setspecific(key, interpreter);
	Perl_runops_standard(atof(argv[2]));
	return PL_version == PL_revision || !PL_interp_size;
}
