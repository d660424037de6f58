/* SPDX-License-Identifier: BSD-2-Clause */
/* Helper functions by number, for messages and the disassembler. */
#include <rawprof/uapi.h>
#include <stddef.h>

const char *asm_helper_name(unsigned int number)
{
	static const char *const names[] = {
#define HELPER_NAME(number, name) [number] = #name,
		ASM_HELPERS(HELPER_NAME)
#undef HELPER_NAME
	};

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}
