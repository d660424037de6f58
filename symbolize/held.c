/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files held open for processes that may be gone when they are needed. A process may have mapped
 * any number of them, so users but root have half of all descriptors, and whoever owns the files at
 * most half of what the owners of others have left of these.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lack.h"
#include "base/subuid.h"

#include "file.h"

struct file_owner {
	uid_t uid;
	uint32_t held;
};

static bool has_room(const struct sym_files *fs, const struct file_owner *o)
{
	const uint32_t others = fs->held - o->held;
	struct rlimit limit;
	rlim_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	most = limit.rlim_cur / 2;
	return others < most && o->held < (most - others) / 2;
}

/* Whose share the file has to fit in: 0, nobody's. -EMFILE, -ENOMEM, ... */
static int charge(struct sym_files *fs, int fd, uid_t *uid)
{
	struct file_owner *o;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*uid = rp_subuid_first(st.st_uid);
	if (!*uid)
		return 0;
	fs->owners.key_size = sizeof(o->uid);
	fs->owners.size = sizeof(*o);
	o = rp_hash_add(&fs->owners, uid);
	if (!o)
		return -ENOMEM;
	if (!has_room(fs, o))
		return -EMFILE;
	o->held++;
	fs->held++;
	return 0;
}

void sym_file_hold(struct sym_files *fs, struct sym_file *f, int fd)
{
	const int err = charge(fs, fd, &f->holder);

	if (err) {
		rp_lack(err, f->path);
		close(fd);
		return;
	}
	f->fd = fd;
}

int sym_file_release(struct sym_files *fs, struct sym_file *f)
{
	const int fd = f->fd;
	struct file_owner *o = fd < 0 || !f->holder ? NULL : rp_hash_find(&fs->owners, &f->holder);

	if (o) {
		o->held--;
		fs->held--;
	}
	f->fd = -1;
	return fd;
}
