/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fuse.h"

#include "others.h"
#include "proc.h"

#define NOBODY 65534

bool sym_is_ours(uid_t uid)
{
	return uid == getuid() && uid != NOBODY;
}

/* As long as a process is looked at, it is asked for each of its mappings. */
struct verdict {
	uint32_t pid;
	bool is_of_others;
	uid_t uid;
	uint64_t until_ns;
};
#define HOLDS_NS (NS_PER_SECOND / 200)

static bool ask(const char *proc, uint32_t pid, uid_t *uid)
{
	struct sym_proc_ids ids;

	if (sym_proc_ids(proc, pid, &ids) || (!ids.uid && !ids.euid))
		return false;
	*uid = ids.uid ? ids.uid : ids.euid;
	return !sym_is_ours(ids.uid) || !sym_is_ours(ids.euid);
}

bool sym_is_of_others(const char *proc, uint32_t pid, uid_t *uid)
{
	static _Thread_local struct verdict last;
	const uint64_t now = rp_monotonic_ns();

	if (last.pid != pid || last.until_ns < now) {
		last = (struct verdict){ .pid = pid, .until_ns = now + HOLDS_NS };
		last.is_of_others = ask(proc, pid, &last.uid);
	}
	*uid = last.uid;
	return last.is_of_others;
}

/* A user's is there for a while: that is not asked each time. */
static bool is_served(void)
{
	static _Thread_local uint64_t until_ns;
	const uint64_t now = rp_monotonic_ns();

	if (until_ns >= now)
		return true;
	if (!rp_fuse_is_served())
		return false;
	until_ns = now + HOLDS_NS;
	return true;
}

bool sym_has_to_be_aside(const char *proc, uint32_t pid, uid_t *uid)
{
	return !strcmp(proc, "/proc") && is_served() && sym_is_of_others(proc, pid, uid);
}

int sym_read_aside(struct rp_aside *job, uint32_t pid, uid_t uid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return rp_read_aside(job, uid, path);
}
