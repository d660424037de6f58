/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ksym: names of kernel addresses, by the kernel itself.
 *
 * bpf_snprintf understands "%pS", which prints an address as name+0xoffset/0xsize [module]. That is
 * faster than reading /proc/kallsyms, whose hundred thousand lines the kernel has to format first,
 * and it works where kptr_restrict has blanked them. The program is attached to nothing: user space
 * writes addresses into a map that both sides have mapped, runs the program once with
 * BPF_PROG_TEST_RUN, and reads the texts there.
 */
#include <rawprof/loader.h>
#include "ksym.h"

static const struct asm_layout io_layout = ASM_LAYOUT(struct ksym_io, addr, text);

static const struct asm_map ksym_maps[KSYM_MAPS] = {
	/* The format has to lie in memory that cannot change: read-only for programs, frozen. */
	[KSYM_MAP_FORMAT] = { "ksym_format", BPF_MAP_TYPE_ARRAY, 4, sizeof(KSYM_FORMAT), 1,
			      BPF_F_RDONLY_PROG },
	[KSYM_MAP_IO] = { "ksym_io", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct ksym_io), 1,
			  BPF_F_MMAPABLE, .value = &io_layout },
};

ASM_FRAME(ksym_frame, (uint64_t, addr, ADDR));

/* clang-format off */
static const struct asm_insn ksym[] = {
	LD_MAP_VALUE(R6, ksym_io, offsetof(struct ksym_io, addr)),
	LD_MAP_VALUE(R7, ksym_io, offsetof(struct ksym_io, text)),
	MOV(R8, 0),

LABEL(next),
	LDX(DW, R1, R6, 0),
	JEQ(R1, 0, out), /* fewer than a batch */
	STX(DW, R10, ADDR, R1),

	/* snprintf(text, KSYM_TEXT, "%pS", &addr, 8) */
	MOV_REG(R1, R7),
	MOV(R2, KSYM_TEXT),
	LD_MAP_VALUE(R3, ksym_format, 0),
	FRAME_PTR(R4, ADDR),
	MOV(R5, 8),
	CALL(snprintf),

	ADD(R6, 8),
	ADD(R7, KSYM_TEXT),
	ADD(R8, 1),
	JLT(R8, KSYM_BATCH, next),

LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static int prepare(const int *fds)
{
	int err = rp_map_update(fds[KSYM_MAP_FORMAT], &(uint32_t){ 0 }, KSYM_FORMAT, BPF_ANY);

	return err ? err : rp_map_freeze(fds[KSYM_MAP_FORMAT]);
}

#define KSYM_PROGRAM                                                                               \
	.role = KSYM_NAME, RP_MAPS(ksym_maps, KSYM_MAPS), .prepare = prepare,                      \
	.code.frame = &ksym_frame_layout

const struct rp_program rp_ksym_programs[] = {
	{ RP_CODE("ksym", ksym), RP_ON_TEST_RUN(BPF_PROG_TYPE_SYSCALL),
	  .code.flags = BPF_F_SLEEPABLE, KSYM_PROGRAM,
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_SYSCALL_PROG)), .summary = "names kernel addresses" },
	{ RP_CODE("ksym_raw", ksym), RP_ON_TEST_RUN(BPF_PROG_TYPE_RAW_TRACEPOINT), KSYM_PROGRAM,
	  .summary = "names kernel addresses, before Linux 5.14" },
	RP_LIST_END,
};
