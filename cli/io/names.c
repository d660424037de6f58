/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's numbers are called: disks, operations, flags, control groups. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/grow.h"

const char *const io_phase_names[IO_PHASES] = {
	[IO_TOTAL] = "total",	    [IO_QUEUE] = "queue",   [IO_SCHEDULER] = "scheduler",
	[IO_REQUEUE] = "requeue",   [IO_DEVICE] = "device", [IO_FLUSH] = "flush",
	[IO_FLUSH_ALONE] = "flush",
};

/* ---- disks */

static struct io_disk *disk_by_number(const struct io_names *names, uint32_t disk)
{
	for (size_t i = 0; i < names->ndisks; i++)
		if (names->disks[i].disk == disk)
			return &names->disks[i];
	return NULL;
}

const struct io_disk *io_disk_find(const struct io_names *names, const char *name)
{
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	for (size_t i = 0; i < names->ndisks; i++)
		if (!strcmp(names->disks[i].name, name))
			return &names->disks[i];
	return NULL;
}

/* Only disks that work by requests have hardware queues. */
static bool has_queues(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/sys/block/%s/mq", name);
	return !access(path, F_OK);
}

static bool has_size(const char *name)
{
	char path[300], text[32];

	snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	return rp_read_small_file(path, text, sizeof(text)) > 0 && strtoull(text, NULL, 10);
}

static int add_disk(struct io_names *names, const char *name)
{
	struct io_disk *disk;
	char path[300], text[32], *colon;
	uint32_t number;

	snprintf(path, sizeof(path), "/sys/block/%s/dev", name);
	if (rp_read_small_file(path, text, sizeof(text)) <= 0)
		return 0; /* it has just gone */
	number = (uint32_t)strtoul(text, &colon, 10) << 20;
	if (*colon == ':')
		number |= (uint32_t)strtoul(colon + 1, NULL, 10);
	disk = disk_by_number(names, number);
	if (!disk) {
		if (RP_GROW(names->disks, names->ndisks, names->disks_capacity))
			return -ENOMEM;
		disk = &names->disks[names->ndisks++];
	}
	*disk = (struct io_disk){ .disk = number,
				  .bios = !has_queues(name),
				  .used = has_size(name) };
	/* The directories have '!' where names have '/'. */
	snprintf(disk->name, sizeof(disk->name), "%s", name);
	for (char *c = disk->name; *c; c++)
		if (*c == '!')
			*c = '/';
	return 0;
}

int io_names_read_disks(struct io_names *names)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			err = add_disk(names, entry->d_name);
	if (dir)
		closedir(dir);
	return err;
}

const char *io_disk_name(const struct io_names *names, uint32_t disk, char *text)
{
	const struct io_disk *known = disk_by_number(names, disk);

	if (known)
		return known->name;
	if (!disk)
		return "(none)"; /* requests of a driver to its controller */
	snprintf(text, IO_TEXT, "%u:%u", disk >> 20, disk & 0xfffff);
	return text;
}

/* ---- operations and flags */

/* As include/linux/blk_types.h has them now; where the kernel's BTF says otherwise it is right. */
static struct {
	const char *kernel, *name;
	int64_t number;
} ops[] = {
	{ "REQ_OP_READ", "read", 0 },
	{ "REQ_OP_WRITE", "write", 1 },
	{ "REQ_OP_FLUSH", "flush", 2 },
	{ "REQ_OP_DISCARD", "discard", 3 },
	{ "REQ_OP_SECURE_ERASE", "secure-erase", 5 },
	{ "REQ_OP_WRITE_SAME", "write-same", -1 },
	{ "REQ_OP_WRITE_ZEROES", "write-zeroes", 9 },
	{ "REQ_OP_ZONE_APPEND", "zone-append", -1 },
	{ "REQ_OP_ZONE_OPEN", "zone-open", -1 },
	{ "REQ_OP_ZONE_CLOSE", "zone-close", -1 },
	{ "REQ_OP_ZONE_FINISH", "zone-finish", -1 },
	{ "REQ_OP_ZONE_RESET", "zone-reset", -1 },
	{ "REQ_OP_ZONE_RESET_ALL", "zone-reset-all", -1 },
	{ "REQ_OP_SCSI_IN", "scsi-in", -1 },
	{ "REQ_OP_SCSI_OUT", "scsi-out", -1 },
	{ "REQ_OP_DRV_IN", "driver-in", 34 },
	{ "REQ_OP_DRV_OUT", "driver-out", 35 },
	{ "", "empty-flush", IO_OP_EMPTY_FLUSH },
	{ "", "other", IO_OP_OTHER },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/* Numbers of bits; -1: not on this kernel. */
static struct {
	const char *kernel, *name;
	int64_t bit;
} flags_known[] = {
	{ "__REQ_SYNC", "sync", 11 },	  { "__REQ_META", "meta", 12 },
	{ "__REQ_PRIO", "prio", 13 },	  { "__REQ_IDLE", "idle", 15 },
	{ "__REQ_FUA", "fua", 17 },	  { "__REQ_PREFLUSH", "preflush", 18 },
	{ "__REQ_RAHEAD", "ahead", 19 },  { "__REQ_BACKGROUND", "background", 20 },
	{ "__REQ_NOWAIT", "nowait", 21 }, { "__REQ_SWAP", "swap", -1 },
};
#define FLAGS (sizeof(flags_known) / sizeof(flags_known[0]))

static void ask_kernel(void)
{
	static bool asked;
	const struct rp_btf *btf;

	if (asked || !rp_has(RP_HAS_KERNEL_BTF) || rp_btf_kernel(&btf))
		return;
	asked = true;
	for (size_t i = 0; i < OPS; i++)
		if (*ops[i].kernel && rp_btf_enum(btf, NULL, ops[i].kernel, &ops[i].number))
			ops[i].number = -1;
	for (size_t i = 0; i < FLAGS; i++)
		if (rp_btf_enum(btf, NULL, flags_known[i].kernel, &flags_known[i].bit))
			flags_known[i].bit = -1;
}

const char *io_op_name(uint32_t flags, char *text)
{
	ask_kernel();
	for (size_t i = 0; i < OPS; i++)
		if (ops[i].number == (int64_t)(flags & IO_OP_MASK))
			return ops[i].name;
	snprintf(text, IO_TEXT, "op%u", flags & IO_OP_MASK);
	return text;
}

uint32_t io_flags_named(void)
{
	uint32_t bits = 0;

	ask_kernel();
	for (size_t i = 0; i < FLAGS; i++)
		if (flags_known[i].bit >= 0)
			bits |= 1u << flags_known[i].bit;
	return bits;
}

const char *io_flags_text(uint32_t flags, char *text)
{
	size_t n = 0;

	ask_kernel();
	*text = '\0';
	for (size_t i = 0; i < FLAGS; i++)
		if (flags_known[i].bit >= 0 && flags & 1u << flags_known[i].bit)
			n += (size_t)snprintf(text + n, IO_TEXT - n, "%s%s", n ? "," : "",
					      flags_known[i].name);
	return n ? text : "-";
}

/* ---- control groups */

/* Where groups of version 2 are; the usual place if they are nowhere. */
static void group_root(char *root, size_t size)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[4096], *next;

	snprintf(root, size, "/sys/fs/cgroup");
	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *device = strtok_r(line, " ", &next),
			   *place = strtok_r(NULL, " ", &next), *type = strtok_r(NULL, " ", &next);

		if (device && place && type && !strcmp(type, "cgroup2")) {
			snprintf(root, size, "%s", place);
			break;
		}
	}
	if (mounts)
		fclose(mounts);
}

