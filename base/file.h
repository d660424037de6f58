/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are read whole. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/* The whole of a small file, NUL-terminated, cut at size - 1. Its length or a negative errno. */
int rp_read_small_file(const char *path, char *text, size_t size);

#endif
