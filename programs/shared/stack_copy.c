/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_copy: a stack that no table is known for is sent as it is.
 *
 * A process of a tenth of a second is half over before the tables of its files are made. They are
 * there a moment later: then its first stacks are walked too, in user space (record/rewalk.c), if
 * somebody has kept them. So are rules of code that says nothing of itself, once they are computed.
 * A stack ends where the kernel has put what the program was started with, which stays where it is;
 * that of another thread, with the thread's own data, to which its thread pointer leads. Where
 * neither is above the stack pointer, at the first page that is not there.
 */
#include "unwind_step.h"
#include "stack_frame.h"

enum {
	COPY_TAG = offsetof(struct stack_copy, tag),
	COPY_OF = offsetof(struct stack_copy, of),
	COPY_SP = offsetof(struct stack_copy, sp),
	COPY_BASE = offsetof(struct stack_copy, base),
	COPY_BUSY = offsetof(struct stack_copy, busy),
	COPY_INNER = offsetof(struct stack_copy, inner),
	COPY_OUTER = offsetof(struct stack_copy, outer),
	COPY_LEFT = offsetof(struct stack_copy, left),
	COPY_REGS = offsetof(struct stack_copy, regs),
	COPY_BYTES = offsetof(struct stack_copy, bytes),
	INNER_PAGES = STACK_COPY_BYTES / STACK_COPY_PAGE + 1, /* it may begin within one */

	OUTER_PAGES = STACK_COPY_OUTER / STACK_COPY_PAGE,
	COPY_PAGE_SHIFT = 12,
	HIGHEST = 1 << 26 /* no stack is */
};

/* The stack frame of stack_copy; from the element on it is handed to those that copy pages. */
ASM_FRAME(copy_frame,
	(uint64_t, element, ELEMENT),
	(uint64_t, at, COPY_AT),	/* where the next page is read */
	(uint64_t, end, COPY_END),	/* the last is before so many bytes */
	(uint64_t, depth, COPY_DEPTH),	/* bytes from sp to base; 0: not known */
	(uint64_t, word, COPY_WORD),
	(uint64_t, left, COPY_LEFT_AT), /* the element's word */
	(uint32_t, number, COPY_KEY));

/* clang-format off */
/* dst = bytes from R9 to the end of its page. */
#define LEFT_OF_PAGE(dst)                                                                          \
	MOV_REG(R3, R9),                                                                           \
	AND(R3, STACK_COPY_PAGE - 1),                                                              \
	MOV(dst, STACK_COPY_PAGE),                                                                 \
	SUB_REG(dst, R3)
/*
 * On to the label if what COPY_WORD holds may be the end of the stack whose pointer is R9. What the
 * process was started with is behind it and is not read.
 */
#define IS_BASE(yes)                                                                               \
	LDX(DW, R1, R10, COPY_WORD),                                                               \
	STX(DW, R7, COPY_BASE, R1),                                                                \
	SUB_REG(R1, R9),                                                                           \
	JLT(R1, HIGHEST, yes)

