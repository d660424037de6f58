/* SPDX-License-Identifier: BSD-2-Clause */
/* Which pieces of an ELF file are loaded as code, from its program headers. */
#ifndef RECORD_TABLE_LOADS_H
#define RECORD_TABLE_LOADS_H

#include <stddef.h>
#include <stdint.h>

/* So many are known of a file: honest ones have one to three. */
#define STORED_LOADS 16

/* Offset in the file to address, bytes. */
struct stored_load {
	uint64_t offset, vaddr, size;
};

/* Bytes of a file, or, unless it is NULL, of an image in memory. */
struct table_source {
	int fd;
	const unsigned char *image;
	size_t size;
};

/* To be freed. -ENOEXEC: it is no whole ELF file of 64 bits; -ENOMEM. */
int record_table_loads_read(const struct table_source *src, struct stored_load **out, uint32_t *n);

#endif
