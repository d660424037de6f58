/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of the runtimes: CUDA's driver and runtime, HIP, Level Zero, OpenCL. Their
 * suffixes (_v2, _ptds, _ptsz) are versions of one function. Arguments beyond the sixth, and what
 * lies in structures (cudaMemcpy3D), are not read: such calls have no bytes.
 * Source: cuda.h, cuda_runtime_api.h, hip_runtime_api.h, ze_api.h, cl.h.
 */
#include <fnmatch.h>
#include <stddef.h>

#include "gpu.h"

/* clang-format off */
static const struct gpu_call calls[] = {
	/* CUDA, the driver */
	{ "cuLaunchKernel*", GPU_LAUNCH, .handle = 1 },
	{ "cuLaunch*", GPU_LAUNCH },
	{ "cuGraphLaunch*", GPU_LAUNCH },
	{ "cuMemcpyPeer*", GPU_COPY, .bytes = 5 },
	{ "cuMemcpyAtoA*", GPU_COPY, .bytes = 5, .blocks = GPU_ALWAYS },
	{ "cuMemcpyAtoHAsync*", GPU_COPY, .bytes = 4 },
	{ "cuMemcpyHtoAAsync*", GPU_COPY, .bytes = 4 },
	{ "cuMemcpy[AHD]toA*", GPU_COPY, .bytes = 4, .blocks = GPU_ALWAYS },
	{ "cuMemcpyAto[HD]*", GPU_COPY, .bytes = 4, .blocks = GPU_ALWAYS },
	{ "cuMemcpy[23]D*Async*", GPU_COPY },
	{ "cuMemcpy[23]D*", GPU_COPY, .blocks = GPU_ALWAYS },
	{ "cuMemcpy*Async*", GPU_COPY, .bytes = 3 },
	{ "cuMemcpyBatch*", GPU_COPY },
	{ "cuMemcpy*", GPU_COPY, .bytes = 3, .blocks = GPU_ALWAYS },
	{ "cuMemsetD2D8*", GPU_COPY, .bytes = 4, .times = 5 },
	{ "cuMemsetD2D16*", GPU_COPY, .bytes = 4, .times = 5, .unit = 2 },
	{ "cuMemsetD2D32*", GPU_COPY, .bytes = 4, .times = 5, .unit = 4 },
	{ "cuMemsetD8*", GPU_COPY, .bytes = 3 },
	{ "cuMemsetD16*", GPU_COPY, .bytes = 3, .unit = 2 },
	{ "cuMemsetD32*", GPU_COPY, .bytes = 3, .unit = 4 },
	{ "cuMemAllocPitch*", GPU_ALLOCATE, .bytes = 3, .times = 4 },
	{ "cuMemAlloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "cuMemHostAlloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "cuMemFree*", GPU_FREE },
	{ "cuModuleLoad*", GPU_BUILD },
	{ "cuLibraryLoad*", GPU_BUILD },
	{ "cuCtxSynchronize*", GPU_WAIT },
	{ "cuStreamSynchronize*", GPU_WAIT },
	{ "cuEventSynchronize*", GPU_WAIT },

	/* CUDA, the runtime; HIP has the same with its own prefix */
	{ "cudaLaunchKernelExC*", GPU_LAUNCH, .address = 2 },
	{ "cudaLaunchKernel*", GPU_LAUNCH, .address = 1 },
	{ "cudaLaunchCooperativeKernel*", GPU_LAUNCH, .address = 1 },
	{ "cudaLaunch*", GPU_LAUNCH },
	{ "cudaGraphLaunch*", GPU_LAUNCH },
	{ "cudaMemcpyPeerAsync*", GPU_COPY, .bytes = 5 },
	{ "cudaMemcpyPeer*", GPU_COPY, .bytes = 5, .blocks = GPU_ALWAYS },
	{ "cudaMemcpy2DAsync*", GPU_COPY, .bytes = 5, .times = 6 },
	{ "cudaMemcpy2D", GPU_COPY, .bytes = 5, .times = 6, .blocks = GPU_ALWAYS },
	{ "cudaMemcpy2D_pt*", GPU_COPY, .bytes = 5, .times = 6, .blocks = GPU_ALWAYS },
	{ "cudaMemcpy[23]D*Async*", GPU_COPY },
	{ "cudaMemcpy[23]D*", GPU_COPY, .blocks = GPU_ALWAYS },
	{ "cudaMemcpyToArray*", GPU_COPY, .bytes = 5 },
	{ "cudaMemcpyFromArray*", GPU_COPY, .bytes = 5 },
	{ "cudaMemcpyArrayToArray*", GPU_COPY },
	{ "cudaMemcpyBatch*", GPU_COPY },
	{ "cudaMemcpy*Async*", GPU_COPY, .bytes = 3 },
	{ "cudaMemcpy*", GPU_COPY, .bytes = 3, .blocks = GPU_ALWAYS },
	{ "cudaMemset2D*", GPU_COPY, .bytes = 4, .times = 5 },
	{ "cudaMemset3D*", GPU_COPY },
	{ "cudaMemset*", GPU_COPY, .bytes = 3 },
	{ "cudaMallocPitch*", GPU_ALLOCATE, .bytes = 3, .times = 4 },
	{ "cudaMalloc3D*", GPU_ALLOCATE },
	{ "cudaMalloc*Array*", GPU_ALLOCATE },
	{ "cudaMalloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "cudaHostAlloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "cudaFree*", GPU_FREE },
	{ "cudaDeviceSynchronize*", GPU_WAIT },
	{ "cudaThreadSynchronize*", GPU_WAIT },
	{ "cudaStreamSynchronize*", GPU_WAIT },
	{ "cudaEventSynchronize*", GPU_WAIT },

	{ "hipLaunchKernelExC*", GPU_LAUNCH, .address = 2 },
	{ "hipLaunchKernel*", GPU_LAUNCH, .address = 1 },
	{ "hipLaunchCooperativeKernel*", GPU_LAUNCH, .address = 1 },
	{ "hipExtLaunchKernel*", GPU_LAUNCH, .address = 1 },
	{ "hipModuleLaunch*", GPU_LAUNCH, .handle = 1 },
	{ "hipExtModuleLaunch*", GPU_LAUNCH, .handle = 1 },
	{ "hipLaunch*", GPU_LAUNCH },
	{ "hipGraphLaunch*", GPU_LAUNCH },
	{ "hipMemcpyPeerAsync*", GPU_COPY, .bytes = 5 },
	{ "hipMemcpyPeer*", GPU_COPY, .bytes = 5, .blocks = GPU_ALWAYS },
	{ "hipMemcpy2DAsync*", GPU_COPY, .bytes = 5, .times = 6 },
	{ "hipMemcpy2D", GPU_COPY, .bytes = 5, .times = 6, .blocks = GPU_ALWAYS },
	{ "hipMemcpy2D_spt", GPU_COPY, .bytes = 5, .times = 6, .blocks = GPU_ALWAYS },
	{ "hipMemcpyParam2DAsync*", GPU_COPY },
	{ "hipMemcpyParam2D*", GPU_COPY, .blocks = GPU_ALWAYS },
	{ "hipMemcpy[23]D*Async*", GPU_COPY },
	{ "hipMemcpy[23]D*", GPU_COPY, .blocks = GPU_ALWAYS },
	{ "hipMemcpyToArray*", GPU_COPY, .bytes = 5 },
	{ "hipMemcpyFromArray*", GPU_COPY, .bytes = 5 },
	{ "hipMemcpy[AH]to[AH]*", GPU_COPY, .bytes = 4 },
	{ "hipMemcpy*Async*", GPU_COPY, .bytes = 3 },
	{ "hipMemcpy*", GPU_COPY, .bytes = 3, .blocks = GPU_ALWAYS },
	{ "hipMemset2D*", GPU_COPY, .bytes = 4, .times = 5 },
	{ "hipMemset3D*", GPU_COPY },
	{ "hipMemsetD16*", GPU_COPY, .bytes = 3, .unit = 2 },
	{ "hipMemsetD32*", GPU_COPY, .bytes = 3, .unit = 4 },
	{ "hipMemset*", GPU_COPY, .bytes = 3 },
	{ "hipMallocPitch*", GPU_ALLOCATE, .bytes = 3, .times = 4 },
	{ "hipMalloc3D*", GPU_ALLOCATE },
	{ "hipMalloc*Array*", GPU_ALLOCATE },
	{ "hipMalloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "hipExtMalloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "hipHostMalloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "hipHostAlloc*", GPU_ALLOCATE, .bytes = 2 },
	{ "hipHostFree*", GPU_FREE },
	{ "hipFree*", GPU_FREE },
	{ "hipModuleLoad*", GPU_BUILD },
	{ "hipDeviceSynchronize*", GPU_WAIT },
	{ "hipStreamSynchronize*", GPU_WAIT },
	{ "hipEventSynchronize*", GPU_WAIT },
	{ "hipCtxSynchronize*", GPU_WAIT },

	/* Level Zero */
	{ "zeCommandListAppendLaunch*", GPU_LAUNCH, .handle = 2 },
	{ "zeCommandListAppendMemoryCopyRegion", GPU_COPY },
	{ "zeCommandListAppendMemoryCopy*", GPU_COPY, .bytes = 4 },
	{ "zeCommandListAppendMemoryFill", GPU_COPY, .bytes = 5 },
	{ "zeCommandListAppendImageCopy*", GPU_COPY },
	{ "zeCommandListHostSynchronize", GPU_WAIT },
	{ "zeCommandQueueExecute*", GPU_LAUNCH },
	{ "zeCommandQueueSynchronize", GPU_WAIT },
	{ "zeFenceHostSynchronize", GPU_WAIT },
	{ "zeEventHostSynchronize", GPU_WAIT },
	{ "zeMemAllocShared", GPU_ALLOCATE, .bytes = 4 },
	{ "zeMemAlloc*", GPU_ALLOCATE, .bytes = 3 },
	{ "zeMemFree*", GPU_FREE },
	{ "zeModuleCreate", GPU_BUILD },

	/* OpenCL */
	{ "clEnqueueNDRangeKernel", GPU_LAUNCH, .handle = 2 },
	{ "clEnqueueTask", GPU_LAUNCH, .handle = 2 },
	{ "clEnqueueNativeKernel", GPU_LAUNCH },
	{ "clEnqueueReadBuffer", GPU_COPY, .bytes = 5, .blocks = 3 },
	{ "clEnqueueWriteBuffer", GPU_COPY, .bytes = 5, .blocks = 3 },
	{ "clEnqueueCopyBuffer", GPU_COPY, .bytes = 6 },
	{ "clEnqueueFillBuffer", GPU_COPY, .bytes = 6 },
	{ "clEnqueueMapBuffer", GPU_COPY, .bytes = 6, .blocks = 3 },
	{ "clEnqueueSVMMemcpy", GPU_COPY, .bytes = 5, .blocks = 2 },
	{ "clEnqueueSVMMemFill", GPU_COPY, .bytes = 5 },
	{ "clEnqueueSVMMap", GPU_COPY, .bytes = 5, .blocks = 2 },
	{ "clEnqueue*Rect", GPU_COPY, .blocks = 3 },
	{ "clEnqueue*Image*", GPU_COPY, .blocks = 3 },
	{ "clEnqueueWaitForEvents", GPU_OTHER },
	{ "clEnqueue*", GPU_OTHER },
	{ "clFinish", GPU_WAIT },
	{ "clWaitForEvents", GPU_WAIT },
	{ "clCreateBuffer", GPU_ALLOCATE, .bytes = 3 },
	{ "clCreateBuffer*", GPU_ALLOCATE },
	{ "clCreateImage*", GPU_ALLOCATE },
	{ "clSVMAlloc", GPU_ALLOCATE, .bytes = 3 },
	{ "clSVMFree", GPU_FREE },
	{ "clReleaseMemObject", GPU_FREE },
	{ "clBuildProgram", GPU_BUILD },
	{ "clCompileProgram", GPU_BUILD },
	{ "clLinkProgram", GPU_BUILD },
	{ "clCreateProgram*", GPU_BUILD },
	{ "clCreateKernel", GPU_BUILD, .names = 2 },

	{ "*", GPU_OTHER },
};

const struct gpu_pattern gpu_patterns[] = {
	{ "libcuda", "cuLaunch*" },
	{ "libcuda", "cuGraphLaunch*" },
	{ "libcuda", "cuMem[cshAF]*" },
	{ "libcuda", "cu[CSE]*Synchronize*" },
	{ "libcuda", "cu[ML]*Load*" },
	{ "libcudart", "cudaLaunch*" },
	{ "libcudart", "cudaGraphLaunch*" },
	{ "libcudart", "cudaMem[cs]*" },
	{ "libcudart", "cudaMalloc*" },
	{ "libcudart", "cudaHostAlloc*" },
	{ "libcudart", "cudaFree*" },
	{ "libcudart", "cuda[DTSE]*Synchronize*" },
	{ "libamdhip64", "hip*Launch*" },
	{ "libamdhip64", "hipMem[cs]*" },
	{ "libamdhip64", "hip*Malloc*" },
	{ "libamdhip64", "hip*Free*" },
	{ "libamdhip64", "hip*Synchronize*" },
	{ "libamdhip64", "hipModuleLoad*" },
	{ "libze_loader", "zeCommandListAppend*" },
	{ "libze_loader", "zeCommandQueueExecute*" },
	{ "libze_loader", "ze[CFE]*Synchronize" },
	{ "libze_loader", "zeMem*" },
	{ "libze_loader", "zeModuleCreate" },
	{ "libOpenCL", "clEnqueue*" },
	{ "libOpenCL", "clFinish" },
	{ "libOpenCL", "clWaitForEvents" },
	{ "libOpenCL", "clCreate[BIPK]*" },
	{ "libOpenCL", "clSVM*" },
	{ "libOpenCL", "clReleaseMemObject" },
	{ "libOpenCL", "cl[BCL]*Program" },
	{ NULL, NULL },
};
/* clang-format on */

const char *const gpu_class_names[GPU_CLASSES + 1] = {
	[GPU_LAUNCH] = "launch",     [GPU_COPY] = "copy", [GPU_WAIT] = "wait",
	[GPU_ALLOCATE] = "allocate", [GPU_FREE] = "free", [GPU_BUILD] = "build",
	[GPU_OTHER] = "other",
};

const char *gpu_class_name(enum gpu_class class)
{
	return gpu_class_names[class];
}

const struct gpu_call *gpu_call_of(const char *function)
{
	const struct gpu_call *c = calls;

	while (fnmatch(c->glob, function, 0))
		c++;
	return c;
}
