/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that is there whole or not at all. It is written without a name, or under a temporary one,
 * in the directory that it is meant for, and gets its name when all is written: what was there
 * before outlives every failure. Only its owner may read it: it may hold the kernel's addresses.
 */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include <limits.h>

struct output_file {
	int fd;	 /* to write to, which the caller closes */
	int dir; /* -1: it is written in place, and stays what it is */
	char name[NAME_MAX + 1];
	char temporary[32]; /* "": it has no name yet */
};

/*
 * Directories, and links in the way, are followed by hand: a symbolic link only if it belongs to
 * the caller, to root, or to the user whom sudo ran this for. What is no plain file (a terminal, a
 * pipe, /dev/stdout, /dev/null), or is mounted where it lies, is written in place.
 * 0 or a negative errno after a message.
 */
int output_file_open(const char *path, struct output_file *out);

/*
 * Gives the file its name, in place of what had it; before that fd has to be written. It needs
 * nothing but @f, and no name of a directory. 0 or a negative errno, without a message.
 */
int output_commit(struct output_file *f);

/* Takes away what has no name yet, and lets go of the directory; fd stays open. */
void output_file_close(struct output_file *f);

#endif
