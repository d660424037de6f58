/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem --faults and --growth: which code makes a process grow? */
#include <errno.h>

#include <rawprof/loader.h>

#include "mem.h"

int mem_faults(const struct options *opt)
{
	(void)opt;
	rp_fail(-ENOSYS, "mem --faults is being written");
	return EXIT_FAILED;
}
