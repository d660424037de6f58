/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of a kernel stack that are the profiler's own doing, by their functions' names. */
#include <string.h>

#include "own_frames.h"

/* Between a tracepoint and the first line of a program; by their beginnings. */
static bool is_ours(const char *name)
{
	static const char *const beginnings[] = {
		"bpf_prog_",	  /* the program and its functions, as the kernel names them */
		"bpf_trace_run",  /* kernel/trace/bpf_trace.c: calls it */
		"__bpf_trace_",	  /* the stub of one tracepoint */
		"__traceiter_",	  /* goes through who listens to it */
		"__bpf_prog_",	  /* enter and exit of trampolines */
		"trace_call_bpf", /* classic tracepoints and kprobes */
		"perf_trace_",	  /* a classic tracepoint's stub, */
		"perf_call_bpf",   "bpf_get_stack", /* the helper that recorded the stack */
		"bpf_trampoline_",		    /* fentry, fexit */
	};

	for (size_t i = 0; name && i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

size_t record_own_frames(struct recording *rec, const uint64_t *addrs, size_t n)
{
	struct sym_frame f;
	size_t i;

	for (i = 0; i < n; i++) {
		sym_kernel_lookup(rec->kernel, addrs[i], i > 0, &f);
		if (!is_ours(f.name))
			break;
	}
	return i;
}
