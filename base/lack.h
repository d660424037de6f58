/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is gone on without: a file that could not be read, memory that was not there. A result then
 * has fewer names or shorter stacks, and says so once, at its end: the first of these is kept, and
 * how many there were. Any thread may say so.
 */
#ifndef BASE_LACK_H
#define BASE_LACK_H

struct rp_lacks {
	unsigned long n;
	int err;	/* of the first, a negative errno, */
	char what[256]; /* which concerned this file */
};

/*
 * Only an error of reading counts, and -EDQUOT: its user has had enough; what has ended (-ENOENT,
 * -ESRCH) leaves nothing out.
 */
void rp_lack(int err, const char *path);
/* As rp_lack(), of an open file. */
void rp_lack_file(int err, int fd);
/* Those since the last call. */
struct rp_lacks rp_lacks_take(void);

#endif
