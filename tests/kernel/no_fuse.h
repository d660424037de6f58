/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done otherwise where a user may serve a file system in user space (base/fuse.h). */
#ifndef TESTS_KERNEL_NO_FUSE_H
#define TESTS_KERNEL_NO_FUSE_H

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "base/fuse.h"

/*
 * Whether there is none; the test is in a mount namespace of its own from then on. A machine that
 * has not mounted what tells of them may have one.
 */
static inline bool knows_of_no_fuse(void)
{
	return !unshare(CLONE_NEWNS) && !mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       (!rp_fuse_is_served() ||
		(!mount("none", "/sys/fs/fuse/connections", "fusectl", 0, NULL) &&
		 !rp_fuse_is_served()));
}

#endif
