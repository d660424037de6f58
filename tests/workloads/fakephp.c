/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks like PHP 8.2 and lies: its frames go round in circles, lead nowhere, or have
 * names of enormous length. Burns CPU time in burn() meanwhile.
 *
 *	fakephp circle|nowhere|huge SECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

/* Offsets of 8.2, as record/script_layouts.c has them. */
enum {
	CURRENT = 488,
	FUNCTION = 24,
	INFO = 40,
	PREVIOUS = 48,
	NAME = 8,
	FILE_NAME = 152,
	LENGTH = 16,
	CALL_TOP = 1 << 17
};

const char php_header[] = "X-Powered-By: PHP/8.2.0";
unsigned char executor_globals[1800];

static unsigned char frames[2][80], function[256], text[64];

static void put(void *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

void execute_ex(double seconds);
NOINLINE void execute_ex(double seconds)
{
	burn(seconds);
	burn(0); /* else the first call were a jump */
}

static void lie(const char *how)
{
	for (int i = 0; i < 2; i++) {
		put(frames[i] + FUNCTION, (uintptr_t)function);
		put(frames[i] + PREVIOUS, (uintptr_t)frames[!i]);
		put(frames[i] + INFO, i ? CALL_TOP : 0);
	}
	function[0] = 2;
	put(function + NAME, (uintptr_t)text);
	put(function + FILE_NAME, (uintptr_t)text);
	put(text + LENGTH, 3);
	if (!strcmp(how, "nowhere"))
		put(frames[1] + PREVIOUS, 0x123456789abc);
	if (!strcmp(how, "huge"))
		put(text + LENGTH, INT64_MAX / 2);
	put(executor_globals + CURRENT, (uintptr_t)frames[0]);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	lie(argv[1]);
	execute_ex(atof(argv[2]));
	return php_header[0] == 0;
}
