/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io: how long do requests to block devices take?
 *
 * Here is a request's way from its start to its end, for the programs of io_hooks.c. Who started it is asked when it
 * starts: it may be issued by a thread of the kernel, and end in any context.
 */
#include <rawprof/io.h>

#define STATS_FIELD(member) ASM_FIELD(struct io_stats, member)
static const struct asm_layout stats_layout = ASM_LAYOUT(
	struct io_stats, STATS_FIELD(profile.fired), STATS_FIELD(profile.idle),
	STATS_FIELD(profile.filtered), STATS_FIELD(profile.ring_full), STATS_FIELD(profile.busy),
	STATS_FIELD(profile.uncounted), STATS_FIELD(profile.unfollowed), STATS_FIELD(other_disk),
	STATS_FIELD(shorter), STATS_FIELD(no_data), STATS_FIELD(unknown), STATS_FIELD(map_full),
	STATS_FIELD(requests_full), STATS_FIELD(phases_lost), STATS_FIELD(backwards));
#define REQUEST_FIELD(member) ASM_FIELD(struct io_request, member)
static const struct asm_layout request_layout = ASM_LAYOUT(
	struct io_request, REQUEST_FIELD(start), REQUEST_FIELD(insert), REQUEST_FIELD(issue),
	REQUEST_FIELD(last_issue), REQUEST_FIELD(data_done), REQUEST_FIELD(pid_tgid),
	REQUEST_FIELD(cgroup), REQUEST_FIELD(hash), REQUEST_FIELD(sector), REQUEST_FIELD(flags),
	REQUEST_FIELD(issues), REQUEST_FIELD(len), REQUEST_FIELD(done), REQUEST_FIELD(jump),
	REQUEST_FIELD(comm));
#define KEY_FIELD(member) ASM_FIELD(struct io_key, member)
static const struct asm_layout key_layout =
	ASM_LAYOUT(struct io_key, KEY_FIELD(disk), KEY_FIELD(flags), KEY_FIELD(phase),
		   KEY_FIELD(bank), KEY_FIELD(process), KEY_FIELD(cgroup), KEY_FIELD(comm));
#define TOTAL_FIELD(member) ASM_FIELD(struct io_total, member)
static const struct asm_layout total_layout =
	ASM_LAYOUT(struct io_total, TOTAL_FIELD(count), TOTAL_FIELD(bytes), TOTAL_FIELD(ns),
		   TOTAL_FIELD(device_ns), TOTAL_FIELD(max_ns), TOTAL_FIELD(sequential));

const struct asm_map io_maps[IO_MAPS] = {
	STACK_MAP_LIST(IO_WEIGHTS, struct io_stats, stats_layout),
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
};

/* Offsets in an entry of the map requests. */
#define REQUEST(member) offsetof(struct io_request, member)

/* ---- start ------------------------------------------------------------------------------------------------ */

/* The stack frame of io_begin. */
struct begin_frame {
	uint64_t context, request;
	struct io_request none; /* as a new entry starts */
};
enum {
	CONTEXT = FRAME(struct begin_frame, context),
	KEY = FRAME(struct begin_frame, request),
	NONE = FRAME(struct begin_frame, none)
};
static const struct asm_layout begin_layout =
	ASM_LAYOUT(struct begin_frame, ASM_FIELD(struct begin_frame, context),
		   ASM_FIELD(struct begin_frame, request), ASM_FIELD(struct begin_frame, none));

/*
 * R0 = the entry of the request whose address is at frame offset key; one of zeros, at frame offset none, if it has not
 * been met before; 0 if there is no room.
 */
