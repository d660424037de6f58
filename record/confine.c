/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives up, one after the other: the user, capabilities, core dumps, system calls. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <rawprof/loader.h>

#include "base/file.h"
#include "confine.h"
#include "syscalls.h"

#define NOBODY 65534

/* Debian's kernels want CAP_SYS_ADMIN for each perf event if this is above 2, as it is there. */
static bool probes_want_admin(void)
{
	char text[16];

	return rp_read_small_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0 &&
	       atoi(text) > 2;
}

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int get_capabilities(struct capabilities *c)
{
	*c = (struct capabilities){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
	return syscall(SYS_capget, &c->header, c->data) ? -errno : 0;
}

static uint64_t permitted(void)
{
	struct capabilities c;

	return get_capabilities(&c) ? 0 : (uint64_t)c.data[1].permitted << 32 | c.data[0].permitted;
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

int record_keep_capabilities(uint64_t keep)
{
	struct capabilities c;
	int err = get_capabilities(&c);

	if (err)
		return err;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		c.data[i].permitted &= (uint32_t)(keep >> 32 * i);
		c.data[i].effective = c.data[i].permitted;
		c.data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &c.header, c.data) ? -errno : 0;
}

void record_read_as_user(bool as_user)
{
	struct capabilities c;

	if (!geteuid() || get_capabilities(&c))
		return;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		c.data[i].effective = as_user ? 0 : c.data[i].permitted;
	syscall(SYS_capset, &c.header, c.data);
}

/*
 * Root owns the machine's files, and needs no capability to write to what it owns. A user namespace
 * may have no such user: then that is left out.
 */
int record_leave_root(void)
{
	if (geteuid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL))
		return errno == EPERM || errno == EINVAL ? 0 : -errno;
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return errno == EINVAL ? 0 : -errno;
	return 0;
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
		err = record_leave_root();
	if (err)
		return rp_fail(err, "cannot become another user than root: %s", strerror(-err));
	err = record_keep_capabilities(capabilities_to_keep(what));
	if (err)
		return rp_fail(err, "cannot give up capabilities: %s", strerror(-err));
	if (prctl(PR_SET_DUMPABLE, 0))
		return rp_fail(-errno, "cannot turn off core dumps: %s", strerror(errno));
	err = filter(what);
	if (err)
		return rp_fail(err, "cannot give up system calls: %s", strerror(-err));
	return 0;
}
