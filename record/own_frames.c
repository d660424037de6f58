/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of a kernel stack that are the profiler's own doing, by their functions' names. */
#include <string.h>

#include "own_frames.h"

static bool begins_as(const char *name, const char *const *beginnings)
{
	for (; name && *beginnings; beginnings++)
		if (!strncmp(name, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* Between a tracepoint and the first line of a program; by their beginnings. */
static const char *const ours[] = {
	"bpf_prog_",	   /* the program and its functions, as the kernel names them */
	"bpf_trace_run",   /* kernel/trace/bpf_trace.c: calls it */
	"__bpf_trace_",	   /* the stub of one tracepoint */
	"__traceiter_",	   /* goes through who listens to it */
	"__bpf_prog_",	   /* enter and exit of trampolines */
	"trace_call_bpf",  /* classic tracepoints and kprobes */
	"perf_trace_",	   /* a classic tracepoint's stub, */
	"perf_syscall_",   /*   those of a system call's two ends */
	"perf_call_bpf",   /* and what calls it */
	"bpf_get_stack",   /* the helper that recorded the stack */
	"bpf_trampoline_", /* fentry, fexit */
	NULL,
};

/* What a system call goes through if it is traced: behind ours, it is we who trace it. */
static const char *const detours[] = { "syscall_trace_enter", "syscall_trace_exit",
				       "syscall_exit_work", "trace_syscall_", NULL };

size_t record_own_frames(struct recording *rec, const uint64_t *addrs, size_t n)
{
	struct sym_frame f;
	size_t i;

	/* A perf event interrupts: a program below it is another one, and what was being done. */
	if (rec->profiler->has_regs)
		return 0;
	for (i = 0; i < n; i++) {
		sym_kernel_lookup(rec->kernel, addrs[i], i > 0, &f);
		if (!begins_as(f.name, ours) && !(i && begins_as(f.name, detours)))
			break;
	}
	return i;
}
