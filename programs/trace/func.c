/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function that is called is an event, with what is in the registers of its arguments:
 *
 *	trace_func		when it begins
 *	trace_entered, trace_returned
 *				when it returns, with the result and how long it took
 *
 * Between the last two, a call is in the map entered: by the thread, and of functions of programs
 * by the stack pointer, so that recursion is told apart. In the kernel the stack pointer is not the
 * same at both ends: there it is how many calls of the function the thread is in already.
 */
#include "programs/shared/event_filter.h"
#include "task.h"

ASM_FRAME(func_frame,
	(uint64_t, stack, STACK), /* hash of the stack */
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint32_t, cpu, CPU),
	(uint32_t, first, FIRST), /* 0: key of the only element of filter_texts */
	(uint64_t, room, ROOM),
	(uint64_t, link, LINK),
	(struct trace_func_key, key, KEY),
	(key.thread, KEY_THREAD),
	(key.sp, KEY_SP),
	(key.probe, KEY_PROBE),
	(struct trace_func, func, FUNCTION),
	(func.ret, RET),
	(func.duration, DURATION),
	(func.start, START));

/* clang-format off */
#define KEEP_ARG(n)                                                                                \
	LD_ARG(R1, R6, (n) + 1), STX(DW, R10, FUNCTION + 8 * (n), R1)
#define COPY_WORD(n) LDX(DW, R1, R9, 8 * (n)), STX(DW, R10, FUNCTION + 8 * (n), R1)

/* KEY = which call it is: on to out if it cannot be told. R7 and R8 are lost. */
#define LD_KEY(out)                                                                                \
	SCOPE("LD_KEY(" #out ")"),                                                                 \
		LD_PROBE_ID(R7, R6, struct trace_config, probe),                                   \
		STX(DW, R10, KEY_PROBE, R7),                                                       \
		WHEN(struct trace_config, of_kernel),                                              \
			CALL(get_current_task),                                                    \
			MOV_REG(R7, R0),                                                           \
			MOV(R8, 0),                                                                \
		END,                                                                               \
		UNLESS(struct trace_config, of_kernel),                                            \
			LD_CALL(ROOM, struct trace_config, probe, out),                            \
		END,                                                                               \
		STX(DW, R10, KEY_THREAD, R7),                                                      \
		STX(DW, R10, KEY_SP, R8),                                                          \
	END
/* R9 = the call of KEY with this number of others around it; on to above if there is none. */
#define FIND_LEVEL(n, above) ST(DW, R10, KEY_SP, n), MAP_LOOKUP(entered, KEY), JEQ(R0, 0, above)

/* The event at FRAME's FUNCTION, which the filter keeps, is counted or sent. R7 to R9 are lost. */
#define SHOW                                                                                       \
	MOV_REG(R7, R10),                                                                          \
	ADD(R7, FUNCTION),                                                                         \
	EVENT_FILTER(R7, left_out),                                                                \
	TAKE_STACK,                                                                                \
	LD_PROBE_ID(R9, R6, struct trace_config, probe),                                           \
	LD_PARAM(R1, struct trace_config, event),                                                  \
	ADD_REG(R9, R1),                                                                           \
	WHEN(struct trace_config, tally.on),                                                       \
		MOV_REG(R1, R7),                                                                   \
		LDX(DW, R2, R10, IDS),                                                             \
		MOV_REG(R3, R9),                                                                   \
		CALL_FUNC(trace_tally),                                                            \
	END,                                                                                       \
	UNLESS(struct trace_config, tally.on),                                                     \
		RING_RESERVE(ring, sizeof(struct trace_record) + sizeof(struct trace_func)),       \
		JEQ(R0, 0, ring_full),                                                             \
		MOV_REG(R8, R0),                                                                   \
		TASK_HEAD(R8),                                                                     \
		STX(W, R8, MEMBER(event), R9),                                                     \
		ST(W, R8, MEMBER(bytes), sizeof(struct trace_func)),                               \
		MOV_REG(R1, R8),                                                                   \
		ADD(R1, MEMBER(data)),                                                             \
		MOV(R2, sizeof(struct trace_func)),                                                \
		MOV_REG(R3, R7),                                                                   \
		CALL(probe_read_kernel),                                                           \
		RECORD_SUBMIT(R8),                                                                 \
	END

/* LINK = where the call returns to, that begins or ends. */
#define LD_LINK                                                                                    \
	SCOPE("LD_LINK"), LD_SP(R1, R6), MOV_REG(R2, R6), READ_RETURN_ADDRESS(LINK, R2, R1), END

static const struct asm_insn begins_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),
	ZERO(FUNCTION, sizeof(struct trace_func)),
	KEEP_ARG(0), KEEP_ARG(1), KEEP_ARG(2), KEEP_ARG(3), KEEP_ARG(4), KEEP_ARG(5),
	SHOW,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	EVENT_TAIL,
};

