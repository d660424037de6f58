/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "base/budget.h"
#include "base/rights.h"
#include "base/syscall_filter.h"
#include "lines_confine.h"

#define MEMORY_MOST (512ULL << 20)

uint64_t sym_lines_memory(void)
{
	return rp_memory_part(64, MEMORY_MOST);
}

static bool limit(int what, uint64_t most)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return false;
	now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
	now.rlim_cur = now.rlim_max;
	return !setrlimit(what, &now);
}

/* So much more than it has with the file. */
static bool limit_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	char text[64] = "";
	uint64_t pages;

	if (f && !fgets(text, sizeof(text), f))
		*text = '\0';
	if (f)
		fclose(f);
	pages = strtoull(text, NULL, 10);
	return pages &&
	       limit(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + sym_lines_memory());
}

/* NULL, with an errno of 0: there are no more. */
static const struct dirent *next_of(DIR *all)
{
	errno = 0;
	return readdir(all);
}

/* Or what is recorded goes on being so, for as long as this process is there. */
static bool close_all_but(const int *keep, size_t n)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *one;
	bool is_whole;

	if (!all)
		return false;
	while ((one = next_of(all))) {
		const int fd = atoi(one->d_name);
		bool is_kept = *one->d_name == '.' || fd == dirfd(all);

		for (size_t i = 0; i < n && !is_kept; i++)
			is_kept = fd == keep[i];
		if (!is_kept)
			close(fd);
	}
	is_whole = !errno;
	return !closedir(all) && is_whole;
}

/* Most are given up already, if a recording reads: a filter then refuses to give up the first. */
static bool give_up_rights(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return !rp_leave_root() && !rp_keep_capabilities(0);
}

bool sym_lines_confine(const int *keep, size_t n, uint64_t seconds)
{
	return close_all_but(keep, n) && limit(RLIMIT_CPU, seconds) && limit(RLIMIT_CORE, 0) &&
	       limit(RLIMIT_NPROC, 0) && give_up_rights();
}

/* The last ones are those of abort(3), without the signal. */
static const int calls[] = {
	SYS_recvfrom,	    SYS_sendto,
	SYS_read,	    SYS_write,
	SYS_close,	    SYS_brk,
	SYS_mmap,	    SYS_munmap,
	SYS_mremap,	    SYS_mprotect,
	SYS_madvise,	    SYS_futex,
	SYS_getrandom,	    SYS_clock_gettime,
	SYS_getppid,	    SYS_getpid,
	SYS_gettid,	    SYS_sched_yield,
	SYS_rt_sigreturn,   SYS_exit,
	SYS_exit_group,	    SYS_restart_syscall,
	SYS_rt_sigprocmask, SYS_rt_sigaction,
};

bool sym_lines_confine_calls(void)
{
	struct syscall_filter f = { .n = 0 };
	int err;

	if (!limit_memory())
		return false;
	rp_filter_begin(&f);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		rp_filter_allow(&f, (uint32_t)calls[i]);
	rp_filter_refuse(&f);
	err = rp_filter_install(&f);
	return !err || err == -ENOSYS;
}
