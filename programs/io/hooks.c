/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_hooks: the tracepoints of the block layer (include/trace/events/block.h), and what each says
 * of a request.
 *
 * Their counts do not pair. A request that is requeued is issued again; one that comes with a flush
 * is done twice, with its data and with the flush behind it; the flush is a request of its own,
 * that no program has started.
 */
#include "io.h"

/* The stack frame of the programs here. */
ASM_FRAME(hook_frame, (uint64_t, request, KEY));

/* clang-format off */
/* A BTF tracepoint's context is its arguments, 8 bytes each. R6 = the request, R7 = the context. */
#define TP_REQUEST                                                                                 \
	MOV_REG(R7, R1),                                                                           \
	WHEN(struct io_config, kernel.queue_argument),                                             \
		LDX(DW, R6, R7, 8),                                                                \
	END,                                                                                       \
	UNLESS(struct io_config, kernel.queue_argument),                                           \
		LDX(DW, R6, R7, 0),                                                                \
	END,                                                                                       \
	STX(DW, R10, KEY, R6)

/* dst = the disk of a request in register rq: major << 20 | minor. */
#define REQUEST_DISK(dst, rq, t)                                                                   \
	SCOPE("REQUEST_DISK(" #dst ", " #rq ", " #t ")"),                                          \
		UNLESS(struct io_config, kernel.disk_in_request),                                  \
			LD_FIELD(t, rq, "request", "q.disk"),                                      \
		END,                                                                               \
		WHEN(struct io_config, kernel.disk_in_request),                                    \
			LD_FIELD(t, rq, "request", "rq_disk"),                                     \
		END,                                                                               \
		LD_FIELD(dst, t, "gendisk", "major"),                                              \
		LSH(dst, 20),                                                                      \
		LD_FIELD(t, t, "gendisk", "first_minor"),                                          \
		OR_REG(dst, t),                                                                    \
	END

/*
 * The current task starts the request in R6, R7 being the context. What has no data, but is to be
 * on the disk with what was before, only waits for a flush. The kernel notes a time of the start
 * too, but since 6.9 one that may be as old as the task's batch of requests. Before 6.4 there is no
 * event at the start, and its time is the better one.
 */
#define BEGIN                                                                                      \
	SCOPE("BEGIN"),                                                                            \
		LD_FIELD(R4, R6, "request", "cmd_flags"),                                          \
		LD_FIELD(R1, R6, "request", "__data_len"),                                         \
		JNE(R1, 0, .op_known),                                                             \
		MOV_REG(R1, R4),                                                                   \
		AND(R1, IO_OP_MASK),                                                               \
		JNE(R1, IO_OP_WRITE, .op_known),                                                   \
		OR(R4, IO_OP_EMPTY_FLUSH),                                                         \
		LABEL(.op_known),                                                                  \
		MOV(R3, 0),                                                                        \
		WHEN(struct io_config, noted),                                                     \
			REQUEST_DISK(R3, R6, R1),                                                  \
		END,                                                                               \
		MOV(R5, 0),                                                                        \
		UNLESS(struct io_config, kernel.has_start),                                       \
			LD_FIELD(R5, R6, "request", "start_time_ns"),                              \
		END,                                                                               \
		MOV_REG(R1, R7),                                                                   \
		MOV_REG(R2, R6),                                                                   \
		CALL_FUNC(io_begin),                                                               \
	END

/*
 * R8 = the entry of a request that is under way and was asked for, or to the label out. Before 6.4
 * the start has no tracepoint, so where we meet it first is where it starts; it is another one if
 * the kernel has noted a later time. An earlier one is that of a request that it has taken up.
 */
#define UNDER_WAY(out)                                                                             \
	SCOPE("UNDER_WAY(" #out ")"),                                                              \
		MAP_LOOKUP(requests, KEY),                                                         \
		UNLESS(struct io_config, kernel.has_start),                                       \
			JEQ(R0, 0, .new),                                                          \
			LDX(DW, R1, R0, REQUEST(start)),                                           \
			JEQ(R1, 0, .new),                                                          \
			JEQ(R1, -1, .known),                                                       \
			LD_FIELD(R2, R6, "request", "start_time_ns"),                              \
			JEQ(R2, 0, .known),                                                        \
			JLE_REG(R2, R1, .known),                                                   \
			LABEL(.new),                                                               \
			BEGIN,                                                                     \
			LABEL(.known),                                                             \
		END,                                                                               \
		JEQ(R0, 0, out),                                                                   \
		LDX(DW, R1, R0, REQUEST(start)),                                                   \
		JEQ(R1, 0, out),                                                                   \
		MOV_REG(R8, R0),                                                                   \
		WHEN(struct io_config, owner),                                                     \
			LDX(DW, R1, R8, REQUEST(pid_tgid)),                                        \
			JEQ(R1, -1, out),                                                          \
		END,                                                                               \
	END
/* clang-format on */

/* ---- flushes */

/* The stack frame of io_begin_flush. */
ASM_FRAME(flush_frame,
	/* addresses */
	(uint64_t, request, FLUSH_KEY),
	(uint64_t, waiting, WAITING_KEY),
	(struct io_request, none, FLUSH_NONE));

/* Copies members from one entry to the other. */
#define COPY(size, to, from, member, t)                                                            \
	LDX(size, t, from, REQUEST(member)), STX(size, to, REQUEST(member), t)

/* clang-format off */
static const struct asm_insn flush_lines[] = {
	/*
	 * io_begin_flush(request): the block layer flushes a device's cache for requests that wait
	 * for it, by a request of its own, which no task has started. It goes by the tag of the
	 * first of those.
	 */
FUNC(io_begin_flush),
	STX(DW, R10, FLUSH_KEY, R1),
	MOV_REG(R6, R1),
	REQUEST_ENTRY(FLUSH_KEY, FLUSH_NONE),
	JEQ(R0, 0, requests_full),
	MOV_REG(R7, R0),
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	STX(W, R7, REQUEST(flags), R1),
	CLEAR_TIMELINE(R7),

	WHEN(struct io_config, owner),
		WHEN(struct io_config, common.filtering),
			ST(DW, R7, REQUEST(pid_tgid), -1),
		END,
		UNLESS(struct io_config, common.filtering),
			ST(DW, R7, REQUEST(pid_tgid), 0),
		END,
		ST(W, R7, REQUEST(payer), 0),
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
		COPY(W, R7, R0, payer, R1),
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
static const struct asm_part flush_part = { ASM_LINES(flush_lines),
					    ASM_FRAMES({ "io_begin_flush", &flush_frame_layout }) };

/* ---- tracepoints */

/* clang-format off */

/* block_io_start(struct request *rq): in the task that wants it. */
static const struct asm_insn start_lines[] = {
	MOV_REG(R7, R1),
	LDX(DW, R6, R7, 0),
	BEGIN,
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_begin_part),
};

/* block_rq_insert(struct request *rq): into the scheduler, if there is one in use. */
static const struct asm_insn insert_lines[] = {
	TP_REQUEST,
	UNDER_WAY(out),
	LDX(DW, R1, R8, REQUEST(insert)),
	JNE(R1, 0, out),
	LDX(DW, R1, R8, REQUEST(issue)),
	JNE(R1, 0, out),
	CALL(ktime_get_ns),
	STX(DW, R8, REQUEST(insert), R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	UNLESS(struct io_config, kernel.has_start),
		INCLUDE(&rp_io_begin_part),
	END,
};

/* block_rq_issue(struct request *rq): to the driver. */
static const struct asm_insn issue_lines[] = {
	TP_REQUEST,
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	AND(R1, IO_OP_MASK),
	JNE(R1, IO_OP_FLUSH, not_flush),
	/*
	 * Begun when it is issued for the first time; for a second one it is under way. A queue has
	 * few of them, which serve again and again: a later time is another flush, and the end of
	 * the one before was missed.
	 */
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, begin_flush),
	LDX(DW, R1, R0, REQUEST(start)),
	JEQ(R1, 0, begin_flush),
	LD_FIELD(R2, R6, "request", "start_time_ns"),
	JLE_REG(R2, R1, not_flush),
LABEL(begin_flush),
	MOV_REG(R1, R6),
	CALL_FUNC(io_begin_flush),
LABEL(not_flush),
	UNDER_WAY(out),
	WHEN(struct io_config, timeline),
		MOV_REG(R1, R8),
		WHEN(struct io_config, extent),
			LD_FIELD(R2, R6, "request", "__sector"),
			LD_FIELD(R3, R6, "request", "__data_len"),
		END,
		CALL_FUNC(io_issued),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&flush_part),
	WHEN(struct io_config, timeline),
		INCLUDE(&rp_io_issued_part),
	END,
	UNLESS(struct io_config, kernel.has_start),
		INCLUDE(&rp_io_begin_part),
	END,
};

/* block_rq_requeue(struct request *rq): the driver gives it back. It may have done a part. */
static const struct asm_insn requeue_lines[] = {
	TP_REQUEST,
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, REQUEST(start)),
	JEQ(R1, 0, out),
	LD_FIELD(R1, R6, "request", "__data_len"),
	LDX(W, R2, R0, REQUEST(len)),
	JGE_REG(R1, R2, out),
	STX(W, R0, REQUEST(len), R1),
	SUB_REG(R2, R1),
	LDX(W, R1, R0, REQUEST(done)),
	ADD_REG(R1, R2),
	STX(W, R0, REQUEST(done), R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/* block_rq_merge(struct request *rq): it has become part of another one, and will not end. */
static const struct asm_insn merge_lines[] = {
	TP_REQUEST,
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, out),
	ST(DW, R0, REQUEST(start), 0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/* R6, a request with a flush around it, has done its data, and will end again. To out. */
#define DATA_DONE(out)                                                                             \
	SCOPE("DATA_DONE(" #out ")"),                                                              \
		WHEN(struct io_config, timeline),                                                  \
			STX(DW, R10, KEY, R6),                                                     \
			MAP_LOOKUP(requests, KEY),                                                 \
			JEQ(R0, 0, out),                                                           \
			MOV_REG(R8, R0),                                                           \
			CALL(ktime_get_ns),                                                        \
			STX(DW, R8, REQUEST(data_done), R0),                                       \
		END,                                                                               \
		JA(out),                                                                           \
	END

/* The request in R6 has ended. */
#define FINISH                                                                                     \
	SCOPE("FINISH"),                                                                           \
		REQUEST_DISK(R2, R6, R1),                                                          \
		LD_FIELD(R3, R6, "request", "cmd_flags"),                                          \
		LD_FIELD(R4, R6, "request", "start_time_ns"),                                      \
		MOV_REG(R1, R6),                                                                   \
		CALL_FUNC(io_finish),                                                              \
	END

/* block_io_done(struct request *rq): wherever the CPU was. */
static const struct asm_insn done_lines[] = {
	LDX(DW, R6, R1, 0),
	LD_FIELD(R1, R6, "request", "rq_flags"),
	LD_PARAM(R2, struct io_config, kernel.flush_seq),
	AND_REG(R1, R2),
	JEQ(R1, 0, finished),
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	AND(R1, IO_OP_MASK),
	JEQ(R1, IO_OP_FLUSH, finished),
	DATA_DONE(out),
LABEL(finished),
	FINISH,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_finish_part),
};

/*
 * block_rq_complete(struct request *rq, blk_status_t error, unsigned int nr_bytes): so many bytes
 * of what was left. For kernels before 6.4.
 */
static const struct asm_insn complete_lines[] = {
	LDX(DW, R6, R1, 0),
	LDX(DW, R7, R1, 16),
	LD_FIELD(R2, R6, "request", "__data_len"),
	JLT32_REG(R7, R2, out),
	LD_FIELD(R1, R6, "request", "rq_flags"),
	LD_PARAM(R2, struct io_config, kernel.flush_seq),
	AND_REG(R1, R2),
	JEQ(R1, 0, finished),
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	AND(R1, IO_OP_MASK),
	JEQ(R1, IO_OP_FLUSH, finished),
	DATA_DONE(out),
LABEL(finished),
	FINISH,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_finish_part),
};
/* clang-format on */

const struct io_config rp_io_usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.kernel = { .has_start = 1, .flush_seq = 2, .has_merge = 1 },
	.only_time = 1,
	.hists = 1,
	.latency = 1,
	.key_disk = 1,
	.key_flags = IO_OP_MASK
};

#define IO_PROGRAM(role_)                                                                          \
	.role = (role_), RP_MAPS(rp_io_maps, IO_MAPS), RP_CONFIG(rp_io_usual_config),              \
	.code.frame = &hook_frame_layout

/* In the order in which a request meets them, so that none is met half-way. */
const struct rp_program rp_io_programs[] = {
	{ RP_CODE("io_start", start_lines), RP_ON_TP_BTF("block_io_start"), IO_PROGRAM(IO_STARTS),
	  RP_NEEDS(RP_NEED_ARGUMENT("block_io_start", 0, "request")),
	  .summary = "notes the start of a request to a disk" },
	{ RP_CODE("io_insert", insert_lines), RP_ON_TP_BTF("block_rq_insert"),
	  IO_PROGRAM(IO_INSERTS), .summary = "notes when a request enters the scheduler" },
	{ RP_CODE("io_issue", issue_lines), RP_ON_TP_BTF("block_rq_issue"), IO_PROGRAM(IO_ISSUES),
	  .summary = "notes when a request goes to its disk" },
	{ RP_CODE("io_requeue", requeue_lines), RP_ON_TP_BTF("block_rq_requeue"),
	  IO_PROGRAM(IO_REQUEUES),
	  .summary = "notes what a disk did of a request that it gave back" },
	{ RP_CODE("io_merge", merge_lines), RP_ON_TP_BTF("block_rq_merge"), IO_PROGRAM(IO_MERGES),
	  RP_NEEDS(RP_NEED_ARGUMENT("block_rq_merge", 0, "request")),
	  .summary = "forgets a request that has become part of another one" },
	{ RP_CODE("io_done", done_lines), RP_ON_TP_BTF("block_io_done"), IO_PROGRAM(IO_ENDS),
	  RP_NEEDS(RP_NEED_ARGUMENT("block_io_start", 0, "request")),
	  .summary = "counts a request that has ended" },
	{ RP_CODE("io_complete", complete_lines), RP_ON_TP_BTF("block_rq_complete"),
	  IO_PROGRAM(IO_ENDS), .summary = "counts a request that has ended, before Linux 6.4" },
	RP_LIST_END,
};
