/* SPDX-License-Identifier: BSD-2-Clause */
/* ksym: names of kernel addresses, by the kernel (programs/shared/ksym.c). */
#ifndef PROGRAMS_KSYM_H
#define PROGRAMS_KSYM_H

#include "programs/registry.h"

/*
 * The only element of the mmapable map ksym_io: addresses in, ended by a 0 when there are fewer;
 * texts out.
 */
#define KSYM_BATCH 32
#define KSYM_TEXT 640
struct ksym_io {
	uint64_t addr[KSYM_BATCH];
	char text[KSYM_BATCH][KSYM_TEXT];
};

/* The program's prepare writes the format to its map and freezes it. */
enum { KSYM_MAP_FORMAT, KSYM_MAP_IO, KSYM_MAPS };
#define KSYM_FORMAT "%pS"
enum { KSYM_NAME = 1 };

#endif
