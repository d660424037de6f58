/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opencl [LAUNCHES] [SECONDS]: adds two vectors of 4096 floats so many times (10) by the first
 * OpenCL device there is, and waits so long (0). Three buffers of 16 KiB, two written and one read,
 * waiting; one clFinish. Says "sum N" when it is done, which is right if N is 12288. Exits with 77
 * if there is no OpenCL.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "work.h"

enum { N = 4096 };

static void *library;

static void *find(const char *name)
{
	void *f = dlsym(library, name);

	if (!f)
		exit(77);
	return f;
}

/* Of cl.h, for handles are pointers. */
#define CL(result, name, ...) ((result(*)(__VA_ARGS__))find(#name))

static const char source[] =
	"__kernel void vadd(__global const float *a, __global const float *b,"
	"__global float *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";

static void *make_kernel(void *context, void *device)
{
	const char *text = source;
	int32_t err = 0;
	void *program = CL(void *, clCreateProgramWithSource, void *, uint32_t, const char **,
			   const size_t *, int32_t *)(context, 1, &text, NULL, &err);

	if (err || CL(int32_t, clBuildProgram, void *, uint32_t, void *const *, const char *,
		      void *, void *)(program, 1, &device, "", NULL, NULL))
		exit(1);
	return CL(void *, clCreateKernel, void *, const char *, int32_t *)(program, "vadd", &err);
}

int main(int argc, char **argv)
{
	const int launches = argc > 1 ? atoi(argv[1]) : 10;
	void *platform = NULL, *device = NULL, *context, *queue, *kernel, *buffer[3];
	static float data[3][N];
	const size_t global = N;
	float sum = 0;
	int32_t err = 0;

	library = dlopen("libOpenCL.so.1", RTLD_NOW);
	if (!library ||
	    CL(int32_t, clGetPlatformIDs, uint32_t, void **, uint32_t *)(1, &platform, NULL) ||
	    CL(int32_t, clGetDeviceIDs, void *, uint64_t, uint32_t, void **,
	       uint32_t *)(platform, 0xffffffff, 1, &device, NULL))
		return 77;
	context = CL(void *, clCreateContext, void *, uint32_t, void **, void *, void *,
		     int32_t *)(NULL, 1, &device, NULL, NULL, &err);
	queue = CL(void *, clCreateCommandQueue, void *, void *, uint64_t,
		   int32_t *)(context, device, 0, &err);
	kernel = make_kernel(context, device);
	for (int i = 0; i < N; i++) {
		data[0][i] = 1;
		data[1][i] = 2;
	}
	for (uint32_t i = 0; i < 3; i++) {
		buffer[i] = CL(void *, clCreateBuffer, void *, uint64_t, size_t, void *,
			       int32_t *)(context, 1, sizeof(data[i]), NULL, &err);
		CL(int32_t, clSetKernelArg, void *, uint32_t, size_t, const void *)
		(kernel, i, sizeof(buffer[i]), &buffer[i]);
	}
	for (int i = 0; i < 2; i++)
		CL(int32_t, clEnqueueWriteBuffer, void *, void *, uint32_t, size_t, size_t,
		   const void *, uint32_t, const void *, void *)
	(queue, buffer[i], 1, 0, sizeof(data[i]), data[i], 0, NULL, NULL);
	for (int i = 0; i < launches; i++)
		CL(int32_t, clEnqueueNDRangeKernel, void *, void *, uint32_t, const size_t *,
		   const size_t *, const size_t *, uint32_t, const void *, void *)
	(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	CL(int32_t, clFinish, void *)(queue);
	CL(int32_t, clEnqueueReadBuffer, void *, void *, uint32_t, size_t, size_t, void *, uint32_t,
	   const void *, void *)
	(queue, buffer[2], 1, 0, sizeof(data[2]), data[2], 0, NULL, NULL);
	for (int i = 0; i < 3; i++)
		CL(int32_t, clReleaseMemObject, void *)(buffer[i]);
	usleep((useconds_t)(seconds_arg(argc, argv, 2, 0) * 1e6));
	for (int i = 0; i < N; i++)
		sum += data[2][i];
	printf("sum %.0f\n", (double)sum);
	return 0;
}
