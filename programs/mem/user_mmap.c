/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_user_mmap: memory that a program has from the kernel itself, by mmap, mremap and brk.
 *
 *	enter	is it the program's own call?		-> the map threads; the ring ranges
 *	leave	what has it mapped, which code?	-> the ring ranges
 *
 * An allocator's own calls are no allocations of the program: a thread inside malloc is let alone.
 * What a call takes away may be a part of a block, or some blocks and parts of others, so they are
 * not on the map blocks, which knows where a block begins and no more: user space keeps a ledger of
 * them (cli/mem/ranges.c), and all that is needed here is to tell it in the right order.
 */
#include <linux/mman.h>

#include "user.h"

/* Offsets in what a thread is doing. */
enum {
	SP = offsetof(struct mem_thread, sp),
	IDS = offsetof(struct mem_thread, ids),
	CALL_KIND = offsetof(struct mem_thread, map_call),
	ANNOUNCED = offsetof(struct mem_thread, map_announced),
	START = offsetof(struct mem_thread, map_start),
	BYTES = offsetof(struct mem_thread, map_bytes)
};
enum {
	RECORD_HASH = offsetof(struct stack_record, hash),
	RECORD_VALUE = offsetof(struct stack_record, value)
};

/* ---- what they have in common */

ASM_FRAME(tell_frame,
	(struct mem_range_event, event, EVENT),
	(event.time, EVENT_TIME),
	(event.space, EVENT_SPACE),
	(event.hash, EVENT_HASH),
	(event.start, EVENT_START),
	(event.bytes, EVENT_BYTES),
	(event.thread, EVENT_THREAD),
	(event.what, EVENT_WHAT),
	(event.call, EVENT_CALL));

/* clang-format off */
static const struct asm_insn tell_lines[] = {
	/*
	 * range_tell(what, call, start, bytes, hash): sent to user space. R0 = 0; else the ring is
	 * full.
	 */
FUNC(range_tell),
	STX(H, R10, EVENT_WHAT, R1),
	STX(H, R10, EVENT_CALL, R2),
	STX(DW, R10, EVENT_START, R3),
	STX(DW, R10, EVENT_BYTES, R4),
	STX(DW, R10, EVENT_HASH, R5),
	READ_TID(EVENT_THREAD),
	CALL(ktime_get_ns),
	STX(DW, R10, EVENT_TIME, R0),
	CALL_FUNC(mem_space),
	STX(DW, R10, EVENT_SPACE, R0),
	LD_MAP(R1, ranges),
	FRAME_PTR(R2, EVENT),
	MOV(R3, sizeof(struct mem_range_event)),
	MOV(R4, 0),
	CALL(ringbuf_output),
	EXIT(),
};
/* clang-format on */
static const struct asm_part tell_part = { ASM_LINES(tell_lines),
					   ASM_FRAMES({ "range_tell", &tell_frame_layout }) };

/* ---- the begin of a call */

ASM_FRAME(begin_frame,
	/* what is written down of a thread that was never seen before */
	(struct mem_thread, thread, NEW_THREAD),
	(uint32_t, tid, TID));

/* clang-format off */
/* reg, in bytes, becomes that of whole pages, the last one begun. */
#define TO_WHOLE_PAGES(reg, t)                                                                     \
	SCOPE("TO_WHOLE_PAGES(" #reg ", " #t ")"),                                                 \
		LD_PARAM(t, struct mem_user_config, page_bytes),                                   \
		SUB(t, 1),                                                                         \
		ADD_REG(reg, t),                                                                   \
		XOR(t, -1),                                                                        \
		AND_REG(reg, t),                                                                   \
	END

static const struct asm_insn begin_lines[] = {
	/*
	 * range_begin(): the thread's entry, if it begins a system call of the program's own; else
	 * 0.
	 */
FUNC(range_begin),
	COUNT(stats, struct mem_user_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R7, R0),
	READ_TID(TID),
	MAP_LOOKUP(threads, TID),
	JNE(R0, 0, known),
	ZERO(NEW_THREAD, sizeof(struct mem_thread)),
	MAP_UPDATE(threads, TID, NEW_THREAD, BPF_NOEXIST),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, threads_full),
LABEL(known),
	LDX(DW, R1, R0, SP),
	JNE(R1, 0, inside),
	STX(DW, R0, IDS, R7),
	LDX(W, R1, R0, CALL_KIND),
	JEQ(R1, 0, begun),
	ST(W, R0, CALL_KIND, 0),
	JEQ(R1, MEM_MUNMAP, begun), /* which was sent all the same */
	MOV_REG(R7, R0),
	COUNT(stats, struct mem_user_stats, left),
	MOV_REG(R0, R7),
LABEL(begun),
	EXIT(),

LABEL(inside),
	COUNT(stats, struct mem_user_stats, inside),
	JA(not_ours),
LABEL(threads_full),
	COUNT(stats, struct mem_user_stats, threads_full),
	JA(not_ours),
LABEL(filtered),
	COUNT(stats, struct mem_user_stats, common.filtered),
LABEL(not_ours),
	MOV(R0, 0),
	EXIT(),

	/*
	 * range_note(thread, call, start, bytes): it is in this call, which is to map so much. What
	 * goes away must have been sent before; if the ring was full nothing is noted.
	 */
FUNC(range_note),
	STX(W, R1, CALL_KIND, R2),
	STX(DW, R1, START, R3),
	STX(DW, R1, BYTES, R4),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part begin_part = { ASM_LINES(begin_lines),
					    ASM_FRAMES({ "range_begin", &begin_frame_layout }) };

/* What the programs end with. */
#define BEGIN_ENDS                                                                                 \
	LABEL(no_room),                                                                            \
	COUNT(stats, struct mem_user_stats, common.ring_full),                                     \
	LABEL(out),                                                                                \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&begin_part),                                                                      \
	INCLUDE(&tell_part),                                                                       \
	INCLUDE(&rp_target_part),                                                                  \
	INCLUDE(&rp_mem_space_part)

