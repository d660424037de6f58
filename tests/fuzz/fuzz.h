/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzz target feeds one input to a parser and looks at nothing but that it neither crashes, nor
 * reads what is not its own, nor leaks, nor hangs. Built with clang's libFuzzer, or with driver.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these contents that is in memory only; a descriptor at its beginning. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET)) {
		perror("memfd");
		exit(1);
	}
	return fd;
}

#endif
