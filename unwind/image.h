/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The headers of an ELF file that anyone may have written, read with bounds: no count or size in it
 * is believed beyond what a real file has, however large a sparse file claims to be.
 */
#ifndef UNWIND_IMAGE_H
#define UNWIND_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_image {
	int fd; /* negative: @bytes are the file */
	const uint8_t *bytes;
	uint64_t size;
	uint16_t machine;
	uint64_t entry; /* where a program begins */
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	size_t nsegments, nsections; /* no sections: there are none, or they cannot be read */
	char *names;		     /* of sections, NUL-terminated */
	size_t names_size;
};

/*
 * Reads the headers of the regular file open as @fd, or, if that is negative, of @size bytes at
 * @bytes; both stay the caller's. -ENOEXEC: not ELF of 64 bits, little-endian, for a machine that
 * is known; -EFBIG: more segments than any loader takes; -ENOMEM; -EIO.
 */
int unwind_image_open(struct unwind_image *out, int fd, const void *bytes, uint64_t size);
void unwind_image_close(struct unwind_image *m);

/* Reads at most @len bytes at @offset; how many there were, 0 beyond the end or on error. */
size_t unwind_image_read(const struct unwind_image *m, uint64_t offset, void *buf, size_t len);

/* The name of a section; "" if it lies beyond the names. */
const char *unwind_image_name(const struct unwind_image *m, const Elf64_Shdr *section);

#endif
