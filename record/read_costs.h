/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it costs to read the memory of processes with a virtual machine, and what users owe for it:
 * whoever says where something is says how much there is to be read. As in generated_time.h, but
 * twice as much.
 */
#ifndef RECORD_READ_COSTS_H
#define RECORD_READ_COSTS_H

#include <stddef.h>

#include "generated_time.h"
#include "uid_share.h"

struct read_costs {
	struct generated_time owed;
	uint64_t ns; /* of what is being read: by its size, which a busy machine does not change */
	struct record_share late; /* to whom that was said */
};

/* Nobody owes anything. what: "time for names of Java". */
struct read_costs record_read_costs(const char *what);
/* Before and after something is read. False: its user has no time left, which is said. */
bool record_costs_begin(struct read_costs *c, uid_t uid, uint64_t *began);
void record_costs_end(struct read_costs *c, uid_t uid, uint64_t began);
/* One read of n bytes. */
void record_costs_add(struct read_costs *c, size_t n);

#endif
