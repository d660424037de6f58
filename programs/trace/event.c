/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_event: a tracepoint, its whole record into the ring.
 *
 * A record without data of variable length is copied to where it is read from. One with such data
 * is put together beforehand, as what is reserved in a ring has to be a constant.
 */
#include "programs/shared/event_filter.h"
#include "programs/shared/share.h"
#include "task.h"

const struct asm_layout rp_trace_stats_layout =
	ASM_LAYOUT(struct trace_stats, (common, &rp_program_stats_layout), own, left_out,
		   stack_lost, map_full, keys_full, below, no_end, ended);

const struct asm_map rp_trace_maps[TRACE_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(1), struct trace_stats, rp_trace_stats_layout),
	[TRACE_MAP_RING] = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 24 },
	[TRACE_MAP_CPUS] = { "cpus", BPF_MAP_TYPE_HASH, 4, 4, 1 },
	[TRACE_MAP_ASSEMBLY] = { "assembly", BPF_MAP_TYPE_PERCPU_ARRAY, 4,
				 sizeof(struct trace_assembly), 2 },
	[TRACE_MAP_TALLIES] = { "tallies", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct trace_key),
				TRACE_HIST_BYTES, 1, .key = &rp_trace_key_layout },
	[TRACE_MAP_ZERO] = { "zero", BPF_MAP_TYPE_ARRAY, 4, TRACE_HIST_BYTES, 1 },
	[TRACE_MAP_CALLS] = { "calls", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct trace_call_spec),
			      TRACE_CALLS },
	[TRACE_MAP_STARTED] = { "started", BPF_MAP_TYPE_HASH, 8, TRACE_STARTED_BYTES(256), 1 },
	[TRACE_MAP_FILTER] = { "filter_texts", BPF_MAP_TYPE_PERCPU_ARRAY, 4, EVENT_FILTER_SCRATCH,
			       2 },
	[TRACE_MAP_ENTERED] = { "entered", BPF_MAP_TYPE_HASH, sizeof(struct trace_func_key),
				sizeof(struct trace_func), 1 },
	[TRACE_MAP_SHARES] = SHARE_MAP(1),
};

/* The stack frame of trace_event. */
ASM_FRAME(event_frame,
	(uint64_t, stack, STACK), /* hash of the stack */
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint32_t, cpu, CPU),
	(uint32_t, first, FIRST)); /* 0: key of the only element of assembly */

/* clang-format off */
/*
 * R7 = the greater of R7 and the end of the n-th data of variable length: a word in the record has
 * their length above their place.
 */
#define DATA_END(n)                                                                                \
	WHEN(struct trace_config, loc[n]),                                                         \
		SCOPE("DATA_END(" #n ")"),                                                         \
			LD_PARAM(R1, struct trace_config, loc[n]),                                 \
			JGT(R1, TRACE_BYTES - 4, .known), /* never */                              \
			ADD_REG(R1, R8),                                                           \
			LDX(W, R1, R1, MEMBER(data)),                                              \
			MOV_REG(R2, R1),                                                           \
			RSH(R2, 16),                                                               \
			AND(R1, 0xffff),                                                           \
			ADD_REG(R1, R2),                                                           \
			LD_PARAM(R2, struct trace_config, loc_base[n]),                            \
			ADD_REG(R1, R2),                                                           \
			JGE_REG(R7, R1, .known),                                                   \
			MOV_REG(R7, R1),                                                           \
			LABEL(.known),                                                             \
		END,                                                                               \
	END

static const struct asm_insn event_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),
	EVENT_FILTER(R6, left_out),
	TAKE_STACK,

	WHEN(struct trace_config, tally.on),
		MOV_REG(R1, R6),
		LDX(DW, R2, R10, IDS),
		LD_PARAM(R3, struct trace_config, event),
		CALL_FUNC(trace_tally),
	END,
	UNLESS(struct trace_config, tally.on),
		/* Of fixed length. */
		UNLESS(struct trace_config, loc[0]),
			LD_MAP(R1, ring),
			LD_PARAM(R2, struct trace_config, reserve),
			MOV(R3, 0),
			CALL(ringbuf_reserve),
			JEQ(R0, 0, ring_full),
			MOV_REG(R8, R0),
			RECORD_HEAD(R8),
			LD_PARAM(R2, struct trace_config, bytes),
			STX(W, R8, MEMBER(bytes), R2),
			MOV_REG(R1, R8),
			ADD(R1, MEMBER(data)),
			MOV_REG(R3, R6),
			CALL(probe_read_kernel),
			RECORD_SUBMIT(R8),
		END,

		/* Of variable length: R7 = how long. */
		WHEN(struct trace_config, loc[0]),
			ST(W, R10, FIRST, 0),
			MAP_LOOKUP(assembly, FIRST),
			JEQ(R0, 0, out), /* never */
			MOV_REG(R8, R0),
			RECORD_HEAD(R8),
			LD_PARAM(R2, struct trace_config, bytes),
			MOV_REG(R1, R8),
			ADD(R1, MEMBER(data)),
			MOV_REG(R3, R6),
			CALL(probe_read_kernel),
			LD_PARAM(R7, struct trace_config, bytes),
			DATA_END(0),
			DATA_END(1),
			DATA_END(2),
			DATA_END(3),
			DATA_END(4),
			DATA_END(5),
			DATA_END(6),
			DATA_END(7),
			JLE(R7, TRACE_BYTES, whole),
			MOV(R7, TRACE_BYTES),
LABEL(whole),
			STX(W, R8, MEMBER(bytes), R7),
			MOV_REG(R1, R8),
			ADD(R1, MEMBER(data)),
			MOV_REG(R2, R7),
			MOV_REG(R3, R6),
			CALL(probe_read_kernel),
			ADD(R7, sizeof(struct trace_record)),
			RECORD_WAKE(R8),
			LD_MAP(R1, ring),
			MOV_REG(R2, R8),
			MOV_REG(R3, R7),
			CALL(ringbuf_output),
			JNE(R0, 0, ring_full),
		END,
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	EVENT_TAIL,
};
/* clang-format on */

/* As it is for sched:sched_switch. */
static const struct trace_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .own = { 1, 1 },
						  .wake_bytes = 1 << 22,
						  .bytes = 64,
						  .reserve = sizeof(struct trace_record) + 64 };

const struct rp_program rp_trace_event_programs[] = {
	{ RP_CODE("trace_event", event_lines), RP_ON_TP("sched", "sched_switch"),
	  RP_MAPS(rp_trace_maps, TRACE_MAPS), RP_CONFIG(usual_config),
	  .code.frame = &event_frame_layout,
	  .summary = "sends the record of a tracepoint, any: here sched:sched_switch" },
	RP_LIST_END,
};
