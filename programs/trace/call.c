/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_call: system calls, by the two tracepoints that all of them have.
 *
 * What a call is asked with is read when it begins, and waits in the map started for its end. A
 * text of the program may be in memory that nobody has touched yet, which a BPF program cannot
 * wait for: then it is read again at the end, when the kernel has read it itself. What a thread
 * ends in, exit or exit_group, has no end of its own, and is sent when the thread ends.
 */
#include "programs/shared/compat.h"
#include "programs/shared/event_filter.h"
#include "task.h"

/* The stack frame of the programs here. */
ASM_FRAME(call_frame,
	(uint64_t, ids, IDS), /* process << 32 | thread */
	(uint64_t, stack, STACK),
	(uint64_t, ret, RET),
	(uint64_t, room, ROOM), /* for LEAVE_COMPAT_CALL */
	(uint64_t, task, TASK), /* key of started */
	(uint32_t, number, NUMBER),
	(uint32_t, begun, BEGUN), /* number of the call that the thread is in */
	(uint32_t, cpu, CPU),
	(uint32_t, first, FIRST)); /* key of an element of assembly */
ASM_FRAME(send_frame, (uint32_t, first, SEND_FIRST));	 /* and of filter_texts */

#define CALL_MEMBER(member) (sizeof(struct trace_record) + offsetof(struct trace_call, member))
#define SPEC(member) offsetof(struct trace_call_spec, member)
enum { TEXTS = sizeof(struct trace_record) + sizeof(struct trace_call) };

/* clang-format off */
/* On to the label out unless it is the one call whose fields the filter of this program knows. */
#define ONLY_CALL(out)                                                                             \
	WHEN(struct trace_config, filter),                                                         \
		LDX(W, R1, R10, NUMBER),                                                           \
		JNE_PARAM(R1, struct trace_config, only_call, out),                                \
	END

