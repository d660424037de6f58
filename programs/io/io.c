/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io: how long do requests to block devices take?
 *
 * Here is a request's way from its start to its end, for the programs of io_hooks.c, io_bio.c and io_classic.c, which
 * know how the kernel tells of it. Who started it is asked when it starts: it may be issued by a thread of the kernel,
 * and end in any context.
 */
#include "io.h"

#define STATS_FIELD(member) ASM_FIELD(struct io_stats, member)
static const struct asm_layout stats_layout = ASM_LAYOUT(
	struct io_stats, STATS_FIELD(common.fired), STATS_FIELD(common.idle),
	STATS_FIELD(common.filtered), STATS_FIELD(common.ring_full), STATS_FIELD(common.busy),
	STATS_FIELD(common.uncounted), STATS_FIELD(common.unfollowed), STATS_FIELD(other_disk),
	STATS_FIELD(shorter), STATS_FIELD(no_data), STATS_FIELD(unknown), STATS_FIELD(not_seen),
	STATS_FIELD(no_end), STATS_FIELD(map_full), STATS_FIELD(requests_full),
	STATS_FIELD(phases_lost), STATS_FIELD(backwards));
#define REQUEST_FIELD(member) ASM_FIELD(struct io_request, member)
static const struct asm_layout request_layout = ASM_LAYOUT(
	struct io_request, REQUEST_FIELD(start), REQUEST_FIELD(insert), REQUEST_FIELD(issue),
	REQUEST_FIELD(last_issue), REQUEST_FIELD(data_done), REQUEST_FIELD(flags),
	REQUEST_FIELD(disk), REQUEST_FIELD(issues), REQUEST_FIELD(len), REQUEST_FIELD(sector),
	REQUEST_FIELD(pid_tgid), REQUEST_FIELD(cgroup), REQUEST_FIELD(hash), REQUEST_FIELD(done),
	REQUEST_FIELD(jump), REQUEST_FIELD(comm));
#define KEY_FIELD(member) ASM_FIELD(struct io_key, member)
static const struct asm_layout key_layout =
	ASM_LAYOUT(struct io_key, KEY_FIELD(disk), KEY_FIELD(flags), KEY_FIELD(phase),
		   KEY_FIELD(bank), KEY_FIELD(process), KEY_FIELD(group), KEY_FIELD(comm));
#define TOTAL_FIELD(member) ASM_FIELD(struct io_total, member)
static const struct asm_layout total_layout =
	ASM_LAYOUT(struct io_total, TOTAL_FIELD(count), TOTAL_FIELD(bytes), TOTAL_FIELD(ns),
		   TOTAL_FIELD(device_ns), TOTAL_FIELD(max_ns), TOTAL_FIELD(sequential));

const struct asm_map rp_io_maps[IO_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(IO_WEIGHTS), struct io_stats, stats_layout),
	[IO_MAP_REQUESTS] = { "requests", BPF_MAP_TYPE_HASH, 8, sizeof(struct io_request), 16384,
			      .value = &request_layout },
	[IO_MAP_HISTS] = { "hists", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct io_key), IO_HIST_BYTES,
			   256, .key = &key_layout },
	[IO_MAP_TOTALS] = { "totals", BPF_MAP_TYPE_PERCPU_HASH, sizeof(struct io_key),
			    sizeof(struct io_total), 8192, .key = &key_layout,
			    .value = &total_layout },
	[IO_MAP_ENDS] = { "ends", BPF_MAP_TYPE_LRU_HASH, sizeof(struct io_end_key), 8, 8192 },
	[IO_MAP_ZERO] = { "zero", BPF_MAP_TYPE_ARRAY, 4, IO_HIST_BYTES, 1 },
	[IO_MAP_BANK] = { "bank", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[IO_MAP_RING] = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 22 },
	[IO_MAP_CALLS] = { "calls", BPF_MAP_TYPE_ARRAY, 4, 4, IO_CALL_NUMBERS },
	[IO_MAP_THREADS] = { "threads", BPF_MAP_TYPE_LRU_HASH, 4, sizeof(struct io_call), 32768 },
	[IO_MAP_TYPES] = { "types", BPF_MAP_TYPE_HASH, 8, 16, 512 },
	[IO_MAP_FLUSHES] = { "flushes", BPF_MAP_TYPE_HASH, 4, sizeof(struct io_flushes), 4096 },
};

