/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_vma: what lies at an address that user space has said nothing of yet?
 *
 * A process that lives for a millisecond is gone before anyone could have read its mappings. But
 * the kernel knows them, and the files are mostly known too, as others map them: so a process can
 * be walked at its first sample.
 *
 *	address -> vma of the task -> file, by device and inode -> part of its table
 *
 * bpf_find_vma() answers once for each interrupt only: it can give the lock of the mappings back
 * no sooner than that is over. So their tree is read here as memory (include/linux/maple_tree.h,
 * Linux 6.1), without a lock. It may be changed meanwhile by another thread: what is found has to
 * be a vma of this process that holds the address, and is about the right file or about none that
 * is known. A return address that does not follow from that is no more likely than after any other
 * change of mappings between two samples.
 *
 * It takes a microsecond for each file on the stack, so it is for processes that are new: user
 * space is told of them (stack_record.fresh) and publishes them, if they still live.
 */
#include "unwind_step.h"

/* Offsets from the state. A node is read to where the stack's window is, which is lost. */
#define OF_VMA(member) (VMA + (int)offsetof(struct unwind_vma, member))
#define OF_SEGMENT(member) (SEGMENT + (int)offsetof(struct unwind_mapping, member))
#define NODE WINDOW
/* In an element of unwind_files. */
#define OF_PART(n, member)                                                                         \
	((int)offsetof(struct unwind_file, part) + (n) * (int)sizeof(struct unwind_file_part) +    \
	 (int)offsetof(struct unwind_file_part, member))

/*
 * A pointer to a node has its type from bit 3 on, and nodes are aligned to their size. Leaves are
 * of the two types that come first. A slot is for the addresses up to its pivot.
 */
enum {
	NODE_BYTES = 256,
	NODE_IS_ROOT = 2, /* in the pointer to it */
	NODE_TYPE_SHIFT = 3,
	NODE_TYPE_MASK = 15,
	NODE_LEAF = 1,
	NODE_ARANGE = 3,
	NODE_PIVOTS = 8, /* where they begin, behind the parent */
	NODE_LEVELS = 6, /* a process of 65,536 mappings has five */
};

/* The stack frame of unwind_vma. */
ASM_FRAME(vma_frame,
	(struct unwind_file_key, key, KEY),
	(uint64_t, word, WORD),
	(uint64_t, level, LEVEL));
enum {
	KEY_INODE = KEY + offsetof(struct unwind_file_key, inode),
	KEY_PGOFF = KEY + offsetof(struct unwind_file_key, pgoff),
	KEY_SIZE = KEY + offsetof(struct unwind_file_key, size),
	KEY_DEV = KEY + offsetof(struct unwind_file_key, dev),
	KEY_CHANGED = KEY + offsetof(struct unwind_file_key, changed)
};

/* clang-format off */
/*
 * R3 += 1 if the address R7 is behind pivot n of the node R9 and of all pivots before it; R4 = 1 as
 * long as that is so. p - address is negative for a pivot below; 0 - p is not for one that is 0,
 * with which a node ends early, nor for what is no address of a process.
 */
#define COUNT_PIVOT(n)                                                                             \
	LDX(DW, R1, R9, NODE + NODE_PIVOTS + 8 * (n)),                                             \
	MOV_REG(R2, R1),                                                                           \
	NEG(R2),                                                                                   \
	SUB_REG(R1, R7),                                                                           \
	AND_REG(R1, R2),                                                                           \
	RSH(R1, 63),                                                                               \
	AND_REG(R4, R1),                                                                           \
	ADD_REG(R3, R4)
/*
 * On to the label if the part of that number holds the address R7, which the segment is then about.
 * R8 = the file, R9 = where its address 0 is.
 */
