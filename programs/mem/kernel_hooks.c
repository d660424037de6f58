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

#define HOOK(name_, type_, attach, target_, lines_)                                                \
	{                                                                                          \
		.name = name_, .type = type_, .attach_type = attach, .target = target_,            \
		.license = "Dual BSD/GPL", ASM_LINES(lines_),                                      \
		.config_size = sizeof(struct mem_kernel_config)                                    \
	}
#define RAW_HOOK(name_, lines_) HOOK(name_, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, NULL, lines_)
#define CLASSIC_HOOK(name_, lines_) HOOK(name_, BPF_PROG_TYPE_TRACEPOINT, 0, NULL, lines_)

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

const struct asm_program rp_mem_kmalloc_program = RAW_HOOK("mem_kmalloc", kmalloc_lines);
const struct asm_program rp_mem_kmalloc_tp_program =
	CLASSIC_HOOK("mem_kmalloc_tp", kmalloc_classic);
static const struct asm_program kmalloc_node_program =
	CLASSIC_HOOK("mem_kmallocn_tp", kmalloc_node_classic);

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

const struct asm_program rp_mem_cache_alloc_program = {
	.name = "mem_cache_alloc",
	.type = BPF_PROG_TYPE_TRACING,
	.attach_type = BPF_TRACE_RAW_TP,
	.target = "kmem_cache_alloc",
	.license = "Dual BSD/GPL",
	ASM_LINES(cache_alloc_lines),
	.config_size = sizeof(struct mem_kernel_config),
	.frame = &cache_frame_layout,
};
const struct asm_program rp_mem_cache_alloc_tp_program =
	CLASSIC_HOOK("mem_cachealc_tp", cache_alloc_classic);
static const struct asm_program cache_alloc_node_program =
	CLASSIC_HOOK("mem_cachenod_tp", cache_alloc_node_classic);

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

const struct asm_program rp_mem_kfree_program = RAW_HOOK("mem_kfree", free_lines);
const struct asm_program rp_mem_cache_free_program = RAW_HOOK("mem_cache_free", free_lines);
const struct asm_program rp_mem_kfree_tp_program = CLASSIC_HOOK("mem_kfree_tp", kfree_classic);
const struct asm_program rp_mem_cache_free_tp_program =
	CLASSIC_HOOK("mem_cachefre_tp", cache_free_classic);

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

const struct asm_program rp_mem_page_alloc_program = RAW_HOOK("mem_page_alloc", page_alloc_lines);
const struct asm_program rp_mem_page_free_program = RAW_HOOK("mem_page_free", page_free_lines);
const struct asm_program rp_mem_page_alloc_tp_program =
	CLASSIC_HOOK("mem_pagealoc_tp", page_alloc_classic);
const struct asm_program rp_mem_page_free_tp_program =
	CLASSIC_HOOK("mem_pagefree_tp", page_free_classic);

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

const struct asm_program rp_mem_percpu_alloc_program =
	CLASSIC_HOOK("mem_percpu_alc", percpu_alloc_lines);
const struct asm_program rp_mem_percpu_free_program =
	CLASSIC_HOOK("mem_percpu_free", percpu_free_lines);

/* ---- which of them */

/* Frees first: what is allocated from now on is not missed when it ends. */
const struct mem_kernel_hook rp_mem_kernel_raw_hooks[] = {
	{ &rp_mem_kfree_program, NULL, "kfree" },
	{ &rp_mem_cache_free_program, NULL, "kmem_cache_free" },
	{ &rp_mem_page_free_program, NULL, "mm_page_free" },
	{ &rp_mem_kmalloc_program, NULL, "kmalloc" },
	{ &rp_mem_cache_alloc_program, NULL, NULL },
	{ &rp_mem_page_alloc_program, NULL, "mm_page_alloc" },
	{ 0 },
};
const struct mem_kernel_hook rp_mem_kernel_classic_hooks[] = {
	{ &rp_mem_kfree_tp_program, "kmem", "kfree" },
	{ &rp_mem_cache_free_tp_program, "kmem", "kmem_cache_free" },
	{ &rp_mem_page_free_tp_program, "kmem", "mm_page_free" },
	{ &rp_mem_kmalloc_tp_program, "kmem", "kmalloc" },
	{ &kmalloc_node_program, "kmem", "kmalloc_node", "kmem:kmalloc_node" },
	{ &rp_mem_cache_alloc_tp_program, "kmem", "kmem_cache_alloc" },
	{ &cache_alloc_node_program, "kmem", "kmem_cache_alloc_node",
	  "kmem:kmem_cache_alloc_node" },
	{ &rp_mem_page_alloc_tp_program, "kmem", "mm_page_alloc" },
	{ 0 },
};
const struct mem_kernel_hook rp_mem_kernel_percpu_hooks[] = {
	{ &rp_mem_percpu_free_program, "percpu", "percpu_free_percpu" },
	{ &rp_mem_percpu_alloc_program, "percpu", "percpu_alloc_percpu" },
	{ 0 },
};

const struct mem_kernel_config rp_mem_kernel_usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.page_bytes = 4096,
	.page_stride = 64,
	.large = 2 * 4096,
	.cpus = 4,
	.timed = 1,
};
