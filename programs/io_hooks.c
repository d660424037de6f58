/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_hooks: the tracepoints of the block layer (include/trace/events/block.h), and what each says of a request.
 *
 * Their counts do not pair. A request that is requeued is issued again; one that comes with a flush is done twice, with
 * its data and with the flush behind it; the flush is a request of its own, that nobody has started.
 */
#include <rawprof/io.h>

#define REQUEST(member) offsetof(struct io_request, member)

/* The stack frame of the programs here. */
struct hook_frame {
	uint64_t request;
	struct io_end_key ends;
	uint64_t end; /* the sector behind it */
};
enum {
	KEY = FRAME(struct hook_frame, request),
	ENDS = FRAME(struct hook_frame, ends),
	ENDS_DISK = FRAME(struct hook_frame, ends.disk),
	ENDS_PROCESS = FRAME(struct hook_frame, ends.process),
	END_SECTOR = FRAME(struct hook_frame, end)
};
static const struct asm_layout frame_layout =
	ASM_LAYOUT(struct hook_frame, ASM_FIELD(struct hook_frame, request),
		   ASM_FIELD(struct hook_frame, ends), ASM_FIELD(struct hook_frame, end));

#define HOOK(name_, target_, lines_)                                                               \
	{                                                                                          \
		.name = name_, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_RAW_TP,     \
		.target = target_, .license = "Dual BSD/GPL", ASM_LINES(lines_),                   \
		.config_size = sizeof(struct io_config), .frame = &frame_layout                    \
	}

/* The arguments of a BTF tracepoint are its context, 8 bytes each. R6 = the request, R7 = the context. */
#define TP_REQUEST                                                                                 \
	MOV_REG(R7, R1), WHEN(struct io_config, kernel.queue_argument), LDX(DW, R6, R7, 8), END,   \
		UNLESS(struct io_config, kernel.queue_argument), LDX(DW, R6, R7, 0), END,          \
		STX(DW, R10, KEY, R6)

/*
 * R8 = the entry of a request that is under way and was asked for, or to the label out. Before 6.4 nobody tells of the
 * start, so where we meet it first is where it starts.
 */
#define UNDER_WAY(out)                                                                             \
	SCOPE("UNDER_WAY(" #out ")"), MAP_LOOKUP(requests, KEY),                                   \
		UNLESS(struct io_config, kernel.start_told), JEQ(R0, 0, .new),                     \
		LDX(DW, R1, R0, REQUEST(start)), JNE(R1, 0, .known), LABEL(.new), MOV_REG(R1, R7), \
		MOV_REG(R2, R6), CALL_FUNC(io_begin), MAP_LOOKUP(requests, KEY), LABEL(.known),    \
		END, JEQ(R0, 0, out), LDX(DW, R1, R0, REQUEST(start)), JEQ(R1, 0, out),            \
		MOV_REG(R8, R0), WHEN(struct io_config, owner),                                    \
		LDX(DW, R1, R8, REQUEST(pid_tgid)), JEQ(R1, -1, out), END, END

/* clang-format off */

/* block_io_start(struct request *rq): in the task that wants it. */
static const struct asm_insn start_lines[] = {
	MOV_REG(R7, R1),
	LDX(DW, R2, R7, 0),
	CALL_FUNC(io_begin),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&io_begin_part),
};

/* block_rq_insert(struct request *rq): into the scheduler, if there is one and it is not passed by. */
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
	UNLESS(struct io_config, kernel.start_told),
		INCLUDE(&io_begin_part),
	END,
};

/* block_rq_issue(struct request *rq): to the driver. What was merged into it has been by now. */
static const struct asm_insn issue_lines[] = {
	TP_REQUEST,
	LD_FIELD(R1, R6, "request", "cmd_flags"),
	AND(R1, IO_OP_MASK),
	JNE(R1, IO_OP_FLUSH, not_flush),
	/* Begun when it is issued for the first time; for a second one it is under way. */
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, begin_flush),
	LDX(DW, R1, R0, REQUEST(start)),
	JNE(R1, 0, not_flush),
LABEL(begin_flush),
	MOV_REG(R1, R6),
	CALL_FUNC(io_begin_flush),
