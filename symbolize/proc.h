/* SPDX-License-Identifier: BSD-2-Clause */
/* What procfs tells of a process (proc(5)). @proc is where it is mounted. */
#ifndef RAWPROF_PROC_H
#define RAWPROF_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sym_proc_map {
	uint64_t start, end, offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint32_t prot;
	const char *path; /* "" for anonymous memory */
};

struct sym_proc_ids {
	uint32_t ns_pid; /* its pid in its own, innermost namespace */
	uid_t uid, euid;
};

/*
 * All return 0 or a negative errno: -ESRCH if there is no such process, -EACCES and -EPERM if it is
 * not ours to look at, -ENOMEM, -EPROTO for contents that make no sense.
 */

/* A descriptor to read one of its files from: "stat". */
int sym_proc_open_file(const char *proc, uint32_t pid, const char *name);

/* Calls @fn on each mapping, in order of address, until it returns non-zero, and returns that. */
int sym_proc_maps(const char *proc, uint32_t pid,
		  int (*fn)(void *ctx, const struct sym_proc_map *m), void *ctx);

/* When it started, in ns of CLOCK_MONOTONIC, to a clock tick (10 ms). */
int sym_proc_start(const char *proc, uint32_t pid, uint64_t *time);

/* Both from one file: when it started, and, if @comm is not NULL, its name. */
int sym_proc_identity(const char *proc, uint32_t pid, uint64_t *time, char comm[16]);

/*
 * When it started, in clock ticks since the machine did: the same of a process at all times, as a
 * suspend does not change it, and another of the next one with its number.
 */
int sym_proc_born(const char *proc, uint32_t pid, uint64_t *ticks);

/* Its name, without a newline; @comm has room for 16 bytes. */
int sym_proc_comm(const char *proc, uint32_t pid, char comm[16]);

int sym_proc_ids(const char *proc, uint32_t pid, struct sym_proc_ids *ids);

/*
 * Opens the plain file at the absolute @path for reading as the process itself would see it: in its
 * mount namespace, below its root, which no symbolic link leaves. Returns a descriptor or a
 * negative errno.
 */
int sym_proc_open_in_root(const char *proc, uint32_t pid, const char *path);

/* As sym_proc_open_in_root(), but a @path that is a symbolic link is followed there. */
int sym_proc_follow_in_root(const char *proc, uint32_t pid, const char *path);

/*
 * The same where we are, of a path that somebody else has chosen: open(2) would go by a link into
 * another process's root.
 */
int sym_proc_follow_here(const char *path);

/*
 * The file of the mapping of a process that begins and ends there, be it deleted or in another
 * mount namespace: a descriptor of it open for reading; or what stat(2) says of it, and 0; or a
 * negative errno. -EACCES: another user answers for it (base/fuse.h), or may keep who looks there
 * waiting (base/aside.h). Then the second one goes by the path.
 */
int sym_proc_open_mapped(const char *proc, uint32_t pid, uint64_t start, uint64_t end);
/* On some file systems mappings show one device, and stat(2) another. */
bool sym_proc_has_two_devices(int fd);
/* The first by the path of the mapping alone; -ESTALE: another file has that name by now. */
int sym_proc_open_by_path(const char *proc, uint32_t pid, const struct sym_proc_map *m);
int sym_proc_stat_mapped(const char *proc, uint32_t pid, const struct sym_proc_map *m,
			 struct stat *st);

#endif
