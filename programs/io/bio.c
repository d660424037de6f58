/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_bio: disks that have no requests: device mapper, md, zram, brd.
 *
 * They take what a file system gives them, a bio, as it is, so it goes from its start to the device
 * at once. The kernel tells of bios of all disks; those that become requests are none of our
 * concern here. A bio's address is used again only by chance, so its entry goes when it ends.
 */
#include "io.h"

/* The stack frame of the programs here. */
ASM_FRAME(bio_frame, (uint64_t, bio, KEY));

/* clang-format off */

/* block_bio_queue(struct bio *bio): in the task that wants it. */
static const struct asm_insn queue_lines[] = {
	MOV_REG(R7, R1),
	LDX(DW, R6, R7, 0),
	LD_FIELD(R8, R6, "bio", "bi_bdev.bd_disk"),
	LD_FIELD(R1, R8, "gendisk", "queue.mq_ops"),
	JNE(R1, 0, out),

	LD_FIELD(R3, R8, "gendisk", "major"),
	LSH(R3, 20),
	LD_FIELD(R1, R8, "gendisk", "first_minor"),
	OR_REG(R3, R1),
	LD_FIELD(R4, R6, "bio", "bi_opf"),
	LD_FIELD(R1, R6, "bio", "bi_iter.bi_size"),
	JNE(R1, 0, op_known),
	MOV_REG(R1, R4),
	AND(R1, IO_OP_MASK),
	JNE(R1, IO_OP_WRITE, op_known),
	OR(R4, IO_OP_EMPTY_FLUSH),
LABEL(op_known),
	MOV_REG(R1, R7),
	MOV_REG(R2, R6),
	MOV(R5, 0),
	CALL_FUNC(io_begin),
	WHEN(struct io_config, timeline),
		JEQ(R0, 0, out),
		MOV_REG(R1, R0),
		WHEN(struct io_config, extent),
			LD_FIELD(R2, R6, "bio", "bi_iter.bi_sector"),
			LD_FIELD(R3, R6, "bio", "bi_iter.bi_size"),
		END,
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

/*
 * block_bio_complete(struct request_queue *q, struct bio *bio). The disk may be another by now,
 * where one hands its bios on to those that it is made of; so it is asked of the entry whether this
 * one is ours.
 */
static const struct asm_insn complete_lines[] = {
	LDX(DW, R6, R1, 8),
	STX(DW, R10, KEY, R6),
	MAP_LOOKUP(requests, KEY),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, REQUEST(start)),
	JEQ(R1, 0, out),
	LDX(W, R2, R0, REQUEST(disk)),
	MOV_REG(R1, R6),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL_FUNC(io_finish),
	MAP_DELETE(requests, KEY),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_io_finish_part),
};
/* clang-format on */

#define BIO_PROGRAM(role_)                                                                         \
	.role = (role_), RP_MAPS(rp_io_maps, IO_MAPS), RP_CONFIG(rp_io_usual_config),              \
	.code.frame = &bio_frame_layout,                                                           \
	RP_NEEDS(RP_NEED_ARGUMENT("block_bio_queue", 0, "bio"),                                    \
		 RP_NEED_FIELD("bio", "bi_bdev.bd_disk.queue.mq_ops"))

const struct rp_program rp_io_bio_programs[] = {
	{ RP_CODE("io_bio_start", queue_lines), RP_ON_TP_BTF("block_bio_queue"),
	  BIO_PROGRAM(IO_STARTS),
	  .summary = "notes the start of what a disk without requests does" },
	{ RP_CODE("io_bio_done", complete_lines), RP_ON_TP_BTF("block_bio_complete"),
	  BIO_PROGRAM(IO_ENDS), .summary = "counts what a disk without requests has done" },
	RP_LIST_END,
};
