/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rights.h"

#define NOBODY 65534

int rp_get_capabilities(struct capabilities *c)
{
	*c = (struct capabilities){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
	return syscall(SYS_capget, &c->header, c->data) ? -errno : 0;
}

int rp_keep_capabilities(uint64_t keep)
{
	struct capabilities c;
	int err = rp_get_capabilities(&c);

	if (err)
		return err;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		c.data[i].permitted &= (uint32_t)(keep >> 32 * i);
		c.data[i].effective = c.data[i].permitted;
		c.data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &c.header, c.data) ? -errno : 0;
}

int rp_give_up_rights(uint64_t keep)
{
	if (prctl(PR_SET_DUMPABLE, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return rp_keep_capabilities(keep);
}

/*
 * Root owns the machine's files, and needs no capability to write to what it owns. A user namespace
 * may have no such user: then that is left out.
 */
int rp_leave_root(void)
{
	if (geteuid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL))
		return errno == EPERM || errno == EINVAL ? 0 : -errno;
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return errno == EINVAL ? 0 : -errno;
	return 0;
}
