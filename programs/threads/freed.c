/* SPDX-License-Identifier: BSD-2-Clause */
/* offcpu_freed: threads of offcpu, runq and wall that never left a CPU for the last time. */
#include "programs/shared/freed.h"
#include "programs/shared/sched_thread.h"
#include "offcpu.h"

ASM_FRAME(freed_frame, (uint32_t, tid, TID));

/* clang-format off */
static const struct asm_insn forget_lines[] = {
	WHEN(struct sched_config, states), /* offcpu: nobody saw it come back */
		MAP_LOOKUP(threads, TID),
		JEQ(R0, 0, forget),
		LDX(DW, R1, R0, HASH),
		JEQ(R1, 0, forget),
		COUNT(stats, struct sched_stats, exited),
LABEL(forget),
	END,
	MAP_DELETE(threads, TID),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part forget_part = { ASM_LINES(forget_lines) };

static const struct asm_insn freed_lines[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	MOV_REG(R1, R6),
	READ_FREED(TID),
	INCLUDE(&forget_part),
};
static const struct asm_insn freed_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	MOV_REG(R1, R6),
	READ_FREED_TP(TID),
	INCLUDE(&forget_part),
};
/* clang-format on */

#define FREED_PROGRAM                                                                              \
	RP_MAPS(rp_offcpu_maps, SCHED_MAPS), RP_CONFIG(rp_offcpu_usual_config),                    \
		.code.frame = &freed_frame_layout

const struct rp_program rp_offcpu_freed_programs[] = {
	{ RP_CODE("offcpu_freed", freed_lines), ON_FREED, FREED_PROGRAM,
	  .summary = "forgets a thread that is freed" },
	{ RP_CODE("offcpu_freed_tp", freed_classic), ON_FREED_TP, FREED_PROGRAM,
	  .summary = "without kernel BTF: forgets a thread that is freed" },
	RP_LIST_END,
};