static const struct asm_insn enter_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),
	LD_KEY(lost),
	ZERO(FUNCTION, sizeof(struct trace_func)),
	KEEP_ARG(0), KEEP_ARG(1), KEEP_ARG(2), KEEP_ARG(3), KEEP_ARG(4), KEEP_ARG(5),
	WHEN(struct trace_config, of_kernel),
		FIND_LEVEL(0, free), FIND_LEVEL(1, free), FIND_LEVEL(2, free), FIND_LEVEL(3, free),
		FIND_LEVEL(4, free), FIND_LEVEL(5, free), FIND_LEVEL(6, free), FIND_LEVEL(7, free),
		JA(lost),
LABEL(free),
	END,
	UNLESS(struct trace_config, of_kernel),
		/* One that was left without a return (longjmp) had the same place. */
		MAP_LOOKUP(entered, KEY),
		JEQ(R0, 0, new),
		COUNT(stats, struct trace_stats, no_end),
LABEL(new),
	END,
	WHEN(struct trace_config, probe.at_returns), /* in place of what it will return */
		LD_LINK,
		LDX(DW, R1, R10, LINK),
		STX(DW, R10, RET, R1),
	END,
	CALL(ktime_get_ns),
	STX(DW, R10, START, R0),
	LD_MAP(R1, entered),
	FRAME_PTR(R2, KEY),
	FRAME_PTR(R3, FUNCTION),
	MOV(R4, BPF_ANY),
	CALL(map_update_elem),
	JEQ(R0, 0, out),
LABEL(lost),
	COUNT(stats, struct trace_stats, map_full),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
LABEL(filtered),
	COUNT(stats, struct trace_stats, common.filtered),
	JA(out),
LABEL(own),
	COUNT(stats, struct trace_stats, own),
	JA(out),

	INCLUDE(&rp_target_part),
};

static const struct asm_insn leave_lines[] = {
	MOV_REG(R6, R1),
	CALL(ktime_get_ns),
	STX(DW, R10, START, R0),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, out), /* its beginning was none either */
	STX(DW, R10, IDS, R0),
	LD_KEY(out),
	/* The innermost is the last before a level that is free. */
	WHEN(struct trace_config, of_kernel),
		FIND_LEVEL(0, out), MOV(R7, 0),
		FIND_LEVEL(1, found), MOV(R7, 1),
		FIND_LEVEL(2, found), MOV(R7, 2),
		FIND_LEVEL(3, found), MOV(R7, 3),
		FIND_LEVEL(4, found), MOV(R7, 4),
		FIND_LEVEL(5, found), MOV(R7, 5),
		FIND_LEVEL(6, found), MOV(R7, 6),
		FIND_LEVEL(7, found), MOV(R7, 7),
LABEL(found),
		STX(DW, R10, KEY_SP, R7),
	END,
	MAP_LOOKUP(entered, KEY),
	JEQ(R0, 0, out), /* it had begun before */
	MOV_REG(R9, R0),
	/* A function that it jumps to returns to its caller, or to one of that function's own. */
	WHEN(struct trace_config, probe.at_returns),
		LD_PROBE_END(R7, R6, struct trace_config, probe),
		RSH(R7, 32),
		JEQ(R7, 0, its_own),
		LD_LINK,
		LDX(DW, R1, R10, LINK),
		LDX(DW, R2, R9, offsetof(struct trace_func, ret)),
		JNE_REG(R1, R2, out),
LABEL(its_own),
	END,
	COPY_WORD(0), COPY_WORD(1), COPY_WORD(2), COPY_WORD(3), COPY_WORD(4), COPY_WORD(5),
	LD_RET(R1, R6),
	STX(DW, R10, RET, R1),
	LDX(DW, R2, R10, START),
	LDX(DW, R1, R9, offsetof(struct trace_func, start)),
	STX(DW, R10, START, R1),
	SUB_REG(R2, R1),
	STX(DW, R10, DURATION, R2),
	LD_MAP(R1, entered),
	FRAME_PTR(R2, KEY),
	CALL(map_delete_elem),
	WHEN(struct trace_config, by_cpu), /* where it ended */
		FILTER_CPU(cpus, CPU, filtered),
	END,
	SHOW,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct trace_config, by_cpu),
LABEL(filtered),
		COUNT(stats, struct trace_stats, common.filtered),
		JA(out),
	END,

	EVENT_PARTS,
};
/* clang-format on */

static const struct trace_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .own = { 1, 1 },
						  .wake_bytes = 1 << 22 };

#define FUNC_ROW RP_ON_PROBE, RP_MAPS(rp_trace_maps, TRACE_MAPS), RP_CONFIG(usual_config)
const struct rp_program rp_trace_func_programs[] = {
	{ RP_CODE("trace_func", begins_lines), FUNC_ROW, .code.frame = &func_frame_layout,
	  .role = TRACE_FUNC_BEGINS, .summary = "sends that a function is called" },
	{ RP_CODE("trace_entered", enter_lines), FUNC_ROW, .code.frame = &func_frame_layout,
	  .role = TRACE_FUNC_ENTERED, .summary = "notes the arguments of a call" },
	{ RP_CODE("trace_returned", leave_lines), FUNC_ROW, .code.frame = &func_frame_layout,
	  .role = TRACE_FUNC_RETURNED, .summary = "sends a call that returns" },
	RP_LIST_END,
};
