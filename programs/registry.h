/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists of programs of all profilers, by name: a new one is one more line here. */
#ifndef PROGRAMS_REGISTRY_H
#define PROGRAMS_REGISTRY_H

#include <rawprof/program.h>

/* clang-format off */
#define RP_PROGRAM_LISTS(X) \
	X(cpu) \
	X(cpu_event) \
	X(offcpu) \
	X(offcpu_waking) \
	X(offcpu_freed) \
	X(runq) \
	X(wall) \
	X(wall_exec) \
	X(asleep) \
	X(io) \
	X(io_bio) \
	X(io_classic) \
	X(io_call) \
	X(lock_kernel) \
	X(lock_user) \
	X(lock_hold) \
	X(mem_user) \
	X(mem_free) \
	X(mem_peak) \
	X(mem_map) \
	X(mem_kernel) \
	X(mem_faults) \
	X(mem_growth) \
	X(func) \
	X(func_thread) \
	X(func_kernel) \
	X(func_syscall) \
	X(func_classic) \
	X(func_event) \
	X(during) \
	X(during_gone) \
	X(during_exec) \
	X(during_freed) \
	X(follow) \
	X(unwind_follow) \
	X(ksym) \
	X(trace_event) \
	X(trace_usdt) \
	X(trace_func) \
	X(trace_call) \
	X(syscalls)
/* clang-format on */

/* extern const struct rp_program rp_cpu_programs[], ... */
#define RP_DECLARE_LIST(name) extern const struct rp_program rp_##name##_programs[];
RP_PROGRAM_LISTS(RP_DECLARE_LIST)

#endif
