/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has mapped, as the kernel writes it (proc_pid_maps(5)), a piece at a time. */
#ifndef SYMBOLIZE_MAPS_H
#define SYMBOLIZE_MAPS_H

#include <stddef.h>

#include "others.h"

struct sym_maps {
	int fd;
	const char *proc; /* the caller's */
	uint32_t pid;
	bool is_aside;
	uid_t uid; /* whose it is then */
};

/* 0 or a negative errno; -EBUSY: its user keeps who reads waiting (base/aside.h). */
int sym_maps_open(struct sym_maps *m, const char *proc, uint32_t pid);
/* Some more whole lines: how many bytes, 0 at the end, or a negative errno. */
ssize_t sym_maps_read(struct sym_maps *m, char *text, size_t n);
void sym_maps_close(struct sym_maps *m);

#endif
