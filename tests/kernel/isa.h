/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs lines of the DSL in the kernel and looks at every register afterwards.
 *
 * A case is a few lines. They run between a prologue that loads R0-R8 from an array map, so that
 * the verifier knows no operand and the instruction reaches the JIT as it stands, and an epilogue
 * that stores R0-R8 there. R9 holds the address of the map's value, whose bytes mem the case may
 * read and write. Socket filters can be test-run since Linux 4.12 and need nothing but maps.
 */
#ifndef TESTS_KERNEL_ISA_H
#define TESTS_KERNEL_ISA_H

#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

#include "coverage.h"

#define ISA_REGS 9
#define ISA_RETVAL 77
#define ISA_MAX_LINES 64

struct isa_cell {
	uint64_t in[ISA_REGS];
	uint64_t out[ISA_REGS];
	unsigned char mem[64];
};
enum { ISA_OUT = offsetof(struct isa_cell, out), MEM = offsetof(struct isa_cell, mem) };

static const struct asm_map isa_map = { .name = "cell",
					.type = BPF_MAP_TYPE_ARRAY,
					.key_size = 4,
					.value_size = sizeof(struct isa_cell),
					.max_entries = 1 };
static int isa_map_fd = -1;

/* ---- what kernels know */

struct isa_feature {
	const char *name;
	int major, minor; /* in Linux since */
	struct bpf_insn
		probe; /* encoded by hand: works on R1 = 0 and on the zeroed bytes R10-8; may
				  jump over one instruction */
	int known;     /* 0: not yet asked, 1: yes, -1: no */
};
enum { ISA_V3, ISA_V4, ISA_MAY_GOTO, ISA_ACQ_REL, ISA_FEATURES };
static struct isa_feature isa_features[ISA_FEATURES] = {
	[ISA_V3] = { .name = "atomic operations of ISA v3",
		     .major = 5,
		     .minor = 12,
		     .probe = { .code = 0xdb,
				.dst_reg = 10,
				.src_reg = 1,
				.off = -8,
				.imm = 0xe1 } },
	[ISA_V4] = { .name = "ISA v4",
		     .major = 6,
		     .minor = 6,
		     .probe = { .code = 0xbf, .dst_reg = 1, .src_reg = 1, .off = 8 } },
	[ISA_MAY_GOTO] = { .name = "may_goto",
			   .major = 6,
			   .minor = 9,
			   .probe = { .code = 0xe5, .off = 1 } },
	[ISA_ACQ_REL] = { .name = "load-acquire and store-release",
			  .major = 6,
			  .minor = 15,
			  .probe = { .code = 0xdb,
				     .dst_reg = 1,
				     .src_reg = 10,
				     .off = -8,
				     .imm = 0x100 } },
};

static inline int isa_load_insns(const struct bpf_insn *insns, uint32_t n)
{
	const struct rp_prog prog = {
		.name = "isa", .type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = insns, .ninsns = n
	};

	return rp_prog_load(&prog);
}

static inline bool isa_knows(int feature)
{
	struct isa_feature *f = &isa_features[feature];
	const struct bpf_insn insns[] = {
		{ .code = 0xb7, .dst_reg = 1 },
		{ .code = 0x7a, .dst_reg = 10, .off = -8 },
		f->probe,
		{ .code = 0xb7, .dst_reg = 1 },
		{ .code = 0xb7, .dst_reg = 0 },
		{ .code = 0x95 },
	};
	int fd;

	if (!f->known) {
		rp_log_setup(RP_ERROR, coverage_mute, NULL);
		fd = isa_load_insns(insns, sizeof(insns) / sizeof(insns[0]));
		rp_log_setup(RP_WARN, NULL, NULL);
		f->known = fd >= 0 ? 1 : -1;
		if (fd >= 0)
			close(fd);
		else
			printf("skip: this kernel does not know %s (Linux %d.%d): %s\n", f->name,
			       f->major, f->minor, strerror(-fd));
	}
	return f->known > 0;
}

/* The feature that an instruction needs, or -1: all kernels since 5.4 know it. */
static inline int isa_needs(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if (class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return insn->imm == BPF_LOAD_ACQ || insn->imm == BPF_STORE_REL ? ISA_ACQ_REL
		       : insn->imm != BPF_ADD				       ? ISA_V3
									       : -1;
	if ((class == BPF_LDX && BPF_MODE(insn->code) == BPF_MEMSX) ||
	    (class == BPF_ALU64 && op == BPF_END) || (class == BPF_JMP32 && op == BPF_JA) ||
	    ((class == BPF_ALU || class == BPF_ALU64) && insn->off))
		return ISA_V4;
	return class == BPF_JMP && op == BPF_JCOND ? ISA_MAY_GOTO : -1;
}

/* Is there something among the lines that this kernel does not know? Says so (isa_knows has said it
 * of the feature as a whole), and counts the lines as covered: they are in a table. */
static inline bool isa_skip(const struct asm_insn *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int feature = isa_needs(&lines[i].insn);

		if (feature < 0 || isa_knows(feature))
			continue;
		printf("left out: %s: no %s\n", lines[i].text, isa_features[feature].name);
		for (size_t j = 0; j < n; j++)
			coverage_saw(lines[j].text);
		return true;
	}
	return false;
}

static inline bool isa_kernel_is(int major, int minor)
{
	struct utsname uts;
	int is_major = 0, is_minor = 0;

	if (uname(&uts) || sscanf(uts.release, "%d.%d", &is_major, &is_minor) != 2)
		abort();
	return is_major > major || (is_major == major && is_minor >= minor);
}

