/* SPDX-License-Identifier: BSD-2-Clause */
/* The iterator that visits threads which sleep since before the recording began. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/aside.h"
#include "base/fuse.h"
#include "programs/shared/asleep.h"

#include "asleep.h"
#include "uid_share.h"

static const char *why_not(const struct program_config *c, const struct rp_program **out)
{
	if (record_choose(rp_asleep_programs, 0, out))
		return "that needs Linux 5.18 with BTF";
	if (c->ns_inode)
		return "not inside a pid namespace";
	return NULL;
}

/* A real-time kernel has another lock there. */
static bool tells_locks(void)
{
	const struct rp_btf *btf;
	struct asm_access unused;

	return !rp_btf_kernel(&btf) &&
	       !rp_btf_access(btf, "mm_struct", "mmap_lock.count.counter", &unused, NULL);
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
	c.kept_locks = tells_locks();
	fd = record_load(rec, asleep, &c);
	if (fd >= 0)
		*program = fd;
	return fd < 0 ? fd : 0;
}

/* ---- a visit */

/* So many take some milliseconds: more might be taken for a visit that is kept waiting. */
enum { MOST_AT_ONCE = 128 };

/* The kernel reads their memory as a debugger would: the reader can be kept waiting for it. */
struct visit {
	struct rp_aside job;
	int fd, error;
	size_t at_once, got;
};

static void visit_some(struct rp_aside *job)
{
	struct visit *v = (struct visit *)job;
	char unused[MOST_AT_ONCE];
	const ssize_t n = read(v->fd, unused, v->at_once);

	v->error = n < 0 ? errno : 0;
	v->got = n < 0 ? 0 : (size_t)n;
}

static void drop(struct rp_aside *job)
{
	close(((struct visit *)job)->fd);
	free(job);
}

/* Of whose threads it is does not matter: if one keeps it, all are left alone. */
static int read_visit(struct visit *v)
{
	if (rp_fuse_is_served())
		return rp_read_aside(&v->job, RECORD_UID_UNKNOWN, "stacks of threads that sleep");
	visit_some(&v->job);
	return 0;
}

/* The program writes a byte for each record: so often is the ring read. */
static int visit_all(struct recording *rec, struct visit *v)
{
	int err;

	do {
		if (read_visit(v))
			return 0; /* it is said at the end */
		err = v->got == v->at_once ? record_stacks_drain(rec->stacks) : 0;
	} while (!err && (v->got || v->error == EAGAIN));
	if (v->error)
		err = rp_fail(-v->error, "running an iterator: %s", strerror(v->error));
	drop(&v->job);
	return err;
}

int record_asleep_visit(struct recording *rec, int program)
{
	const struct program_config *c = &rec->config;
	/* The largest records that fill half of the ring. */
	const size_t room = record_stacks_maps(rec->stacks)[STACK_MAP_EVENTS].max_entries / 2 /
			    (sizeof(struct stack_record) + c->both_bytes),
		     most = room < MOST_AT_ONCE ? room : MOST_AT_ONCE;
	struct visit *v = program < 0 ? NULL : malloc(sizeof(*v));
	int err;

	if (program < 0)
		return 0;
	if (!v)
		return -ENOMEM;
	*v = (struct visit){ .job = { visit_some, drop },
			     .fd = rp_iterator(program),
			     .at_once = most < 1 ? 1 : most };
	if (v->fd >= 0)
		return visit_all(rec, v);
	err = v->fd;
	free(v);
	return err;
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