static const struct asm_insn mmap_lines[] = {
	MOV_REG(R6, R1),
	CALL_FUNC(range_begin),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	LD_TP(R8, R6, "syscalls", "sys_enter_mmap", "flags"),
	LD_TP(R9, R6, "syscalls", "sys_enter_mmap", "len"),
	/* Huge pages, of the size whose logarithm the flags say, or of the usual one. */
	MOV_REG(R1, R8),
	AND(R1, MAP_ANONYMOUS | MAP_HUGETLB),
	JNE(R1, MAP_ANONYMOUS | MAP_HUGETLB, not_huge),
	LD_PARAM(R1, struct mem_user_config, huge_bytes),
	MOV_REG(R2, R8),
	RSH(R2, MAP_HUGE_SHIFT),
	AND(R2, MAP_HUGE_MASK),
	JEQ(R2, 0, usual),
	MOV(R1, 1),
	LSH_REG(R1, R2),
LABEL(usual),
	SUB(R1, 1),
	ADD_REG(R9, R1),
	XOR(R1, -1),
	AND_REG(R9, R1),
LABEL(not_huge),
	TO_WHOLE_PAGES(R9, R1),
	ST(W, R7, ANNOUNCED, 0),

	/* Something may have to make room for it. */
	MOV_REG(R1, R8),
	AND(R1, MAP_FIXED | MAP_FIXED_NOREPLACE),
	JNE(R1, MAP_FIXED, maps),
	ST(W, R7, ANNOUNCED, 1),
	LD_TP(R3, R6, "syscalls", "sys_enter_mmap", "addr"),
	MOV(R1, MEM_RANGE_GOES),
	MOV(R2, MEM_MMAP),
	MOV_REG(R4, R9),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JNE(R0, 0, no_room),
LABEL(maps),
	MOV(R2, MEM_MMAP),
	JSET(R8, MAP_ANONYMOUS, anonymous),
	MOV(R2, MEM_MMAP_FILE),
LABEL(anonymous),
	MOV_REG(R1, R7),
	MOV(R3, 0),
	MOV_REG(R4, R9),
	CALL_FUNC(range_note),
	JA(out),
	BEGIN_ENDS,
};

static const struct asm_insn munmap_lines[] = {
	MOV_REG(R6, R1),
	CALL_FUNC(range_begin),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	ST(W, R7, ANNOUNCED, 1),
	LD_TP(R3, R6, "syscalls", "sys_enter_munmap", "addr"),
	LD_TP(R4, R6, "syscalls", "sys_enter_munmap", "len"),
	TO_WHOLE_PAGES(R4, R1),
	MOV(R1, MEM_RANGE_GOES),
	MOV(R2, MEM_MUNMAP),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JNE(R0, 0, no_room),
	MOV_REG(R1, R7),
	MOV(R2, MEM_MUNMAP),
	MOV(R3, 0),
	MOV(R4, 0),
	CALL_FUNC(range_note),
	JA(out),
	BEGIN_ENDS,
};

