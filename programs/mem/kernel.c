/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_kernel: which code allocates memory in the kernel, and what has not been freed?
 *
 * The kernel tells of each allocation and each free of its allocators by a tracepoint. The parts
 * here are called by the programs of kernel_hooks.c, which know the arguments of each.
 *
 *	allocation -> asked for? -> stack -> into the map blocks -> counted under the stack's hash
 *	free -> out of the map blocks
 *
 * An allocation that finds no room in the map is lost as a whole, so that whatever is counted is
 * followed to its end. A free costs a look-up, and needs no stack.
 */
#include "kernel.h"
#include "programs/shared/share.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct mem_kernel_stats, (common, &rp_program_stats_layout), failed, seen_twice,
		   frees, unknown, nothing, map_full, map_busy, reused, torn);
static const struct asm_layout block_layout =
	ASM_LAYOUT(struct mem_kernel_block, size, hash, time, thread, payer);

const struct asm_map rp_mem_kernel_maps[MEM_KERNEL_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(MEM_KERNEL_WEIGHTS), struct mem_kernel_stats, stats_layout),
	/* Preallocated: nothing may be allocated inside a tracepoint of an allocation. */
	[MEM_KERNEL_MAP_BLOCKS] = { "blocks", BPF_MAP_TYPE_HASH, 8, sizeof(struct mem_kernel_block),
				    65536, .value = &block_layout },
	[MEM_KERNEL_MAP_CACHES] = { "caches", BPF_MAP_TYPE_HASH, 8, MEM_KERNEL_NAME, 1024 },
	[MEM_KERNEL_MAP_SIZES] = { "sizes", BPF_MAP_TYPE_PERCPU_ARRAY, 4,
				   sizeof(struct asm_hist) + 8 * MEM_KERNEL_HIST_SLOTS,
				   MEM_KERNEL_KINDS },
	[MEM_KERNEL_MAP_SHARES] = SHARE_MAP(1),
};

/* ---- allocations */

/* The stack frame of kernel_alloc. */
ASM_FRAME(alloc_frame,
	/* the arguments */
	(uint64_t, context, CONTEXT),
	(uint64_t, address, ADDRESS),
	(uint64_t, asked, ASKED),
	(uint64_t, tag, TAG),
	(struct mem_kernel_block, block, BLOCK, &block_layout), /* and the size */
	(block.size, SIZE),
	(block.hash, HASH),
	(block.time, TIME),
	(block.thread, THREAD),
	(block.payer, PAYER),
	(uint32_t, kind, KIND));

/* clang-format off */
/* Who pays, in R0, has a place again. */
static const struct asm_insn give_back_lines[] = {
	SHARE_GIVE(0),
};
static const struct asm_part give_back_part = { ASM_LINES(give_back_lines) };

static const struct asm_insn alloc_lines[] = {
	/*
	 * kernel_alloc(context, address, size, size that was asked for, tag): R0 = 1 when the stack
	 * was seen for the first time, else 0.
	 */
FUNC(kernel_alloc),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, ADDRESS, R2),
	STX(DW, R10, SIZE, R3),
	STX(DW, R10, ASKED, R4),
	STX(DW, R10, TAG, R5),
	MOV_REG(R7, R3),
	COUNT(stats, struct mem_kernel_stats, common.fired),
	LDX(DW, R1, R10, ADDRESS),
	JEQ(R1, 0, failed),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),

	/* R6 = a record of the stacks. */
	LDX(DW, R1, R10, CONTEXT),
	MOV_REG(R2, R0),
	LDX(DW, R3, R10, TAG),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out), /* has been counted as busy */
	MOV_REG(R6, R0),

	/* The block. */
	LDX(DW, R1, R6, offsetof(struct stack_record, hash)),
	STX(DW, R10, HASH, R1),
	LDX(W, R1, R6, offsetof(struct stack_record, pid_tgid)),
	STX(W, R10, THREAD, R1),
	ST(DW, R10, TIME, 0),
	WHEN(struct mem_kernel_config, timed),
		CALL(ktime_get_ns),
		STX(DW, R10, TIME, R0),
	END,
	/* In an interrupt it is whoever was interrupted. */
	SHARE_PAYER(),
	STX(W, R10, PAYER, R0),
	SHARE_TAKE(0, LD_PARAM(R2, struct mem_kernel_config, most_blocks), map_full),
	MAP_UPDATE(blocks, ADDRESS, BLOCK, BPF_NOEXIST),
	JEQ(R0, 0, followed),
	JNE(R0, -EEXIST, not_followed),

	/*
	 * It is there already. Of kmalloc's large blocks some kernels tell twice (6.18: the
	 * function that makes them, and the one that called it). Else it was freed without a word:
	 * in bulk, by RCU.
	 */
	MAP_LOOKUP(blocks, ADDRESS),
	JEQ(R0, 0, again), /* another CPU has just freed it */
	JLE_PARAM(R7, struct mem_kernel_config, large, reused),
	LDX(DW, R1, R6, offsetof(struct stack_record, tag)),
	RSH(R1, MEM_KERNEL_TAG_SHIFT),
	JNE(R1, MEM_KERNEL_KMALLOC, reused),
	LDX(DW, R1, R0, offsetof(struct mem_kernel_block, size)),
	JNE_REG(R1, R7, reused),
	LDX(W, R1, R0, offsetof(struct mem_kernel_block, thread)),
	LDX(W, R2, R10, THREAD),
	JNE_REG(R1, R2, reused),
	ST(W, R0, offsetof(struct mem_kernel_block, thread), -1), /* the next time it is reused */
	LDX(W, R0, R10, PAYER),
	INCLUDE(&give_back_part),
	COUNT(stats, struct mem_kernel_stats, seen_twice),
	JA(done),
