/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose event it is, and where it happened: what the programs of this folder begin with. Their
 * frames have IDS and STACK, of 8 bytes each, and CPU and FIRST, of 4; R6 is the context.
 */
#ifndef PROGRAMS_TRACE_TASK_H
#define PROGRAMS_TRACE_TASK_H

#include "programs/shared/wake.h"
#include "trace.h"

#define MEMBER(member) offsetof(struct trace_record, member)

/* clang-format off */
/* IDS = who it is; to filtered or own if he was not asked for. R0 to R5 are lost. */
#define ASKED_FOR(filtered, own)                                                                   \
	SCOPE("ASKED_FOR(" #filtered ", " #own ")"),                                               \
		CALL_FUNC(target_ids),                                                             \
		JEQ(R0, -1, filtered),                                                             \
		STX(DW, R10, IDS, R0),                                                             \
		RSH(R0, 32),                                                                       \
		JEQ_PARAM(R0, struct trace_config, own[0], own),                                   \
		JEQ_PARAM(R0, struct trace_config, own[1], own),                                   \
		WHEN(struct trace_config, by_cpu),                                                 \
			FILTER_CPU(cpus, CPU, filtered),                                           \
		END,                                                                               \
	END

/* STACK = hash of the stack of the current task; 0 without, which is counted. R8 is lost. */
#define TAKE_STACK                                                                                 \
	SCOPE("TAKE_STACK"),                                                                       \
		ST(DW, R10, STACK, 0),                                                             \
		WHEN(struct trace_config, stacks),                                                 \
			MOV_REG(R1, R6),                                                           \
			LDX(DW, R2, R10, IDS),                                                     \
			MOV(R3, 0),                                                                \
			CALL_FUNC(stack_take),                                                     \
			JEQ(R0, 0, .none),                                                         \
			MOV_REG(R8, R0),                                                           \
			ST(DW, R8, offsetof(struct stack_record, value), 0),                       \
			MOV_REG(R1, R8),                                                           \
			CALL_FUNC(stack_value),                                                    \
			LDX(DW, R1, R8, offsetof(struct stack_record, hash)),                      \
			STX(DW, R10, STACK, R1),                                                   \
			STACK_DONE(R8),                                                            \
			LDX(DW, R1, R10, STACK),                                                   \
			JNE(R1, 0, .taken),                                                        \
			LABEL(.none),                                                              \
			COUNT(stats, struct trace_stats, stack_lost),                              \
			LABEL(.taken),                                                             \
		END,                                                                               \
	END

/* The task, the CPU and the time, in the record at register rec. */
#define TASK_HEAD(rec)                                                                             \
	CALL(ktime_get_ns),                                                                        \
	STX(DW, rec, MEMBER(time), R0),                                                            \
	LDX(DW, R1, R10, IDS),                                                                     \
	STX(DW, rec, MEMBER(pid_tgid), R1),                                                        \
	LDX(DW, R1, R10, STACK),                                                                   \
	STX(DW, rec, MEMBER(stack), R1),                                                           \
	CALL(get_smp_processor_id),                                                                \
	STX(W, rec, MEMBER(cpu), R0),                                                              \
	ST(W, rec, MEMBER(unused), 0),                                                             \
	MOV_REG(R1, rec),                                                                          \
	ADD(R1, MEMBER(comm)),                                                                     \
	MOV(R2, 16),                                                                               \
	CALL(get_current_comm)
/* And which event it is. */
#define RECORD_HEAD(rec)                                                                           \
	SCOPE("RECORD_HEAD(" #rec ")"),                                                            \
		TASK_HEAD(rec),                                                                    \
		LD_PARAM(R1, struct trace_config, event),                                          \
		STX(W, rec, MEMBER(event), R1),                                                    \
	END

/* R4 = whether the record at register rec wakes user space. R0 to R5 are lost. */
#define RECORD_WAKE(rec)                                                                           \
	SCOPE("RECORD_WAKE(" #rec ")"),                                                            \
		LDX(DW, R3, rec, MEMBER(time)),                                                    \
		RING_WAKE(R4, R3, ring, struct trace_config, wake_bytes),                          \
	END
/* Sends the record at register rec, which was reserved. */
#define RECORD_SUBMIT(rec)                                                                         \
	SCOPE("RECORD_SUBMIT(" #rec ")"),                                                          \
		RECORD_WAKE(rec),                                                                  \
		MOV_REG(R1, rec),                                                                  \
		MOV_REG(R2, R4),                                                                   \
		CALL(ringbuf_submit),                                                              \
	END

/* To the label out if --filter leaves out the event whose record is at register rec. */
#define EVENT_FILTER(rec, out)                                                                     \
	WHEN(struct trace_config, filter),                                                         \
		SCOPE("EVENT_FILTER(" #rec ", " #out ")"),                                         \
			ST(W, R10, FIRST, 0),                                                      \
			MAP_LOOKUP(filter_texts, FIRST),                                           \
			JEQ(R0, 0, out), /* never */                                               \
			MOV_REG(R1, rec),                                                          \
			MOV_REG(R2, R0),                                                           \
			LDX(DW, R3, R10, IDS),                                                     \
			CALL_FUNC(event_filter),                                                   \
			JEQ(R0, 0, out),                                                           \
		END,                                                                               \
	END

/* Where what was not asked for is counted; goes back to the label out. */
#define EVENT_NOT_ASKED_FOR                                                                        \
	LABEL(filtered),                                                                           \
	COUNT(stats, struct trace_stats, common.filtered),                                         \
	JA(out),                                                                                   \
	LABEL(own),                                                                                \
	COUNT(stats, struct trace_stats, own),                                                     \
	JA(out)
/*
 * What follows such a program: the labels where its other ends are counted, which go back to the
 * label out, and what it calls.
 */
#define EVENT_TAIL EVENT_NOT_ASKED_FOR, EVENT_PARTS
/* Without those of an event that was not asked for. */
#define EVENT_PARTS                                                                                \
	UNLESS(struct trace_config, tally.on),                                                     \
		LABEL(ring_full),                                                                  \
		COUNT(stats, struct trace_stats, common.ring_full),                                \
		JA(out),                                                                           \
	END,                                                                                       \
	WHEN(struct trace_config, filter),                                                         \
		LABEL(left_out),                                                                   \
		COUNT(stats, struct trace_stats, left_out),                                        \
		JA(out),                                                                           \
	END,                                                                                       \
	EVENT_WANTED,                                                                              \
	EVENT_TASK
/* What says whether an event is wanted, and what it is counted as; */
#define EVENT_WANTED                                                                               \
	WHEN(struct trace_config, filter),                                                         \
		INCLUDE(&rp_event_filter_part),                                                    \
	END,                                                                                       \
	WHEN(struct trace_config, tally.on),                                                       \
		INCLUDE(&rp_trace_tally_part),                                                     \
	END
/* and what ASKED_FOR and TAKE_STACK call. */
#define EVENT_TASK                                                                                 \
	INCLUDE(&rp_target_part),                                                                  \
	WHEN(struct trace_config, stacks),                                                         \
		INCLUDE(&rp_stack_part),                                                           \
	END
/* clang-format on */

#endif
