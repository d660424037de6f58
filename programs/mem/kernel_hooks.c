/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_kernel_hooks: the tracepoints of the kernel's allocators, and what their arguments mean.
 *
 * Each is there twice: for the raw tracepoint, whose arguments are the kernel's own; and for the
 * classic one, whose record costs more to make, but whose fields can be found by name on every
 * kernel. Only of kmem_cache_alloc the types of the arguments matter, for there is a name to be
 * found behind them.
 */
#include "kernel.h"

/* The arguments of a raw tracepoint are its context, 8 bytes each. */
#define TP_ARG(dst, n) LDX(DW, dst, R6, 8 * (n))

/* clang-format off */
/* reg, the detail of a kind, becomes a tag. */
#define TAG_OF(kind, reg, t)                                                                       \
	SCOPE("TAG_OF(" #kind ", " #reg ", " #t ")"),                                              \
		LD_IMM64(t, (uint64_t)(kind) << MEM_KERNEL_TAG_SHIFT),                             \
		OR_REG(reg, t),                                                                    \
	END

/* reg = bytes of so many pages: 1 << order of them. order is destroyed. */
#define PAGES_BYTES(reg, order)                                                                    \
	SCOPE("PAGES_BYTES(" #reg ", " #order ")"),                                                \
		AND(order, 63),                                                                    \
		LD_PARAM(reg, struct mem_kernel_config, page_bytes),                               \
		LSH_REG(reg, order),                                                               \
	END

/* reg, a migration type, becomes 1 for MIGRATE_MOVABLE (1, include/linux/mmzone.h), else 0. */
#define MOVABLE(reg)                                                                               \
	SCOPE("MOVABLE(" #reg ")"),                                                                \
		JEQ32(reg, 1, .movable),                                                           \
		MOV(reg, 0),                                                                       \
		LABEL(.movable),                                                                   \
	END

/* ---- kmalloc(call_site, ptr, bytes_req, bytes_alloc, gfp_flags, node) */

static const struct asm_insn kmalloc_lines[] = {
	MOV_REG(R6, R1),
	TP_ARG(R2, 1),
	TP_ARG(R3, 3),
	TP_ARG(R4, 2),
	MOV_REG(R5, R3),
	TAG_OF(MEM_KERNEL_KMALLOC, R5, R0),
	CALL_FUNC(kernel_alloc),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_alloc_part),
};

/* kmalloc_node has the same fields; both are one since 6.1. */
#define KMALLOC_CLASSIC(event)                                                                     \
	LD_TP(R2, R1, "kmem", event, "ptr"),                                                       \
	LD_TP(R3, R1, "kmem", event, "bytes_alloc"),                                               \
	LD_TP(R4, R1, "kmem", event, "bytes_req"),                                                 \
	MOV_REG(R5, R3),                                                                           \
	TAG_OF(MEM_KERNEL_KMALLOC, R5, R0),                                                        \
	CALL_FUNC(kernel_alloc),                                                                   \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&rp_mem_kernel_alloc_part)
static const struct asm_insn kmalloc_classic[] = { KMALLOC_CLASSIC("kmalloc") };
static const struct asm_insn kmalloc_node_classic[] = { KMALLOC_CLASSIC("kmalloc_node") };
/* clang-format on */

/* ---- kmem_cache_alloc(call_site, ptr, cache, gfp_flags, node) */

/* The stack frame of mem_cache_alloc. */
ASM_FRAME(cache_frame,
	(uint64_t, object, OBJECT),
	(uint64_t, name, NAME), /* its address */
	(char[MEM_KERNEL_NAME], text, TEXT));

/* clang-format off */
static const struct asm_insn cache_alloc_lines[] = {
	MOV_REG(R6, R1),
	TP_ARG(R7, 2),
	/* A const void * of BTF must not be touched on every kernel (6.1). */
	MOV_REG(R3, R6),
	ADD(R3, 8 * 1),
	READ_KERNEL(OBJECT, 8, R3),
	LD_FIELD(R5, R7, "kmem_cache", "name"),
	STX(DW, R10, NAME, R5),
	LD_FIELD(R3, R7, "kmem_cache", "size"),
	LD_FIELD(R4, R7, "kmem_cache", "object_size"),
	LDX(DW, R2, R10, OBJECT),
	MOV_REG(R1, R6),
	CALL_FUNC(kernel_alloc),
	JEQ(R0, 0, out),

	/* The name of the cache, when a stack of it is new. */
	MAP_LOOKUP(caches, NAME),
	JNE(R0, 0, out),
	ZERO(TEXT, MEM_KERNEL_NAME),
	FRAME_PTR(R1, TEXT),
	MOV(R2, MEM_KERNEL_NAME),
	LDX(DW, R3, R10, NAME),
	CALL(probe_read_kernel_str),
	MAP_UPDATE(caches, NAME, TEXT, BPF_NOEXIST),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_alloc_part),
};

