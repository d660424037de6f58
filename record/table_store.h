/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind tables of files, in the maps where the BPF program reads them. Each file is digested once,
 * however many processes map it, and stays.
 */
#ifndef RECORD_TABLE_STORE_H
#define RECORD_TABLE_STORE_H

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
	struct stored_load *loads; /* none: it is no ELF file of this machine */
	struct stored_part *parts; /* ordered by start; none: the file has no table */
	uint32_t nloads, nparts;
	bool is_computed; /* rules for code without an FDE were asked for */
};

struct record_table_store;

/* Descriptors of the maps, which stay the caller's. 0 or a negative errno after a message. */
struct record_table_store_maps {
	int index, rules, rows;
	int files; /* -1: processes are walked only once they have been read */
};
int record_table_store_open(struct record_table_store **out,
			    const struct record_table_store_maps *maps);
/* @keeper puts tables into the cache, NULL: this process. */
struct record_keeper;
void record_table_store_kept_by(struct record_table_store *s, struct record_keeper *keeper);
void record_table_store_close(struct record_table_store *s);

/*
 * The file open as fd, digested if it is new, or if @is_computed, and it was not: with rules for
 * code without an FDE. NULL without memory. It lives until the next call.
 */
const struct stored_file *record_table_store_file(struct record_table_store *s, int fd,
						  bool is_computed);
/* A file that was digested before, by what stat(2) says of it; NULL if it is new. */
struct stat;
const struct stored_file *record_table_store_known(const struct record_table_store *s,
						   const struct stat *st);
/* A table was not placed for want of room. */
bool record_table_store_is_full(const struct record_table_store *s);
/* Forgets all tables; no walk may use them any more. */
void record_table_store_forget(struct record_table_store *s);
/* The vdso, whose image every process shares. */
const struct stored_file *record_table_store_vdso(struct record_table_store *s);

#endif