LABEL(not_flush),
	UNDER_WAY(out),
	CALL(ktime_get_ns),
	STX(DW, R8, REQUEST(last_issue), R0),
	LD_FIELD(R9, R6, "request", "__data_len"),
	STX(W, R8, REQUEST(len), R9),
	LDX(W, R1, R8, REQUEST(issues)),
	ADD(R1, 1),
	STX(W, R8, REQUEST(issues), R1),
	JNE(R1, 1, out),
	STX(DW, R8, REQUEST(issue), R0),
	LD_FIELD(R1, R6, "request", "__sector"),
	STX(DW, R8, REQUEST(sector), R1),

	/* Where did the last one of this process end on this disk? */
	WHEN(struct io_config, pattern),
		JEQ(R9, 0, out),
		RSH(R9, 9),
		ADD_REG(R9, R1),
		STX(DW, R10, END_SECTOR, R9),
		UNLESS(struct io_config, kernel.disk_in_request),
			LD_FIELD(R1, R6, "request", "q.disk.major"),
			LD_FIELD(R2, R6, "request", "q.disk.first_minor"),
		END,
		WHEN(struct io_config, kernel.disk_in_request),
			LD_FIELD(R1, R6, "request", "rq_disk.major"),
			LD_FIELD(R2, R6, "request", "rq_disk.first_minor"),
		END,
		LSH(R1, 20),
		OR_REG(R1, R2),
		STX(W, R10, ENDS_DISK, R1),
		LDX(W, R1, R8, REQUEST(pid_tgid) + 4),
		STX(W, R10, ENDS_PROCESS, R1),
		MAP_LOOKUP(ends, ENDS),
		JEQ(R0, 0, jumps),
		LDX(DW, R1, R0, 0),
		LDX(DW, R2, R10, END_SECTOR),
		STX(DW, R0, 0, R2),
		LDX(DW, R2, R8, REQUEST(sector)),
		JEQ_REG(R1, R2, out),
		ST(W, R8, REQUEST(jump), 1),
		JA(out),
LABEL(jumps),
		ST(W, R8, REQUEST(jump), 1),
		MAP_UPDATE(ends, ENDS, END_SECTOR, BPF_ANY),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&io_flush_part),
	UNLESS(struct io_config, kernel.start_told),
		INCLUDE(&io_begin_part),
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

/* R6, a request with a flush before or behind it, has done its data, and will be told of again. To the label out. */
#define DATA_DONE(out)                                                                             \
	SCOPE("DATA_DONE(" #out ")"), WHEN(struct io_config, timeline),                            \
		STX(DW, R10, KEY, R6), MAP_LOOKUP(requests, KEY), JEQ(R0, 0, out),                 \
		MOV_REG(R8, R0), CALL(ktime_get_ns), STX(DW, R8, REQUEST(data_done), R0), END,     \
		JA(out), END

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
	MOV_REG(R1, R6),
	CALL_FUNC(io_finish),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&io_finish_part),
};

/*
 * block_rq_complete(struct request *rq, blk_status_t error, unsigned int nr_bytes): so many bytes of what was left.
 * For kernels before 6.4.
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
	MOV_REG(R1, R6),
	CALL_FUNC(io_finish),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&io_finish_part),
};
/* clang-format on */

const struct asm_program io_start_program = HOOK("io_start", "block_io_start", start_lines);
const struct asm_program io_insert_program = HOOK("io_insert", "block_rq_insert", insert_lines);
const struct asm_program io_issue_program = HOOK("io_issue", "block_rq_issue", issue_lines);
const struct asm_program io_requeue_program = HOOK("io_requeue", "block_rq_requeue", requeue_lines);
const struct asm_program io_done_program = HOOK("io_done", "block_io_done", done_lines);
const struct asm_program io_complete_program =
	HOOK("io_complete", "block_rq_complete", complete_lines);

const struct io_config io_usual_config = { .profile = PROFILE_USUAL_CONFIG,
					   .kernel = { .start_told = 1, .flush_seq = 2 },
					   .only_time = 1,
					   .hists = 1,
					   .latency = 1,
					   .key_disk = 1,
					   .key_flags = IO_OP_MASK };