static const struct asm_insn copy_lines[] = {
FUNC(stack_copy),
	MOV_REG(R6, R1),
	MOV_REG(R9, R2),
	CALL(get_smp_processor_id),
	LD_PARAM(R1, struct program_config, copies),
	SUB(R1, 1),
	AND_REG(R0, R1),
	STX(W, R10, COPY_KEY, R0),
	MAP_LOOKUP(copies, COPY_KEY),
	JEQ(R0, 0, none),
	MOV_REG(R7, R0),
	MOV_REG(R1, R7),
	JEQ(R9, STACK_COPY_TABLE, which_known),
	ADD(R1, 4 * STACK_COPY_RULE),
LABEL(which_known),
	ADD(R1, COPY_LEFT),
	STX(DW, R10, COPY_LEFT_AT, R1),
	LDX(W, R1, R1, 0),
	JEQ(R1, 0, none),
	LD_MAP(R1, events),
	MOV(R2, BPF_RB_AVAIL_DATA),
	CALL(ringbuf_query),
	LD_PARAM(R1, struct program_config, ring_mark),
	MUL(R1, 3),
	JGT_REG(R0, R1, none), /* a quarter of the ring is for those that can do without */
	MOV(R1, 1),
	ATOMIC_ADD(W, R7, COPY_BUSY, R1),
	LDX(W, R1, R7, COPY_BUSY),
	JNE(R1, 1, give_back),

	LD_IMM64(R1, STACK_COPY_TAG),
	STX(DW, R7, COPY_TAG, R1),
	LDX(DW, R1, R6, HASH),
	STX(DW, R7, COPY_OF, R1),
	MOV_REG(R1, R7),
	ADD(R1, COPY_REGS),
	MOV(R2, UNWIND_REGS_BYTES),
	MOV_REG(R3, R6),
	ADD(R3, WALK_REGS),
	CALL(probe_read_kernel),
	MOV_REG(R1, R6),
	ADD(R1, WALK_REGS),
	LD_SP(R9, R1),
	STX(DW, R7, COPY_SP, R9),

	CALL(get_current_task_btf),
	MOV_REG(R8, R0),
	READ_FIELD(COPY_WORD, R8, "task_struct", "mm"),
	LDX(DW, R1, R10, COPY_WORD),
	READ_FIELD(COPY_WORD, R1, "mm_struct", "start_stack"),
	IS_BASE(base_known),
#ifdef MACHINE_THREAD_POINTER
	READ_FIELD(COPY_WORD, R8, "task_struct", MACHINE_THREAD_POINTER),
	IS_BASE(base_known),
#endif
	MOV(R1, 0),
LABEL(base_known),
	STX(DW, R10, COPY_DEPTH, R1),
	JEQ(R1, 0, whole_inner),
	JLE(R1, STACK_COPY_BYTES, inner_known),
LABEL(whole_inner),
	MOV(R1, STACK_COPY_INNER),
LABEL(inner_known),
	STX(DW, R10, COPY_END, R1),

	STX(DW, R10, ELEMENT, R7),
	STX(DW, R10, COPY_AT, R9),
	MOV(R1, INNER_PAGES),
	LD_FUNC(R2, stack_copy_inner),
	FRAME_PTR(R3, ELEMENT),
	MOV(R4, 0),
	CALL(loop),
	LDX(DW, R8, R10, COPY_AT),
	LDX(DW, R1, R7, COPY_SP),
	SUB_REG(R8, R1),
	LDX(DW, R1, R10, COPY_END),
	JLE_REG(R8, R1, inner_size),
	MOV_REG(R8, R1),
LABEL(inner_size),
	STX(W, R7, COPY_INNER, R8),
	ST(W, R7, COPY_OUTER, 0),
	LDX(DW, R1, R10, COPY_DEPTH),
	JLE(R1, STACK_COPY_BYTES, copied),
	/* From the beginning of a page on: of one that is not there, and a part of the next,
	 * nothing could be read. */
	LDX(DW, R1, R7, COPY_BASE),
	NEG(R1),
	AND(R1, STACK_COPY_PAGE - 1),
	MOV(R8, STACK_COPY_OUTER),
	SUB_REG(R8, R1),
	STX(W, R7, COPY_OUTER, R8),
	ADD(R8, STACK_COPY_INNER),
	MOV(R1, OUTER_PAGES),
	LD_FUNC(R2, stack_copy_outer),
	FRAME_PTR(R3, ELEMENT),
	MOV(R4, 0),
	CALL(loop),

LABEL(copied), /* R8 bytes */
	JEQ(R8, 0, give_back),
	JGT(R8, STACK_COPY_BYTES, give_back), /* never */
	LDX(DW, R2, R10, COPY_LEFT_AT),
	LDX(W, R1, R2, 0),
	SUB(R1, 1),
	STX(W, R2, 0, R1),
	LD_MAP(R1, events),
	MOV_REG(R2, R7),
	MOV_REG(R3, R8),
	ADD(R3, COPY_BYTES),
	MOV(R4, BPF_RB_NO_WAKEUP),
	CALL(ringbuf_output),
	MOV_REG(R8, R0),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, COPY_BUSY, R1),
	MOV_REG(R0, R8),
	EXIT(),
LABEL(give_back),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, COPY_BUSY, R1),
LABEL(none),
	MOV(R0, 1),
	EXIT(),

	/*
	 * stack_copy_inner(index, ELEMENT): one page, or what there is of it. Such as was never
	 * written is not there, and another one behind it is.
	 */
FUNC(stack_copy_inner),
	MOV_REG(R6, R2),
	LDX(DW, R7, R6, 0),
	LDX(DW, R9, R6, COPY_AT - ELEMENT),
	LEFT_OF_PAGE(R2),
	LDX(DW, R1, R7, COPY_SP),
	MOV_REG(R3, R9),
	SUB_REG(R3, R1),
	LDX(DW, R1, R6, COPY_END - ELEMENT),
	JGE_REG(R3, R1, no_more),
	JGE(R3, STACK_COPY_BYTES, no_more), /* never */
	SUB_REG(R1, R3),
	JGE(R1, STACK_COPY_PAGE, page),
	JGE_REG(R1, R2, page),
	MOV_REG(R2, R1),
LABEL(page),
	MOV_REG(R1, R7),
	ADD_REG(R1, R3),
	ADD(R1, COPY_BYTES),
	MOV_REG(R3, R9),
	CALL(probe_read_user), /* which clears what it cannot read */
	JEQ(R0, 0, was_there),
	LDX(DW, R1, R6, COPY_DEPTH - ELEMENT),
	JEQ(R1, 0, no_more),
LABEL(was_there),
	LEFT_OF_PAGE(R1),
	ADD_REG(R9, R1),
	STX(DW, R6, COPY_AT - ELEMENT, R9),
	MOV(R0, 0),
	EXIT(),
LABEL(no_more),
	MOV(R0, 1),
	EXIT(),

	/* stack_copy_outer(index, ELEMENT): that page of those before the base. */
FUNC(stack_copy_outer),
	JGE(R1, OUTER_PAGES, done), /* never */
	LDX(DW, R7, R2, 0),
	LSH(R1, COPY_PAGE_SHIFT),
	LDX(W, R2, R7, COPY_OUTER),
	LDX(DW, R3, R7, COPY_BASE),
	SUB_REG(R3, R2),
	ADD_REG(R3, R1),
	SUB_REG(R2, R1),
	ADD_REG(R1, R7),
	ADD(R1, COPY_BYTES + STACK_COPY_INNER),
	JLE(R2, STACK_COPY_PAGE, page),
	MOV(R2, STACK_COPY_PAGE),
LABEL(page),
	CALL(probe_read_user),
LABEL(done),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
_Static_assert(STACK_COPY_PAGE == 1 << COPY_PAGE_SHIFT, "the program shifts");

const struct asm_part rp_stack_copy_part = { ASM_LINES(copy_lines),
					     ASM_FRAMES({ "stack_copy", &copy_frame_layout }) };
