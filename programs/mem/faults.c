/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_faults: which code makes a process grow, page by page?
 *
 * Memory becomes real when it is touched for the first time: by a page fault. That happens once for
 * every page, and not for every malloc, so it costs a program that allocates and frees next to
 * nothing.
 *
 *	begins -> nothing yet -> [a page is allocated -> its bytes]... -> ends well: a fault
 *
 * A fault may take no page at all (the file is in memory already), one, or a huge one; it may be
 * for a copy of a page that was shared. What it took is known by the allocations of the same thread
 * between its begin and its end.
 */
#include "faults.h"

static const struct asm_layout thread_layout = ASM_LAYOUT(struct mem_faults_thread, bytes, inside);

/* Threads that have ended make room for others by themselves. */
const struct asm_map rp_mem_faults_maps[MEM_FAULTS_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(MEM_FAULTS_WEIGHTS), struct program_stats,
		       rp_program_stats_layout),
	[MEM_FAULTS_MAP_FAULTING] = { "faulting", BPF_MAP_TYPE_LRU_HASH, 4,
				      sizeof(struct mem_faults_thread), 16384,
				      .value = &thread_layout },
};

enum {
	BYTES = offsetof(struct mem_faults_thread, bytes),
	INSIDE = offsetof(struct mem_faults_thread, inside)
};

/* The stack frame of all of them. */
ASM_FRAME(faults_frame,
	(struct mem_faults_thread, begun, BEGUN), /* what a thread begins with */
	(begun.inside, BEGUN_INSIDE),
	(uint32_t, thread, THREAD));

/* clang-format off */

/* ---- begin */

#define BEGIN_FAULT                                                                                \
	READ_TID(THREAD),                                                                          \
	MAP_LOOKUP(faulting, THREAD),                                                              \
	JNE(R0, 0, known),                                                                         \
	/* Its first fault. */                                                                     \
	WHEN(struct mem_faults_config, common.filtering),                                          \
		CALL_FUNC(target_ids),                                                             \
		JEQ(R0, -1, out),                                                                  \
	END,                                                                                       \
	ST(DW, R10, BEGUN, 0),                                                                     \
	ST(DW, R10, BEGUN_INSIDE, 1),                                                              \
	MAP_UPDATE(faulting, THREAD, BEGUN, BPF_ANY),                                              \
	JA(out),                                                                                   \
	LABEL(known),                                                                              \
	ST(DW, R0, BYTES, 0),                                                                      \
	ST(DW, R0, INSIDE, 1),                                                                     \
	LABEL(out),                                                                                \
	MOV(R0, 0),                                                                                \
	EXIT(),                                                                                    \
	WHEN(struct mem_faults_config, common.filtering),                                          \
		INCLUDE(&rp_target_part),                                                          \
	END

static const struct asm_insn begin_lines[] = { BEGIN_FAULT };

/*
 * In the kernel none is begun by what reads memory that may not be there and waits for nothing: so
 * do the walks of other profilers, also between what a thread's fault takes and its end, which
 * would find nothing taken.
 */
static const struct asm_insn begin_kernel[] = {
	CALL(get_current_task_btf),
	LD_FIELD(R1, R0, "task_struct", "pagefault_disabled"),
	JNE(R1, 0, out),
	BEGIN_FAULT,
};

/* ---- a page: R7 = its order, R8 = its type of migration */

/*
 * Only pages that can be moved: those of users and of files. The rest is the kernel's, page tables
 * above all. The thread is the only one that changes its entry.
 */
#define COUNT_PAGE                                                                                 \
	JNE32(R8, 1, out),                                                                         \
	CALL(get_current_pid_tgid),                                                                \
	STX(W, R10, THREAD, R0),                                                                   \
	MAP_LOOKUP(faulting, THREAD),                                                              \
	JEQ(R0, 0, out),                                                                           \
	LDX(DW, R1, R0, INSIDE),                                                                   \
	JEQ(R1, 0, out),                                                                           \
	LD_PARAM(R1, struct mem_faults_config, page_bytes),                                        \
	AND(R7, 63),                                                                               \
	LSH_REG(R1, R7),                                                                           \
	LDX(DW, R2, R0, BYTES),                                                                    \
	ADD_REG(R2, R1),                                                                           \
	STX(DW, R0, BYTES, R2),                                                                    \
	LABEL(out),                                                                                \
	MOV(R0, 0),                                                                                \
	EXIT()

/* mm_page_alloc(page, order, gfp_flags, migratetype), the context; 8 bytes each. */
static const struct asm_insn page_lines[] = {
	LDX(DW, R2, R1, 0),
	JEQ(R2, 0, out), /* there was none */
	LDX(DW, R7, R1, 8),
	LDX(DW, R8, R1, 24),
	COUNT_PAGE,
};

