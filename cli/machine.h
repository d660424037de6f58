/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts of the machine, of time, and of ourselves. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include <rawprof/report.h>

#define NS_PER_SECOND 1000000000ull

uint64_t monotonic_ns(void);
/* What to add to CLOCK_MONOTONIC to get nanoseconds since 1970; it drifts, so ask again now and then. */
uint64_t wall_offset_ns(void);

/* The kernel's GNU build-id in hex digits, from /sys/kernel/notes; NULL if it has none. text holds 41 bytes. */
const char *kernel_build_id(char text[41]);

/* Time that all CPUs together have spent on anything but being idle, as /proc/stat counts it; 0: unknown. */
uint64_t busy_ns(void);

/* CPU time and peak memory of this process so far. */
void own_cost(struct report_cost *cost);

/* The whole of a small file, NUL-terminated, cut at size - 1. Its length or a negative errno. */
int read_small_file(const char *path, char *text, size_t size);

/* Id of a version 2 control group and its depth below the root. Logs why not. */
int cgroup_find(const char *path, uint64_t *id, uint32_t *level);

#endif