/* ---- start ------------------------------------------------------------------------------------------------ */

/* The stack frame of io_begin. */
struct begin_frame {
	uint64_t context, key, start; /* arguments */
	uint32_t disk, flags;
	struct io_request none; /* as a new entry starts */
};
enum {
	CONTEXT = FRAME(struct begin_frame, context),
	KEY = FRAME(struct begin_frame, key),
	START = FRAME(struct begin_frame, start),
	DISK = FRAME(struct begin_frame, disk),
	FLAGS = FRAME(struct begin_frame, flags),
	NONE = FRAME(struct begin_frame, none)
};
static const struct asm_layout begin_layout =
	ASM_LAYOUT(struct begin_frame, ASM_FIELD(struct begin_frame, context),
		   ASM_FIELD(struct begin_frame, key), ASM_FIELD(struct begin_frame, start),
		   ASM_FIELD(struct begin_frame, disk), ASM_FIELD(struct begin_frame, flags),
		   ASM_FIELD(struct begin_frame, none));

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/*
	 * io_begin(context, key, disk, flags, when it started or 0 for now): the current task starts a request. R0 = its
	 * entry, or 0.
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
	WHEN(struct io_config, kernel.merge_told),
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

	/* The request that was here before has ended, or it could not be here again, and the kernel ran no program for it. */
	WHEN(struct io_config, kernel.merge_told),
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
static const struct asm_func_frame begin_frames[] = { { "io_begin", &begin_layout } };
const struct asm_part rp_io_begin_part = { ASM_LINES(begin_lines), .frames = begin_frames,
					   .nframes = 1 };

/* ---- on its way ------------------------------------------------------------------------------------------- */

/* The stack frame of io_issued. */
struct issued_frame {
	struct io_end_key ends;
	uint64_t end; /* the sector behind it */
};
enum {
	ENDS = FRAME(struct issued_frame, ends),
	ENDS_DISK = FRAME(struct issued_frame, ends.disk),
	ENDS_PROCESS = FRAME(struct issued_frame, ends.process),
	END_SECTOR = FRAME(struct issued_frame, end)
};
static const struct asm_layout issued_layout =
	ASM_LAYOUT(struct issued_frame, ASM_FIELD(struct issued_frame, ends),
		   ASM_FIELD(struct issued_frame, end));

/* clang-format off */
static const struct asm_insn issued_lines[] = {
	/*
	 * io_issued(entry, sector, bytes): the device has it. What was merged into it has been by now.
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
static const struct asm_func_frame issued_frames[] = { { "io_issued", &issued_layout } };
const struct asm_part rp_io_issued_part = { ASM_LINES(issued_lines), .frames = issued_frames,
					    .nframes = 1 };

/* ---- end -------------------------------------------------------------------------------------------------- */

/* The stack frame of io_finish. */
struct finish_frame {
	uint64_t key;
	uint64_t now;
};
enum { FINISHED = FRAME(struct finish_frame, key), NOW = FRAME(struct finish_frame, now) };
static const struct asm_layout finish_layout =
	ASM_LAYOUT(struct finish_frame, ASM_FIELD(struct finish_frame, key),
		   ASM_FIELD(struct finish_frame, now));

/* clang-format off */
static const struct asm_insn finish_lines[] = {
	/*
	 * io_finish(key, disk, flags, when it started as the kernel has noted it or 0): a request has ended.
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
	 * Nobody has told us of its start. It was before we looked; or the block layer made it, for a flush. The kernel's
	 * own note does, if nothing else is to be known.
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
static const struct asm_func_frame finish_frames[] = { { "io_finish", &finish_layout } };
const struct asm_part rp_io_finish_part = { ASM_LINES(finish_lines), .frames = finish_frames,
					    .nframes = 1 };
