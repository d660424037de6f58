/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profiler of a tutorial, in the parts that do not change while it is repaired. Its own program
 * is bad.c's first; C1 to C15 are its faults, in the order in which they show.
 */
#ifndef EXAMPLES_SEED_H
#define EXAMPLES_SEED_H

#include "../lesson.h"

/* Its maps, as it declares them. The key is "a struct" of three 32-bit numbers; a struct with a
 * 64-bit neighbour is soon 16 bytes long. */
struct seed_key {
	int32_t user_stack, kernel_stack;
	uint32_t pid;
	uint32_t nobody; /* never written */
};
static const struct asm_map seed_maps[] = {
	{ "stack_traces", BPF_MAP_TYPE_STACK_TRACE, 4, 8, 10000 },
	{ "cpu_samples", BPF_MAP_TYPE_HASH, sizeof(struct seed_key), 8, 100000 },
};
enum {
	STACK_TRACES,
	CPU_SAMPLES,
	SEED_MAPS,
};

/* Who: R6 = process. */
#define SEED_WHO CALL(get_current_pid_tgid), MOV_REG(R6, R0), RSH(R6, 32)

/* The key, of R7 = user stack id, R8 = kernel stack id, R6. */
#define SEED_KEY STX(W, R10, -16, R7), STX(W, R10, -12, R8), STX(W, R10, -8, R6)

/* One more, or the first. map_ref is how a map gets into a register. */
#define SEED_COUNT(map_ref)                                                                 \
	map_ref(R1, cpu_samples), MOV_REG(R2, R10), ADD(R2, -16), CALL(map_lookup_elem),    \
		JEQ(R0, 0, init_count), LDX(DW, R1, R0, 0), ADD(R1, 1), STX(DW, R0, 0, R1), \
		JA(exit), LABEL(init_count), MOV(R1, 1), STX(DW, R10, -24, R1),             \
		map_ref(R1, cpu_samples), MOV_REG(R2, R10), ADD(R2, -16), MOV_REG(R3, R10), \
		ADD(R3, -24), MOV(R4, 0), CALL(map_update_elem), LABEL(exit), MOV(R0, 0), EXIT()

/* steps.c: the faults that the verifier does not see. */
extern const struct asm_program seed_accepted, seed_without_licence, count_alone, both_miss;
void show_silent_faults(void);

#endif
