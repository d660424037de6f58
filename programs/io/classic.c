/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_classic: requests on kernels without BTF.
 *
 * The records of classic tracepoints have no address of the request, so it goes by disk and first
 * sector, from where it is issued to where it is completed: before that others are merged into it,
 * and its sector may change. A flush has sector 0 when it is issued and -1 when it is done. What
 * waits for one without data is never issued, and not seen.
 */
#include "io.h"

/* The stack frame of the programs here. */
ASM_FRAME(classic_frame,
	(uint64_t, key, KEY), /* disk << 32 ^ sector */
	(uint64_t, rest_key, REST_KEY),
	(struct io_request, rest, REST), /* of one that was done in part */
	(rest.done, REST_DONE),
	(rest.len, REST_LEN),
	(char[8], rwbs, RWBS));

/* clang-format off */
/* One letter and what it stands for. */
#define OP_LETTER(letter, op)                                                                      \
	SCOPE("OP_LETTER(" #letter ", " #op ")"),                                                  \
		JNE(R1, letter, .other),                                                           \
		MOV(R9, op),                                                                       \
		LABEL(.other),                                                                     \
	END

/*
 * R7 = the disk, R8 = the sector, R9 = the operation, and the key, of the record of an event in R6.
 * The letters of rwbs are those of blk_fill_rwbs() in kernel/trace/blktrace.c: an F in front is a
 * flush that comes with it.
 */
#define RECORD(event, rwbs_param)                                                                  \
	SCOPE("RECORD(" #event ", " #rwbs_param ")"),                                              \
		LD_TP(R7, R6, "block", event, "dev"),                                              \
		LD_TP(R8, R6, "block", event, "sector"),                                           \
		MOV_REG(R3, R6),                                                                   \
		LD_PARAM(R1, struct io_config, rwbs_param),                                        \
		ADD_REG(R3, R1),                                                                   \
		FRAME_PTR(R1, RWBS),                                                               \
		MOV(R2, 8),                                                                        \
		CALL(probe_read_kernel),                                                           \
		LDX(B, R1, R10, RWBS),                                                             \
		JNE(R1, 'F', .letter),                                                             \
		LDX(B, R1, R10, RWBS + 1),                                                         \
		LABEL(.letter),                                                                    \
		MOV(R9, IO_OP_OTHER),                                                              \
		OP_LETTER('R', 0),                                                                 \
		OP_LETTER('W', IO_OP_WRITE),                                                       \
		OP_LETTER('D', 3),                                                                 \
		OP_LETTER('F', IO_OP_FLUSH),                                                       \
		JNE(R9, IO_OP_FLUSH, .sector),                                                     \
		MOV(R8, -1),                                                                       \
		LABEL(.sector),                                                                    \
		MOV_REG(R1, R7),                                                                   \
		LSH(R1, 32),                                                                       \
		XOR_REG(R1, R8),                                                                   \
		STX(DW, R10, KEY, R1),                                                             \
	END

static const struct asm_insn issue_lines[] = {
	MOV_REG(R6, R1),
	RECORD("block_rq_issue", rwbs_issue),
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, first),
	LDX(DW, R1, R0, REQUEST(start)),
	JNE(R1, 0, issued), /* again */
LABEL(first),
	MOV_REG(R1, R6),
	LDX(DW, R2, R10, KEY),
	MOV_REG(R3, R7),
	MOV_REG(R4, R9),
	MOV(R5, 0),
	CALL_FUNC(io_begin),
	JEQ(R0, 0, out),
LABEL(issued),
	WHEN(struct io_config, timeline),
		MOV_REG(R1, R0),
		MOV_REG(R2, R8),
		LD_TP(R3, R6, "block", "block_rq_issue", "bytes"),
		CALL_FUNC(io_issued),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_begin_part),
	WHEN(struct io_config, timeline),
		INCLUDE(&rp_io_issued_part),
	END,
};

static const struct asm_insn complete_lines[] = {
	MOV_REG(R6, R1),
	RECORD("block_rq_complete", rwbs_complete),
	LD_TP(R6, R6, "block", "block_rq_complete", "nr_sector"),
	JNE(R6, 0, has_data),
	JNE(R9, IO_OP_FLUSH, out), /* what waited for a flush, seen for the second time */
LABEL(has_data),

	/* Done in part: what is left begins behind it. */
	WHEN(struct io_config, timeline),
		MAP_LOOKUP(requests, KEY),
		JEQ(R0, 0, whole),
		LDX(DW, R1, R0, REQUEST(start)),
		JEQ(R1, 0, whole),
		MOV_REG(R1, R6),
		LSH(R1, 9),
		LDX(W, R2, R0, REQUEST(len)),
		JGE_REG(R1, R2, whole),
		FRAME_PTR(R1, REST),
		MOV(R2, sizeof(struct io_request)),
		MOV_REG(R3, R0),
		CALL(probe_read_kernel),
		LSH(R6, 9),
		LDX(W, R1, R10, REST_DONE),
		ADD_REG(R1, R6),
		STX(W, R10, REST_DONE, R1),
		LDX(W, R1, R10, REST_LEN),
		SUB_REG(R1, R6),
		STX(W, R10, REST_LEN, R1),
		RSH(R6, 9),
		ADD_REG(R8, R6),
		LSH(R7, 32),
		XOR_REG(R8, R7),
		STX(DW, R10, REST_KEY, R8),
		MAP_UPDATE(requests, REST_KEY, REST, BPF_ANY),
		MAP_DELETE(requests, KEY),
		JA(out),
LABEL(whole),
	END,
	LDX(DW, R1, R10, KEY),
	MOV_REG(R2, R7),
	MOV_REG(R3, R9),
	MOV(R4, 0),
	CALL_FUNC(io_finish),
	MAP_DELETE(requests, KEY), /* few sectors come again soon */
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_finish_part),
};
/* clang-format on */

static const struct io_config usual_config = { .common = PROGRAM_USUAL_CONFIG,
					       .rwbs_issue = 34,
					       .rwbs_complete = 34,
					       .hists = 1,
					       .latency = 1,
					       .timeline = 1,
					       .extent = 1,
					       .key_disk = 1,
					       .key_flags = IO_OP_MASK };

#define CLASSIC_PROGRAM(role_)                                                                     \
	.role = (role_), RP_MAPS(rp_io_maps, IO_MAPS), RP_CONFIG(usual_config),                    \
	.code.frame = &classic_frame_layout

const struct rp_program rp_io_classic_programs[] = {
	{ RP_CODE("io_issue_tp", issue_lines), RP_ON_TP("block", "block_rq_issue"),
	  CLASSIC_PROGRAM(IO_ISSUES),
	  .summary = "without kernel BTF: notes when a request goes to its disk" },
	{ RP_CODE("io_done_tp", complete_lines), RP_ON_TP("block", "block_rq_complete"),
	  CLASSIC_PROGRAM(IO_ENDS),
	  .summary = "without kernel BTF: counts a request that has ended" },
	RP_LIST_END,
};
