/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of advice, the most telling first: a result has room for REPORT_ADVICE_MOST. */
#include "advice.h"

const struct advice_rule report_advice_rules[] = {
	{ "throttled", NULL, 90,
	  "%1 samples a second of CPU time instead of %2: the kernel skipped or throttled them; a "
	  "lower --freq, or a higher kernel.perf_cpu_time_max_percent, keeps their distance even",
	  report_advice_throttled },
	{ "hot function", "cpu", 50,
	  "%3 itself has %1 of all %2%4: what it does, or how often it is called, decides",
	  report_advice_hot },
	{ "allocation site", "mem", 50, "%3 has made %1 of all %2%4", report_advice_hot },
	{ "temporary blocks", "mem", 30,
	  "%1 of all allocations, %2 blocks, are made in %3 and freed before their thread "
	  "allocates again: one block that is used again would save them",
	  report_advice_temporary },
	{ "preemption", "wall", 20,
	  "threads that could run waited for a CPU %1 of that time (%2): there are more of them "
	  "than CPUs, or a limit (cpu.max) holds them",
	  report_advice_preempted },
	{ "node", NULL, 5,
	  "code that node compiled, and that has no names, has %1 of all %2: run it with "
	  "--perf-basic-prof",
	  report_advice_node },
	{ "missing symbols", NULL, 5,
	  "functions of %3, which have no names, have %1 of all %2: %4 knows them",
	  report_advice_unnamed },
	{ "stacks cut", NULL, 1,
	  "%1 user stacks were deeper than they may be and lack their outer frames: a larger "
	  "--max-stack keeps them, --max-stack 512+512 both ends",
	  report_advice_cut },
	{ "slow few", NULL, 10, /* times */
	  "of %1 the slowest hundredth take %2 or longer (p99), half take up to %3 (p50), %4 times "
	  "less: io --log --min shows the slow ones as they come",
	  report_advice_tail },
	{ "one lock", NULL, 50, "%1 of all time waited for locks is for %2 (%3)%4",
	  report_advice_lock },
	{ .name = NULL },
};
