/* SPDX-License-Identifier: BSD-2-Clause */
/* A file system in user space that keeps whoever asks it waiting. */
#ifndef TESTS_UNIT_FUSE_MOUNT_H
#define TESTS_UNIT_FUSE_MOUNT_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * One of a user's, opened to all, that calls itself one of root's, and nobody answers for, at
 * @place in a mount namespace of the test's own; makes the device "fuse" in this directory. Its
 * descriptor; -1: there is no FUSE here.
 */
static int serve_nothing(const char *place)
{
	char options[128];
	int fd;

	mknod("fuse", S_IFCHR | 0600, makedev(10, 229));
	fd = open("fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=1000,group_id=0,allow_other", fd);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("user_id=0", place, "fuse", MS_NOSUID | MS_NODEV, options))
		return -1;
	return fd;
}

#endif
