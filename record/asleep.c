/* SPDX-License-Identifier: BSD-2-Clause */
#include <rawprof/loader.h>

#include "programs/shared/asleep.h"

#include "asleep.h"

static const char *why_not(const struct program_config *c, const struct rp_program **out)
{
	if (record_choose(rp_asleep_programs, 0, out))
		return "that needs Linux 5.18 with BTF";
	if (c->ns_inode)
		return "not inside a pid namespace";
	return NULL;
}

int record_asleep_load(struct recording *rec, const struct sched_config *config, int *program)
{
	struct sched_config c = *config;
	const struct rp_program *asleep;
	const char *why = why_not(&c.common, &asleep);
	int fd;

	*program = -1;
	if (why) {
		rp_log(RP_INFO, "threads that sleep since before are not seen until they run: %s",
		       why);
		return 0;
	}
	c.common.of_task = 1;
	fd = record_load(rec, asleep, &c);
	if (fd >= 0)
		*program = fd;
	return fd < 0 ? fd : 0;
}

int record_asleep_visit(int program)
{
	return program < 0 ? 0 : rp_iterate(program);
}
