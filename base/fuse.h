/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that another user answers for. The kernel keeps root out of a file system in user space
 * (FUSE), but not out of an overlay that a user has mounted over one in a namespace of theirs:
 * there every look waits for that user's process, for ever if it likes.
 *
 * As long as no user but root serves a FUSE file system nothing can wait, and little is asked.
 */
#ifndef BASE_FUSE_H
#define BASE_FUSE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a user does, or may where nothing tells. */
bool rp_fuse_is_served(void);

/*
 * Whether what is open as @path_fd, by O_PATH, may be looked at, which process @pid has mapped: 0,
 * or -EACCES. @proc is where procfs is mounted.
 */
int rp_fuse_check(const char *proc, uint32_t pid, int path_fd);

/* The same of each directory on a path, which mostly are of the device of the one before. */
struct rp_fuse_way {
	const char *proc;
	uint32_t pid;
	bool is_checked;
	uint64_t dev; /* which is not asked about again */
};
int rp_fuse_check_way(struct rp_fuse_way *way, int path_fd);

/*
 * The same of whatever a path leads to in the root directory of the process, which is open by now:
 * one that it enters afterwards is another. -ESRCH: it has ended.
 */
int rp_fuse_check_root(const char *proc, uint32_t pid);

/*
 * Whether what is mounted where the process is was mounted by root, as far as it is asked here:
 * that of users is in user namespaces of theirs. True where there are none, false of a process
 * that has ended.
 */
bool rp_is_our_user_namespace(const char *proc, uint32_t pid);

#endif
