/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks like CPython 3.12 and lies: its frames go round in circles, lead nowhere, or
 * have texts of enormous length. Burns CPU time in burn() meanwhile.
 *
 *	fakepython circle|nowhere|huge SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

/* Offsets of 3.12, as record/python_layouts.c has them. */
enum {
	TSS = 1544,
	THREAD_CFRAME = 56,
	FRAME_PREVIOUS = 8,
	FRAME_POSITION = 56,
	FRAME_OWNER = 70,
	CODE_FIRST_LINE = 68,
	CODE_FILE = 112,
	CODE_NAME = 128,
	CODE_LINES = 136,
	CODE_BYTES = 192
};

const uint32_t Py_Version = 0x030c01f0;
unsigned char _PyRuntime[4096];
unsigned char PyCode_Type[512];

static unsigned char frames[2][128], code[512], text[128], cframe[64], thread_state[512];

static void put(void *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

/* Large enough to be taken for the interpreter's loop. */
void _PyEval_EvalFrameDefault(double seconds);
NOINLINE void _PyEval_EvalFrameDefault(double seconds)
{
	volatile unsigned char room[64];

	for (unsigned int i = 0; i < sizeof(room); i++)
		room[i] = (unsigned char)(i * 7 + (i >> 1));
	burn(seconds);
	for (unsigned int i = 1; i < sizeof(room); i++)
		room[i] = (unsigned char)(room[i - 1] ^ i);
}

static void lie(const char *how)
{
	for (int i = 0; i < 2; i++) {
		put(frames[i], (uintptr_t)code);
		put(frames[i] + FRAME_PREVIOUS, (uintptr_t)frames[!i]);
		put(frames[i] + FRAME_POSITION, (uintptr_t)code + CODE_BYTES + 2);
	}
	put(code + 8, (uintptr_t)PyCode_Type);
	put(code + CODE_FILE, (uintptr_t)text);
	put(code + CODE_NAME, (uintptr_t)text);
	put(code + CODE_LINES, (uintptr_t)text);
	put(text + 16, 3);
	put(text + 32, 1 << 2 | 1 << 5 | 1 << 6);
	if (!strcmp(how, "nowhere"))
		put(frames[1] + FRAME_PREVIOUS, 0x123456789abc);
	if (!strcmp(how, "huge"))
		put(text + 16, INT64_MAX / 2);
	put(cframe, (uintptr_t)frames[0]);
	put(thread_state + THREAD_CFRAME, (uintptr_t)cframe);
}

int main(int argc, char **argv)
{
	pthread_key_t key;

	if (argc != 3 || pthread_key_create(&key, NULL))
		return 2;
	lie(argv[1]);
	pthread_setspecific(key, thread_state);
	memcpy(_PyRuntime + TSS + 4, &key, sizeof(key));
	_PyRuntime[TSS] = 1;
	_PyEval_EvalFrameDefault(atof(argv[2]));
	return Py_Version == 0;
}
