/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io: how long do requests to block devices take?
 *
 * Here is a request's way from its start to its end, for the programs of hooks.c, bio.c and
 * classic.c, which know what the kernel shows of it. The task that started it is noted when it
 * starts: it may be issued by a thread of the kernel, and end in any context.
 */
#include "io.h"

static const struct asm_layout stats_layout = ASM_LAYOUT(
	struct io_stats, (common, &rp_program_stats_layout), other_disk, shorter, no_data, unknown,
	not_seen, no_end, map_full, requests_full, phases_lost, backwards);
static const struct asm_layout request_layout =
	ASM_LAYOUT(struct io_request, start, insert, issue, last_issue, data_done, flags, disk,
		   issues, len, sector, pid_tgid, cgroup, hash, done, jump, payer, unused, comm);
const struct asm_layout rp_io_key_layout =
	ASM_LAYOUT(struct io_key, disk, flags, phase, bank, process, group, comm);
static const struct asm_layout total_layout =
	ASM_LAYOUT(struct io_total, count, bytes, ns, device_ns, max_ns, sequential);

const struct asm_map rp_io_maps[IO_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(IO_WEIGHTS), struct io_stats, stats_layout),
	[IO_MAP_REQUESTS] = { "requests", BPF_MAP_TYPE_HASH, 8, sizeof(struct io_request), 16384,
			      .value = &request_layout },
	[IO_MAP_HISTS] = { "hists", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct io_key), IO_HIST_BYTES,
			   256, .key = &rp_io_key_layout },
	[IO_MAP_TOTALS] = { "totals", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct io_key),
			    sizeof(struct io_total), 8192, .key = &rp_io_key_layout,
			    .value = &total_layout },
	[IO_MAP_ENDS] = { "ends", BPF_MAP_TYPE_LRU_HASH, sizeof(struct io_end_key), 8, 8192 },
	[IO_MAP_ZERO] = { "zero", BPF_MAP_TYPE_ARRAY, 4, IO_HIST_BYTES, 1 },
	[IO_MAP_BANK] = { "bank", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[IO_MAP_RING] = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 22 },
	[IO_MAP_CALLS] = { "calls", BPF_MAP_TYPE_ARRAY, 4, 4, IO_CALL_NUMBERS },
	[IO_MAP_THREADS] = { "threads", BPF_MAP_TYPE_LRU_HASH, 4, sizeof(struct io_call), 32768 },
	[IO_MAP_TYPES] = { "types", BPF_MAP_TYPE_HASH, 8, 16, 512 },
	[IO_MAP_FLUSHES] = { "flushes", BPF_MAP_TYPE_HASH, 4, sizeof(struct io_flushes), 4096 },
	[IO_MAP_SHARES] = SHARE_MAP(2),
};

/* ---- start */

/* The stack frame of io_begin. */
ASM_FRAME(begin_frame,
	/* arguments */
	(uint64_t, context, CONTEXT),
	(uint64_t, key, KEY),
	(uint64_t, start, START),
	(uint32_t, disk, DISK),
	(uint32_t, flags, FLAGS),
	(struct io_request, none, NONE)); /* as a new entry starts */

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/*
	 * io_begin(context, key, disk, flags, when it started or 0 for now): the current task
	 * starts a request. R0 = its entry, or 0.
	 */
FUNC(io_begin),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, KEY, R2),
	STX(W, R10, DISK, R3),
	STX(W, R10, FLAGS, R4),
	STX(DW, R10, START, R5),
	REQUEST_ENTRY(KEY, NONE),
	JEQ(R0, 0, requests_full),
	MOV_REG(R7, R0),
	WHEN(struct io_config, kernel.has_merge),
		LDX(DW, R1, R7, REQUEST(start)),
		JNE(R1, 0, no_end),
