/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of another process. A page of it may be one that its owner never fills in, of a
 * userfaultfd or of a file system in user space: whoever touches it waits for as long as the owner
 * likes, and no signal but SIGKILL ends that. So only pages that are there are read, and by
 * /proc/PID/mem, where a userfaultfd is an error, not by process_vm_readv(2).
 */
#ifndef RECORD_REMOTE_H
#define RECORD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* { .pid = N }: it is opened when it is first read. */
struct record_remote {
	pid_t pid;
	bool is_open;
	int memory, pages;
	int error; /* of the last read that failed */
};

/* False, unless all of it could be read. */
bool record_remote_read(struct record_remote *r, uint64_t address, void *out, size_t n);
void record_remote_close(struct record_remote *r);

#endif
