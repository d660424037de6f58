/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_growth: which code maps memory, and gives it back?
 *
 * A call of mmap, munmap, mremap or brk is noted when it begins, and weighed when it returns: by
 * how many pages the process has become larger (mm->total_vm). What the call was asked for would
 * not do: a mapping may replace another one, munmap may find nothing, brk may refuse without saying
 * so.
 *
 * If another thread maps at the same time, its pages are in the difference too. So no more is
 * counted than what the call itself can have done.
 */
#include "faults.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct mem_growth_stats, (common, &rp_program_stats_layout), failed, nothing,
		   unfinished, map_full, clamped);
static const struct asm_layout call_layout =
	ASM_LAYOUT(struct mem_growth_call, before, least, most);

const struct asm_map rp_mem_growth_maps[MEM_GROWTH_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(MEM_GROWTH_WEIGHTS), struct mem_growth_stats, stats_layout),
	[MEM_GROWTH_MAP_CALLS] = { "calls", BPF_MAP_TYPE_HASH, 4, sizeof(struct mem_growth_call),
				   16384, .value = &call_layout },
};

/* The stack frame of all of them. */
ASM_FRAME(growth_frame,
	(struct mem_growth_call, call, NOTED),
	(call.before, BEFORE),
	(call.least, LEAST),
	(call.most, MOST),
	(uint32_t, thread, THREAD));

/* clang-format off */
/* reg, in bytes, becomes so many whole pages, the last one begun. */
#define TO_PAGES(reg, t)                                                                           \
	SCOPE("TO_PAGES(" #reg ", " #t ")"),                                                       \
		LD_PARAM(t, struct mem_growth_config, page_bytes),                                 \
		SUB(t, 1),                                                                         \
		ADD_REG(reg, t),                                                                   \
		LD_PARAM(t, struct mem_growth_config, page_shift),                                 \
		RSH_REG(reg, t),                                                                   \
	END

/* ---- a call begins: R7 = the least, R8 = the most pages by which the process can change */

static const struct asm_insn note_lines[] = {
	/* note_call(R1 = least, R2 = most) */
FUNC(note_call),
	STX(DW, R10, LEAST, R1),
	STX(DW, R10, MOST, R2),
	COUNT(stats, struct mem_growth_stats, common.fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	READ_TID(THREAD),
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "mm.total_vm"),
	STX(DW, R10, BEFORE, R1),
	MAP_UPDATE(calls, THREAD, NOTED, BPF_NOEXIST),
	JEQ(R0, 0, out),
	JNE(R0, -EEXIST, map_full),
	COUNT(stats, struct mem_growth_stats, unfinished),
	MAP_UPDATE(calls, THREAD, NOTED, BPF_ANY),
	JEQ(R0, 0, out),
LABEL(map_full),
	COUNT(stats, struct mem_growth_stats, map_full),
	JA(out),
LABEL(filtered),
	COUNT(stats, struct mem_growth_stats, common.filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_target_part),
};
static const struct asm_part note_part = { ASM_LINES(note_lines),
					   ASM_FRAMES({ "note_call", &growth_frame_layout }) };

static const struct asm_insn mmap_lines[] = {
	LD_TP(R2, R1, "syscalls", "sys_enter_mmap", "len"),
	TO_PAGES(R2, R3),
	MOV(R1, 0),
	CALL_FUNC(note_call),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&note_part),
};

static const struct asm_insn munmap_lines[] = {
	LD_TP(R1, R1, "syscalls", "sys_enter_munmap", "len"),
	TO_PAGES(R1, R3),
	NEG(R1),
	MOV(R2, 0),
	CALL_FUNC(note_call),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&note_part),
};

static const struct asm_insn mremap_lines[] = {
	LD_TP(R2, R1, "syscalls", "sys_enter_mremap", "new_len"),
	TO_PAGES(R2, R3),
	LD_TP(R1, R1, "syscalls", "sys_enter_mremap", "old_len"),
	TO_PAGES(R1, R3),
	NEG(R1),
	CALL_FUNC(note_call),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&note_part),
};

/* brk names the end that is wanted; where it is, the process knows. brk(0) only asks. */
static const struct asm_insn brk_lines[] = {
	LD_TP(R6, R1, "syscalls", "sys_enter_brk", "brk"),
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "mm.brk"),
	MOV(R7, 0),
	MOV(R8, 0),
	JLT_REG(R6, R1, shrinks),
	MOV_REG(R8, R6),
	SUB_REG(R8, R1),
	TO_PAGES(R8, R3),
	JA(noted),
LABEL(shrinks),
	MOV_REG(R7, R1),
	SUB_REG(R7, R6),
	TO_PAGES(R7, R3),
	NEG(R7),
LABEL(noted),
	MOV_REG(R1, R7),
	MOV_REG(R2, R8),
	CALL_FUNC(note_call),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&note_part),
};

/* ---- its end */