#define CACHE_CLASSIC(event)                                                                       \
	LD_TP(R2, R1, "kmem", event, "ptr"),                                                       \
	LD_TP(R3, R1, "kmem", event, "bytes_alloc"),                                               \
	LD_TP(R4, R1, "kmem", event, "bytes_req"),                                                 \
	MOV_REG(R5, R3),                                                                           \
	CALL_FUNC(kernel_alloc),                                                                   \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&rp_mem_kernel_alloc_part)
static const struct asm_insn cache_alloc_classic[] = { CACHE_CLASSIC("kmem_cache_alloc") };
static const struct asm_insn cache_alloc_node_classic[] = {
	CACHE_CLASSIC("kmem_cache_alloc_node"),
};
/* clang-format on */

/* ---- kfree(call_site, ptr), kmem_cache_free(call_site, ptr, cache) */

/* Either may end what the other's partner made: the address alone says which block it is. */

/* clang-format off */
static const struct asm_insn free_lines[] = {
	MOV_REG(R6, R1),
	TP_ARG(R1, 1),
	CALL_FUNC(kernel_free),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_free_part),
};

#define FREE_CLASSIC(event)                                                                        \
	LD_TP(R1, R1, "kmem", event, "ptr"),                                                       \
	CALL_FUNC(kernel_free),                                                                    \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&rp_mem_kernel_free_part)
static const struct asm_insn kfree_classic[] = { FREE_CLASSIC("kfree") };
static const struct asm_insn cache_free_classic[] = { FREE_CLASSIC("kmem_cache_free") };
/* clang-format on */

/* ---- mm_page_alloc(page, order, gfp_flags, migratetype), mm_page_free(page, order) */

/*
 * mm_page_free fires for every page that is freed; for those freed in batches mm_page_free_batched
 * fires once more.
 */

/* clang-format off */
static const struct asm_insn page_alloc_lines[] = {
	MOV_REG(R6, R1),
	TP_ARG(R2, 0),
	TP_ARG(R1, 1),
	PAGES_BYTES(R3, R1),
	MOV_REG(R4, R3),
	TP_ARG(R5, 3),
	MOVABLE(R5),
	TAG_OF(MEM_KERNEL_PAGES, R5, R0),
	MOV_REG(R1, R6),
	CALL_FUNC(kernel_alloc),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_alloc_part),
};

static const struct asm_insn page_free_lines[] = {
	MOV_REG(R6, R1),
	TP_ARG(R3, 1),
	PAGES_BYTES(R2, R3),
	TP_ARG(R1, 0),
	CALL_FUNC(page_free),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_page_free_part),
};

/* All bits of pfn are set when there was no page. */
static const struct asm_insn page_alloc_classic[] = {
	MOV_REG(R6, R1),
	LD_TP(R2, R6, "kmem", "mm_page_alloc", "pfn"),
	JNE(R2, -1, allocated),
	MOV(R2, 0),
LABEL(allocated),
	LD_TP(R1, R6, "kmem", "mm_page_alloc", "order"),
	PAGES_BYTES(R3, R1),
	MOV_REG(R4, R3),
	LD_TP(R5, R6, "kmem", "mm_page_alloc", "migratetype"),
	MOVABLE(R5),
	TAG_OF(MEM_KERNEL_PAGES, R5, R0),
	MOV_REG(R1, R6),
	CALL_FUNC(kernel_alloc),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_alloc_part),
};

