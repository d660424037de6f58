/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes on the functions that lock and unlock mutexes, in the files of the target. */
#include <errno.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

#include "base/grow.h"
#include "lock.h"

/* What the programs are attached as. */
enum role { TAKE, TAKEN, WAIT, WAITED, GIVE, ROLES };

static const char *const names[] = {
	"pthread_mutex_unlock",	   "pthread_cond_wait",	      "pthread_cond_timedwait",
	"pthread_cond_clockwait",  "pthread_mutex_lock",      "pthread_mutex_trylock",
	"pthread_mutex_timedlock", "pthread_mutex_clocklock",
};
enum { NAMES = sizeof(names) / sizeof(names[0]), FIRST_COND = 1, FIRST_LOCK = 4 };

static const struct rp_program *program_of(enum role role)
{
	return rp_program_of(rp_lock_hold_programs, role == GIVE		   ? LOCK_GIVES
						    : role == TAKE || role == WAIT ? LOCK_TAKES
										   : LOCK_TAKEN);
}

/* A file that was looked at for a process. */
struct object {
	uint64_t dev, inode;
	uint32_t pid;
	struct rp_uprobes *probes[ROLES];
};

struct lock_probes {
	struct recording *rec;
	enum rp_uprobe_way way;
	int program[ROLES];
	struct object *objects;
	size_t n, capacity;
	size_t places;
};

static int load(struct lock_probes *l, const struct lock_config *config)
{
	int err = 0;

	for (int role = 0; err >= 0 && role < ROLES; role++) {
		struct lock_config c = *config;

		c.cond = role == WAIT || role == WAITED;
		err = l->program[role] =
			record_load_probe(l->rec, program_of((enum role)role), l->way, &c);
	}
	return err < 0 ? err : 0;
}

static bool belongs(size_t pattern, enum role role)
{
	if (role == GIVE)
		return pattern < FIRST_COND;
	return (role == WAIT || role == WAITED) == (pattern < FIRST_LOCK) && pattern >= FIRST_COND;
}

/* A role's places in a file: the entries themselves, where a return probe has to be. */
static int attach_role(struct lock_probes *l, const struct sym_mapped_functions *file, uint32_t pid,
		       enum role role, struct rp_uprobes **out)
{
	const struct sym_functions *f = file->functions;
	uint64_t offsets[2 * NAMES];
	struct rp_uprobe_set set = { .way = l->way,
				     .fd = file->fd,
				     .offsets = offsets,
				     .pid = (pid_t)pid,
				     .at_return = role == TAKEN || role == WAITED,
				     .prog_fds = &l->program[role],
				     .nprogs = 1 };

	for (size_t i = 0; i < f->count && set.n < 2 * NAMES; i++)
		if (!f->items[i].is_ifunc && belongs(f->items[i].pattern, role))
			offsets[set.n++] = f->items[i].offset;
	l->places += set.n;
	return set.n ? rp_attach_uprobes(&set, out) : 0;
}

struct look {
	struct lock_probes *probes;
	uint32_t pid;
};

static bool knows(const struct lock_probes *l, uint64_t dev, uint64_t inode, uint32_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->objects[i].dev == dev && l->objects[i].inode == inode &&
		    l->objects[i].pid == pid)
			return true;
	return false;
}

static bool is_known(void *ctx, const struct sym_mapped_functions *file)
{
	const struct look *look = ctx;

	return knows(look->probes, file->dev, file->inode, look->pid);
}

/* Unlocks first: no hold begins whose end is not seen. A file without any is remembered too. */
static int on_file(void *ctx, const struct sym_mapped_functions *file)
{
	struct look *look = ctx;
	struct lock_probes *l = look->probes;
	struct object *o;
	int err = RP_PUSH(
		l->objects, l->n, l->capacity,
		(struct object){ .dev = file->dev, .inode = file->inode, .pid = look->pid });

	if (err)
		return err;
	o = &l->objects[l->n - 1];
	for (int role = ROLES - 1; !err && role >= 0; role--)
		err = attach_role(l, file, look->pid, (enum role)role, &o->probes[role]);
	return err;
}

int lock_probes_process(struct lock_probes *l, uint32_t pid)
{
	struct look look = { l, pid };
	size_t unread = 0;
	int err = sym_functions_mapped(NULL, pid, names, NAMES, is_known, on_file, &look, &unread);

	if (unread)
		record_target_tell_unopened(
			pid, unread, "mutexes locked by pthread_mutex_lock there are not seen");
	return err == -ESRCH ? 0 : err; /* it has ended meanwhile */
}

int lock_probes_mapped(struct lock_probes *l, const struct rp_side_event *e)
{
	const uint64_t dev = makedev(e->mmap.maj, e->mmap.min);
	const uint32_t key = e->pid;
	uint64_t born;

	if (!e->mmap.ino || knows(l, dev, e->mmap.ino, e->pid) ||
	    rp_map_lookup(record_stacks_map(l->rec->stacks, STACK_MAP_PIDS), &key, &born))
		return 0; /* not asked for, or gone */
	return lock_probes_process(l, e->pid);
}

int lock_probes_open(struct recording *rec, const struct lock_config *config,
		     struct lock_probes **out)
{
	struct lock_probes *l = calloc(1, sizeof(*l));
	int err = 0;

	if (!l)
		return -ENOMEM;
	l->rec = rec;
	l->way = rp_uprobe_way(1, false);
	if (l->way == RP_UPROBE_NONE)
		err = rp_fail(-EOPNOTSUPP,
			      "--hold needs uprobes, which this kernel has not, or does "
			      "not permit: see rawprof doctor");
	if (!err)
		err = load(l, config);
	for (uint32_t i = 0; !err && i < rec->opt->pids.n; i++)
		err = lock_probes_process(l, rec->opt->pids.id[i]);
	if (!err && rec->opt->pids.n && !l->places)
		err = rp_fail(-ENOENT, "no pthread_mutex_lock in what the process executes from");
	if (err)
		lock_probes_close(l);
	else
		*out = l;
	return err;
}

/* Probes of locks first: holds that begin from now on do not count. */
void lock_probes_detach(struct lock_probes *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		for (int role = 0; role < ROLES; role++) {
			rp_uprobes_close(l->objects[i].probes[role]);
			l->objects[i].probes[role] = NULL;
		}
}

void lock_probes_close(struct lock_probes *l)
{
	lock_probes_detach(l);
	if (l)
		free(l->objects);
	free(l);
}