/* R9 = what is asked of the call whose number is in the frame; to the label out if nothing is. */
#define CALL_SPEC(wanted, out)                                                             \
	SCOPE("CALL_SPEC(" #wanted ", " #out ")"),                                         \
		MAP_LOOKUP(calls, NUMBER),                                                 \
		JEQ(R0, 0, out),                                                           \
		MOV_REG(R9, R0),                                                           \
		LDX(W, R1, R9, SPEC(parts)),                                               \
		AND(R1, wanted),                                                           \
		JEQ(R1, 0, out),                                                           \
	END

/* The head of the record at register rec, and a call without arguments. */
#define CALL_HEAD(rec)                                                                     \
	SCOPE("CALL_HEAD(" #rec ")"),                                                      \
		TASK_HEAD(rec),                                                            \
		LDX(W, R1, R10, NUMBER),                                                   \
		STX(W, rec, CALL_MEMBER(number), R1),                                      \
		ST(DW, rec, CALL_MEMBER(ret), 0),                                          \
		ST(DW, rec, CALL_MEMBER(duration), 0),                                     \
		ST(W, rec, CALL_MEMBER(is_over), 0),                                       \
		ST(W, rec, CALL_MEMBER(is_timed), 0),                                      \
		ST(W, rec, CALL_MEMBER(text[0]), TRACE_TEXT_NONE),                         \
		ST(W, rec, CALL_MEMBER(text[1]), TRACE_TEXT_NONE),                         \
		ST(W, rec, CALL_MEMBER(text[2]), TRACE_TEXT_NONE),                         \
	END

/* One argument into the record at R8, from the registers at R7 or the context at R6. */
#define COPY_ARG(n)                                                                        \
	SCOPE("COPY_ARG(" #n ")"),                                                         \
		UNLESS(struct trace_config, classic),                                      \
			LD_FIELD(R1, R7, "pt_regs", REG_ARG##n),                           \
		END,                                                                       \
		WHEN(struct trace_config, classic),                                        \
			LDX(DW, R1, R6, 16 + 8 * (n)),                                     \
		END,                                                                       \
		STX(DW, R8, CALL_MEMBER(args) + 8 * (n), R1),                              \
	END

/*
 * Reads text n of the call at R8, as R9 says, if it is not there yet, and makes R7 the end of the
 * texts. Nothing is done where the call has fewer.
 */
#define READ_TEXT(n, before)                                                               \
	WHEN(struct trace_config, texts[n]),                                               \
		SCOPE("READ_TEXT(" #n ")"),                                                \
			LDX(B, R1, R9, SPEC(text) + (n)),                                  \
			JEQ(R1, 0, .done),                                                 \
			LDX(W, R2, R8, CALL_MEMBER(text[n])),                              \
			LSH(R2, 32),                                                       \
			ARSH(R2, 32),                                                      \
			JSGE(R2, 0, .known),                                               \
			SUB(R1, 1),                                                        \
			JGT(R1, 4, .done), /* never */                                     \
			LSH(R1, 3),                                                        \
			ADD_REG(R1, R8),                                                   \
			LDX(DW, R3, R1, CALL_MEMBER(args)),                                \
			LD_PARAM(R2, struct trace_config, text_bytes),                     \
			LDX(B, R4, R9, SPEC(counted) + (n)),                               \
			JEQ(R4, 0, .string),                                               \
			LDX(DW, R4, R1, CALL_MEMBER(args) + 8), /* never the last */       \
			JGE_REG(R4, R2, .long),                                            \
			MOV_REG(R2, R4),                                                   \
			LABEL(.long),                                                      \
			JEQ(R2, 0, .done),                                                 \
			STX(DW, R10, ROOM, R2),                                            \
			MOV_REG(R1, R8),                                                   \
			ADD(R1, TEXTS),                                                    \
			before,                                                            \
			CALL(probe_read_user),                                             \
			JNE(R0, 0, .unreadable),                                           \
			LDX(DW, R2, R10, ROOM),                                            \
			JA(.read),                                                         \
			LABEL(.string),                                                    \
			MOV_REG(R1, R8),                                                   \
			ADD(R1, TEXTS),                                                    \
			before,                                                            \
			CALL(probe_read_user_str),                                         \
			JSLE(R0, 0, .unreadable),                                          \
			MOV_REG(R2, R0),                                                   \
			LABEL(.read),                                                      \
			STX(W, R8, CALL_MEMBER(text[n]), R2),                              \
			LABEL(.known),                                                     \
			MOV_REG(R7, R2),                                                   \
			SCOPE("the texts before"), TEXT_BEFORE_##n, END,                   \
			JA(.done),                                                         \
			LABEL(.unreadable),                                                \
			ST(W, R8, CALL_MEMBER(text[n]), TRACE_TEXT_UNREADABLE),            \
			LABEL(.done),                                                      \
		END,                                                                       \
	END
/* How far behind the first text one is: R1, or R7, goes so far on; R4 is lost. */
#define SKIP_TEXTS(reg, n)                                                                         \
	LD_PARAM(R4, struct trace_config, text_bytes), MUL(R4, n), ADD_REG(reg, R4)
#define TEXT_BEFORE_0 SKIP_TEXTS(R7, 0)
#define TEXT_BEFORE_1 SKIP_TEXTS(R7, 1)
#define TEXT_BEFORE_2 SKIP_TEXTS(R7, 2)
#define READ_TEXTS                                                                         \
	MOV(R7, 0),                                                                        \
	READ_TEXT(0, SKIP_TEXTS(R1, 0)),                                                   \
	READ_TEXT(1, SKIP_TEXTS(R1, 1)),                                                   \
	READ_TEXT(2, SKIP_TEXTS(R1, 2))

/* Sends the record at R8, with R7 bytes of texts. */
#define SEND_CALL MOV_REG(R1, R8), MOV_REG(R2, R7), CALL_FUNC(trace_send_call)

/* trace_send_call(record, bytes of its texts), if --filter wants it. */
static const struct asm_insn send_lines[] = {
FUNC(trace_send_call),
	MOV_REG(R8, R1),
	MOV_REG(R7, R2),
	WHEN(struct trace_config, filter),
		ST(W, R10, SEND_FIRST, 1),
		MAP_LOOKUP(filter_texts, SEND_FIRST),
		JEQ(R0, 0, out), /* never */
		MOV_REG(R1, R8),
		ADD(R1, sizeof(struct trace_record)),
		MOV_REG(R2, R0),
		LDX(DW, R3, R8, MEMBER(pid_tgid)),
		CALL_FUNC(event_filter),
		JEQ(R0, 0, left_out),
	END,
	WHEN(struct trace_config, tally.on),
		MOV_REG(R1, R8),
		ADD(R1, sizeof(struct trace_record)),
		LDX(DW, R2, R8, MEMBER(pid_tgid)),
		LDX(W, R3, R8, MEMBER(event)),
		CALL_FUNC(trace_tally),
	END,
	UNLESS(struct trace_config, tally.on),
		RECORD_WAKE(R8),
		JLE_PARAM(R7, struct trace_config, call_bytes, fits),
		MOV(R7, 0), /* never */
LABEL(fits),
		MOV_REG(R3, R7),
		ADD(R3, sizeof(struct trace_call)),
		STX(W, R8, MEMBER(bytes), R3),
		ADD(R3, sizeof(struct trace_record)),
		MOV_REG(R2, R8),
		LD_MAP(R1, ring),
		CALL(ringbuf_output),
		JEQ(R0, 0, out),
		COUNT(stats, struct trace_stats, common.ring_full),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	WHEN(struct trace_config, filter),
LABEL(left_out),
		COUNT(stats, struct trace_stats, left_out),
		JA(out),
	END,
};
static const struct asm_part send_part = { ASM_LINES(send_lines),
					   ASM_FRAMES({ "trace_send_call",
							&send_frame_layout }) };
#define CALL_TAIL EVENT_NOT_ASKED_FOR, EVENT_WANTED, EVENT_TASK, INCLUDE(&send_part)

/* sys_enter(struct pt_regs *regs, long id), or the record of raw_syscalls:sys_enter */
static const struct asm_insn enter_lines[] = {
	MOV_REG(R6, R1),
	LDX(DW, R1, R6, 8),
	STX(W, R10, NUMBER, R1),
	ONLY_CALL(out),
	CALL_SPEC(TRACE_CALL_BEGINS, out),
	UNLESS(struct trace_config, classic),
		LDX(DW, R7, R6, 0),
		LEAVE_COMPAT_CALL(ROOM, out),
	END,
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),
	TAKE_STACK,
	ST(W, R10, FIRST, 1),
	MAP_LOOKUP(assembly, FIRST),
	JEQ(R0, 0, out), /* never */
	MOV_REG(R8, R0),
	CALL_HEAD(R8),
	LDX(W, R1, R9, SPEC(enter)),
	STX(W, R8, MEMBER(event), R1),
	COPY_ARG(0),
	COPY_ARG(1),
	COPY_ARG(2),
	COPY_ARG(3),
	COPY_ARG(4),
	COPY_ARG(5),
	/* A filter is to find nothing of earlier calls behind a text. */
	WHEN(struct trace_config, filter),
		WHEN(struct trace_config, call_bytes),
			MOV_REG(R1, R8),
			ADD(R1, TEXTS),
			LD_PARAM(R2, struct trace_config, call_bytes),
			MOV(R3, 0), /* what cannot be read is cleared */
			CALL(probe_read_kernel),
		END,
	END,
	READ_TEXTS,

	/* The beginning alone is sent, unless a text has to be read again. */
	LDX(W, R1, R9, SPEC(parts)),
	JSET(R1, TRACE_CALL_WHOLE, start),
	AND(R1, TRACE_CALL_AGAIN),
	JEQ(R1, 0, send),
	LDX(W, R1, R8, CALL_MEMBER(text[0])),
	JEQ32(R1, TRACE_TEXT_UNREADABLE, start),
	LDX(W, R1, R8, CALL_MEMBER(text[1])),
	JEQ32(R1, TRACE_TEXT_UNREADABLE, start),
	LDX(W, R1, R8, CALL_MEMBER(text[2])),
	JEQ32(R1, TRACE_TEXT_UNREADABLE, start),
LABEL(send),
	SEND_CALL,
	JA(out),

LABEL(start),
	STX(W, R8, MEMBER(bytes), R7), /* of its texts, so far */
	READ_OWN_TASK(TASK),
	LD_MAP(R1, started),
	FRAME_PTR(R2, TASK),
	MOV_REG(R3, R8),
	MOV(R4, BPF_NOEXIST),
	CALL(map_update_elem),
	JEQ32(R0, 0, out),
	JNE32(R0, -EEXIST, map_full),
	COUNT(stats, struct trace_stats, no_end),
	LD_MAP(R1, started),
	FRAME_PTR(R2, TASK),
	MOV_REG(R3, R8),
	MOV(R4, BPF_ANY),
	CALL(map_update_elem),
	JEQ32(R0, 0, out),
LABEL(map_full),
	COUNT(stats, struct trace_stats, map_full),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	CALL_TAIL,
};

/* sys_exit(struct pt_regs *regs, long ret), or the record of raw_syscalls:sys_exit */
static const struct asm_insn exit_lines[] = {
	MOV_REG(R6, R1),
	UNLESS(struct trace_config, classic),
		LDX(DW, R1, R6, 0),
		LD_FIELD(R1, R1, "pt_regs", REG_NR),
		STX(W, R10, NUMBER, R1),
		LDX(DW, R1, R6, 8),
		STX(DW, R10, RET, R1),
	END,
	WHEN(struct trace_config, classic),
		LDX(DW, R1, R6, 8),
		STX(W, R10, NUMBER, R1),
		LDX(DW, R1, R6, 16),
		STX(DW, R10, RET, R1),
	END,
	/* It may not be the number of the call: then its beginning knows. */
	LDX(W, R1, R10, NUMBER),
	JEQ_PARAM(R1, struct trace_config, execve[0], any_end),
	JEQ_PARAM(R1, struct trace_config, execve[1], any_end),
	UNLESS(struct trace_config, any_end),
		JLT(R1, TRACE_CALLS, known),
	END,
LABEL(any_end),
	READ_OWN_TASK(TASK),
	MAP_LOOKUP(started, TASK),
	JEQ(R0, 0, known),
	LDX(W, R7, R0, CALL_MEMBER(number)),
	STX(W, R10, BEGUN, R7),
	MAP_LOOKUP(calls, BEGUN),
	JEQ(R0, 0, known), /* never */
	LDX(W, R1, R0, SPEC(parts)),
	AND(R1, TRACE_CALL_ANY_END),
	JEQ(R1, 0, known),
	STX(W, R10, NUMBER, R7),
LABEL(known),
	ONLY_CALL(out),
	CALL_SPEC(TRACE_CALL_BEGINS | TRACE_CALL_EXIT, out),
	AND(R1, TRACE_CALL_BEGINS),
	JEQ(R1, 0, no_beginning),

	/* What is under way in this thread. */
	READ_OWN_TASK(TASK),
	MAP_LOOKUP(started, TASK),
	JEQ(R0, 0, no_beginning), /* it began before, or was not asked for */
	MOV_REG(R8, R0),
	LDX(W, R1, R8, CALL_MEMBER(number)),
	LDX(W, R2, R10, NUMBER),
	JNE_REG(R1, R2, no_beginning),
	LDX(W, R7, R8, MEMBER(bytes)),
	LDX(W, R1, R9, SPEC(parts)),
	AND(R1, TRACE_CALL_AGAIN),
	JEQ(R1, 0, read),
	READ_TEXTS,
LABEL(read),
	LDX(W, R1, R9, SPEC(parts)),
	JSET(R1, TRACE_CALL_ENTER, send),
	LDX(DW, R1, R10, RET),
	STX(DW, R8, CALL_MEMBER(ret), R1),
	ST(W, R8, CALL_MEMBER(is_over), 1),
	ST(W, R8, CALL_MEMBER(is_timed), 1),
	CALL(ktime_get_ns),
	LDX(DW, R1, R8, MEMBER(time)),
	SUB_REG(R0, R1),
	STX(DW, R8, CALL_MEMBER(duration), R0),
LABEL(send),
	SEND_CALL,
	MAP_DELETE(started, TASK),
	JA(end_alone),

LABEL(no_beginning),
	UNLESS(struct trace_config, classic),
		LEAVE_COMPAT_CALL(ROOM, out),
	END,
LABEL(end_alone),
	LDX(W, R1, R9, SPEC(parts)),
	AND(R1, TRACE_CALL_EXIT),
	JEQ(R1, 0, out),
	COUNT(stats, struct trace_stats, common.fired),
	ASKED_FOR(filtered, own),
	TAKE_STACK,
	ST(W, R10, FIRST, 1),
	MAP_LOOKUP(assembly, FIRST),
	JEQ(R0, 0, out), /* never */
	MOV_REG(R8, R0),
	CALL_HEAD(R8),
	LDX(W, R1, R9, SPEC(exit)),
	STX(W, R8, MEMBER(event), R1),
	ST(DW, R8, CALL_MEMBER(args[0]), 0),
	ST(DW, R8, CALL_MEMBER(args[1]), 0),
	ST(DW, R8, CALL_MEMBER(args[2]), 0),
	ST(DW, R8, CALL_MEMBER(args[3]), 0),
	ST(DW, R8, CALL_MEMBER(args[4]), 0),
	ST(DW, R8, CALL_MEMBER(args[5]), 0),
	LDX(DW, R1, R10, RET),
	STX(DW, R8, CALL_MEMBER(ret), R1),
	ST(W, R8, CALL_MEMBER(is_over), 1),
	MOV(R7, 0),
	SEND_CALL,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	CALL_TAIL,
};

/* A thread ends, in whatever it was asked to do last. */
static const struct asm_insn thread_lines[] = {
	READ_OWN_TASK(TASK),
	MAP_LOOKUP(started, TASK),
	JEQ(R0, 0, out),
	MOV_REG(R8, R0),
	LDX(W, R1, R8, CALL_MEMBER(number)),
	STX(W, R10, NUMBER, R1),
	ONLY_CALL(out),
	WHEN(struct trace_config, of_result),
		COUNT(stats, struct trace_stats, ended),
	END,
	UNLESS(struct trace_config, of_result),
		LDX(W, R7, R8, MEMBER(bytes)),
		SEND_CALL,
	END,
	MAP_DELETE(started, TASK),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	UNLESS(struct trace_config, of_result),
		EVENT_WANTED,
		INCLUDE(&send_part),
	END,
};
/* clang-format on */

#define CALL_CONFIG(classic_)                                                                      \
	{                                                                                          \
		.common = PROGRAM_USUAL_CONFIG, .own = { 1, 1 }, .classic = (classic_),            \
		.texts = { 1, 0, 0 }, .text_bytes = 256, .call_bytes = 256, .wake_bytes = 1 << 22  \
	}
static const struct trace_config usual_config = CALL_CONFIG(0), classic_config = CALL_CONFIG(1);

#define CALL_PROGRAM(role_, config_)                                                               \
	.role = (role_), RP_MAPS(rp_trace_maps, TRACE_MAPS), RP_CONFIG(config_),                   \
	.code.frame = &call_frame_layout

const struct rp_program rp_trace_call_programs[] = {
	{ RP_CODE("trace_enter", enter_lines), RP_ON_TP_BTF("sys_enter"),
	  CALL_PROGRAM(TRACE_ENTERS, usual_config),
	  .summary = "notes what a system call is asked with" },
	{ RP_CODE("trace_enter_tp", enter_lines), RP_ON_TP("raw_syscalls", "sys_enter"),
	  CALL_PROGRAM(TRACE_ENTERS, classic_config), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "without kernel BTF: notes what a system call is asked with" },
	{ RP_CODE("trace_exit", exit_lines), RP_ON_TP_BTF("sys_exit"),
	  CALL_PROGRAM(TRACE_EXITS, usual_config), .ends = true,
	  .summary = "sends a system call with what it answered" },
	{ RP_CODE("trace_exit_tp", exit_lines), RP_ON_TP("raw_syscalls", "sys_exit"),
	  CALL_PROGRAM(TRACE_EXITS, classic_config), RP_NEEDS(RP_NEED_HOOK), .ends = true,
	  .summary = "without kernel BTF: sends a system call with what it answered" },
	{ RP_CODE("trace_thread", thread_lines), RP_ON_TP_BTF("sched_process_exit"),
	  CALL_PROGRAM(TRACE_THREAD_ENDS, usual_config), .ends = true,
	  .summary = "sends a system call that its thread ends in" },
	{ RP_CODE("trace_thread_tp", thread_lines), RP_ON_TP("sched", "sched_process_exit"),
	  CALL_PROGRAM(TRACE_THREAD_ENDS, classic_config), .ends = true,
	  .summary = "without kernel BTF: sends a system call that its thread ends in" },
	RP_LIST_END,
};