LABEL(fresh),
	END,
	LDX(W, R1, R10, FLAGS),
	STX(W, R7, REQUEST(flags), R1),
	LDX(W, R1, R10, DISK),
	STX(W, R7, REQUEST(disk), R1),
	WHEN(struct io_config, timeline),
		CLEAR_TIMELINE(R7),
	END,

	WHEN(struct io_config, owner),
		CALL_FUNC(target_ids),
		STX(DW, R7, REQUEST(pid_tgid), R0),
		JEQ(R0, -1, asked),
		MOV_REG(R1, R7),
		ADD(R1, REQUEST(comm)),
		MOV(R2, 16),
		CALL(get_current_comm),
		WHEN(struct io_config, cgroup),
			CALL(get_current_cgroup_id),
			STX(DW, R7, REQUEST(cgroup), R0),
		END,
		WHEN(struct io_config, most),
			SHARE_PAYER(),
			STX(W, R7, REQUEST(payer), R0),
		END,
	END,

	/* Its stack is made known with nothing on it: that comes when the request ends. */
	WHEN(struct io_config, stacks),
		LDX(DW, R1, R10, CONTEXT),
		LDX(DW, R2, R7, REQUEST(pid_tgid)),
		LDX(W, R3, R10, DISK),
		LSH(R3, 32),
		LDX(W, R4, R10, FLAGS),
		AND(R4, IO_OP_MASK),
		OR_REG(R3, R4),
		CALL_FUNC(stack_take),
		JEQ(R0, 0, lost),
		MOV_REG(R8, R0),
		ST(DW, R8, offsetof(struct stack_record, value[IO_WEIGHT_COUNT]), 0),
		ST(DW, R8, offsetof(struct stack_record, value[IO_WEIGHT_NS]), 0),
		ST(DW, R8, offsetof(struct stack_record, value[IO_WEIGHT_BYTES]), 0),
		MOV_REG(R1, R8),
		CALL_FUNC(stack_value),
		LDX(DW, R9, R8, offsetof(struct stack_record, hash)),
		STACK_DONE(R8),
		STX(DW, R7, REQUEST(hash), R9),
		JEQ(R9, 0, lost),
	END,

	/* The time last, so that our own work is not in it. */
	WHEN(struct io_config, owner),
LABEL(asked),
	END,
	LDX(DW, R0, R10, START),
	JNE(R0, 0, timed),
	CALL(ktime_get_ns),
LABEL(timed),
	STX(DW, R7, REQUEST(start), R0),
	MOV_REG(R0, R7),
	EXIT(),

LABEL(requests_full),
	COUNT(stats, struct io_stats, requests_full),
	MOV(R0, 0),
	EXIT(),

	/* The request that was here before has ended, but our program did not run. */
	WHEN(struct io_config, kernel.has_merge),
LABEL(no_end),
		JEQ(R1, -1, fresh), /* it is among the lost */
		WHEN(struct io_config, by_disk),
			LDX(W, R1, R7, REQUEST(disk)),
			LD_PARAM(R2, struct io_config, disk),
			JNE_REG(R1, R2, fresh),
		END,
		WHEN(struct io_config, owner),
			LDX(DW, R1, R7, REQUEST(pid_tgid)),
			JEQ(R1, -1, fresh),
		END,
		COUNT(stats, struct io_stats, common.fired),
		COUNT(stats, struct io_stats, no_end),
		JA(fresh),
	END,
	WHEN(struct io_config, stacks),
LABEL(lost),
		COUNT(stats, struct io_stats, common.fired),
		ST(DW, R7, REQUEST(start), -1),
		MOV(R0, 0),
		EXIT(),
	END,
	WHEN(struct io_config, owner),
		INCLUDE(&rp_target_part),
	END,
	WHEN(struct io_config, stacks),
		INCLUDE(&rp_stack_part),
	END,
};
/* clang-format on */
const struct asm_part rp_io_begin_part = { ASM_LINES(begin_lines),
					   ASM_FRAMES({ "io_begin", &begin_frame_layout }) };

/* ---- on its way */

/* The stack frame of io_issued. */
ASM_FRAME(issued_frame,
	(struct io_end_key, ends, ENDS),
	(ends.disk, ENDS_DISK),
	(ends.process, ENDS_PROCESS),
	(uint64_t, end, END_SECTOR)); /* the sector behind it */

