/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of files, in the maps where the BPF program reads them. Each file is digested once, however many
 * processes map it, and stays.
 */
#ifndef CLI_UNWIND_STORE_H
#define CLI_UNWIND_STORE_H

#include <stdbool.h>
#include <sys/types.h>

#include "programs/shared/unwind.h"

/* Where a part of a table lies in the maps. */
struct stored_part {
	uint64_t start; /* address in the file */
	uint32_t npages;
	uint32_t index, shard, rules;
};

/* A piece of the file that is loaded, from its program headers: offset in the file to address. */
struct stored_load {
	uint64_t offset, vaddr, size;
};

struct stored_file {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;
	struct stored_load *loads;
	struct stored_part *parts; /* ordered by start; none: the file has no table */
	uint32_t nloads, nparts;
};

struct unwind_store;

/* The maps of programs.h by descriptor, which stay the caller's. 0 or a negative errno after a message. */
struct unwind_store_maps {
	int index, rules, rows;
};
int unwind_store_open(struct unwind_store **out, const struct unwind_store_maps *maps);
void unwind_store_close(struct unwind_store *s);

/*
 * The file open as fd, digested if it is new. NULL if it is no ELF file of this machine, or there is no memory. The
 * answer lives until the next call.
 */
const struct stored_file *unwind_store_file(struct unwind_store *s, int fd);
/* The same for a file that was digested before, by what stat(2) says of it: NULL too if it is new. */
struct stat;
const struct stored_file *unwind_store_known(const struct unwind_store *s, const struct stat *st);
/* The same for the vdso, whose image every process shares. */
const struct stored_file *unwind_store_vdso(struct unwind_store *s);

#endif
