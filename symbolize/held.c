/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files, and perf maps, held open for processes that may be gone when they are needed, and files
 * whose functions are known. A process may have mapped any number of them, so those of users but
 * root have half of all descriptors, and a user's at most half of what others have left of these;
 * as much of the memory for what is read of them, and so many seconds.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/lack.h"
#include "base/subuid.h"

#include "file.h"
#include "others.h"

struct holder {
	uid_t uid;
	uint32_t held;
	uint64_t spent_ns; /* on the functions of its files, since sym_held_rest() */
	uint64_t bytes;	   /*   which have so many */
};

static bool has_room(const struct sym_files *fs, const struct holder *o)
{
	const uint32_t others = fs->held - o->held;
	struct rlimit limit;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	most = limit.rlim_cur / 2;
	return others < most && o->held < (most - others) / 2;
}

/* NULL: it is nobody's who has to pay, or there is no memory. */
static struct holder *add_holder(struct sym_files *fs, uid_t uid)
{
	fs->holders.key_size = sizeof(uid_t);
	fs->holders.size = sizeof(struct holder);
	return uid ? rp_hash_add(&fs->holders, &uid) : NULL;
}

uid_t sym_held_payer(uid_t owner)
{
	return sym_is_ours(owner) ? 0 : rp_subuid_first(owner);
}

int sym_held_take_as(struct sym_files *fs, uid_t uid)
{
	struct holder *o = add_holder(fs, uid);

	if (!uid)
		return 0;
	if (!o)
		return -ENOMEM;
	if (!has_room(fs, o))
		return -EMFILE;
	o->held++;
	fs->held++;
	return 0;
}

int sym_held_take(struct sym_files *fs, uint32_t pid, uid_t *uid)
{
	*uid = sym_is_of_others(fs->proc, pid, uid) ? rp_subuid_first(*uid) : 0;
	return sym_held_take_as(fs, *uid);
}

void sym_file_hold(struct sym_files *fs, struct sym_file *f, uint32_t pid, int fd)
{
	const int err = sym_held_take(fs, pid, &f->holder);

	if (err) {
		rp_lack(err, f->path);
		close(fd);
		return;
	}
	f->fd = fd;
}

static struct holder *find_holder(const struct sym_files *fs, uid_t uid)
{
	return uid ? rp_hash_find(&fs->holders, &uid) : NULL;
}

/* Reading a million functions takes half a second; of a user's files they may be sparse. */
#define MOST_NS (4 * NS_PER_SECOND)

/* Of what others have left half, as of descriptors: all of it is read by one thread. */
bool sym_held_has_memory(const struct sym_files *fs, uid_t uid)
{
	const struct holder *o = find_holder(fs, uid);
	const uint64_t others = o ? fs->held_bytes - o->bytes : 0, most = rp_memory_most();

	return !o || (others < most && o->bytes < (most - others) / 2);
}

bool sym_held_may_read(const struct sym_files *fs, uid_t uid)
{
	const struct holder *o = find_holder(fs, uid);

	return !o || (o->spent_ns < MOST_NS && sym_held_has_memory(fs, uid));
}

void sym_held_has_read(struct sym_files *fs, uid_t uid, uint64_t ns, int64_t bytes)
{
	struct holder *o = add_holder(fs, uid);

	if (!o)
		return;
	o->spent_ns += ns;
	o->bytes += (uint64_t)bytes;
	fs->held_bytes += (uint64_t)bytes;
}

void sym_held_rest(struct sym_files *fs)
{
	struct holder *o = fs->holders.items;

	for (uint32_t i = 0; i < fs->holders.count; i++)
		o[i].spent_ns = 0;
}

void sym_held_give(struct sym_files *fs, uid_t uid)
{
	struct holder *o = find_holder(fs, uid);

	if (o) {
		o->held--;
		fs->held--;
	}
}

int sym_file_release(struct sym_files *fs, struct sym_file *f)
{
	const int fd = f->fd;

	if (fd >= 0)
		sym_held_give(fs, f->holder);
	f->fd = -1;
	return fd;
}
