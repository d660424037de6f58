/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives up, one after the other: the user, capabilities, core dumps, system calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <rawprof/loader.h>

#include "base/file.h"
#include "base/rights.h"
#include "confine.h"
#include "syscalls.h"

/* Debian's kernels want CAP_SYS_ADMIN for each perf event if this is above 2, as it is there. */
static bool probes_want_admin(void)
{
	char text[16];

	return rp_read_small_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0 &&
	       atoi(text) > 2;
}

static uint64_t permitted(void)
{
	struct capabilities c;

	return rp_get_capabilities(&c) ? 0
				       : (uint64_t)c.data[1].permitted << 32 | c.data[0].permitted;
}

/*
 * To look: at maps and events, at other processes' mappings and files, at kernel addresses. None
 * changes a file or a process; CAP_KILL is for the program that was started, which may have become
 * another user's.
 */
static uint64_t capabilities_to_keep(const struct record_confine *what)
{
	const uint64_t needed = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	uint64_t keep =
		needed | 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_SYSLOG;

	/* Files that have been deleted are reached by /proc/PID/map_files. */
	if (prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE) >= 0)
		keep |= 1ULL << CAP_CHECKPOINT_RESTORE;
	else /* Linux 5.8 */
		keep |= 1ULL << CAP_SYS_ADMIN;
	if (what->attaches && probes_want_admin())
		keep |= 1ULL << CAP_SYS_ADMIN;
	if (needed & ~permitted()) /* it stands for them: older containers know no other */
		keep |= 1ULL << CAP_SYS_ADMIN;
	if (what->child)
		keep |= 1ULL << CAP_KILL;
	return keep;
}

void record_read_as_user(bool as_user)
{
	struct capabilities c;

	if (!geteuid() || rp_get_capabilities(&c))
		return;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		c.data[i].effective = as_user ? 0 : c.data[i].permitted;
	syscall(SYS_capset, &c.header, c.data);
}

static int filter(const struct record_confine *what)
{
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = what->network ? 0 : record_filter_syscalls(what);
	return err == -ENOSYS ? 0 : err;
}

int record_confine(const struct record_confine *what)
{
	int err = 0;

	if (!what->network)
		err = rp_leave_root();
	if (err)
		return rp_fail(err, "cannot become another user than root: %s", strerror(-err));
	err = rp_keep_capabilities(capabilities_to_keep(what));
	if (err)
		return rp_fail(err, "cannot give up capabilities: %s", strerror(-err));
	if (prctl(PR_SET_DUMPABLE, 0))
		return rp_fail(-errno, "cannot turn off core dumps: %s", strerror(errno));
	err = filter(what);
	if (err)
		return rp_fail(err, "cannot give up system calls: %s", strerror(-err));
	return 0;
}
