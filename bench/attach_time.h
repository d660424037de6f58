/* SPDX-License-Identifier: BSD-2-Clause */
/* When a process has attached what it came to attach, as the kernel saw it. */
#ifndef BENCH_ATTACH_TIME_H
#define BENCH_ATTACH_TIME_H

#include <sys/types.h>

/* Each returns 0, or -1 with errno. One instance of tracefs serves all runs. */
int attach_time_open(void);
void attach_time_close(void);
/* From now on @pid and its children are traced, and what was traced before is gone. */
int attach_time_watch(pid_t pid);
/* Once the process has ended: seconds of CLOCK_MONOTONIC. -1, ENODATA if it attached nothing. */
int attach_time_read(double *exec, double *attached);

#endif