LABEL(reused),
	LDX(W, R0, R0, offsetof(struct mem_kernel_block, payer)), /* whose place it was */
	INCLUDE(&give_back_part),
	COUNT(stats, struct mem_kernel_stats, reused),
LABEL(again),
	MAP_UPDATE(blocks, ADDRESS, BLOCK, BPF_ANY),
	JNE(R0, 0, not_followed),

LABEL(followed),
	WHEN(struct mem_kernel_config, sizes),
		LDX(DW, R1, R6, offsetof(struct stack_record, tag)), /* not TAG: a pointer */
		MOV(R2, MEM_KERNEL_SLAB),
		JSLT(R1, 0, kind), /* the address of a cache's name */
		MOV_REG(R2, R1),
		RSH(R2, MEM_KERNEL_TAG_SHIFT),
LABEL(kind),
		STX(W, R10, KIND, R2),
		MAP_LOOKUP(sizes, KIND),
		JEQ(R0, 0, counted), /* never */
		MOV_REG(R8, R0),
		LDX(DW, R9, R10, ASKED),
		HIST_ADD(R8, R9, MEM_KERNEL_HIST_BITS, MEM_KERNEL_HIST_SLOTS),
LABEL(counted),
	END,
	ST(DW, R6, offsetof(struct stack_record, value[MEM_KERNEL_OBJECTS]), 1),
	STX(DW, R6, offsetof(struct stack_record, value[MEM_KERNEL_BYTES]), R7),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	MOV(R8, 1),
	JEQ(R0, 0, first),
	ATOMIC_ADD(DW, R0, 8 * MEM_KERNEL_OBJECTS, R8),
	ATOMIC_ADD(DW, R0, 8 * MEM_KERNEL_BYTES, R7),
	MOV(R8, 0),
LABEL(first),
	STACK_DONE(R6),
	MOV_REG(R0, R8),
	EXIT(),

LABEL(not_followed),
	MOV_REG(R8, R0),
	LDX(W, R0, R10, PAYER),
	INCLUDE(&give_back_part),
	JEQ(R8, -E2BIG, map_full),
	COUNT(stats, struct mem_kernel_stats, map_busy),
	JA(done),
LABEL(map_full),
	COUNT(stats, struct mem_kernel_stats, map_full),
LABEL(done),
	STACK_DONE(R6),
	JA(out),
LABEL(failed),
	COUNT(stats, struct mem_kernel_stats, failed),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct mem_kernel_stats, common.filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */
const struct asm_part rp_mem_kernel_alloc_part = {
	ASM_LINES(alloc_lines), ASM_FRAMES({ "kernel_alloc", &alloc_frame_layout })
};

/* ---- frees */

/* The stack frame of kernel_free and page_free. */
ASM_FRAME(free_frame,
	(uint64_t, address, FREED),
	(uint64_t, part, PART), /* the key of what remains of pages */
	(struct mem_kernel_block, block, REST),
	(block.size, REST_SIZE),
	(block.payer, REST_PAYER));

