/* SPDX-License-Identifier: BSD-2-Clause */
/* A file is known to the kernel by device, inode and more, and the page where a mapping begins. */
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "table_files.h"

#define KERNEL_MINOR_BITS 20 /* include/linux/kdev_t.h */

uint32_t record_table_files_changed(const struct rp_btf *btf)
{
	static const char *const names[] = { "i_ctime_sec", "__i_ctime.tv_sec", "i_ctime.tv_sec" };
	struct asm_access access;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!rp_btf_access(btf, "inode", names[i], &access, NULL))
			return access.hop[0].offset;
	return 0;
}

/* Where the executable piece @l of the file is mapped: whole pages of it. */
static struct unwind_file_key key_of(const struct stored_file *file, const struct stored_load *l)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (struct unwind_file_key){ .inode = file->inode,
					 .pgoff = l->offset / page,
					 .size = (uint64_t)file->size,
					 .dev = major(file->dev) << KERNEL_MINOR_BITS |
						minor(file->dev),
					 .changed = (uint32_t)file->changed.tv_sec };
}

uint32_t record_table_files_put(int fd, const struct stored_file *file)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint32_t nkeys = 0;

	for (uint32_t i = 0; i < file->nloads; i++) {
		const struct stored_load *l = &file->loads[i];
		const struct unwind_file_key key = key_of(file, l);
		struct unwind_file value = { .vaddr = l->vaddr - l->offset % page };

		for (uint32_t p = 0; p < file->table.nparts; p++) {
			const struct stored_part *part = &file->table.parts[p];

			if (part->start >= l->vaddr + l->size ||
			    part->start + (uint64_t)part->npages * UNWIND_PAGE <= l->vaddr)
				continue;
			if (value.nparts == UNWIND_FILE_PARTS)
				return nkeys; /* larger than any known: its processes wait */
			value.part[value.nparts++] =
				(struct unwind_file_part){ part->start, part->npages, part->index,
							   part->shard, part->rules };
		}
		nkeys += !rp_map_update(fd, &key, &value, BPF_ANY);
	}
	return nkeys;
}

void record_table_files_remove(int fd, const struct stored_file *file)
{
	for (uint32_t i = 0; i < file->nloads; i++) {
		const struct unwind_file_key key = key_of(file, &file->loads[i]);

		rp_map_delete(fd, &key);
	}
}
