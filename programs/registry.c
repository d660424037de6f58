/* SPDX-License-Identifier: BSD-2-Clause */
/* Every program there is, for whoever lists, shows or checks them. */
#include <rawprof/programs.h>

const struct program_entry program_entries[] = {
	{ &cpu_sample_program, cpu_maps, STACK_MAPS, "counts the stacks that a perf event interrupts",
	  &cpu_usual_config },
	{ &follow_fork_program, cpu_maps, STACK_MAPS, "adds the children of profiled processes" },
	{ &follow_exit_program, cpu_maps, STACK_MAPS, "removes processes that have ended" },
	{ &follow_fork_classic_program, cpu_maps, STACK_MAPS,
	  "adds the children of profiled processes, without kernel BTF" },
	{ &ksym_program, ksym_maps, KSYM_MAPS, "names kernel addresses", .prepare = ksym_prepare },
	{ &ksym_raw_program, ksym_maps, KSYM_MAPS, "names kernel addresses, before Linux 5.14",
	  .prepare = ksym_prepare },
};
const size_t program_count = sizeof(program_entries) / sizeof(program_entries[0]);
