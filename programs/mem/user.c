/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_user: which code allocates in user space, and what has not been freed?
 *
 *	entry	which call is it, how much does it want?	-> the map threads
 *	return	the block that came back, which code?	-> the maps blocks and counts
 *	free	the block that is given back		-> off the map blocks and the counts
 *
 * A free is taken at its entry and an allocation at its return, so a block is on the map only while
 * no other can have its address: no order of threads and CPUs makes one block out of two. realloc
 * does both: it takes the old block off at its entry, and puts it back if it has failed.
 *
 * The programs run in the context of the thread that calls, and may be preempted; what a thread is
 * doing is its own, and records of stacks are marked while in use (stack.c).
 */
#include <linux/bpf_perf_event.h>

#include "programs/shared/freed.h"
#include "user.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct mem_user_stats, common, inside, nothing, failed, passed, unknown, freed,
		   traced, threads_full, left, untracked, untracked_bytes, replaced, unsubtracted,
		   throwing, unchanged, restore_lost, in_use, peak, peak_time, no_site);
static const struct asm_layout key_layout = ASM_LAYOUT(struct mem_block_key, space, address);
static const struct asm_layout block_layout = ASM_LAYOUT(struct mem_block, size, hash, time);
static const struct asm_layout thread_layout = ASM_LAYOUT(
	struct mem_thread, sp, ids, size, pointer, old, result, space, hash, latest, newest, call,
	function, had_old, passed, map_call, map_announced, map_start, map_bytes);
static const struct asm_layout site_layout =
	ASM_LAYOUT(struct mem_site, objects, bytes, peak, peak_objects, peak_bytes, space, ended);
static const struct asm_layout sizes_layout =
	ASM_LAYOUT(struct mem_sizes, sum, not_least, greatest, slots);

const struct asm_map rp_mem_user_maps[MEM_USER_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(MEM_WEIGHTS), struct mem_user_stats, stats_layout),
	[MEM_MAP_THREADS] = { "threads", BPF_MAP_TYPE_HASH, 4, sizeof(struct mem_thread), 16384,
			      .value = &thread_layout },
	[MEM_MAP_BLOCKS] = { "blocks", BPF_MAP_TYPE_HASH, sizeof(struct mem_block_key),
			     sizeof(struct mem_block), 1 << 20, .key = &key_layout,
			     .value = &block_layout },
	[MEM_MAP_SIZES] = { "sizes", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct mem_sizes),
			    MEM_CALLS, .value = &sizes_layout },
	[MEM_MAP_TRACE] = { "trace", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20 },
	[MEM_MAP_LEFT] = { "left", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1 },
	[MEM_MAP_DRAWS] = { "draws", BPF_MAP_TYPE_ARRAY, 4, 8 * MEM_DRAWS, 1 },
	[MEM_MAP_RANGES] = { "ranges", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 21 },
	[MEM_MAP_SITES] = { "sites", BPF_MAP_TYPE_HASH, 8, sizeof(struct mem_site), 1 << 16,
			    .value = &site_layout },
};

/* ---- what they have in common */

/* The stack frame of mem_subtract. */
ASM_FRAME(subtract_frame,
	(uint64_t, hash, SUB_HASH),
	(uint64_t, size, SUB_SIZE),
	(uint64_t, time, SUB_TIME),
	(struct stack_record, record, SUB_RECORD),
	(record.hash, SUB_RECORD_HASH),
	(record.pid_tgid, SUB_RECORD_IDS),
	(record.value[MEM_GONE_OBJECTS], SUB_RECORD_OBJECTS),
	(record.value[MEM_GONE_SPACE], SUB_RECORD_SPACE));

/* clang-format off */
static const struct asm_insn space_lines[] = {
	/*
	 * mem_space(): a number for the memory that the current task sees: a child's copy of a
	 * block is another block than its parent's, and so is what the next program of a process
	 * has at the same address. Of a child that works in its parent's memory (vfork), it is the
	 * parent's: the number is that of the memory's owner.
	 */
FUNC(mem_space),
	WHEN(struct mem_user_config, by_owner),
		CALL(get_current_task_btf),
		LD_FIELD(R3, R0, "task_struct", "mm.owner"),
		JEQ(R3, 0, ended), /* that process has ended */
		LD_FIELD(R0, R3, "task_struct", "tgid"),
		LD_IMM64(R1, GOLDEN_RATIO_64),
		MUL_REG(R0, R1),
		LD_FIELD(R1, R3, "task_struct", "self_exec_id"),
		LD_FIELD(R2, R3, "task_struct", "group_leader.start_time"),
		ADD_REG(R2, R1),
		XOR_REG(R0, R2),
		EXIT(),
LABEL(ended),
	END,
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	LD_IMM64(R1, GOLDEN_RATIO_64),
	MUL_REG(R0, R1),
	WHEN(struct mem_user_config, common.identity),
		MOV_REG(R6, R0),
		CALL(get_current_task_btf),
		LD_FIELD(R1, R0, "task_struct", "self_exec_id"),
		LD_FIELD(R2, R0, "task_struct", "group_leader.start_time"),
		MOV_REG(R0, R6),
		ADD_REG(R2, R1),
		XOR_REG(R0, R2),
	END,
	EXIT(),

};