static const struct asm_insn page_free_classic[] = {
	LD_TP(R3, R1, "kmem", "mm_page_free", "order"),
	PAGES_BYTES(R2, R3),
	LD_TP(R1, R1, "kmem", "mm_page_free", "pfn"),
	CALL_FUNC(page_free),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_page_free_part),
};
/* clang-format on */

/* ---- the per-CPU allocator: rarely called, so the classic way is good enough */

/* It lies at one offset in each unit of a chunk; the address is that in the first unit. */
/* clang-format off */
static const struct asm_insn percpu_alloc_lines[] = {
	MOV_REG(R6, R1),
	LD_TP(R2, R6, "percpu", "percpu_alloc_percpu", "base_addr"),
	LD_TP(R3, R6, "percpu", "percpu_alloc_percpu", "off"),
	ADD_REG(R2, R3),
	LD_TP(R4, R6, "percpu", "percpu_alloc_percpu", "size"),
	LD_PARAM(R3, struct mem_kernel_config, cpus),
	MUL_REG(R3, R4),
	LD_IMM64(R5, (uint64_t)MEM_KERNEL_PERCPU << MEM_KERNEL_TAG_SHIFT),
	CALL_FUNC(kernel_alloc),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_alloc_part),
};

static const struct asm_insn percpu_free_lines[] = {
	MOV_REG(R6, R1),
	LD_TP(R1, R6, "percpu", "percpu_free_percpu", "base_addr"),
	LD_TP(R2, R6, "percpu", "percpu_free_percpu", "off"),
	ADD_REG(R1, R2),
	CALL_FUNC(kernel_free),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_mem_kernel_free_part),
};
/* clang-format on */

/* ---- the programs */

static const struct mem_kernel_config usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.page_bytes = 4096,
	.page_stride = 64,
	.large = 2 * 4096,
	.cpus = 4,
	.timed = 1,
	.most_blocks = 65536,
};

#define KERNEL_PROGRAM(role_)                                                                      \
	.role = (role_), RP_MAPS(rp_mem_kernel_maps, MEM_KERNEL_MAPS), RP_CONFIG(usual_config)

/*
 * Where BTF says that the arguments are those of today, as since 6.1: a slab cache is given by its
 * struct. All or none: the programs at a block's allocation and free must know it by one address.
 */
#define TODAYS_ARGUMENTS                                                                           \
	RP_NEEDS(RP_NEED_FEATURE(RP_HAS_TP_BTF),                                                   \
		 RP_NEED_ARGUMENT("kmem_cache_alloc", 2, "kmem_cache"),                            \
		 RP_NEED_OTHER("kmalloc", 2, "kmem_cache"),                                        \
		 RP_NEED_ARGUMENT("mm_page_alloc", 0, "page"),                                     \
		 RP_NEED_ARGUMENT("mm_page_free", 0, "page"), RP_NEED_FIELD("page", NULL))