#define TRY_PART(n, to)                                                                            \
	SCOPE("TRY_PART(" #n ", " #to ")"),                                                        \
		LDX(W, R1, R8, offsetof(struct unwind_file, nparts)),                              \
		JLE(R1, n, .other),                                                                \
		LDX(DW, R1, R8, OF_PART(n, start)),                                                \
		ADD_REG(R1, R9),                                                                   \
		JGT_REG(R1, R7, .other),                                                           \
		LDX(W, R2, R8, OF_PART(n, npages)),                                                \
		MOV_REG(R3, R2),                                                                   \
		LSH(R3, UNWIND_PAGE_SHIFT),                                                        \
		ADD_REG(R3, R1),                                                                   \
		JGE_REG(R7, R3, .other),                                                           \
		STX(DW, R6, OF_SEGMENT(base), R1),                                                 \
		STX(W, R6, OF_SEGMENT(npages), R2),                                                \
		LDX(W, R2, R8, OF_PART(n, index)),                                                 \
		STX(W, R6, OF_SEGMENT(index), R2),                                                 \
		LDX(W, R2, R8, OF_PART(n, shard)),                                                 \
		STX(W, R6, OF_SEGMENT(shard), R2),                                                 \
		LDX(W, R2, R8, OF_PART(n, rules)),                                                 \
		STX(W, R6, OF_SEGMENT(rules), R2),                                                 \
		JA(to),                                                                            \
		LABEL(.other),                                                                     \
	END

static const struct asm_insn vma_lines[] = {
	/*
	 * unwind_vma(state, address): writes state->segment and its start. Returns 0, or how the
	 * walk ends.
	 */
FUNC(unwind_vma),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	LDX(DW, R1, R6, VMA_CALLS),
	JGE(R1, UNWIND_VMA_CALLS, unknown),
	ADD(R1, 1),
	STX(DW, R6, VMA_CALLS, R1),
	ST(DW, R6, WINDOW_AT, UNWIND_NO_WINDOW),
	CALL(get_current_task_btf),
	READ_FIELD(WORD, R0, "task_struct", "mm"),
	LDX(DW, R1, R10, WORD),
	JEQ(R1, 0, unknown),
	STX(DW, R6, OF_VMA(mm), R1),
	READ_FIELD(WORD, R1, "mm_struct", "mm_mt.ma_root"),
	LDX(DW, R8, R10, WORD),
	ST(DW, R10, LEVEL, 0),
	ST(DW, R6, OF_VMA(level), 0),
	MOV_REG(R1, R8),
	AND(R1, NODE_IS_ROOT),
	JEQ(R1, 0, unknown), /* a single entry: no process has so few */
LABEL(next_level),
	WHEN(struct program_config, may_goto),
		MAY_GOTO(unknown),
	END,
	MOV_REG(R3, R8),
	AND(R3, -NODE_BYTES),
	MOV_REG(R1, R6),
	ADD(R1, NODE),
	MOV(R2, NODE_BYTES),
	CALL(probe_read_kernel),
	JNE(R0, 0, unknown),
	MOV_REG(R9, R6),
	MOV(R3, 0),
	MOV(R4, 1),
	COUNT_PIVOT(0),
	COUNT_PIVOT(1),
	COUNT_PIVOT(2),
	COUNT_PIVOT(3),
	COUNT_PIVOT(4),
	COUNT_PIVOT(5),
	COUNT_PIVOT(6),
	COUNT_PIVOT(7),
	COUNT_PIVOT(8),
	COUNT_PIVOT(9),
	COUNT_PIVOT(10),
	COUNT_PIVOT(11),
	COUNT_PIVOT(12),
	COUNT_PIVOT(13),
	COUNT_PIVOT(14),
	LSH(R3, 3),
	RSH(R8, NODE_TYPE_SHIFT),
	AND(R8, NODE_TYPE_MASK),
	JEQ(R8, NODE_ARANGE, arange),
	ADD_FIELD_OFFSET(R3, "maple_range_64", "slot"),
	JA(slot),
LABEL(arange),
	ADD_FIELD_OFFSET(R3, "maple_arange_64", "slot"),
LABEL(slot),
	AND(R3, NODE_BYTES - 8),
	ADD_REG(R9, R3),
	LDX(DW, R1, R9, NODE),
	JEQ(R1, 0, unknown),
	JLE(R8, NODE_LEAF, leaf),
	MOV_REG(R8, R1),
	/* What a map holds is new to the verifier each time: no round is another than the last. */
	WHEN(struct program_config, may_goto),
		LDX(DW, R1, R6, OF_VMA(level)),
		ADD(R1, 1),
		STX(DW, R6, OF_VMA(level), R1),
	END,
	UNLESS(struct program_config, may_goto),
		LDX(DW, R1, R10, LEVEL),
		ADD(R1, 1),
		STX(DW, R10, LEVEL, R1),
	END,
	JLT(R1, NODE_LEVELS, next_level),
	JA(unknown),

LABEL(leaf), /* R8 = what should be the vma */
	MOV_REG(R8, R1),
	READ_FIELD(WORD, R8, "vm_area_struct", "vm_mm"),
	LDX(DW, R1, R10, WORD),
	LDX(DW, R2, R6, OF_VMA(mm)),
	JNE_REG(R1, R2, unknown),
	READ_FIELD(WORD, R8, "vm_area_struct", "vm_start"),
	LDX(DW, R9, R10, WORD),
	JGT_REG(R9, R7, unknown),
	STX(DW, R6, OF_VMA(start), R9),
	READ_FIELD(WORD, R8, "vm_area_struct", "vm_end"),
	LDX(DW, R1, R10, WORD),
	JGE_REG(R7, R1, unknown),

	/* Memory without a file: what a JIT has made, mostly. */
	STX(DW, R6, OF_SEGMENT(end), R1),
	ST(W, R6, OF_SEGMENT(kind), UNWIND_BY_FP),
	LDX(DW, R1, R6, GENERATION),
	STX(W, R6, OF_SEGMENT(generation), R1),
	STX(DW, R6, RANGE_START, R9),
	READ_FIELD(WORD, R8, "vm_area_struct", "vm_file"),
	LDX(DW, R1, R10, WORD),
	JEQ(R1, 0, known),

	ST(DW, R10, KEY_DEV, 0),
	READ_FIELD(KEY_PGOFF, R8, "vm_area_struct", "vm_pgoff"),
	LDX(DW, R8, R10, WORD),
	READ_FIELD(WORD, R8, "file", "f_inode"),
	LDX(DW, R8, R10, WORD),
	READ_FIELD(KEY_INODE, R8, "inode", "i_ino"),
	READ_FIELD(KEY_SIZE, R8, "inode", "i_size"),
	LD_PARAM(R3, struct program_config, inode_changed),
	ADD_REG(R3, R8),
	FRAME_PTR(R1, KEY_CHANGED),
	MOV(R2, sizeof(uint32_t)),
	CALL(probe_read_kernel),
	READ_FIELD(WORD, R8, "inode", "i_sb"),
	LDX(DW, R8, R10, WORD),
	READ_FIELD(KEY_DEV, R8, "super_block", "s_dev"),
	MAP_LOOKUP(unwind_files, KEY),
	JEQ(R0, 0, new_file),
	MOV_REG(R8, R0),
	LDX(DW, R1, R8, offsetof(struct unwind_file, vaddr)),
	SUB_REG(R9, R1),
	TRY_PART(0, by_table),
	TRY_PART(1, by_table),
	TRY_PART(2, by_table),
	TRY_PART(3, by_table),
	/* Between its parts, or it has none: that is said of the one address. */
	STX(DW, R6, RANGE_START, R7),
	ADD(R7, 1),
	STX(DW, R6, OF_SEGMENT(end), R7),
	JA(known),
LABEL(by_table),
	ST(W, R6, OF_SEGMENT(kind), UNWIND_BY_TABLE),
	/* It may begin within the mapping, or end there. */
	LDX(DW, R1, R6, OF_SEGMENT(base)),
	LDX(DW, R2, R6, OF_VMA(start)),
	JLE_REG(R1, R2, begins),
	STX(DW, R6, RANGE_START, R1),
LABEL(begins),
	LDX(DW, R2, R6, OF_SEGMENT(end)),
	JGE_REG(R3, R2, known),
	STX(DW, R6, OF_SEGMENT(end), R3),
LABEL(known),
	MOV(R0, 0),
	EXIT(),
LABEL(new_file),
	ST(DW, R6, RANGE_START, -1),
LABEL(unknown),
	MOV(R0, UNWIND_NO_MAPPING),
	EXIT(),
};
/* clang-format on */

const struct asm_part rp_unwind_vma_part = { ASM_LINES(vma_lines),
					     ASM_FRAMES({ "unwind_vma", &vma_frame_layout }) };
