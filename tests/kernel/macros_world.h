/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the composed macros share: maps behind the cell, and lines that run once. */
#ifndef TESTS_KERNEL_MACROS_WORLD_H
#define TESTS_KERNEL_MACROS_WORLD_H

#include "isa.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define FEW 4 /* entries of the small maps */
#define MANY_KEYS 100000
#define RING_BYTES 4096 /* a page */
#define WORLD_SLOTS ASM_LOGLIN_BUCKETS(5)

struct stats {
	uint64_t kept, lost;
};

/* The cell has to be the first. */
enum { CELL, COUNTS, FULL, MANY, STATS, RING, SET, HIST, NMAPS };
static const struct asm_map world_maps[NMAPS] = {
	[CELL] = { .name = "cell",
		   .type = BPF_MAP_TYPE_ARRAY,
		   .key_size = 4,
		   .value_size = sizeof(struct isa_cell),
		   .max_entries = 1 },
	[COUNTS] = { .name = "counts",
		     .type = BPF_MAP_TYPE_HASH,
		     .key_size = 8,
		     .value_size = 8,
		     .max_entries = 1024 },
	[FULL] = { .name = "full",
		   .type = BPF_MAP_TYPE_HASH,
		   .key_size = 8,
		   .value_size = 8,
		   .max_entries = FEW },
	[MANY] = { .name = "many",
		   .type = BPF_MAP_TYPE_HASH,
		   .key_size = 8,
		   .value_size = 8,
		   .max_entries = MANY_KEYS + 64, /* each CPU keeps some in hand */
		   .flags = BPF_F_NO_PREALLOC },
	[STATS] = { .name = "stats",
		    .type = BPF_MAP_TYPE_ARRAY,
		    .key_size = 4,
		    .value_size = sizeof(struct stats),
		    .max_entries = 1 },
	[RING] = { .name = "ring", .type = BPF_MAP_TYPE_RINGBUF, .max_entries = RING_BYTES },
	[SET] = { .name = "set",
		  .type = BPF_MAP_TYPE_HASH,
		  .key_size = 4,
		  .value_size = 1,
		  .max_entries = 64 },
	[HIST] = { .name = "hist",
		   .type = BPF_MAP_TYPE_ARRAY,
		   .key_size = 4,
		   .value_size = sizeof(struct asm_hist) + WORLD_SLOTS * 8,
		   .max_entries = 1 },
};
static int world_fds[NMAPS];

/* New maps for each test. */
static inline void world_setup(void)
{
	ck_assert_int_eq(rp_maps_create(world_maps, NMAPS, world_fds), 0);
	isa_map_fd = world_fds[CELL];
	isa_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	isa_bindings =
		(struct asm_bindings){ .maps = world_maps, .map_fds = world_fds, .nmaps = NMAPS };
}

static inline void world_teardown(void)
{
	rp_fds_close(world_fds, NMAPS);
	isa_map_fd = -1;
}

/* Notes macros and lines as run; a composed macro's SCOPE has its text. */
static inline void world_saw(const struct asm_insn *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		coverage_saw(lines[i].text);
}

/* Loads lines that may call, and notes them as covered. */
static inline int world_load(const struct asm_insn *lines, size_t n)
{
	world_saw(lines, n);
	return isa_load(lines, n, true, NULL, 0);
}
#define LOAD(lines) world_load(lines, COUNT_OF(lines))

/* Runs a loaded program once with these numbers in R0-R5; R0 and R6-R8 come back in out. */
static inline struct isa_cell world_run(int fd, uint64_t r1, uint64_t r2, uint64_t r3)
{
	struct isa_cell cell;

	isa_fill(&cell);
	cell.in[1] = r1;
	cell.in[2] = r2;
	cell.in[3] = r3;
	isa_run(fd, &cell);
	return cell;
}

/* Both at once. */
static inline struct isa_cell world_once(const struct asm_insn *lines, size_t n, uint64_t r1,
					 uint64_t r2, uint64_t r3)
{
	int fd = world_load(lines, n);
	struct isa_cell cell = world_run(fd, r1, r2, r3);

	close(fd);
	return cell;
}
#define RUN(lines, r1, r2, r3) world_once(lines, COUNT_OF(lines), r1, r2, r3)

#endif