/* Is the kernel too old for what is to be tested? Says so. */
static inline bool isa_lacks(const char *what, int major, int minor)
{
	if (isa_kernel_is(major, minor))
		return false;
	printf("skip: this kernel has no %s (Linux %d.%d)\n", what, major, minor);
	return true;
}

/* A kernel that is new enough has to know everything: nothing above may be skipped there. */
static inline void isa_check_features(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	for (int i = 0; i < ISA_FEATURES; i++)
		if (isa_kernel_is(isa_features[i].major, isa_features[i].minor))
			ck_assert_msg(isa_knows(i), "this kernel refuses %s", isa_features[i].name);
#endif
}

/* ---- loading and running */

/* A test of composed macros puts more maps behind the cell, a configuration, another type. */
static struct asm_bindings isa_bindings = { .maps = &isa_map, .map_fds = &isa_map_fd, .nmaps = 1 };
static uint32_t isa_type = BPF_PROG_TYPE_SOCKET_FILTER;

static inline void isa_setup(void)
{
	if (isa_map_fd < 0)
		isa_map_fd = rp_map_create(&isa_map);
	ck_assert_int_ge(isa_map_fd, 0);
}

/*
 * The body between prologue and epilogue. A body that calls loses R1-R5, which are then not
 * stored. `after`: functions that follow the program's EXIT.
 */
static inline int isa_load(const struct asm_insn *body, size_t n, bool calls,
			   const struct asm_insn *after, size_t nafter)
{
	static const struct asm_insn prologue[] = {
		LD_MAP_VALUE(R9, cell, 0), LDX(DW, R0, R9, 0),	LDX(DW, R1, R9, 8),
		LDX(DW, R2, R9, 16),	   LDX(DW, R3, R9, 24), LDX(DW, R4, R9, 32),
		LDX(DW, R5, R9, 40),	   LDX(DW, R6, R9, 48), LDX(DW, R7, R9, 56),
		LDX(DW, R8, R9, 64),
	};
	static const struct asm_insn epilogue[] = {
		STX(DW, R9, ISA_OUT + 0, R0),  STX(DW, R9, ISA_OUT + 48, R6),
		STX(DW, R9, ISA_OUT + 56, R7), STX(DW, R9, ISA_OUT + 64, R8),
		STX(DW, R9, ISA_OUT + 8, R1),  STX(DW, R9, ISA_OUT + 16, R2),
		STX(DW, R9, ISA_OUT + 24, R3), STX(DW, R9, ISA_OUT + 32, R4),
		STX(DW, R9, ISA_OUT + 40, R5),
	};
	static const struct asm_insn end[] = { MOV(R0, ISA_RETVAL), EXIT() };
	size_t nstores = calls ? 4 : ISA_REGS, at = 0;
	struct asm_insn *lines = calloc(32 + n + nafter, sizeof(*lines));
	struct asm_program program = {
		.name = "isa", .type = isa_type, .license = "GPL", .lines = lines
	};
	const struct {
		const struct asm_insn *lines;
		size_t n;
	} parts[] = { { prologue, sizeof(prologue) / sizeof(prologue[0]) },
		      { body, n },
		      { epilogue, nstores },
		      { end, 2 },
		      { after, nafter } };
	int fd;

	ck_assert_ptr_nonnull(lines);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].n)
			memcpy(lines + at, parts[i].lines, parts[i].n * sizeof(*lines));
		at += parts[i].n;
	}
	program.nlines = at;
	fd = rp_program_load(&program, &isa_bindings);
	ck_assert_msg(fd >= 0, "%s: %s", n ? body->text : "nothing", strerror(-fd));
	free(lines);
	return fd;
}

/* Runs a program of isa_load() once on the cell. Raw tracepoints (5.10) take no packet. */
static inline void isa_run(int fd, struct isa_cell *cell)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };
	uint32_t key = 0;

	if (isa_type != BPF_PROG_TYPE_SOCKET_FILTER)
		run = (struct rp_test_run){ 0 };
	ck_assert_int_eq(rp_map_update(isa_map_fd, &key, cell, BPF_ANY), 0);
	ck_assert_int_eq(rp_prog_test_run(fd, &run), 0);
	ck_assert_uint_eq(run.retval, ISA_RETVAL);
	ck_assert_int_eq(rp_map_lookup(isa_map_fd, &key, cell), 0);
}

/* A different number in every register, none of which looks like another's neighbour. */
static inline void isa_fill(struct isa_cell *cell)
{
	memset(cell, 0, sizeof(*cell));
	for (int i = 0; i < ISA_REGS; i++)
		cell->in[i] = 0x1122334455667788ULL * (uint64_t)(i + 1);
	for (size_t i = 0; i < sizeof(cell->mem); i++)
		cell->mem[i] = (unsigned char)(0x71 + 7 * i);
}

/* All registers but dst are as they were, and dst is want. */
static inline void isa_check_regs(const struct isa_cell *cell, int dst, uint64_t want,
				  const char *text)
{
	for (int i = 0; i < ISA_REGS; i++)
		ck_assert_msg(cell->out[i] == (i == dst ? want : cell->in[i]),
			      "%s, dst = %#llx: R%d is %#llx, not %#llx", text,
			      (unsigned long long)cell->in[dst < 0 ? 0 : dst], i,
			      (unsigned long long)cell->out[i],
			      (unsigned long long)(i == dst ? want : cell->in[i]));
}

#endif
