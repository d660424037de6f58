/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tutorial's I/O programs. They read a field "req" that neither tracepoint has, so that there
 * are two questions: what map-ref means (readings.h), and what offset a field has that is none.
 */
#include "bad.h"
#include "seed/readings.h"

/* offsetof(req) of nothing is 0, where every record keeps what programs may not read. */
#define OFFSET_OF_REQ 0
#define MAP_REF MAP_AS_MAP
static const struct asm_insn seed_io_start[] = {
#include "seed/io_start.inc"
};
static const struct asm_insn seed_io_complete[] = {
#include "seed/io_complete.inc"
};
#undef OFFSET_OF_REQ

/* The first offset that may be read. It holds the device, 4 bytes, and 4 of padding. */
#define OFFSET_OF_REQ 8
static const struct asm_insn seed_io_start_8[] = {
#include "seed/io_start.inc"
};
static const struct asm_insn seed_io_complete_8[] = {
#include "seed/io_complete.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_REGISTER
static const struct asm_insn seed_io_start_a[] = {
#include "seed/io_start.inc"
};
static const struct asm_insn seed_io_complete_a[] = {
#include "seed/io_complete.inc"
};
#undef MAP_REF

#define MAP_REF MAP_AS_NUMBER
static const struct asm_insn seed_io_start_b[] = {
#include "seed/io_start.inc"
};
static const struct asm_insn seed_io_complete_b[] = {
#include "seed/io_complete.inc"
};
#undef OFFSET_OF_REQ

/* Behind the record of block_rq_complete, and before the end of what any record may have. */
#define OFFSET_OF_REQ 2048
#undef MAP_REF
#define MAP_REF MAP_AS_MAP
static const struct asm_insn seed_io_complete_far[] = {
#include "seed/io_complete.inc"
};

/* ---- what the accepted programs do */

/* Two requests to one disk have one key: the second overwrites the first. */
static int no_request(int prog_fd, const int *map_fds, char *seen)
{
	struct rp_tp_format format;
	const struct rp_tp_field *dev;
	bool is_dev = false;

	(void)prog_fd;
	(void)map_fds;
	if (rp_tp_format("block", "block_rq_issue", &format))
		BAD_MISS("this kernel has no block_rq_issue");
	dev = rp_tp_format_field(&format, "dev");
	is_dev = dev && dev->offset == 8 && dev->size == 4 && !rp_tp_format_field(&format, "req");
	rp_tp_format_free(&format);
	BAD_SAW("offset 8 is the device, 4 bytes wide, and there is no field req");
	return is_dev ? 0 : -1;
}

static int refused_at_attach(int prog_fd, const int *map_fds, char *seen)
{
	struct rp_link *link;
	int err = rp_attach_tracepoint(prog_fd, "block", "block_rq_complete", 0, &link);

	(void)map_fds;
	if (!err)
		rp_link_close(link);
	BAD_SAW("attaching it: %s", err ? strerror(-err) : "no error");
	return err == -EACCES ? 0 : -1;
}

/* Its loop is verified round by round: the kernel says how many steps that took. */
static int long_walk(int prog_fd, const int *map_fds, char *seen)
{
	struct rp_prog_stats stats;
	int err = rp_prog_stats(prog_fd, &stats);

	(void)map_fds;
	if (err)
		BAD_MISS("no statistics: %s", strerror(-err));
	BAD_SAW("%zu instructions, %u steps to verify them",
		sizeof(seed_io_complete_8) / sizeof(seed_io_complete_8[0]), stats.verified_insns);
	return stats.verified_insns > 250 ? 0 : -1;
}

/* Bucket numbers are bit lengths, 0 to 64: one more than the map has room for. */
static int one_bucket_too_many(int prog_fd, const int *map_fds, char *seen)
{
	const uint64_t one = 1;
	int err = 0;

	(void)prog_fd;
	for (uint32_t bucket = 0; bucket <= 64 && !err; bucket++) {
		err = rp_map_update(map_fds[MAP_IO_HIST], &bucket, &one, BPF_ANY);
		if (err)
			BAD_SAW("bucket %u: %s", bucket, strerror(-err));
	}
	return err == -E2BIG ? 0 : -1;
}

#define READING_A .says = { { EACCES, "R5 !read_ok" } }, .at = "MOV_REG(R1, R5)"
#define READING_B(call)                                                           \
	.says = { { EACCES, "R1 type=scalar expected=map_ptr", KERNEL(5, 18) },   \
		  { EACCES, "R1 type=inv expected=map_ptr", 0, KERNEL(5, 18) } }, \
	.at = "CALL(" #call ")"
#define READING_C                                                          \
	.says = { { EACCES, "invalid bpf_context access off=0 size=8" } }, \
	.at = "LDX(DW, R6, R1, OFFSET_OF_REQ)"

const struct bad_case bad_seed_io[] = {
	{ "I1a", "seed io-start, reading (a)", BAD_PROGRAM(TRACEPOINT, seed_io_start_a),
	  READING_A },
	{ "I1b", "seed io-start, reading (b)", BAD_PROGRAM(TRACEPOINT, seed_io_start_b),
	  READING_B(map_update_elem) },
	{ "I1c", "seed io-start, reading (c): the field that is none at offset 0",
	  BAD_PROGRAM(TRACEPOINT, seed_io_start), READING_C },
	{ "I1d", "seed io-complete, reading (a)", BAD_PROGRAM(TRACEPOINT, seed_io_complete_a),
	  READING_A },
	{ "I1e", "seed io-complete, reading (b)", BAD_PROGRAM(TRACEPOINT, seed_io_complete_b),
	  READING_B(map_lookup_elem) },
	{ "I1f", "seed io-complete, reading (c)", BAD_PROGRAM(TRACEPOINT, seed_io_complete),
	  READING_C },
	{ "I2", "io-start with the field at offset 8: accepted",
	  BAD_PROGRAM(TRACEPOINT, seed_io_start_8), .silent = no_request },
	{ "I2b", "io-complete with the field behind the record: accepted, refused when attached",
	  BAD_PROGRAM(TRACEPOINT, seed_io_complete_far), .silent = refused_at_attach },
	{ "I5", "io-complete's loop of 64 rounds", BAD_PROGRAM(TRACEPOINT, seed_io_complete_8),
	  .silent = long_walk, .needs = KERNEL(5, 16) },
	{ "I6", "io-complete's histogram has 65 buckets and room for 64",
	  BAD_PROGRAM(TRACEPOINT, seed_io_complete_8), .silent = one_bucket_too_many },
	{ 0 },
};
