/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel names from our own program (programs/shared/ksym.c), as the symbolizer wants them. */
#ifndef CLI_KSYM_H
#define CLI_KSYM_H

#include "programs/shared/ksym.h"
#include <rawprof/symbolize.h>

struct ksym {
	int maps[KSYM_MAPS];
	int program; /* -1: there is none yet, or load went wrong */
	int err;     /* of the one attempt to load it */
	struct ksym_io *io;
	size_t io_bytes;
};

/* Touches nothing: the program is loaded when the first name is asked for. */
void record_ksym_init(struct ksym *k);
/* Loads it now, since later there is no right to. What goes wrong, the first name says. */
void record_ksym_prepare(struct ksym *k);
void record_ksym_close(struct ksym *k);
/* To be given to sym_kernel_open(); k must outlive it. */
struct sym_kernel_source record_ksym_source(struct ksym *k);

#endif
