/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_find: by which rule is the caller of this address found? The search in the tables, for the
 * addresses that unwind_cache does not know yet:
 *
 *	address -> segment of the process -> page of the part -> row -> rule
 *
 * It leaves the rule where the next walk will find it, with the part of the block of code that it
 * holds in; the one that was there before stays as the second of its pair.
 */
#include "unwind_step.h"

const struct asm_map rp_unwind_row_map = {
	"unwind_shard", BPF_MAP_TYPE_ARRAY, 4, UNWIND_PART_ROWS * sizeof(struct unwind_row), 1,
	BPF_F_MMAPABLE
};

/* Its stack frame. */
enum { SHARD_KEY = -8, ROWS_KEY = -4 };

/* clang-format off */
static const struct asm_insn find_lines[] = {
	/*
	 * unwind_find(state, address): writes state->rule, UNWIND_NO_ROW where no table says
	 * anything. Returns 0, or how the walk ends.
	 */
FUNC(unwind_find),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),

	/* R8 = its segment: that of the frame before, or another one of this process. */
	MOV_REG(R8, R6),
	ADD(R8, SEGMENT),
	LDX(DW, R0, R6, RANGE_START),
	JGT_REG(R0, R7, another_segment),
	LDX(DW, R0, R8, SEG_END),
	JLT_REG(R7, R0, segment_known),
LABEL(another_segment),
	LDX(W, R2, R6, FIRST),
	LDX(W, R3, R6, NRANGES),
	JEQ(R3, 0, no_segment),
	LD_MAP_VALUE(R4, unwind_mappings, STARTS),
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
	HALVE_SEGMENTS,
LABEL(segment_found),
	AND(R2, UNWIND_MAPPINGS - 1),
	MOV_REG(R0, R2),
	LSH(R0, 3),
	ADD_REG(R4, R0),
	LDX(DW, R0, R4, 0),
	JGT_REG(R0, R7, no_segment),
	STX(DW, R6, RANGE_START, R0),
	LD_SEGMENT(R3, R2),
	COPY_SEGMENT(R3),
	LDX(DW, R0, R8, SEG_END),
	JGE_REG(R7, R0, no_segment),
LABEL(segment_known),
	/* The process may be a copy of its parent, and the mappings another process's by now. */
	LDX(W, R0, R8, SEG_GENERATION),
	LDX(DW, R1, R6, GENERATION),
	JNE_REG(R0, R1, no_segment),
	WHEN(struct program_config, vma),
LABEL(segment_is_ours),
	END,
	LDX(W, R0, R8, SEG_KIND),
	JEQ(R0, UNWIND_BY_FP, no_file),
	JEQ(R0, UNWIND_URETPROBE, at_uretprobe),

	/* R7 = offset in the part; its page knows where to search. */
	LDX(DW, R0, R8, SEG_BASE),
	SUB_REG(R7, R0),
	MOV_REG(R1, R7),
	RSH(R1, UNWIND_PAGE_SHIFT),
	LDX(W, R0, R8, SEG_NPAGES),
	JGE_REG(R1, R0, no_table),
	LDX(W, R0, R8, SEG_INDEX),
	ADD_REG(R1, R0),
	AND(R1, UNWIND_PAGES - 1),
	LSH(R1, 2),
	LD_MAP_VALUE(R2, unwind_index, 0),
	ADD_REG(R2, R1),
	LDX(W, R1, R2, 0),
	LDX(W, R3, R2, 4),
	SUB(R1, 1), /* the row that spills over from the page before */
	SUB_REG(R3, R1),
	STX(DW, R6, ROW, R1),
	STX(DW, R6, NROWS, R3),

	/* R4 = the array of rows that has it. */
	LDX(W, R1, R8, SEG_SHARD),
	STX(W, R10, SHARD_KEY, R1),
	MAP_LOOKUP(unwind_rows, SHARD_KEY),
	JEQ(R0, 0, no_table),
	MOV_REG(R1, R0),
	ST(W, R10, ROWS_KEY, 0),
	FRAME_PTR(R2, ROWS_KEY),
	CALL(map_lookup_elem),
	JEQ(R0, 0, no_table),
	MOV_REG(R4, R0),
	AND(R7, UNWIND_PAGE - 1),
	LDX(DW, R2, R6, ROW),
	LDX(DW, R3, R6, NROWS),
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
	HALVE_ROWS,
