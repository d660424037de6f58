/* SPDX-License-Identifier: BSD-2-Clause */
/* The priority of the start. */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/clock.h"
#include "hurry.h"

/* Of a process that is named, files are read before all is attached: they may be much work. */
#define LONG_NS (NS_PER_SECOND / 10)

static bool is_hurrying;
static uint64_t since_ns;

/* Not by the C library: musl's refuses. */
static int set_policy(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	return syscall(SYS_sched_setscheduler, 0, policy, &param) ? -errno : 0;
}

void record_hurry(void)
{
	/* What is reset at a fork is the nice value too. */
	if (getpriority(PRIO_PROCESS, 0) || syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER)
		return;
	is_hurrying = !set_policy(SCHED_FIFO | SCHED_RESET_ON_FORK, 1);
	since_ns = rp_monotonic_ns();
}

void record_hurry_tires(void)
{
	if (is_hurrying && rp_monotonic_ns() - since_ns > LONG_NS)
		record_hurry_end();
}

int record_hurry_end(void)
{
	int err;

	if (!is_hurrying)
		return 0;
	is_hurrying = false;
	err = set_policy(SCHED_OTHER, 0);
	if (err == -EPERM) /* the flag can only be taken back with CAP_SYS_NICE */
		err = set_policy(SCHED_OTHER | SCHED_RESET_ON_FORK, 0);
	return err ? rp_fail(err, "cannot give up the priority of the start: %s", strerror(-err))
		   : 0;
}