/* clang-format off */
static const struct asm_insn free_lines[] = {
	/* kernel_free(address). NULL may be freed, and ZERO_SIZE_PTR (16) of kmalloc(0). */
FUNC(kernel_free),
	STX(DW, R10, FREED, R1),
	COUNT(stats, struct mem_kernel_stats, common.fired),
	LDX(DW, R1, R10, FREED),
	JLE(R1, 16, nothing),
	MAP_LOOKUP(blocks, FREED),
	JEQ(R0, 0, unknown),
	LDX(W, R6, R0, offsetof(struct mem_kernel_block, payer)),
	MAP_DELETE(blocks, FREED),
	JNE(R0, 0, not_there),
	MOV_REG(R0, R6),
	INCLUDE(&give_back_part),
	COUNT(stats, struct mem_kernel_stats, frees),
	JA(freed),
LABEL(not_there),
	JEQ(R0, -ENOENT, unknown),
	COUNT(stats, struct mem_kernel_stats, map_busy),
	JA(freed),
LABEL(unknown),
	COUNT(stats, struct mem_kernel_stats, unknown),
	JA(freed),
LABEL(nothing),
	COUNT(stats, struct mem_kernel_stats, nothing),
LABEL(freed),
	MOV(R0, 0),
	EXIT(),
};

static const struct asm_insn page_free_lines[] = {
	/*
	 * page_free(key of the first page, bytes). Pages that were allocated together may be freed
	 * in parts, from the first on. Then the block is halved, and its upper half is a block of
	 * its own, until the lower one is what is being freed.
	 */
FUNC(page_free),
	STX(DW, R10, FREED, R1),
	MOV_REG(R6, R2),
	COUNT(stats, struct mem_kernel_stats, common.fired),
	MAP_LOOKUP(blocks, FREED),
	JEQ(R0, 0, unknown),
	LDX(DW, R7, R0, offsetof(struct mem_kernel_block, size)),
	LDX(W, R9, R0, offsetof(struct mem_kernel_block, payer)),
	STX(W, R10, REST_PAYER, R9),
	JLE_REG(R7, R6, whole),

	LDX(DW, R1, R0, offsetof(struct mem_kernel_block, hash)),
	STX(DW, R10, REST + offsetof(struct mem_kernel_block, hash), R1),
	LDX(DW, R1, R0, offsetof(struct mem_kernel_block, time)),
	STX(DW, R10, REST + offsetof(struct mem_kernel_block, time), R1),
	LDX(W, R1, R0, offsetof(struct mem_kernel_block, thread)),
	STX(W, R10, REST + offsetof(struct mem_kernel_block, thread), R1),
	LDX(DW, R9, R10, FREED),
	MOV(R8, 0),
LABEL(halve),
	RSH(R7, 1),
	STX(DW, R10, REST_SIZE, R7),
	MOV_REG(R1, R7),
	LD_PARAM(R2, struct mem_kernel_config, page_bytes),
	DIV_REG(R1, R2),
	LD_PARAM(R2, struct mem_kernel_config, page_stride),
	MUL_REG(R1, R2),
	ADD_REG(R1, R9),
	STX(DW, R10, PART, R1),
	LDX(W, R0, R10, REST_PAYER),
	SHARE_TAKE(0, LD_PARAM(R2, struct mem_kernel_config, most_blocks), torn),
	MAP_LOOKUP(blocks, PART),
	JEQ(R0, 0, free), /* else what was there was freed without a word */
	LDX(W, R0, R0, offsetof(struct mem_kernel_block, payer)),
	INCLUDE(&give_back_part),
LABEL(free),
	MAP_UPDATE(blocks, PART, REST, BPF_ANY),
	JEQ(R0, 0, halved),
	LDX(W, R0, R10, REST_PAYER),
	INCLUDE(&give_back_part),
LABEL(torn),
	COUNT(stats, struct mem_kernel_stats, torn),
LABEL(halved),
	ADD(R8, 1),
	JGE(R8, 20, whole), /* never: orders are smaller */
	JGT_REG(R7, R6, halve),

LABEL(whole),
	MAP_DELETE(blocks, FREED),
	JNE(R0, 0, not_there),
	LDX(W, R0, R10, REST_PAYER),
	INCLUDE(&give_back_part),
	COUNT(stats, struct mem_kernel_stats, frees),
	JA(freed),
LABEL(not_there),
	JEQ(R0, -ENOENT, unknown),
	COUNT(stats, struct mem_kernel_stats, map_busy),
	JA(freed),
LABEL(unknown),
	COUNT(stats, struct mem_kernel_stats, unknown),
LABEL(freed),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_mem_kernel_free_part = {
	ASM_LINES(free_lines), ASM_FRAMES({ "kernel_free", &free_frame_layout })
};
const struct asm_part rp_mem_kernel_page_free_part = {
	ASM_LINES(page_free_lines), ASM_FRAMES({ "page_free", &free_frame_layout })
};
