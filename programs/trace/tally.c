/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_tally: an event is counted, by what the configuration says. */
#include "programs/shared/new_value.h"
#include "programs/shared/share.h"
#include "trace.h"

const struct asm_layout rp_trace_key_layout =
	ASM_LAYOUT(struct trace_key, number, event, cpu, pid, tid, comm, text);

/* The stack frame of trace_tally. */
ASM_FRAME(tally_frame,
	(struct trace_key, key, KEY, &rp_trace_key_layout),
	(key.number, KEY_NUMBER),
	(key.event, KEY_EVENT),
	(key.cpu, KEY_CPU),
	(key.pid, KEY_PID),
	(key.tid, KEY_TID),
	(key.comm, KEY_COMM),
	(key.text, KEY_TEXT),
	(uint64_t, value, VALUE),
	(uint64_t, word, WORD));

/* clang-format off */
/* to, 8 bytes of the frame = a number of the record at R6. */
#define LOAD_NUMBER(to, which)                                                                     \
	SCOPE("LOAD_NUMBER(" #to ", " #which ")"),                                                 \
		FRAME_PTR(R1, to),                                                                 \
		LD_PARAM(R2, struct trace_config, tally.which.size),                               \
		MOV_REG(R3, R6),                                                                   \
		LD_PARAM(R4, struct trace_config, tally.which.offset),                             \
		ADD_REG(R3, R4),                                                                   \
		CALL(probe_read_kernel),                                                           \
		WHEN(struct trace_config, tally.which.shift),                                      \
			LDX(DW, R1, R10, to),                                                      \
			LD_PARAM(R2, struct trace_config, tally.which.shift),                      \
			LSH_REG(R1, R2),                                                           \
			ARSH_REG(R1, R2),                                                          \
			STX(DW, R10, to, R1),                                                      \
		END,                                                                               \
	END

static const struct asm_insn tally_lines[] = {
	/* trace_tally(record, process << 32 | thread, number of the event) */
FUNC(trace_tally),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	ZERO(KEY, sizeof(struct trace_key)),
	ST(DW, R10, VALUE, 0),
	WHEN(struct trace_config, tally.event),
		STX(W, R10, KEY_EVENT, R3),
	END,
	WHEN(struct trace_config, tally.tid),
		STX(W, R10, KEY_TID, R7),
	END,
	WHEN(struct trace_config, tally.pid),
		RSH(R7, 32),
		STX(W, R10, KEY_PID, R7),
	END,
	WHEN(struct trace_config, tally.cpu),
		CALL(get_smp_processor_id),
		STX(W, R10, KEY_CPU, R0),
	END,
	WHEN(struct trace_config, tally.comm),
		READ_COMM(KEY_COMM),
	END,
	WHEN(struct trace_config, tally.number[0].size),
		LOAD_NUMBER(KEY_NUMBER, number[0]),
	END,
	WHEN(struct trace_config, tally.number[1].size),
		LOAD_NUMBER(KEY_NUMBER + 8, number[1]),
	END,
	WHEN(struct trace_config, tally.text),
		MOV_REG(R3, R6),
		LD_PARAM(R4, struct trace_config, tally.text_at),
		ADD_REG(R3, R4),
		WHEN(struct trace_config, tally.text_word),
			FRAME_PTR(R1, WORD),
			MOV(R2, 4),
			CALL(probe_read_kernel),
			LDX(W, R4, R10, WORD),
			AND(R4, 0xffff),
			LD_PARAM(R1, struct trace_config, tally.text_base),
			ADD_REG(R4, R1),
			MOV_REG(R3, R6),
			ADD_REG(R3, R4),
		END,
		FRAME_PTR(R1, KEY_TEXT),
		LD_PARAM(R2, struct trace_config, tally.text_bytes),
		CALL(probe_read_kernel_str),
	END,

	/* R7 = the value; below 0 none is. */
	WHEN(struct trace_config, tally.hist),
		LOAD_NUMBER(VALUE, value),
		LDX(DW, R7, R10, VALUE),
		JSLT(R7, 0, below),
	END,
	MAP_LOOKUP(tallies, KEY),
	JNE(R0, 0, known),
	SHARE_OR(0, LD_PARAM(R2, struct trace_config, tally.most), full),
	MAP_NEW_VALUE(tallies, KEY, zero),
	JEQ(R0, 0, full),
LABEL(known),
	UNLESS(struct trace_config, tally.hist),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, 0, R1),
	END,
	WHEN(struct trace_config, tally.hist),
		MOV_REG(R8, R0),
		HIST_ADD(R8, R7, TRACE_HIST_BITS, TRACE_HIST_SLOTS),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct trace_config, tally.hist),
LABEL(below),
		COUNT(stats, struct trace_stats, below),
		JA(out),
	END,
LABEL(full),
	COUNT(stats, struct trace_stats, keys_full),
	JA(out),
};
/* clang-format on */
const struct asm_part rp_trace_tally_part = { ASM_LINES(tally_lines),
					      ASM_FRAMES({ "trace_tally", &tally_frame_layout }) };
