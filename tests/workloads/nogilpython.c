/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that looks like a CPython 3.13 built without the interpreter lock; burns 100 ms. */
#include <stdint.h>

#include "work.h"

const uint32_t Py_Version = 0x030d00f0;
/* As struct _Py_DebugOffsets begins: a cookie, the version, is it built so? */
uint64_t _PyRuntime[512] = { 0x7970677562656478, 0x030d00f0, 1 };
unsigned char PyCode_Type[512];

int main(void)
{
	burn_until(thread_cpu_ns() + 100000000);
	return Py_Version == 0 || !_PyRuntime[2] || PyCode_Type[0];
}
