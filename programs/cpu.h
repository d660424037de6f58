/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu: where CPU time goes (programs/cpu.c), or who comes by a tracepoint (cpu_event.c). */
#ifndef PROGRAMS_CPU_H
#define PROGRAMS_CPU_H

#include "programs/shared/stack.h"

struct cpu_config {
	struct program_config common;
	uint32_t keep_idle; /* the idle task too */
	uint32_t unused;
	uint64_t every; /* cpu_event: one sample of so many */
};
/* The weights; the period is in the event's unit. */
enum { CPU_WEIGHT_SAMPLES, CPU_WEIGHT_PERIOD, CPU_WEIGHTS };
/*
 * The array has one place, for the program cpu_sample that cpu_begin goes on with: another one may
 * take it over while samples come.
 */
enum { CPU_MAP_SAMPLER = STACK_MAPS, CPU_MAPS };
/* What also programs without maps of their own are shown with, but for the last. */
extern const struct asm_map rp_cpu_maps[CPU_MAPS];

enum cpu_role { CPU_SAMPLE = 1, CPU_BEGIN = 2 }; /* of rp_cpu_programs */

/* cpu_event counts for itself, on each CPU. */
struct cpu_turn {
	uint64_t since; /* events since the last sample */
	uint64_t skip;	/* this CPU was not asked for */
};
enum { CPU_EVENT_MAP_TURNS = STACK_MAPS, CPU_EVENT_MAPS };
extern const struct asm_map rp_cpu_event_maps[CPU_EVENT_MAPS];

#endif
