/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `rawprof offcpu`. */
#ifndef CLI_OFFCPU_H
#define CLI_OFFCPU_H

#include "options.h"

extern const char offcpu_usage[];

struct offcpu_options {
	uint64_t min_ns, max_ns; /* 0: any */
	const char *state;	 /* NULL: all in which a thread waits */
};
extern const struct own_option offcpu_own_options[];
extern const size_t offcpu_own_size;
const char *offcpu_check(const struct options *opt);

#endif
