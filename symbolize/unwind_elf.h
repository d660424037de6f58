/* SPDX-License-Identifier: BSD-2-Clause */
/* What unwind tables are made of: where an ELF file has code, and its .eh_frame. */
#ifndef SYMBOLIZE_UNWIND_ELF_H
#define SYMBOLIZE_UNWIND_ELF_H

#include <stddef.h>
#include <stdint.h>

struct unwind_code {
	uint64_t start, end;
};

struct unwind_source {
	uint16_t machine;
	struct unwind_code *code; /* executable segments: ascending, disjoint, not empty */
	size_t ncode;
	uint64_t addr; /* of .eh_frame */
	uint8_t *data; /* its bytes */
	size_t size;
};

/*
 * Reads them from the file open as @fd, or, if @fd is negative, from the @size bytes at @image.
 * Errors as of unwind_table_build().
 */
int unwind_source_read(struct unwind_source *s, int fd, const void *image, size_t size);
void unwind_source_free(struct unwind_source *s);

#endif