/* The old block gives way to a new one, as with realloc, wherever that comes to lie. */
static const struct asm_insn mremap_lines[] = {
	MOV_REG(R6, R1),
	CALL_FUNC(range_begin),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	LD_TP(R8, R6, "syscalls", "sys_enter_mremap", "flags"),
	LD_TP(R9, R6, "syscalls", "sys_enter_mremap", "new_len"),
	TO_WHOLE_PAGES(R9, R1),
	ST(W, R7, ANNOUNCED, 0),

	/*
	 * Shared memory of 0 bytes is mapped once more; with MREMAP_DONTUNMAP the old addresses
	 * stay too.
	 */
	LD_TP(R4, R6, "syscalls", "sys_enter_mremap", "old_len"),
	TO_WHOLE_PAGES(R4, R1),
	JEQ(R4, 0, old_stays),
	JSET(R8, MREMAP_DONTUNMAP, old_stays),
	LD_TP(R3, R6, "syscalls", "sys_enter_mremap", "addr"),
	ST(W, R7, ANNOUNCED, 1),
	MOV(R1, MEM_RANGE_GOES),
	MOV(R2, MEM_MREMAP),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JNE(R0, 0, no_room),
LABEL(old_stays),

	/* And what lies where it is to go. */
	JSET(R8, MREMAP_FIXED, to_fixed),
	JA(noted),
LABEL(to_fixed),
	LD_TP(R3, R6, "syscalls", "sys_enter_mremap", "new_addr"),
	LDX(W, R1, R7, ANNOUNCED),
	ADD(R1, MEM_RANGE_GOES), /* GOES, or GOES_TOO */
	ST(W, R7, ANNOUNCED, 1),
	MOV(R2, MEM_MREMAP),
	MOV_REG(R4, R9),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JNE(R0, 0, no_room),
LABEL(noted),
	MOV_REG(R1, R7),
	MOV(R2, MEM_MREMAP),
	MOV(R3, 0),
	MOV_REG(R4, R9),
	CALL_FUNC(range_note),
	JA(out),
	BEGIN_ENDS,
};

/*
 * brk names the end that is wanted; where it is, the process knows. An end before the heap's
 * beginning only asks.
 */
static const struct asm_insn brk_lines[] = {
	MOV_REG(R6, R1),
	CALL_FUNC(range_begin),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	CALL(get_current_task_btf),
	LD_FIELD(R8, R0, "task_struct", "mm.brk"),
	LD_FIELD(R1, R0, "task_struct", "mm.start_brk"),
	LD_TP(R9, R6, "syscalls", "sys_enter_brk", "brk"),
	JLT_REG(R9, R1, unchanged),
	JEQ_REG(R9, R8, unchanged),
	ST(W, R7, ANNOUNCED, 0),
	JGT_REG(R9, R8, noted),
	ST(W, R7, ANNOUNCED, 1),
	MOV(R1, MEM_RANGE_GOES),
	MOV(R2, MEM_BRK),
	MOV_REG(R3, R9),
	MOV_REG(R4, R8),
	SUB_REG(R4, R9),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JNE(R0, 0, no_room),
	MOV_REG(R8, R9),
LABEL(noted),
	MOV_REG(R1, R7),
	MOV(R2, MEM_BRK),
	MOV_REG(R3, R8),
	MOV_REG(R4, R9),
	SUB_REG(R4, R8),
	CALL_FUNC(range_note),
	JA(out),
LABEL(unchanged),
	COUNT(stats, struct mem_user_stats, unchanged),
	JA(out),
	BEGIN_ENDS,
};

/* ---- its end */

ASM_FRAME(end_frame,
	(uint64_t, context, CONTEXT),
	(uint64_t, result, RESULT),
	(uint32_t, tid, END_TID));

static const struct asm_insn end_lines[] = {
	/* range_end(context, what the call returned) */
FUNC(range_end),
	STX(DW, R10, CONTEXT, R1),
	STX(DW, R10, RESULT, R2),
	READ_TID(END_TID),
	MAP_LOOKUP(threads, END_TID),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),

	/* R8 = the call, if we know of it. */
	LDX(W, R8, R7, CALL_KIND),
	JEQ(R8, 0, out),
	ST(W, R7, CALL_KIND, 0),
	LDX(DW, R2, R10, RESULT),
	JEQ(R8, MEM_BRK, heap),
	JGT(R2, -4096, failed), /* -errno */
	JEQ(R8, MEM_MUNMAP, out), /* what is gone has been sent */
	JA(mapped),

	/* brk says where the end is now. */
LABEL(heap),
	LDX(DW, R1, R7, START),
	LDX(DW, R3, R7, BYTES),
	ADD_REG(R3, R1),
	JNE_REG(R2, R3, failed),
	STX(DW, R10, RESULT, R1),
	JEQ_REG(R1, R3, out),

	/* R9 = the hash of the stack that wanted it. */
