/* SPDX-License-Identifier: BSD-2-Clause */
/* stream: sends when a stack weighed more. */
#include "stream.h"
#include "wake.h"

/* The stack frame of stream_moment: what it sends, before there is room in the ring. */
ASM_FRAME(moment_frame,
	(struct stack_moment, moment, MOMENT),
	(moment.hash, HASH),
	(moment.with, WITH),
	(moment.time, TIME),
	(moment.weight, WEIGHT),
	(moment.count, COUNT_AND_KIND), /* and what lies behind it */
	(moment.cpu, CPU));

/* clang-format off */
static const struct asm_insn stream_lines[] = {
FUNC(stream_moment),
	STX(DW, R10, HASH, R1),
	STX(DW, R10, WITH, R2),
	STX(DW, R10, WEIGHT, R4),
	STX(DW, R10, COUNT_AND_KIND, R5),
	MOV_REG(R0, R3),
	JNE(R0, 0, timed),
	CALL(ktime_get_ns),
LABEL(timed),
	STX(DW, R10, TIME, R0),
	MOV_REG(R6, R0),
	CALL(get_smp_processor_id),
	STX(H, R10, CPU, R0),

	RING_WAKE(R4, R6, events, struct program_config, ring_mark),
	LD_MAP(R1, events),
	FRAME_PTR(R2, MOMENT),
	MOV(R3, sizeof(struct stack_moment)),
	CALL(ringbuf_output),
	JEQ(R0, 0, out),
	COUNT(stats, struct program_stats, untimed),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_stream_part = { ASM_LINES(stream_lines),
					 ASM_FRAMES({ "stream_moment", &moment_frame_layout }) };
