/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gpucalls LIBRARY [SECONDS]: loads a library with CUDA's names, waits so long (0), and calls them:
 * 70 launches of saxpy and 30 of reduce, 10 copies of 1 MiB, 20 of 4096 bytes that are not waited
 * for, 3 fills of 100 by 200, 5 allocations of 2 MiB and their frees, 4 waits. Prints how long the
 * waits were, in nanoseconds.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

struct dim3 {
	unsigned int x, y, z;
};

NOINLINE static void saxpy(void)
{
	__asm__ volatile("");
}

NOINLINE static void reduce(void)
{
	__asm__ volatile("nop");
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *find(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return f;
}

static void launch(void *library, const void *kernel, int times)
{
	int (*f)(const void *, struct dim3, struct dim3, void **, size_t, void *) =
		(int (*)(const void *, struct dim3, struct dim3, void **, size_t, void *))find(
			library, "cudaLaunchKernel");

	for (int i = 0; i < times; i++)
		f(kernel, (struct dim3){ 8, 1, 1 }, (struct dim3){ 256, 1, 1 }, NULL, 0, NULL);
}

static void copy(void *library)
{
	static char data[1 << 20];
	int (*now)(void *, const void *, size_t, int) =
		(int (*)(void *, const void *, size_t, int))find(library, "cudaMemcpy");
	int (*later)(void *, const void *, size_t, int, void *) =
		(int (*)(void *, const void *, size_t, int, void *))find(library,
									 "cudaMemcpyAsync");
	int (*fill)(void *, size_t, int, size_t, size_t) =
		(int (*)(void *, size_t, int, size_t, size_t))find(library, "cudaMemset2D");

	for (int i = 0; i < 10; i++)
		now(data, data, sizeof(data), 1);
	for (int i = 0; i < 20; i++)
		later(data, data, 4096, 1, NULL);
	for (int i = 0; i < 3; i++)
		fill(data, 256, 0, 100, 200);
}

static void allocate(void *library)
{
	int (*get)(void **, size_t) = (int (*)(void **, size_t))find(library, "cudaMalloc");
	int (*put)(void *) = (int (*)(void *))find(library, "cudaFree");
	void *p;

	for (int i = 0; i < 5; i++) {
		get(&p, 2 << 20);
		put(p);
	}
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*wait_for)(void *);
	uint64_t begin;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	usleep((useconds_t)(seconds_arg(argc, argv, 2, 0) * 1e6));
	launch(library, (const void *)saxpy, 70);
	launch(library, (const void *)reduce, 30);
	copy(library);
	allocate(library);
	wait_for = (int (*)(void *))find(library, "cudaStreamSynchronize");
	begin = now_ns();
	for (int i = 0; i < 4; i++)
		wait_for(NULL);
	printf("%llu\n", (unsigned long long)(now_ns() - begin));
	return 0;
}