#define REQUEST_ENTRY(key, none)                                                                   \
	SCOPE("REQUEST_ENTRY(" #key ", " #none ")"), MAP_LOOKUP(requests, key),                    \
		JNE(R0, 0, .known), ZERO(none, sizeof(struct io_request)),                         \
		MAP_UPDATE(requests, key, none, BPF_NOEXIST), MAP_LOOKUP(requests, key),           \
		LABEL(.known), END

/* clang-format off */
static const struct asm_insn begin_lines[] = {
	/*
	 * io_begin(context, request): the current task starts a request.
	 */
FUNC(io_begin),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, KEY, R2),
	MOV_REG(R6, R2),
	REQUEST_ENTRY(KEY, NONE),
	JEQ(R0, 0, requests_full),
	MOV_REG(R7, R0),

	/* What has no data, but is to be on the disk with what was before, only waits for a flush. */
	LD_FIELD(R8, R6, "request", "cmd_flags"),
	LD_FIELD(R1, R6, "request", "__data_len"),
	JNE(R1, 0, op_known),
	MOV_REG(R1, R8),
	AND(R1, IO_OP_MASK),
	JNE(R1, IO_OP_WRITE, op_known),
	OR(R8, IO_OP_EMPTY_FLUSH),
LABEL(op_known),
	STX(W, R7, REQUEST(flags), R8),
	WHEN(struct io_config, timeline),
		ST(DW, R7, REQUEST(insert), 0),
		ST(DW, R7, REQUEST(issue), 0),
		ST(DW, R7, REQUEST(last_issue), 0),
		ST(DW, R7, REQUEST(data_done), 0),
		ST(DW, R7, REQUEST(sector), 0),
		ST(W, R7, REQUEST(issues), 0),
		ST(W, R7, REQUEST(len), 0),
		ST(W, R7, REQUEST(done), 0),
		ST(W, R7, REQUEST(jump), 0),
	END,

	WHEN(struct io_config, owner),
		CALL_FUNC(target_ids),
		STX(DW, R7, REQUEST(pid_tgid), R0),
		JEQ(R0, -1, started),
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
		UNLESS(struct io_config, kernel.disk_in_request),
			LD_FIELD(R3, R6, "request", "q.disk.major"),
			LD_FIELD(R4, R6, "request", "q.disk.first_minor"),
		END,
		WHEN(struct io_config, kernel.disk_in_request),
			LD_FIELD(R3, R6, "request", "rq_disk.major"),
			LD_FIELD(R4, R6, "request", "rq_disk.first_minor"),
		END,
		LSH(R3, 20),
		OR_REG(R3, R4),
		LSH(R3, 32),
		AND(R8, IO_OP_MASK),
		OR_REG(R3, R8),
		LDX(DW, R1, R10, CONTEXT),
		LDX(DW, R2, R7, REQUEST(pid_tgid)),
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

	/*
	 * Last, so that our own work is not in it. The kernel notes a time too, but since 6.9 one that may be as old as
	 * the task's batch of requests. Before 6.4 there is no event at the start, and its time is the better one.
	 */
LABEL(started),
	UNLESS(struct io_config, kernel.start_told),
		LD_FIELD(R0, R6, "request", "start_time_ns"),
		JNE(R0, 0, timed),
	END,
	CALL(ktime_get_ns),
LABEL(timed),
	STX(DW, R7, REQUEST(start), R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(requests_full),
	COUNT(stats, struct io_stats, requests_full),
	JA(out),
	WHEN(struct io_config, stacks),
LABEL(lost),
		COUNT(stats, struct io_stats, profile.fired),
		ST(DW, R7, REQUEST(start), -1),
		JA(out),
	END,
	WHEN(struct io_config, owner),
		INCLUDE(&target_part),
	END,
	WHEN(struct io_config, stacks),
		INCLUDE(&stack_part),
	END,
};
/* clang-format on */
static const struct asm_func_frame begin_frames[] = { { "io_begin", &begin_layout } };
const struct asm_part io_begin_part = { ASM_LINES(begin_lines), .frames = begin_frames,
					.nframes = 1 };

/* The stack frame of io_begin_flush. */
struct flush_frame {
	uint64_t request, waiting; /* addresses */
	struct io_request none;
};
enum {
	FLUSH_KEY = FRAME(struct flush_frame, request),
	WAITING_KEY = FRAME(struct flush_frame, waiting),
	FLUSH_NONE = FRAME(struct flush_frame, none)
};
static const struct asm_layout flush_layout =
	ASM_LAYOUT(struct flush_frame, ASM_FIELD(struct flush_frame, request),
		   ASM_FIELD(struct flush_frame, waiting), ASM_FIELD(struct flush_frame, none));

/* Copies members from one entry to the other. */
#define COPY(size, to, from, member, t)                                                            \
	LDX(size, t, from, REQUEST(member)), STX(size, to, REQUEST(member), t)

/* clang-format off */
static const struct asm_insn flush_lines[] = {
	/*
	 * io_begin_flush(request): the block layer flushes a device's cache for requests that wait for it, by a request
	 * of its own, which no task has started. It goes by the tag of the first of those.
	 */
FUNC(io_begin_flush),
	STX(DW, R10, FLUSH_KEY, R1),
	MOV_REG(R6, R1),
	REQUEST_ENTRY(FLUSH_KEY, FLUSH_NONE),
	JEQ(R0, 0, requests_full),
	MOV_REG(R7, R0),
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	STX(W, R7, REQUEST(flags), R1),
	ST(DW, R7, REQUEST(insert), 0),
	ST(DW, R7, REQUEST(issue), 0),
	ST(DW, R7, REQUEST(last_issue), 0),
	ST(DW, R7, REQUEST(data_done), 0),
	ST(DW, R7, REQUEST(sector), 0),
	ST(W, R7, REQUEST(issues), 0),
	ST(W, R7, REQUEST(len), 0),
	ST(W, R7, REQUEST(done), 0),
	ST(W, R7, REQUEST(jump), 0),

	WHEN(struct io_config, owner),
		WHEN(struct io_config, profile.filtering),
			ST(DW, R7, REQUEST(pid_tgid), -1),
		END,
		UNLESS(struct io_config, profile.filtering),
			ST(DW, R7, REQUEST(pid_tgid), 0),
		END,
		ST(DW, R7, REQUEST(cgroup), 0),
		ST(DW, R7, REQUEST(comm), 0),
		ST(DW, R7, REQUEST(comm) + 8, 0),

		/* R2 = its tag, R3 = the requests of the queue by their tags. */
		LD_FIELD(R1, R6, "request", "q.elevator"),
		JNE(R1, 0, scheduled),
		LD_FIELD(R2, R6, "request", "tag"),
		LD_FIELD(R3, R6, "request", "mq_hctx.tags.static_rqs"),
		JA(tag_known),
LABEL(scheduled),
		LD_FIELD(R2, R6, "request", "internal_tag"),
		LD_FIELD(R3, R6, "request", "mq_hctx.sched_tags.static_rqs"),
LABEL(tag_known),
		JSLT(R2, 0, started),
		LSH(R2, 3),
		ADD_REG(R3, R2),
		READ_KERNEL(WAITING_KEY, 8, R3),
		JNE(R0, 0, started),
		MAP_LOOKUP(requests, WAITING_KEY),
		JEQ(R0, 0, started),
		LDX(DW, R1, R0, REQUEST(start)),
		JEQ(R1, 0, started),
		COPY(DW, R7, R0, pid_tgid, R1),
		COPY(DW, R7, R0, cgroup, R1),
		COPY(DW, R7, R0, comm, R1),
		LDX(DW, R1, R0, REQUEST(comm) + 8),
		STX(DW, R7, REQUEST(comm) + 8, R1),
LABEL(started),
	END,
	LD_FIELD(R0, R6, "request", "start_time_ns"),
	STX(DW, R7, REQUEST(start), R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
LABEL(requests_full),
	COUNT(stats, struct io_stats, requests_full),
	JA(out),
};
/* clang-format on */
static const struct asm_func_frame flush_frames[] = { { "io_begin_flush", &flush_layout } };
const struct asm_part io_flush_part = { ASM_LINES(flush_lines), .frames = flush_frames,
					.nframes = 1 };

/* ---- end -------------------------------------------------------------------------------------------------- */

/* The stack frame of io_finish. */
struct finish_frame {
	uint64_t request;
	uint64_t now;
};
enum { FINISHED = FRAME(struct finish_frame, request), NOW = FRAME(struct finish_frame, now) };
static const struct asm_layout finish_layout =
	ASM_LAYOUT(struct finish_frame, ASM_FIELD(struct finish_frame, request),
		   ASM_FIELD(struct finish_frame, now));

/* clang-format off */
static const struct asm_insn finish_lines[] = {
	/*
	 * io_finish(request): it has ended.
	 */
FUNC(io_finish),
	STX(DW, R10, FINISHED, R1),
	MOV_REG(R6, R1),
	CALL(ktime_get_ns),
	STX(DW, R10, NOW, R0),

	/* R9 = its disk. */
	UNLESS(struct io_config, kernel.disk_in_request),
		LD_FIELD(R1, R6, "request", "q.disk"),
		LD_FIELD(R9, R1, "gendisk", "major"),
		LD_FIELD(R2, R1, "gendisk", "first_minor"),
	END,
	WHEN(struct io_config, kernel.disk_in_request),
		LD_FIELD(R1, R6, "request", "rq_disk"),
		LD_FIELD(R9, R1, "gendisk", "major"),
		LD_FIELD(R2, R1, "gendisk", "first_minor"),
	END,
	LSH(R9, 20),
	OR_REG(R9, R2),

	/* R7 = what we know of it, R4 = when it started, R5 = flags. */
	MAP_LOOKUP(requests, FINISHED),
	MOV_REG(R7, R0),
	JEQ(R7, 0, not_met),
	LDX(DW, R4, R7, REQUEST(start)),
	LDX(W, R5, R7, REQUEST(flags)),
	JEQ(R4, 0, not_started),
	WHEN(struct io_config, stacks),
		JEQ(R4, -1, lost),
	END,
	COUNT(stats, struct io_stats, profile.fired),
	JA(started),

	/* Nobody has told us. It was before we looked; or the block layer made it, for a flush. The kernel's own note does. */
LABEL(not_started),
	MOV(R7, 0),
LABEL(not_met),
	COUNT(stats, struct io_stats, profile.fired),
	WHEN(struct io_config, by_disk),
		LD_PARAM(R1, struct io_config, disk),
		JNE_REG(R9, R1, other_disk),
	END,
	WHEN(struct io_config, only_time),
		LD_FIELD(R4, R6, "request", "start_time_ns"),
		LD_FIELD(R5, R6, "request", "cmd_flags"),
		JEQ(R4, 0, unknown),
	END,
	UNLESS(struct io_config, only_time),
		JA(unknown),
	END,

LABEL(started),
	WHEN(struct io_config, by_disk),
		LD_PARAM(R1, struct io_config, disk),
		JNE_REG(R9, R1, other_disk),
	END,
	WHEN(struct io_config, owner),
		LDX(DW, R1, R7, REQUEST(pid_tgid)),
		JEQ(R1, -1, filtered),
	END,
	LDX(DW, R8, R10, NOW),
	SUB_REG(R8, R4),
	WHEN(struct io_config, min_ns),
		LD_PARAM(R1, struct io_config, min_ns),
		JSLT_REG(R8, R1, shorter),
	END,
	MOV_REG(R1, R7),
	MOV_REG(R2, R9),
	LDX(DW, R3, R10, NOW),
	MOV_REG(R4, R8),
	CALL_FUNC(io_count),
	JA(ended),

LABEL(unknown),
	COUNT(stats, struct io_stats, unknown),
	JA(ended),
	WHEN(struct io_config, by_disk),
LABEL(other_disk),
		COUNT(stats, struct io_stats, other_disk),
		JA(ended),
	END,
	WHEN(struct io_config, owner),
LABEL(filtered),
		COUNT(stats, struct io_stats, profile.filtered),
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
	INCLUDE(&io_count_part),
};
/* clang-format on */
static const struct asm_func_frame finish_frames[] = { { "io_finish", &finish_layout } };
const struct asm_part io_finish_part = { ASM_LINES(finish_lines), .frames = finish_frames,
					 .nframes = 1 };
