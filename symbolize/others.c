/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fuse.h"

#include "others.h"
#include "proc.h"

#define NOBODY 65534 /* whom a recording becomes that root began, and others too */

bool sym_is_of_others(const char *proc, uint32_t pid, uid_t *uid)
{
	const uid_t own = getuid();
	struct sym_proc_ids ids;

	if (sym_proc_ids(proc, pid, &ids) || (!ids.uid && !ids.euid))
		return false;
	*uid = ids.uid ? ids.uid : ids.euid;
	return own == NOBODY || ids.uid != own || ids.euid != own;
}

bool sym_has_to_be_aside(const char *proc, uint32_t pid, uid_t *uid)
{
	return !strcmp(proc, "/proc") && rp_fuse_is_served() && sym_is_of_others(proc, pid, uid);
}

int sym_read_aside(struct rp_aside *job, uint32_t pid, uid_t uid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return rp_read_aside(job, uid, path);
}
