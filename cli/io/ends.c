/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests whose end ran no program, on kernels without BTF.
 *
 * The kernel skips the programs of a classic tracepoint while another BPF program runs on that CPU,
 * and counts that nowhere. An entry of the map goes when its request ends: entries that are left at
 * the end, beyond those that the disk still has, ended without the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io.h"
#include "base/clock.h"
#include "base/file.h"

/* Before the programs are detached: what changes from here on only makes the number too small. */
int io_ends_ask(struct recording *rec)
{
	struct io *io = rec->ctx;

	io->asked = rp_monotonic_ns();
	for (size_t i = 0; i < io->names.ndisks; i++) {
		struct io_disk *d = &io->names.disks[i];
		char path[128], text[64];
		unsigned long long reads = 0, writes = 0;

		snprintf(path, sizeof(path), "/sys/block/%s/inflight", d->name);
		if (rp_read_small_file(path, text, sizeof(text)) > 0) {
			char *end;

			reads = strtoull(text, &end, 10);
			writes = strtoull(end, NULL, 10);
		}
		d->under_way = reads + writes;
		d->left = 0;
	}
	return 0;
}

static int count_entry(void *ctx, const void *key, const void *value)
{
	const struct io_request *q = value;
	struct io *io = ctx;

	(void)key;
	if (!q->start || q->start == UINT64_MAX || q->start > io->asked ||
	    (io->config.by_disk && q->disk != io->config.disk) ||
	    (io->config.owner && q->pid_tgid == UINT64_MAX))
		return 0;
	for (size_t i = 0; i < io->names.ndisks; i++)
		io->names.disks[i].left += io->names.disks[i].disk == q->disk;
	return 0;
}

int io_ends_count(struct recording *rec)
{
	struct io *io = rec->ctx;
	int err = record_stacks_each(rec->stacks, IO_MAP_REQUESTS, count_entry, io);

	for (size_t i = 0; !err && i < io->names.ndisks; i++) {
		const struct io_disk *d = &io->names.disks[i];

		io->unended += d->left > d->under_way ? d->left - d->under_way : 0;
	}
	return err;
}