static const struct asm_insn weigh_lines[] = {
	/* weigh_call(R1 = context, R2 = what the call returned) */
FUNC(weigh_call),
	MOV_REG(R6, R1),
	MOV_REG(R9, R2),
	READ_TID(THREAD),
	MAP_LOOKUP(calls, THREAD),
	JEQ(R0, 0, out), /* not asked for, or begun before we looked */
	LDX(DW, R7, R0, offsetof(struct mem_growth_call, before)),
	LDX(DW, R8, R0, offsetof(struct mem_growth_call, least)),
	LDX(DW, R1, R0, offsetof(struct mem_growth_call, most)),
	STX(DW, R10, MOST, R1),
	MAP_DELETE(calls, THREAD),
	JGT(R9, -4096, failed), /* -errno */

	/* R7 = the difference, within what the call can have done. */
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "mm.total_vm"),
	SUB_REG(R1, R7),
	MOV_REG(R7, R1),
	LDX(DW, R1, R10, MOST),
	JSGE_REG(R7, R8, not_less),
	MOV_REG(R7, R8),
	JA(clamped),
LABEL(not_less),
	JSLE_REG(R7, R1, weighed),
	MOV_REG(R7, R1),
LABEL(clamped),
	COUNT(stats, struct mem_growth_stats, clamped),
LABEL(weighed),
	JEQ(R7, 0, nothing),

	/* R8 = bytes that are new, R9 = bytes that are gone. */
	LD_PARAM(R1, struct mem_growth_config, page_shift),
	LSH_REG(R7, R1),
	MOV_REG(R8, R7),
	MOV(R9, 0),
	JSGT(R7, 0, grown),
	MOV_REG(R9, R7),
	NEG(R9),
	MOV(R8, 0),
LABEL(grown),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, gone),
	MOV_REG(R1, R6),
	MOV_REG(R2, R0),
	MOV(R3, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	ST(DW, R6, offsetof(struct stack_record, value[MEM_GROWTH_CALLS]), 1),
	STX(DW, R6, offsetof(struct stack_record, value[MEM_GROWTH_BYTES]), R8),
	STX(DW, R6, offsetof(struct stack_record, value[MEM_GROWTH_RETURNED]), R9),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, done),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 8 * MEM_GROWTH_CALLS, R1),
	ATOMIC_ADD(DW, R0, 8 * MEM_GROWTH_BYTES, R8),
	ATOMIC_ADD(DW, R0, 8 * MEM_GROWTH_RETURNED, R9),
LABEL(done),
	STACK_DONE(R6),
	JA(out),

LABEL(gone), /* it was asked for when the call began */
	COUNT(stats, struct mem_growth_stats, common.filtered),
	JA(out),
LABEL(failed),
	COUNT(stats, struct mem_growth_stats, failed),
	JA(out),
LABEL(nothing),
	COUNT(stats, struct mem_growth_stats, nothing),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
static const struct asm_part weigh_part = { ASM_LINES(weigh_lines),
					    ASM_FRAMES({ "weigh_call", &growth_frame_layout }) };

#define LEAVE(event)                                                                               \
	LD_TP(R2, R1, "syscalls", event, "ret"),                                                   \
	CALL_FUNC(weigh_call),                                                                     \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	INCLUDE(&weigh_part)
static const struct asm_insn mapped_lines[] = { LEAVE("sys_exit_mmap") };
static const struct asm_insn unmapped_lines[] = { LEAVE("sys_exit_munmap") };
static const struct asm_insn remapped_lines[] = { LEAVE("sys_exit_mremap") };
static const struct asm_insn broken_lines[] = { LEAVE("sys_exit_brk") };
/* clang-format on */

static const struct mem_growth_config usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.page_bytes = 4096,
	.page_shift = 12,
};

#define GROWTH_PROGRAM(event, role_)                                                               \
	RP_ON_TP("syscalls", event), .role = (role_),                                              \
				     RP_MAPS(rp_mem_growth_maps, MEM_GROWTH_MAPS),                 \
				     RP_CONFIG(usual_config)

const struct rp_program rp_mem_growth_programs[] = {
	{ RP_CODE("mem_mmap", mmap_lines), GROWTH_PROGRAM("sys_enter_mmap", 1 << 0),
	  .summary = "notes that memory is about to be mapped" },
	{ RP_CODE("mem_mmap_ret", mapped_lines), GROWTH_PROGRAM("sys_exit_mmap", 1 << 1),
	  .ends = true, .summary = "counts what a mapping changed" },
	{ RP_CODE("mem_munmap", munmap_lines), GROWTH_PROGRAM("sys_enter_munmap", 1 << 2),
	  .summary = "notes that memory is about to be unmapped" },
	{ RP_CODE("mem_munmap_ret", unmapped_lines), GROWTH_PROGRAM("sys_exit_munmap", 1 << 3),
	  .ends = true, .summary = "counts what an unmapping changed" },
	{ RP_CODE("mem_mremap", mremap_lines), GROWTH_PROGRAM("sys_enter_mremap", 1 << 4),
	  .summary = "notes that a mapping is about to change its size" },
	{ RP_CODE("mem_mremap_ret", remapped_lines), GROWTH_PROGRAM("sys_exit_mremap", 1 << 5),
	  .ends = true, .summary = "counts what another size of a mapping changed" },
	{ RP_CODE("mem_brk", brk_lines), GROWTH_PROGRAM("sys_enter_brk", 1 << 6),
	  .summary = "notes that the heap is about to change its size" },
	{ RP_CODE("mem_brk_ret", broken_lines), GROWTH_PROGRAM("sys_exit_brk", 1 << 7),
	  .ends = true, .summary = "counts what another end of the heap changed" },
	RP_LIST_END,
};