static const struct asm_insn subtract_lines[] = {
	/* mem_subtract(size, hash, time): a block of this stack is no longer in use. */
FUNC(mem_subtract),
	STX(DW, R10, SUB_SIZE, R1),
	STX(DW, R10, SUB_HASH, R2),
	STX(DW, R10, SUB_TIME, R3),
	WHEN(struct mem_user_config, peak),
		NEG(R1),
		LD_MAP_VALUE(R2, stats, offsetof(struct mem_user_stats, in_use)),
		ATOMIC_ADD(DW, R2, 0, R1),
	END,
	WHEN(struct mem_user_config, peak_sites),
		CALL_FUNC(mem_space),
		LDX(DW, R1, R10, SUB_HASH),
		MOV_REG(R2, R0),
		MOV(R3, -1),
		LDX(DW, R4, R10, SUB_SIZE),
		NEG(R4),
		CALL_FUNC(mem_use),
	END,
	WHEN(struct mem_user_config, lifetimes),
		LDX(DW, R2, R10, SUB_TIME),
		JEQ(R2, 0, not_known),
		LDX(DW, R1, R10, SUB_SIZE),
		CALL_FUNC(mem_lived),
LABEL(not_known),
	END,
	UNLESS(struct mem_user_config, temporary),
		MAP_LOOKUP(counts, SUB_HASH),
		JEQ(R0, 0, uncounted),
		MOV(R1, 1),
		ATOMIC_ADD(DW, R0, 8 * MEM_GONE_OBJECTS, R1),
		LDX(DW, R1, R10, SUB_SIZE),
		ATOMIC_ADD(DW, R0, 8 * MEM_GONE_SPACE, R1),
		JA(out),

		/* The map is full: the values go through the ring, in a record without frames. */
LABEL(uncounted),
		ZERO(SUB_RECORD, sizeof(struct stack_record)),
		LDX(DW, R1, R10, SUB_HASH),
		STX(DW, R10, SUB_RECORD_HASH, R1),
		ST(DW, R10, SUB_RECORD_OBJECTS, 1),
		LDX(DW, R1, R10, SUB_SIZE),
		STX(DW, R10, SUB_RECORD_SPACE, R1),
		CALL(get_current_pid_tgid),
		STX(DW, R10, SUB_RECORD_IDS, R0),
		LD_MAP(R1, events),
		FRAME_PTR(R2, SUB_RECORD),
		MOV(R3, sizeof(struct stack_record)),
		MOV(R4, 0),
		CALL(ringbuf_output),
		JEQ(R0, 0, out),
		COUNT(stats, struct mem_user_stats, unsubtracted),
LABEL(out),
	END,
	MOV(R0, 0),
	EXIT(),

	WHEN(struct mem_user_config, peak_sites),
		INCLUDE(&rp_mem_use_part),
		INCLUDE(&rp_mem_site_part),
	END,
	WHEN(struct mem_user_config, lifetimes),
		INCLUDE(&rp_mem_lived_part),
	END,
};
/* clang-format on */
const struct asm_part rp_mem_space_part = { ASM_LINES(space_lines) };
const struct asm_part rp_mem_subtract_part = {
	ASM_LINES(subtract_lines), ASM_FRAMES({ "mem_subtract", &subtract_frame_layout })
};

/* ---- programs */

/* clang-format off */
/* mem_leave, and what it needs. */
#define LEAVE                                                                                      \
	INCLUDE(&rp_mem_returned_part),                                                            \
	WHEN(struct mem_user_config, follow),                                                      \
		INCLUDE(&rp_mem_leave_part),                                                       \
		INCLUDE(&rp_mem_subtract_part),                                                    \
		INCLUDE(&rp_stack_part),                                                           \
	END,                                                                                       \
	WHEN(struct mem_user_config, sizes),                                                       \
		INCLUDE(&rp_mem_sizes_part),                                                       \
	END,                                                                                       \
	WHEN(struct mem_user_config, trace),                                                       \
		INCLUDE(&rp_mem_trace_part),                                                       \
		INCLUDE(&rp_mem_emit_part),                                                        \
	END