const struct rp_program rp_mem_kernel_programs[] = {
	{ RP_CODE("mem_kfree", free_lines), RP_ON_RAW_TP("kfree"), TODAYS_ARGUMENTS,
	  KERNEL_PROGRAM(MEM_KFREE), .ends = true, .summary = "forgets what kfree ends" },
	{ RP_CODE("mem_kfree_tp", kfree_classic), RP_ON_TP("kmem", "kfree"),
	  KERNEL_PROGRAM(MEM_KFREE), .ends = true,
	  .summary = "without kernel BTF: forgets what kfree ends",
	  .instead = "no BTF tracepoints with the arguments that are known: slab caches by the "
		     "size of their objects" },
	{ RP_CODE("mem_cache_free", free_lines), RP_ON_RAW_TP("kmem_cache_free"), TODAYS_ARGUMENTS,
	  KERNEL_PROGRAM(MEM_CACHE_FREE), .ends = true,
	  .summary = "forgets objects of slab caches" },
	{ RP_CODE("mem_slabfree_tp", cache_free_classic), RP_ON_TP("kmem", "kmem_cache_free"),
	  KERNEL_PROGRAM(MEM_CACHE_FREE), .ends = true,
	  .summary = "without kernel BTF: forgets objects of slab caches" },
	{ RP_CODE("mem_page_free", page_free_lines), RP_ON_RAW_TP("mm_page_free"), TODAYS_ARGUMENTS,
	  KERNEL_PROGRAM(MEM_PAGE_FREE), .ends = true, .summary = "forgets pages, in parts too" },
	{ RP_CODE("mem_pagefree_tp", page_free_classic), RP_ON_TP("kmem", "mm_page_free"),
	  KERNEL_PROGRAM(MEM_PAGE_FREE), .ends = true,
	  .summary = "without kernel BTF: forgets pages" },
	{ RP_CODE("mem_kmalloc", kmalloc_lines), RP_ON_RAW_TP("kmalloc"), TODAYS_ARGUMENTS,
	  KERNEL_PROGRAM(MEM_KMALLOC), .summary = "counts what kmalloc gave" },
	{ RP_CODE("mem_kmalloc_tp", kmalloc_classic), RP_ON_TP("kmem", "kmalloc"),
	  KERNEL_PROGRAM(MEM_KMALLOC), .summary = "without kernel BTF: counts what kmalloc gave" },
	{ RP_CODE("mem_kmnode_tp", kmalloc_node_classic), RP_ON_TP("kmem", "kmalloc_node"),
	  KERNEL_PROGRAM(MEM_KMALLOC_NODE), RP_NEEDS(RP_NEED_HOOK), .optional = true,
	  .summary = "counts what kmalloc_node gave, before Linux 6.1" },
	{ RP_CODE("mem_cache_alloc", cache_alloc_lines), RP_ON_TP_BTF("kmem_cache_alloc"),
	  TODAYS_ARGUMENTS, KERNEL_PROGRAM(MEM_CACHE_ALLOC), .code.frame = &cache_frame_layout,
	  .summary = "counts objects of slab caches" },
	{ RP_CODE("mem_slab_tp", cache_alloc_classic), RP_ON_TP("kmem", "kmem_cache_alloc"),
	  KERNEL_PROGRAM(MEM_CACHE_ALLOC),
	  .summary = "without kernel BTF: counts objects of slab caches" },
	{ RP_CODE("mem_slabnode_tp", cache_alloc_node_classic),
	  RP_ON_TP("kmem", "kmem_cache_alloc_node"), KERNEL_PROGRAM(MEM_CACHE_ALLOC_NODE),
	  RP_NEEDS(RP_NEED_HOOK), .optional = true,
	  .summary = "counts objects of slab caches for a node, before Linux 6.1" },
	{ RP_CODE("mem_page_alloc", page_alloc_lines), RP_ON_RAW_TP("mm_page_alloc"),
	  TODAYS_ARGUMENTS, KERNEL_PROGRAM(MEM_PAGE_ALLOC), .summary = "counts pages" },
	{ RP_CODE("mem_page_tp", page_alloc_classic), RP_ON_TP("kmem", "mm_page_alloc"),
	  KERNEL_PROGRAM(MEM_PAGE_ALLOC), .summary = "without kernel BTF: counts pages" },
	{ RP_CODE("mem_percpu_free", percpu_free_lines), RP_ON_TP("percpu", "percpu_free_percpu"),
	  KERNEL_PROGRAM(MEM_PERCPU_FREE), .ends = true, .summary = "forgets memory for each CPU" },
	{ RP_CODE("mem_percpu", percpu_alloc_lines), RP_ON_TP("percpu", "percpu_alloc_percpu"),
	  KERNEL_PROGRAM(MEM_PERCPU_ALLOC), .summary = "counts memory for each CPU" },
	RP_LIST_END,
};
