/* SPDX-License-Identifier: BSD-2-Clause */
/* A procfs with one process, 1, of which one file at a time is the fuzzer's. */
#ifndef FUZZ_FAKE_PROC_H
#define FUZZ_FAKE_PROC_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "fuzz.h"

static char fake_proc[] = "/tmp/fuzz-proc-XXXXXX";

static inline void fake_file(const char *name, const void *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fake_proc, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static inline void fake_remove(void)
{
	static const char *const names[] = { "1/root/tmp/perf-1.map",
					     "1/root/tmp",
					     "1/root",
					     "1/maps",
					     "1/comm",
					     "1/stat",
					     "1/status",
					     "1",
					     "" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fake_proc, names[i]);
		remove(path);
	}
}

/* Once. True: just now. */
static inline bool fake_make(void)
{
	static bool is_made;
	static const char *const dirs[] = { "1", "1/root", "1/root/tmp" };
	static const char stat[] = "1 (x) S 0 1 1 0 -1 4194560 1 1 0 0 0 0 0 0 20 0 1 0 5 1 1 1\n";
	char path[128], status[128];

	if (is_made)
		return false;
	is_made = true;
	if (!mkdtemp(fake_proc)) {
		perror(fake_proc);
		exit(1);
	}
	atexit(fake_remove);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fake_proc, dirs[i]);
		mkdir(path, 0755);
	}
	snprintf(status, sizeof(status), "Name:\tx\nUid:\t%d\t%d\t%d\t%d\nNSpid:\t1\n", getuid(),
		 getuid(), getuid(), getuid());
	fake_file("1/status", status, strlen(status));
	fake_file("1/stat", stat, strlen(stat));
	fake_file("1/comm", "x\n", 2);
	return true;
}

#endif
