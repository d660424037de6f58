/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables by file, for processes that user space knows nothing of yet: the map unwind_files. */
#ifndef RECORD_TABLE_FILES_H
#define RECORD_TABLE_FILES_H

#include "table_store.h"

/*
 * For program_config.inode_changed: bytes into struct inode, where st_ctime has a name since Linux
 * 6.11, since 6.6 and before. 0: it has none.
 */
struct rp_btf;
uint32_t record_table_files_changed(const struct rp_btf *btf);

/*
 * All mappings of @file, a regular one, lead to its table from now on; fd: of the map. How many
 * keys it has there.
 */
uint32_t record_table_files_put(int fd, const struct stored_file *file);
/* They lead nowhere. */
void record_table_files_remove(int fd, const struct stored_file *file);

#endif