static const struct asm_insn session_lines[] = {
	/* At the return the instruction pointer is the caller's already. */
	MOV_REG(R6, R1),
	CALL(get_func_ip),
	LD_IP(R2, R6),
	MOV_REG(R1, R6),
	JNE_REG(R0, R2, at_return),
	CALL_FUNC(mem_enter),
	EXIT(),
LABEL(at_return),
	CALL_FUNC(mem_leave),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_mem_enter_part),
	LEAVE,
	WHEN(struct mem_user_config, follow),
		INCLUDE(&rp_mem_space_part),
	END,
	WHEN(struct mem_user_config, sample),
		INCLUDE(&rp_mem_draw_part),
	END,
};
static const struct asm_insn enter_lines[] = {
	CALL_FUNC(mem_enter),
	MOV(R0, 0), /* without sessions the first kernels take 1 for the wish to be detached */
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_mem_enter_part),
	WHEN(struct mem_user_config, follow),
		INCLUDE(&rp_mem_space_part),
	END,
	WHEN(struct mem_user_config, sample),
		INCLUDE(&rp_mem_draw_part),
	END,
};
static const struct asm_insn leave_lines[] = {
	CALL_FUNC(mem_leave),
	EXIT(),

	LEAVE,
	WHEN(struct mem_user_config, follow),
		INCLUDE(&rp_mem_space_part),
	END,
};
/* clang-format on */

/* clang-format off */
static const struct asm_insn idle_lines[] = {
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

/* ---- the end of a thread */

ASM_FRAME(exit_frame, (uint32_t, tid, TID));

/* clang-format off */
static const struct asm_insn forget_lines[] = {
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, out),
	LDX(DW, R1, R0, offsetof(struct mem_thread, sp)),
	LDX(W, R2, R0, offsetof(struct mem_thread, map_call)),
	OR_REG(R1, R2),
	JEQ(R1, 0, idle),
	COUNT(stats, struct mem_user_stats, left),
LABEL(idle),
	MAP_DELETE(threads, TID),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_part forget_part = { ASM_LINES(forget_lines) };

/* It runs in the thread that ends, so the context is of no interest. */
static const struct asm_insn thread_exit[] = {
	READ_TID(TID),
	INCLUDE(&forget_part),
};
static const struct asm_insn freed_lines[] = {
	READ_FREED(TID),
	INCLUDE(&forget_part),
};
static const struct asm_insn freed_classic[] = {
	READ_FREED_TP(TID),
	INCLUDE(&forget_part),
};
/* clang-format on */

const struct mem_user_config rp_mem_user_usual_config = { .common = PROGRAM_USUAL_CONFIG,
							  .common.probe = 1,
							  .follow = 1,
							  .peak = 1,
							  .largest_new = 1ull << 34,
							  .page_bytes = 4096,
							  .huge_bytes = 2 << 20 };

#define MEM_PROGRAM(role_) .role = (role_), RP_MAPS(rp_mem_user_maps, MEM_USER_MAPS)

const struct rp_program rp_mem_user_programs[] = {
	{ RP_CODE("mem_session", session_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_CALLED),
	  RP_CONFIG(rp_mem_user_usual_config), RP_NEEDS(RP_NEED_FEATURE(RP_HAS_UPROBE_SESSION)),
	  .summary = "counts allocations, at the entry and the return of malloc" },
	{ RP_CODE("mem_enter", enter_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_ENTERED),
	  RP_CONFIG(rp_mem_user_usual_config),
	  .summary = "notes the entry of malloc, before Linux 6.13" },
	{ RP_CODE("mem_leave", leave_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_LEFT),
	  RP_CONFIG(rp_mem_user_usual_config),
	  .summary = "counts what malloc returned, before Linux 6.13" },
	{ RP_CODE("mem_idle", idle_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_IDLES),
	  .summary = "does nothing, to see what a probe costs" },
	{ RP_CODE("mem_thread_exit", thread_exit), RP_ON_TP_BTF("sched_process_exit"),
	  MEM_PROGRAM(MEM_THREAD_ENDS), .code.frame = &exit_frame_layout,
	  .summary = "forgets what a thread was doing when it ends" },
	{ RP_CODE("mem_exit_tp", thread_exit), RP_ON_TP("sched", "sched_process_exit"),
	  MEM_PROGRAM(MEM_THREAD_ENDS), .code.frame = &exit_frame_layout,
	  .summary = "without kernel BTF: forgets what a thread was doing" },
	{ RP_CODE("mem_freed", freed_lines), ON_FREED, MEM_PROGRAM(MEM_THREAD_FREED),
	  .code.frame = &exit_frame_layout, .summary = "forgets a thread that is freed" },
	{ RP_CODE("mem_freed_tp", freed_classic), ON_FREED_TP, MEM_PROGRAM(MEM_THREAD_FREED),
	  .code.frame = &exit_frame_layout,
	  .summary = "without kernel BTF: forgets a thread that is freed" },
	{ RP_CODE("mem_peak_call", session_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_PEAK_CALLED),
	  RP_CONFIG(rp_mem_peak_config), RP_NEEDS(RP_NEED_FEATURE(RP_HAS_UPROBE_SESSION)),
	  .summary = "counts allocations, and what is in use at the moment of highest use" },
	{ RP_CODE("mem_peak_leave", leave_lines), RP_ON_UPROBE, MEM_PROGRAM(MEM_PEAK_LEFT),
	  RP_CONFIG(rp_mem_peak_config), RP_NEEDS(RP_NEED_FEATURE(RP_HAS_PERF_LINK)),
	  .summary = "does that at the return of malloc, before Linux 6.13" },
	RP_LIST_END,
};
