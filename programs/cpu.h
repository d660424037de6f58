/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu: where CPU time goes (programs/cpu.c). */
#ifndef PROGRAMS_CPU_H
#define PROGRAMS_CPU_H

#include "programs/shared/stack.h"

struct cpu_config {
	struct program_config common;
	uint32_t keep_idle; /* the idle task too */
	uint32_t unused;
};
/* The weights; the period is in the event's unit. */
enum { CPU_WEIGHT_SAMPLES, CPU_WEIGHT_PERIOD, CPU_WEIGHTS };
/* What also programs without maps of their own are shown with. */
extern const struct asm_map rp_cpu_maps[STACK_MAPS];

#endif
