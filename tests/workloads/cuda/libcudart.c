/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of CUDA's runtime, which calls the driver; and one of OpenCL's. */
#include <stddef.h>

/* Declared, and defined. */
#define ENTRY(name, ...)                                                                           \
	__attribute__((visibility("default"), noinline)) int name(__VA_ARGS__);                    \
	int name(__VA_ARGS__)

int cuLaunchKernel(const void *f, unsigned int gx, unsigned int gy, unsigned int gz);
int cuMemcpyHtoD_v2(unsigned long dst, const void *src, size_t bytes);
int cuMemcpyHtoDAsync_v2(unsigned long dst, const void *src, size_t bytes, void *stream);
int cuMemAlloc_v2(unsigned long *p, size_t bytes);
int cuMemFree_v2(unsigned long p);
int cuStreamSynchronize(void *stream);

struct dim3 {
	unsigned int x, y, z;
};

ENTRY(cudaLaunchKernel, const void *func, struct dim3 grid, struct dim3 block, void **args,
      size_t shared, void *stream)
{
	__asm__ volatile("" ::"r"(block.x), "r"(args), "r"(shared), "r"(stream));
	return cuLaunchKernel(func, grid.x, grid.y, grid.z) + 0 * (int)shared;
}

ENTRY(cudaMemcpy, void *dst, const void *src, size_t bytes, int kind)
{
	const int r = cuMemcpyHtoD_v2((unsigned long)dst, src, bytes);

	__asm__ volatile("" ::"r"(kind));
	return r;
}

ENTRY(cudaMemcpyAsync, void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	const int r = cuMemcpyHtoDAsync_v2((unsigned long)dst, src, bytes, stream);

	__asm__ volatile("" ::"r"(kind));
	return r;
}

ENTRY(cudaMemset2D, void *p, size_t pitch, int value, size_t width, size_t height)
{
	__asm__ volatile("" ::"r"(p), "r"(pitch), "r"(value), "r"(width), "r"(height));
	return 0;
}

ENTRY(cudaMalloc, void **p, size_t bytes)
{
	const int r = cuMemAlloc_v2((unsigned long *)p, bytes);

	__asm__ volatile("");
	return r;
}

ENTRY(cudaFree, void *p)
{
	const int r = cuMemFree_v2((unsigned long)p);

	__asm__ volatile("");
	return r;
}

ENTRY(cudaStreamSynchronize, void *stream)
{
	const int r = cuStreamSynchronize(stream);

	__asm__ volatile("");
	return r;
}

/* One of OpenCL: the handle is one of a hundred. */
ENTRY(clCreateKernel, void *program, const char *name, int *err)
{
	static int kernels;

	__asm__ volatile("" ::"r"(program), "r"(name), "r"(err));
	return ++kernels % 100 + 1;
}
