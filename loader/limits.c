/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.c: resource limits, raised only after the kernel has refused for want of them. */
#include "internal.h"

#include <sys/resource.h>

/* As far up as we may: beyond the hard limit needs CAP_SYS_RESOURCE. False if that gives
 * nothing. */
static bool raise_limit(__rlimit_resource_t which, rlim_t want, const char *name)
{
	struct rlimit now, more;

	if (getrlimit(which, &now))
		return false;
	more.rlim_cur = want;
	more.rlim_max = now.rlim_max == RLIM_INFINITY || now.rlim_max > want ? now.rlim_max : want;
	if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur >= want)
		return false;
	if (setrlimit(which, &more)) {
		if (now.rlim_cur == now.rlim_max)
			return false;
		more.rlim_cur = more.rlim_max = now.rlim_max;
		if (setrlimit(which, &more))
			return false;
	}
	rp_log(RP_INFO, "raised the limit %s, which the kernel found too low", name);
	return true;
}

bool rp_raise_memlock(void)
{
	return raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY, "RLIMIT_MEMLOCK");
}

bool rp_raise_nofile(void)
{
	/* fs.nr_open, the most that any process may have, is 1048576 unless someone changed it. */
	long long want = 1 << 20;

	rp_read_number("/proc/sys/fs/nr_open", &want);
	return raise_limit(RLIMIT_NOFILE, (rlim_t)want, "RLIMIT_NOFILE");
}
