/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a request that has ended is counted: histograms, sums, values of a stack, a record. */
#include "io.h"
#include "programs/shared/stream.h"

#define TOTAL(member) offsetof(struct io_total, member)

/* The stack frame of io_count. */
ASM_FRAME(count_frame,
	(struct io_key, key, KEY, &rp_io_key_layout),
	(key.disk, KEY_DISK),
	(key.flags, KEY_FLAGS),
	(key.phase, KEY_PHASE),
	(key.bank, KEY_BANK),
	(key.process, KEY_PROCESS),
	(key.group, KEY_GROUP),
	(key.comm, KEY_COMM),
	(struct io_total, none, NONE), /* as new sums start */
	(uint64_t, end, END_TIME),
	(uint32_t, disk, DISK));

/* clang-format off */
/* Counts ns, in a register, as that phase; destroys R1 to R5. */
#define PHASE(phase, ns)                                                                           \
	SCOPE("PHASE(" #phase ", " #ns ")"),                                                       \
		MOV_REG(R2, ns),                                                                   \
		ST(B, R10, KEY_PHASE, phase),                                                      \
		FRAME_PTR(R1, KEY),                                                                \
		MOV_REG(R3, R6),                                                                   \
		CALL_FUNC(io_hist),                                                                \
	END

/* R0 = whether who pays, R0, has one more place of the bank R2; R1 to R5 are lost. */
static const struct asm_insn share_lines[] = {
	LD_MAP_VALUE(R1, shares, 0),
	JEQ(R2, 0, .first),
	ADD(R1, sizeof(struct share)),
LABEL(.first),
	LD_PARAM(R2, struct io_config, most),
	INCLUDE(&rp_share_part),
};
static const struct asm_part share_part = { ASM_LINES(share_lines) };

/*
 * R0 = the value of the map hists for the key whose address is in a register, made if there is
 * none; 0: there is no room, or not for who pays: the lines behind that set R0 to it.
 */
#define HISTS_OF(key, ...)                                                                         \
	SCOPE("HISTS_OF(" #key ")"),                                                               \
		LD_MAP(R1, hists),                                                                 \
		MOV_REG(R2, key),                                                                  \
		CALL(map_lookup_elem),                                                             \
		JNE(R0, 0, .found),                                                                \
		WHEN(struct io_config, most),                                                      \
			__VA_ARGS__,                                                               \
			LDX(B, R2, key, offsetof(struct io_key, bank)),                            \
			INCLUDE(&share_part),                                                      \
			JEQ(R0, 0, .found),                                                        \
		END,                                                                               \
		LD_MAP(R1, hists),                                                                 \
		MOV_REG(R2, key),                                                                  \
		LD_MAP_VALUE(R3, zero, 0),                                                         \
		MOV(R4, BPF_NOEXIST),                                                              \
		CALL(map_update_elem),                                                             \
		LD_MAP(R1, hists),                                                                 \
		MOV_REG(R2, key),                                                                  \
		CALL(map_lookup_elem),                                                             \
		LABEL(.found),                                                                     \
	END

/* PHASE for ns in R9 and a common phase, whose histograms are in R7, if any. Destroys R8. */
#define COMMON_PHASE(phase, which)                                                                 \
	SCOPE("COMMON_PHASE(" #phase ", " #which ")"),                                             \
		JSLT(R9, 0, .apart),                                                               \
		JEQ(R7, 0, .apart),                                                                \
		MOV_REG(R8, R7),                                                                   \
		ADD(R8, (which)*IO_HIST_BYTES),                                                    \
		HIST_ADD(R8, R9, IO_HIST_BITS, IO_HIST_SLOTS),                                     \
		JA(.counted),                                                                      \
		LABEL(.apart),                                                                     \
		PHASE(phase, R9),                                                                  \
		LABEL(.counted),                                                                   \
	END

static const struct asm_insn hist_lines[] = {
	/*
	 * io_hist(key, value, request): counts a value in the histogram of that key, or sends
	 * it to where there is room.
	 */
FUNC(io_hist),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	WHEN(struct io_config, most),
		UNLESS(struct io_config, calls),
			MOV_REG(R9, R3),
		END,
	END,
	JSGE(R7, 0, forwards),
	COUNT(stats, struct io_stats, backwards),
	MOV(R7, 0),
LABEL(forwards),
	HISTS_OF(R6, WHEN(struct io_config, calls), INCLUDE(&rp_share_payer_part), END,
		 UNLESS(struct io_config, calls), LDX(W, R0, R9, REQUEST(payer)), END),
	JEQ(R0, 0, no_room),
	MOV_REG(R8, R0),
	HIST_ADD(R8, R7, IO_HIST_BITS, IO_HIST_SLOTS),
	MOV(R0, 0),
	EXIT(),

LABEL(no_room),
	RING_RESERVE(ring, sizeof(struct io_sample)),
	JEQ(R0, 0, ring_full),
	LDX(DW, R1, R6, 0),
	STX(DW, R0, 0, R1),
	LDX(DW, R1, R6, 8),
	STX(DW, R0, 8, R1),
	LDX(DW, R1, R6, 16),
	STX(DW, R0, 16, R1),
	LDX(DW, R1, R6, 24),
	STX(DW, R0, 24, R1),
	LDX(DW, R1, R6, 32),
	STX(DW, R0, 32, R1),
	STX(DW, R0, offsetof(struct io_sample, value), R7),
	RING_SUBMIT(R0, BPF_RB_NO_WAKEUP),
	JA(out),
LABEL(ring_full),
	LDX(B, R1, R6, offsetof(struct io_key, phase)),
	JEQ(R1, IO_TOTAL, request_lost),
	JEQ(R1, IO_DEVICE, request_lost),
	JNE(R1, IO_FLUSH_ALONE, phase_lost),
LABEL(request_lost),
	COUNT(stats, struct io_stats, common.ring_full),
	JA(out),
LABEL(phase_lost),
	COUNT(stats, struct io_stats, phases_lost),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_io_hist_part = { ASM_LINES(hist_lines) };

/* clang-format off */
static const struct asm_insn count_lines[] = {
	/* io_count(what we know of it or 0, disk, when it ended, for how long it took, flags) */
FUNC(io_count),
	MOV_REG(R6, R1),
	STX(W, R10, DISK, R2),
	STX(DW, R10, END_TIME, R3),
	MOV_REG(R8, R4),

	/* The key. */
	ZERO(KEY, sizeof(struct io_key)),
	LD_MAP_VALUE(R1, bank, 0),
	LDX(B, R1, R1, 0),
	STX(B, R10, KEY_BANK, R1),
	WHEN(struct io_config, key_disk),
		STX(W, R10, KEY_DISK, R2),
	END,
	WHEN(struct io_config, key_flags),
		LD_PARAM(R1, struct io_config, key_flags),
		AND_REG(R5, R1),
		STX(W, R10, KEY_FLAGS, R5),
	END,
	WHEN(struct io_config, owner),
		JEQ(R6, 0, out), /* never: without its owner it has not come so far */
		WHEN(struct io_config, key_process),
			LDX(W, R1, R6, REQUEST(pid_tgid) + 4),
			STX(W, R10, KEY_PROCESS, R1),
		END,
		WHEN(struct io_config, key_comm),
			LDX(DW, R1, R6, REQUEST(comm)),
			STX(DW, R10, KEY_COMM, R1),
			LDX(DW, R1, R6, REQUEST(comm) + 8),
			STX(DW, R10, KEY_COMM + 8, R1),
		END,
		WHEN(struct io_config, key_group),
			LDX(DW, R1, R6, REQUEST(cgroup)),
			STX(DW, R10, KEY_GROUP, R1),
		END,
	END,
	/* R7 = bytes, if asked for. */
	WHEN(struct io_config, timeline),
		JEQ(R6, 0, out), /* never */
		LDX(W, R1, R6, REQUEST(issues)),
		JNE(R1, 0, was_issued),
		/*
		 * What only waits for a flush is not. Of all others the kernel has not run our
		 * program: while one is at work on this CPU, the same one is not run for what
		 * interrupts it.
		 */
		LDX(W, R1, R6, REQUEST(flags)),
		AND(R1, IO_OP_MASK),
		JNE(R1, IO_OP_EMPTY_FLUSH, not_seen),
LABEL(was_issued),
		WHEN(struct io_config, extent),
			LDX(W, R7, R6, REQUEST(done)),
			LDX(W, R1, R6, REQUEST(len)),
			ADD_REG(R7, R1),
		END,
	END,

	WHEN(struct io_config, latency),
		FRAME_PTR(R1, KEY),
		MOV_REG(R2, R8),
		MOV_REG(R3, R6),
		CALL_FUNC(io_hist),
	END,
	WHEN(struct io_config, sizes),
		FRAME_PTR(R1, KEY),
		MOV_REG(R2, R7),
		MOV_REG(R3, R6),
		CALL_FUNC(io_hist),
	END,
	WHEN(struct io_config, phases),
		LDX(DW, R9, R6, REQUEST(issue)),
		JEQ(R9, 0, never_issued),
		FRAME_PTR(R7, KEY),
		HISTS_OF(R7, LDX(W, R0, R6, REQUEST(payer))),
		MOV_REG(R7, R0),
		LDX(DW, R1, R6, REQUEST(insert)),
		JEQ(R1, 0, not_scheduled),
		SUB_REG(R9, R1),
		COMMON_PHASE(IO_SCHEDULER, 1),
		LDX(DW, R9, R6, REQUEST(insert)),
LABEL(not_scheduled),
		LDX(DW, R1, R6, REQUEST(start)),
		SUB_REG(R9, R1),
		COMMON_PHASE(IO_QUEUE, 0),
		LDX(DW, R9, R6, REQUEST(last_issue)),
		LDX(DW, R1, R6, REQUEST(issue)),
		JEQ_REG(R9, R1, issued_once),
		SUB_REG(R9, R1),
		PHASE(IO_REQUEUE, R9),
LABEL(issued_once),
		LDX(DW, R9, R6, REQUEST(data_done)),
		JEQ(R9, 0, no_flush),
		LDX(DW, R1, R10, END_TIME),
		SUB_REG(R1, R9),
		PHASE(IO_FLUSH, R1),
		JA(device),
LABEL(no_flush),
		LDX(DW, R9, R10, END_TIME),
LABEL(device),
		LDX(DW, R1, R6, REQUEST(last_issue)),
		SUB_REG(R9, R1),
		COMMON_PHASE(IO_DEVICE, 2),
		JA(out),
LABEL(never_issued),
		PHASE(IO_FLUSH_ALONE, R8),
	END,

	WHEN(struct io_config, totals),
		WHEN(struct io_config, pattern),
			LDX(W, R1, R6, REQUEST(flags)),
			AND(R1, IO_OP_MASK),
			JGT(R1, IO_OP_WRITE, no_data),
		END,
		MAP_LOOKUP(totals, KEY),
		JNE(R0, 0, has_totals),
		WHEN(struct io_config, most),
			LDX(W, R0, R6, REQUEST(payer)),
			LDX(B, R2, R10, KEY_BANK),
			INCLUDE(&share_part),
			JEQ(R0, 0, map_full),
		END,
		ZERO(NONE, sizeof(struct io_total)),
		MAP_UPDATE(totals, KEY, NONE, BPF_NOEXIST),
		MAP_LOOKUP(totals, KEY),
		JEQ(R0, 0, map_full),
LABEL(has_totals),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, TOTAL(count), R1),
		ATOMIC_ADD(DW, R0, TOTAL(bytes), R7),
		ATOMIC_ADD(DW, R0, TOTAL(ns), R8),
		LDX(DW, R1, R0, TOTAL(max_ns)),
		JSGE_REG(R1, R8, no_greater),
		STX(DW, R0, TOTAL(max_ns), R8),
LABEL(no_greater),
		LDX(W, R1, R6, REQUEST(jump)),
		XOR(R1, 1),
		ATOMIC_ADD(DW, R0, TOTAL(sequential), R1),
		LDX(DW, R1, R6, REQUEST(last_issue)),
		JEQ(R1, 0, out),
		LDX(DW, R2, R6, REQUEST(data_done)),
		JNE(R2, 0, has_data_done),
		LDX(DW, R2, R10, END_TIME),
LABEL(has_data_done),
		SUB_REG(R2, R1),
		ATOMIC_ADD(DW, R0, TOTAL(device_ns), R2),
		JA(out),
		WHEN(struct io_config, pattern),
LABEL(no_data),
			COUNT(stats, struct io_stats, no_data),
			JA(out),
		END,
LABEL(map_full),
		COUNT(stats, struct io_stats, map_full),
	END,

	WHEN(struct io_config, records),
		RING_RESERVE(ring, sizeof(struct io_record)),
		JEQ(R0, 0, ring_full),
		MOV_REG(R9, R0),
		MOV_REG(R1, R9),
		MOV(R2, sizeof(struct io_request)),
		MOV_REG(R3, R6),
		CALL(probe_read_kernel),
		LDX(DW, R1, R10, END_TIME),
		STX(DW, R9, offsetof(struct io_record, end), R1),
		LDX(W, R1, R10, DISK),
		STX(W, R9, offsetof(struct io_record, disk), R1),
		ST(W, R9, offsetof(struct io_record, unused), 0),
		RING_SUBMIT(R9, BPF_RB_NO_WAKEUP),
		JA(out),
LABEL(ring_full),
		COUNT(stats, struct io_stats, common.ring_full),
	END,

	WHEN(struct io_config, stacks),
		/* What the block layer started has no stack. */
		LDX(W, R1, R6, REQUEST(flags)),
		AND(R1, IO_OP_MASK),
		JEQ(R1, IO_OP_FLUSH, flush),
		LD_MAP(R1, counts),
		MOV_REG(R2, R6),
		ADD(R2, REQUEST(hash)),
		CALL(map_lookup_elem),
		JEQ(R0, 0, uncounted),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, 8 * IO_WEIGHT_COUNT, R1),
		ATOMIC_ADD(DW, R0, 8 * IO_WEIGHT_NS, R8),
		ATOMIC_ADD(DW, R0, 8 * IO_WEIGHT_BYTES, R7),
		WHEN(struct io_config, common.stream),
			LDX(DW, R1, R6, REQUEST(hash)),
			MOV(R2, 0),
			LDX(DW, R3, R10, END_TIME),
			MOV_REG(R4, R8),
			LD_IMM64(R5, STREAM_KIND(STACK_MOMENT_UNTIL) | 1),
			CALL_FUNC(stream_moment),
		END,
		JA(out),
		/*
		 * The map was full when it started: its stack went through the ring, and so do its
		 * values.
		 */
LABEL(uncounted),
		RING_RESERVE(events, sizeof(struct stack_record)),
		JEQ(R0, 0, events_full),
		STACK_RECORD_CLEAR(R0),
		LDX(DW, R1, R6, REQUEST(hash)),
		STX(DW, R0, offsetof(struct stack_record, hash), R1),
		LDX(DW, R1, R6, REQUEST(pid_tgid)),
		STX(DW, R0, offsetof(struct stack_record, pid_tgid), R1),
		ST(DW, R0, offsetof(struct stack_record, value[IO_WEIGHT_COUNT]), 1),
		STX(DW, R0, offsetof(struct stack_record, value[IO_WEIGHT_NS]), R8),
		STX(DW, R0, offsetof(struct stack_record, value[IO_WEIGHT_BYTES]), R7),
		RING_SUBMIT(R0, 0),
		JA(out),
LABEL(flush),
		COUNT(stats, struct io_stats, no_data),
		JA(out),
LABEL(events_full),
		COUNT(stats, struct io_stats, common.ring_full),
	END,
	WHEN(struct io_config, timeline),
		JA(out),
LABEL(not_seen),
		COUNT(stats, struct io_stats, not_seen),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	WHEN(struct io_config, hists),
		INCLUDE(&rp_io_hist_part),
	END,
	WHEN(struct io_config, stacks),
		WHEN(struct io_config, common.stream),
			INCLUDE(&rp_stream_part),
		END,
	END,
};
/* clang-format on */
const struct asm_part rp_io_count_part = { ASM_LINES(count_lines),
					   ASM_FRAMES({ "io_count", &count_frame_layout }) };