static const struct asm_insn page_classic[] = {
	LD_TP(R2, R1, "kmem", "mm_page_alloc", "pfn"),
	JEQ(R2, -1, out),
	LD_TP(R7, R1, "kmem", "mm_page_alloc", "order"),
	LD_TP(R8, R1, "kmem", "mm_page_alloc", "migratetype"),
	COUNT_PAGE,
};

/* ---- end */

static const struct asm_insn end_lines[] = {
	MOV_REG(R6, R1),
	COUNT(stats, struct program_stats, fired),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, filtered),
	MOV_REG(R7, R0),

	/* R8 = what it took. */
	READ_TID(THREAD),
	MAP_LOOKUP(faulting, THREAD),
	MOV(R8, 0),
	JEQ(R0, 0, taken), /* it began before we looked */
	LDX(DW, R1, R0, INSIDE),
	JEQ(R1, 0, taken),
	LDX(DW, R8, R0, BYTES),
	ST(DW, R0, INSIDE, 0),
LABEL(taken),

	MOV_REG(R1, R6),
	MOV_REG(R2, R7),
	MOV(R3, 0),
	CALL_FUNC(stack_take),
	JEQ(R0, 0, out),
	MOV_REG(R6, R0),
	LD_PARAM(R9, struct mem_faults_config, major),
	ST(DW, R6, offsetof(struct stack_record, value[MEM_FAULTS]), 1),
	STX(DW, R6, offsetof(struct stack_record, value[MEM_FAULTS_BYTES]), R8),
	STX(DW, R6, offsetof(struct stack_record, value[MEM_FAULTS_MAJOR]), R9),
	MOV_REG(R1, R6),
	CALL_FUNC(stack_value),
	JEQ(R0, 0, done),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R0, 8 * MEM_FAULTS, R1),
	ATOMIC_ADD(DW, R0, 8 * MEM_FAULTS_BYTES, R8),
	WHEN(struct mem_faults_config, major),
		ATOMIC_ADD(DW, R0, 8 * MEM_FAULTS_MAJOR, R9),
	END,
LABEL(done),
	STACK_DONE(R6),
	JA(out),

LABEL(filtered),
	COUNT(stats, struct program_stats, filtered),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_target_part),
	INCLUDE(&rp_stack_part),
};
/* clang-format on */

static const struct mem_faults_config usual_config = {
	.common = PROGRAM_USUAL_CONFIG,
	.page_bytes = 4096,
	.major = 1,
};

#define FAULT_PROGRAM(role_)                                                                       \
	.role = (role_), RP_MAPS(rp_mem_faults_maps, MEM_FAULTS_MAPS), RP_CONFIG(usual_config),    \
	.code.frame = &faults_frame_layout

/* Where a fault begins x86 has tracepoints, elsewhere it is the software event page-faults. */
const struct rp_program rp_mem_faults_programs[] = {
	{ RP_CODE("mem_fault_page", page_lines), RP_ON_TP_BTF("mm_page_alloc"),
	  FAULT_PROGRAM(MEM_FAULT_PAGE), RP_NEEDS(RP_NEED_ARGUMENT("mm_page_alloc", 0, "page")),
	  .summary = "adds up the pages that a fault takes" },
	{ RP_CODE("fault_page_tp", page_classic), RP_ON_TP("kmem", "mm_page_alloc"),
	  FAULT_PROGRAM(MEM_FAULT_PAGE),
	  .summary = "without kernel BTF: adds up the pages that a fault takes" },
	{ RP_CODE("mem_fault_user", begin_lines), RP_ON_TP_BTF("page_fault_user"),
	  FAULT_PROGRAM(MEM_FAULT_BEGIN), RP_NEEDS(RP_NEED_HOOK),
	  .summary = "notes that user code begins to fault" },
	{ RP_CODE("mem_fault_begin", begin_lines), RP_ON_PERF_EVENT, FAULT_PROGRAM(MEM_FAULT_BEGIN),
	  .summary = "notes that a fault begins, where there are no tracepoints of that",
	  .instead = "no tracepoints of page faults here: they begin with an event" },
	{ RP_CODE("mem_fault_kern", begin_kernel), RP_ON_TP_BTF("page_fault_kernel"),
	  FAULT_PROGRAM(MEM_FAULT_BEGIN_KERNEL),
	  RP_NEEDS(RP_NEED_HOOK, RP_NEED_FEATURE(RP_HAS_TASK_BTF)), .optional = true,
	  .summary = "notes that the kernel begins to fault at a user's address" },
	{ RP_CODE("fault_kern_old", begin_lines), RP_ON_TP_BTF("page_fault_kernel"),
	  FAULT_PROGRAM(MEM_FAULT_BEGIN_KERNEL), RP_NEEDS(RP_NEED_HOOK), .optional = true,
	  .summary = "notes that the kernel begins to fault, before Linux 5.11" },
	{ RP_CODE("mem_fault_end", end_lines), RP_ON_PERF_EVENT, FAULT_PROGRAM(MEM_FAULT_END),
	  .summary = "counts a fault, and what it took" },
	RP_LIST_END,
};
