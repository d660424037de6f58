/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof cpu: where is CPU time going? All of it is in the library: record/cpu.c, programs/cpu.c. */
#include "commands.h"
#include "run.h"

int command_cpu(const struct options *opt)
{
	return run_profiler(&record_cpu, opt, NULL);
}
