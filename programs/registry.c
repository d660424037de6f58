/* SPDX-License-Identifier: BSD-2-Clause */
/* Every program there is, for whoever lists, shows or checks them. */
#include <rawprof/mem.h>
#include <rawprof/programs.h>

const struct program_entry program_entries[] = {
	{ &cpu_sample_program, cpu_maps, STACK_MAPS,
	  "counts the stacks that a perf event interrupts", &cpu_usual_config },
	{ &offcpu_switch_program, offcpu_maps, OFFCPU_MAPS,
	  "measures how long threads wait, and where", &offcpu_usual_config },
	{ &offcpu_switch_classic_program, offcpu_maps, OFFCPU_MAPS,
	  "measures how long threads wait, without kernel BTF", &offcpu_usual_config },
	{ &follow_fork_program, cpu_maps, STACK_MAPS, "adds the children of profiled processes" },
	{ &follow_exit_program, cpu_maps, STACK_MAPS, "removes processes that have ended" },
	{ &follow_fork_classic_program, cpu_maps, STACK_MAPS,
	  "adds the children of profiled processes, without kernel BTF" },
	{ &mem_session_program, mem_user_maps, MEM_USER_MAPS,
	  "counts allocations, at the entry and the return of malloc", &mem_user_usual_config },
	{ &mem_enter_program, mem_user_maps, MEM_USER_MAPS,
	  "notes the entry of malloc, before Linux 6.13", &mem_user_usual_config },
	{ &mem_leave_program, mem_user_maps, MEM_USER_MAPS,
	  "counts what malloc returned, before Linux 6.13", &mem_user_usual_config },
	{ &mem_free_program, mem_user_maps, MEM_USER_MAPS, "counts what is freed",
	  &mem_user_usual_config },
	{ &mem_thread_exit_program, mem_user_maps, MEM_USER_MAPS,
	  "forgets what a thread was doing when it ends" },
	{ &mem_thread_exit_classic_program, mem_user_maps, MEM_USER_MAPS,
	  "forgets what a thread was doing, without kernel BTF" },
	{ &unwind_fork_program, cpu_maps, STACK_MAPS,
	  "hands the mappings of a process to its child" },
	{ &unwind_exec_program, cpu_maps, STACK_MAPS,
	  "forgets the mappings of a process that executes a program", &cpu_usual_config },
	{ &unwind_exit_program, cpu_maps, STACK_MAPS,
	  "forgets the mappings of a process that ends" },
	{ &ksym_program, ksym_maps, KSYM_MAPS, "names kernel addresses", .prepare = ksym_prepare },
	{ &ksym_raw_program, ksym_maps, KSYM_MAPS, "names kernel addresses, before Linux 5.14",
	  .prepare = ksym_prepare },
};
const size_t program_count = sizeof(program_entries) / sizeof(program_entries[0]);