LABEL(mapped),
	MOV(R9, 0),
	JEQ(R8, MEM_MMAP_FILE, tell),
	LDX(DW, R1, R10, CONTEXT),
	LDX(DW, R2, R7, IDS),
	MOV(R3, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	ST(DW, R6, RECORD_VALUE + 8 * MEM_ALLOC_OBJECTS, 0),
	ST(DW, R6, RECORD_VALUE + 8 * MEM_ALLOC_SPACE, 0),
	ST(DW, R6, RECORD_VALUE + 8 * MEM_GONE_OBJECTS, 0),
	ST(DW, R6, RECORD_VALUE + 8 * MEM_GONE_SPACE, 0),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	LDX(DW, R9, R6, RECORD_HASH),
	STACK_DONE(R6),
	JEQ(R9, 0, out), /* it was lost */
LABEL(tell),
	MOV(R1, MEM_RANGE_COMES),
	MOV_REG(R2, R8),
	LDX(DW, R3, R10, RESULT),
	LDX(DW, R4, R7, BYTES),
	MOV_REG(R5, R9),
	CALL_FUNC(range_tell),
	JEQ(R0, 0, out),
	COUNT(stats, struct mem_user_stats, common.ring_full),
	JA(out),

LABEL(failed),
	LDX(W, R1, R7, ANNOUNCED),
	JEQ(R1, 0, nothing_told),
	MOV(R1, MEM_RANGE_STAYS),
	MOV_REG(R2, R8),
	MOV(R3, 0),
	MOV(R4, 0),
	MOV(R5, 0),
	CALL_FUNC(range_tell),
	JEQ(R0, 0, out),
	COUNT(stats, struct mem_user_stats, restore_lost),
	JA(out),
LABEL(nothing_told),
	COUNT(stats, struct mem_user_stats, failed),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&tell_part),
	INCLUDE(&rp_mem_space_part),
	INCLUDE(&rp_stack_part),
};
static const struct asm_part end_part = { ASM_LINES(end_lines),
					  ASM_FRAMES({ "range_end", &end_frame_layout }) };

#define END_OF(event)                                                                              \
	LD_TP(R2, R1, "syscalls", event, "ret"),                                                   \
	CALL_FUNC(range_end),                                                                      \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&end_part)
static const struct asm_insn mapped_lines[] = { END_OF("sys_exit_mmap") };
static const struct asm_insn unmapped_lines[] = { END_OF("sys_exit_munmap") };
static const struct asm_insn remapped_lines[] = { END_OF("sys_exit_mremap") };
static const struct asm_insn broken_lines[] = { END_OF("sys_exit_brk") };
/* clang-format on */

#define MAP_PROGRAM(event, role_)                                                                  \
	RP_ON_TP("syscalls", event), .role = (role_), RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS),    \
				     RP_CONFIG(rp_mem_user_usual_config)

/* What gives back before what maps: no range is put down whose end is not seen. */
const struct rp_program rp_mem_map_programs[] = {
	{ RP_CODE("mem_unmap", munmap_lines), MAP_PROGRAM("sys_enter_munmap", 1 << 0),
	  .summary = "tells of what it is about to unmap" },
	{ RP_CODE("mem_unmap_ret", unmapped_lines), MAP_PROGRAM("sys_exit_munmap", 1 << 1),
	  .ends = true, .summary = "tells if that has failed" },
	{ RP_CODE("mem_heap", brk_lines), MAP_PROGRAM("sys_enter_brk", 1 << 2),
	  .summary = "notes that a program itself moves the end of its heap" },
	{ RP_CODE("mem_heap_ret", broken_lines), MAP_PROGRAM("sys_exit_brk", 1 << 3), .ends = true,
	  .summary = "tells of what has grown" },
	{ RP_CODE("mem_remap", mremap_lines), MAP_PROGRAM("sys_enter_mremap", 1 << 4),
	  .summary = "tells of a mapping that is about to change its size" },
	{ RP_CODE("mem_remap_ret", remapped_lines), MAP_PROGRAM("sys_exit_mremap", 1 << 5),
	  .ends = true, .summary = "tells where it is now" },
	{ RP_CODE("mem_map", mmap_lines), MAP_PROGRAM("sys_enter_mmap", 1 << 6),
	  .summary = "notes that a program maps memory for itself" },
	{ RP_CODE("mem_map_ret", mapped_lines), MAP_PROGRAM("sys_exit_mmap", 1 << 7), .ends = true,
	  .summary = "tells of what it has mapped" },
	RP_LIST_END,
};
