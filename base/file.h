/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are read whole, and files of others, which may be anything but files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

/* The whole of a small file, NUL-terminated, cut at size - 1. Its length or a negative errno. */
int rp_read_small_file(const char *path, char *text, size_t size);

/*
 * Opens the plain file at @path, below @dirfd or AT_FDCWD, for reading, following symbolic links.
 * What is no plain file is not even opened, as that alone may wait or do something (-EPERM); nor is
 * one on which its owner has a lease waited for (-EAGAIN). A descriptor or a negative errno. Needs
 * /proc.
 */
int rp_open_regular(int dirfd, const char *path);
/* Opens for reading what is open as @path_fd, by O_PATH, which stays open. */
int rp_reopen_regular(int path_fd);

#endif
