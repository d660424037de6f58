/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of another process. A page of it may be one that its owner never fills in, of a
 * userfaultfd or of a file system in user space: whoever touches it waits for as long as the owner
 * likes, and no signal but SIGKILL ends that. So only pages that are there are read, and by
 * /proc/PID/mem, where a userfaultfd is an error, not by process_vm_readv(2). What is not there yet
 * of a file that is mapped, as are texts that a program never looks at, can be read from the file.
 * Where the owner could keep the memory locked as a whole, a thread reads it (base/aside.h).
 */
#ifndef RECORD_REMOTE_H
#define RECORD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A mapping of a file; begins where it ends: none. */
struct remote_file {
	uint64_t start, end, offset;
	int fd;
};
enum { REMOTE_FILES = 4 };

/* { .pid = N }: it is opened when it is first read. */
struct record_remote {
	pid_t pid;
	bool by_files; /* of pages that are not there: for who keeps this for long */
	bool is_open;
	int memory, pages;
	int error; /* of the last read that failed */
	enum { REMOTE_NOT_ASKED, REMOTE_OURS, REMOTE_OF_OTHERS } whose;
	uid_t uid; /* of others */
	bool is_payer_known;
	uid_t payer; /* for keeping us waiting; 0: it is ours or root's */
	struct remote_file files[REMOTE_FILES];
	uint32_t nfiles;	    /* of all times: the oldest goes first */
	uint64_t since_ns, look_ns; /* since when it is open; spent on looking for files */
};

/* Of a process that was named: that is worth waiting for (generated_time.h). */
void record_remote_is_named(bool is_named);

/* Opens it now, by a descriptor of the process's directory in /proc: 0, or a negative errno. */
int record_remote_open_at(struct record_remote *r, int directory);
/* False, unless all of it could be read. */
bool record_remote_read(struct record_remote *r, uint64_t address, void *out, size_t n);
/* How many of the first bytes could be. */
size_t record_remote_read_some(struct record_remote *r, uint64_t address, void *out, size_t n);
void record_remote_close(struct record_remote *r);

#endif
