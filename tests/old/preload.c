/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the running kernel look to rawprof like the one that OLD_KERNEL names (5.10): what that
 * would have refused is refused before it gets there. Preloaded, or linked into a static file with
 * --wrap=syscall (OLD_WRAP).
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

#ifdef OLD_WRAP
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
#define syscall __wrap_syscall
#define real_syscall __real_syscall
#else
static long (*real_syscall)(long, ...);
#endif

__attribute__((constructor)) static void choose(void)
{
	const char *text = getenv("OLD_KERNEL");
	int major, minor;

	if (text && sscanf(text, "%d.%d", &major, &minor) == 2)
		old_version = major * 100 + minor;
#ifndef OLD_WRAP
	*(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
#endif
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list args;
	int err = 0;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf)
		err = old_bpf((int)a[0], (const void *)a[1], (uint32_t)a[2]);
	else if (number == SYS_perf_event_open)
		err = old_perf_event_open((const struct perf_event_attr *)a[0]);
	else if (number == OLD_SYS_UPROBE)
		err = old_uprobe();
	if (err) {
		errno = -err;
		return -1;
	}
	result = real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_bpf)
		old_remember((int)a[0], (const void *)a[1], (int)result);
	return result;
}