LABEL(row_found),
	/* R5 = where on the page its rule begins to hold, R3 = where the next one begins. */
	MOV_REG(R0, R4),
	MOV(R3, UNWIND_PAGE),
	MOV_REG(R1, R2),
	ADD(R1, 1),
	LDX(DW, R5, R6, ROW),
	LDX(DW, R9, R6, NROWS),
	ADD_REG(R9, R5),
	JGE_REG(R1, R9, last_row),
	AND(R1, UNWIND_PART_ROWS - 1),
	LSH(R1, 2),
	ADD_REG(R0, R1),
	LDX(H, R3, R0, ROW_LOW),
LABEL(last_row),
	MOV_REG(R1, R2),
	AND(R1, UNWIND_PART_ROWS - 1),
	LSH(R1, 2),
	ADD_REG(R4, R1),
	JEQ_REG(R2, R5, spilled_over),
	LDX(H, R5, R4, ROW_LOW),
	JA(row_known),
LABEL(spilled_over),
	MOV(R5, 0),
LABEL(row_known),

	/* R0 = that part of the block: from | to << 16. */
	AND(R7, -UNWIND_BLOCK),
	MOV(R0, 0),
	JLE_REG(R5, R7, block_begins),
	MOV_REG(R0, R5),
	SUB_REG(R0, R7),
LABEL(block_begins),
	SUB_REG(R3, R7),
	JLE(R3, UNWIND_BLOCK, block_ends),
	MOV(R3, UNWIND_BLOCK),
LABEL(block_ends),
	LSH(R3, 16),
	OR_REG(R0, R3),

	/* R9 = its rule. */
	LDX(H, R1, R4, ROW_RULE),
	LDX(W, R2, R8, SEG_RULES),
	ADD_REG(R1, R2),
	AND(R1, UNWIND_RULES - 1),
	MUL(R1, RULE_BYTES),
	LD_MAP_VALUE(R9, unwind_rules, 0),
	ADD_REG(R9, R1),

	/* Into the state, and to where the next walk will find it. */
	LDX(DW, R2, R9, 0),
	LDX(W, R3, R9, 8),
	LDX(DW, R1, R6, GENERATION),
	LSH(R1, 32),
	OR_REG(R3, R1),
	STX(DW, R6, RULE, R2),
	STX(DW, R6, RULE + 8, R3),
	LDX(DW, R1, R6, CACHE_AT),
	AND(R1, (UNWIND_CACHED / 2 - 1) << CACHED_PAIR_SHIFT),
	LD_MAP_VALUE(R9, unwind_cache, 0),
	ADD_REG(R9, R1),
	MAKE_OLDER,
	STX(DW, R9, CACHED_RULE, R2),
	STX(DW, R9, CACHED_RULE + 8, R3),
	STX(DW, R9, CACHED_EXTENT, R0),
	ADD_REG(R2, R3),
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MUL_REG(R2, R5),
	LDX(DW, R1, R6, BLOCK),
	XOR_REG(R2, R1),
	XOR_REG(R2, R0),
	STX(DW, R9, CACHED_CHECK, R2),

	MOV(R0, 0),
	EXIT(),

LABEL(no_file), /* JIT code, of which nothing can be computed */
	ST(DW, R6, RULE, 0),
	ST(DW, R6, RULE + 8, UNWIND_COMPUTED << (8 * (offsetof(struct unwind_rule, flags) - 8))),
	MOV(R0, 0),
	EXIT(),
LABEL(no_table), /* assembly */
	ST(DW, R6, RULE, 0),
	ST(DW, R6, RULE + 8, 0),
	MOV(R0, 0),
	EXIT(),
LABEL(no_segment),
	WHEN(struct program_config, vma),
		MOV_REG(R1, R6),
		MOV_REG(R2, R7),
		CALL_FUNC(unwind_vma),
		JEQ(R0, 0, segment_is_ours),
		EXIT(),
	END,
	UNLESS(struct program_config, vma),
		MOV(R0, UNWIND_NO_MAPPING),
		EXIT(),
	END,
LABEL(at_uretprobe),
	MOV(R0, UNWIND_AT_URETPROBE),
	EXIT(),
	WHEN(struct program_config, vma),
		INCLUDE(&rp_unwind_vma_part),
	END,
};
/* clang-format on */

const struct asm_part rp_unwind_find_part = { ASM_LINES(find_lines) };
