/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of CUDA's driver, which take no time except to wait: 10 ms for a stream. */
#include <stddef.h>
#include <time.h>

/* Declared, and defined. */
#define ENTRY(name, ...)                                                                           \
	__attribute__((visibility("default"), noinline)) int name(__VA_ARGS__);                    \
	int name(__VA_ARGS__)

ENTRY(cuLaunchKernel, void *f, unsigned int gx, unsigned int gy, unsigned int gz)
{
	__asm__ volatile("" ::"r"(f));
	return (int)(gx - gx + gy - gy + gz - gz);
}

ENTRY(cuMemcpyHtoD_v2, unsigned long dst, const void *src, size_t bytes)
{
	__asm__ volatile("" ::"r"(dst), "r"(src), "r"(bytes));
	return 0;
}

ENTRY(cuMemcpyHtoDAsync_v2, unsigned long dst, const void *src, size_t bytes, void *stream)
{
	__asm__ volatile("" ::"r"(dst), "r"(src), "r"(bytes), "r"(stream));
	return 0;
}

ENTRY(cuMemAlloc_v2, unsigned long *p, size_t bytes)
{
	*p = bytes;
	return 0;
}

ENTRY(cuMemFree_v2, unsigned long p)
{
	__asm__ volatile("" ::"r"(p));
	return 0;
}

ENTRY(cuStreamSynchronize, void *stream)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	__asm__ volatile("" ::"r"(stream));
	return 0;
}