/* clang-format off */
static const struct asm_insn issued_lines[] = {
	/*
	 * io_issued(entry, sector, bytes): the device has it. What was merged into it has been by
	 * now.
	 */
FUNC(io_issued),
	MOV_REG(R6, R1),
	WHEN(struct io_config, extent),
		MOV_REG(R7, R2),
		MOV_REG(R8, R3),
	END,
	CALL(ktime_get_ns),
	STX(DW, R6, REQUEST(last_issue), R0),
	WHEN(struct io_config, extent),
		STX(W, R6, REQUEST(len), R8),
	END,
	LDX(W, R1, R6, REQUEST(issues)),
	ADD(R1, 1),
	STX(W, R6, REQUEST(issues), R1),
	JNE(R1, 1, out),
	STX(DW, R6, REQUEST(issue), R0),
	WHEN(struct io_config, extent),
		STX(DW, R6, REQUEST(sector), R7),
	END,

	/* Where did the last one of this process end on this disk? */
	WHEN(struct io_config, pattern),
		JEQ(R8, 0, out),
		RSH(R8, 9),
		ADD_REG(R8, R7),
		STX(DW, R10, END_SECTOR, R8),
		LDX(W, R1, R6, REQUEST(disk)),
		STX(W, R10, ENDS_DISK, R1),
		LDX(W, R1, R6, REQUEST(pid_tgid) + 4),
		STX(W, R10, ENDS_PROCESS, R1),
		MAP_LOOKUP(ends, ENDS),
		JEQ(R0, 0, jumps),
		LDX(DW, R1, R0, 0),
		STX(DW, R0, 0, R8),
		JEQ_REG(R1, R7, out),
		ST(W, R6, REQUEST(jump), 1),
		JA(out),
LABEL(jumps),
		ST(W, R6, REQUEST(jump), 1),
		MAP_UPDATE(ends, ENDS, END_SECTOR, BPF_ANY),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_io_issued_part = { ASM_LINES(issued_lines),
					    ASM_FRAMES({ "io_issued", &issued_frame_layout }) };

/* ---- end */

/* The stack frame of io_finish. */
ASM_FRAME(finish_frame,
	(uint64_t, key, FINISHED),
	(uint64_t, now, NOW));

/* clang-format off */
static const struct asm_insn finish_lines[] = {
	/*
	 * io_finish(key, disk, flags, when it started as the kernel has noted it or 0): a request
	 * has ended.
	 */
FUNC(io_finish),
	STX(DW, R10, FINISHED, R1),
	MOV_REG(R9, R2),
	MOV_REG(R6, R3),
	MOV_REG(R8, R4),
	CALL(ktime_get_ns),
	STX(DW, R10, NOW, R0),

	/* R7 = what we know of it, R8 = when it started, R6 = flags. */
	MAP_LOOKUP(requests, FINISHED),
	MOV_REG(R7, R0),
	JEQ(R7, 0, not_met),
	LDX(DW, R1, R7, REQUEST(start)),
	JEQ(R1, 0, not_started),
	WHEN(struct io_config, stacks),
		JEQ(R1, -1, lost),
	END,
	MOV_REG(R8, R1),
	LDX(W, R6, R7, REQUEST(flags)),
	COUNT(stats, struct io_stats, common.fired),
	WHEN(struct io_config, by_disk),
		LD_PARAM(R1, struct io_config, disk),
		JNE_REG(R9, R1, other_disk),
	END,
	WHEN(struct io_config, owner),
		LDX(DW, R1, R7, REQUEST(pid_tgid)),
		JEQ(R1, -1, filtered),
	END,
LABEL(started),
	LDX(DW, R4, R10, NOW),
	SUB_REG(R4, R8),
	WHEN(struct io_config, min_ns),
		LD_PARAM(R1, struct io_config, min_ns),
		JSLT_REG(R4, R1, shorter),
	END,
	MOV_REG(R1, R7),
	MOV_REG(R2, R9),
	LDX(DW, R3, R10, NOW),
	MOV_REG(R5, R6),
	CALL_FUNC(io_count),
	JA(ended),

	/*
	 * Its start was not seen. It was before we looked; or the block layer made it, for a flush.
	 * The kernel's own note does, if nothing else is to be known.
	 */
LABEL(not_started),
	MOV(R7, 0),
LABEL(not_met),
	COUNT(stats, struct io_stats, common.fired),
	WHEN(struct io_config, by_disk),
		LD_PARAM(R1, struct io_config, disk),
		JNE_REG(R9, R1, other_disk),
	END,
	WHEN(struct io_config, only_time),
		JNE(R8, 0, started),
	END,
	COUNT(stats, struct io_stats, unknown),
	JA(ended),

	WHEN(struct io_config, by_disk),
LABEL(other_disk),
		COUNT(stats, struct io_stats, other_disk),
		JA(ended),
	END,
	WHEN(struct io_config, owner),
LABEL(filtered),
		COUNT(stats, struct io_stats, common.filtered),
		JA(ended),
	END,
	WHEN(struct io_config, min_ns),
LABEL(shorter),
		COUNT(stats, struct io_stats, shorter),
	END,
	WHEN(struct io_config, stacks),
LABEL(lost),
	END,
LABEL(ended),
	JEQ(R7, 0, out),
	ST(DW, R7, REQUEST(start), 0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_count_part),
};
/* clang-format on */
const struct asm_part rp_io_finish_part = { ASM_LINES(finish_lines),
					    ASM_FRAMES({ "io_finish", &finish_frame_layout }) };
