/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording is about: processes that run already, or a program that we start. */
#ifndef RECORD_TARGET_H
#define RECORD_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rawprof/record.h>

struct target {
	pid_t child;	  /* of -- PROGRAM; 0: none */
	int ready;	  /* the child closes it when it waits at the gate; -1 */
	int gate;	  /* the child executes the program when this is closed; -1 */
	int exec_error;	  /* the child writes the errno of its exec here; -1 */
	int *pidfd;	  /* readable when a process has ended; of the child, or of --pid */
	uint32_t npidfds; /* 0: none to wait for */
	int wait_status;  /* of the child once it has ended */
	bool ended;
	char *program; /* path of the file executed, or of the first process; NULL: unknown */
};

/*
 * Checks that --pid and --tid are there, or makes the child, which waits at the gate so that
 * everything is in place before its first instruction. 0, or a negative errno after a message.
 */
int record_target_open(struct target *t, const struct record_options *opt);
/* The child has done what it has to do before: from here on it does only what the program does. */
void record_target_await(struct target *t);
/* Opens the gate. -ENOENT, -EACCES, ... after a message: the program could not be executed. */
int record_target_start(struct target *t, const struct record_options *opt);
/*
 * As record_target_start(), but the child stops each time that the program has code mapped while it
 * is loaded, before any of that code runs, and loaded is called; it has to be quick, and what it
 * returns below 0 ends it all and is returned. -EINTR: a signal that ends rawprof is pending. Where
 * ptrace(2) is not allowed the program starts without, after a warning. After a failure the program
 * may stand still: record_target_close() kills it.
 */
int record_target_start_watched(struct target *t, const struct record_options *opt,
				int (*loaded)(void *ctx, pid_t pid), void *ctx);
/*
 * The recording is over: asks a child that still runs to end (SIGTERM, after two seconds SIGKILL).
 * Returns the exit status that rawprof passes on: the program's own, 128 + N if signal N ended it
 * before we asked, else 0.
 */
int record_target_finish(struct target *t);
void record_target_close(struct target *t);

/*
 * Warns that so many files with code of a process cannot be opened, and so not probed: what follows
 * from that ("calls of an allocator there are not counted"), and what can be done.
 */
void record_target_tell_unopened(uint32_t pid, size_t files, const char *follows);

/* The process that a thread belongs to, itself for a process; 0: there is no such thread. */
uint32_t record_target_process_of(uint32_t id);

#endif
