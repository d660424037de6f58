/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process has mapped, as the kernel writes it (proc_pid_maps(5)), a piece at a time. */
#ifndef SYMBOLIZE_MAPS_H
#define SYMBOLIZE_MAPS_H

#include <stddef.h>

#include <rawprof/symbolize.h>
#include "others.h"

struct sym_maps {
	int fd;
	const char *proc; /* the caller's */
	uint32_t pid;
	bool is_aside;
	uid_t uid;	   /* whose it is then */
	size_t all, asked; /* bytes so far, and when it was asked whether to go on */
	bool is_cut;	   /* that was too much: what came last may be no whole line */
};

/*
 * Now and then, in this thread, @fn is asked whether to go on (symbolize.h): a process chooses how
 * long the text is, and how long each path in it takes. NULL: never.
 */
void sym_maps_watch(sym_user_patience_fn fn, void *ctx);

/* 0 or a negative errno; -EBUSY: its user keeps who reads waiting (base/aside.h). */
int sym_maps_open(struct sym_maps *m, const char *proc, uint32_t pid);
/*
 * Some more lines, whole unless @n is less: how many bytes, 0 at the end, or where it is cut; or a
 * negative errno.
 */
ssize_t sym_maps_read(struct sym_maps *m, char *text, size_t n);
void sym_maps_close(struct sym_maps *m);

#endif
