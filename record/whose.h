/* SPDX-License-Identifier: BSD-2-Clause */
/* Who pays for what a process causes: asked often, of processes that may be gone by then. */
#ifndef RECORD_WHOSE_H
#define RECORD_WHOSE_H

#include <stdint.h>
#include <sys/types.h>

enum { WHOSE_PLACES = 1024 };

/* What was found out in the last second. All zeroes to begin with. */
struct record_whose {
	struct {
		uint32_t pid;
		uid_t uid;
		uint64_t at_ns;
	} known[WHOSE_PLACES];
};

/* 0: root or us, who do not pay; RECORD_UID_UNKNOWN: it has ended. */
uid_t record_whose(struct record_whose *w, uint32_t pid);

#endif
