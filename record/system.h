/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running system says of itself, and what this process has cost it. */
#ifndef RECORD_SYSTEM_H
#define RECORD_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include <rawprof/report.h>

/* The kernel's GNU build id in hex, from /sys/kernel/notes; NULL if it has none. */
const char *record_kernel_build_id(char text[41]);

/* Time that all CPUs together were not idle, as /proc/stat counts it, in ns; 0: unknown. */
uint64_t record_busy_ns(void);
/* How many threads the machine has; 0: not known. Source: proc(5), /proc/loadavg. */
uint32_t record_threads(void);
/* How many it may have; 0: not known. Source: proc(5), /proc/sys/kernel/threads-max. */
uint32_t record_threads_most(void);

/* CPU time and peak memory of this process so far. */
void record_own_cost(struct report_cost *cost);

/* Id of a version 2 control group and its depth below the root. Logs why not. */
int record_cgroup_find(const char *path, uint64_t *id, uint32_t *level);

#endif
