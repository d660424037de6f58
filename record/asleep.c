/* SPDX-License-Identifier: BSD-2-Clause */
/* The iterator that visits threads which sleep since before the recording began. */
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
	c.common.vma = 0;
	fd = record_load(rec, asleep, &c);
	if (fd >= 0)
		*program = fd;
	return fd < 0 ? fd : 0;
}

static int drain(void *ctx)
{
	const struct recording *rec = ctx;

	return record_stacks_drain(rec->stacks);
}

int record_asleep_visit(struct recording *rec, int program)
{
	const struct program_config *c = &rec->config;
	/* The largest records that fill half of the ring; the program writes a byte for each. */
	size_t at_once = record_stacks_maps(rec->stacks)[STACK_MAP_EVENTS].max_entries / 2 /
			 (sizeof(struct stack_record) + c->both_bytes);

	return program < 0 ? 0 : rp_iterate(program, at_once ? at_once : 1, drain, rec);
}

int record_asleep_begin(struct recording *rec, int program)
{
	int err = 0;

	/* With filters the first visit tells which processes are met; later ones are known. */
	if (program >= 0 && !rec->windows && rec->tables && !rec->config.filtering)
		err = record_read_all(rec);
	rec->read_is_new = true; /* while tables are awaited, whatever else is drained */
	if (!err && !rec->windows)
		err = record_await_tables(rec);
	if (!err)
		err = record_asleep_visit(rec, program);
	rec->read_is_new = false;
	return err ? err : record_drain(rec); /* what has been read does not wake us any more */
}