/* Groups that have names, and all bytes of these. Users who may make groups have half of them. */
#define MOST_GROUPS 16384
#define MOST_GROUP_BYTES (8u << 20)
#define GROUP_WORK 4096 /* what looking into one is worth, as bytes */

/* Its id is the number of the directory. */
static int add_group(struct io_names *names, uint64_t id, const char *parent, const char *name)
{
	struct io_group group = { .id = id };
	int n = asprintf(&group.path, "%s/%s", parent, name);

	if (n < 0)
		return -ENOMEM;
	names->group_bytes += (size_t)n + 1;
	if (!RP_PUSH(names->groups, names->ngroups, names->groups_capacity, group))
		return 0;
	free(group.path);
	return -ENOMEM;
}

/* @part: one of so many parts is for what is in there. */
static int add_groups_in(struct io_names *names, DIR *dir, const char *parent, unsigned int part,
			 struct rp_work *work)
{
	const struct dirent *entry;
	int err = 0;

	while (!err && (entry = readdir(dir)) && rp_work_spend(work, sizeof(*entry))) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (names->ngroups >= MOST_GROUPS / part ||
		    names->group_bytes >= MOST_GROUP_BYTES / part) {
			names->groups_full = true;
			break;
		}
		err = add_group(names, entry->d_ino, parent, entry->d_name);
	}
	return err;
}

static int by_id(const void *a, const void *b)
{
	const struct io_group *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Those below each that was found, in turn: however deep they are, one directory is open. */
static void read_groups(struct io_names *names)
{
	struct rp_work work = { .left = UINT64_MAX }; /* it ends with the groups, or a signal */
	char root[PATH_MAX], path[PATH_MAX];
	struct stat top, st;
	int err;

	group_root(root, sizeof(root));
	err = stat(root, &top) ? -errno : add_group(names, top.st_ino, "", "");
	for (size_t i = 0; i < names->ngroups && !err && rp_work_spend(&work, GROUP_WORK); i++) {
		const char *parent = i ? names->groups[i].path : "";
		DIR *dir;

		/* What is deeper than a path is long has no name. */
		if (snprintf(path, sizeof(path), "%s%s", root, parent) >= (int)sizeof(path))
			continue;
		dir = opendir(path);
		if (dir && !fstat(dirfd(dir), &st) && st.st_dev == top.st_dev)
			err = add_groups_in(names, dir, parent, st.st_uid ? 2 : 1, &work);
		if (dir)
			closedir(dir);
	}
	if (names->ngroups)
		qsort(names->groups, names->ngroups, sizeof(*names->groups), by_id);
	if (names->groups_full)
		rp_log(RP_WARN, "there are too many control groups: some have numbers alone");
}

const char *io_cgroup_path(struct io_names *names, uint64_t id, char *text)
{
	const struct io_group key = { .id = id }, *group = NULL;

	if (!names->groups_read) {
		names->groups_read = true;
		read_groups(names);
	}
	if (names->ngroups)
		group = bsearch(&key, names->groups, names->ngroups, sizeof(key), by_id);
	if (group)
		return group->path;
	snprintf(text, IO_TEXT, "cgroup-%llu", (unsigned long long)id);
	return text;
}

void io_names_free(struct io_names *names)
{
	for (size_t i = 0; i < names->ngroups; i++)
		free(names->groups[i].path);
	free(names->groups);
	free(names->disks);
}
