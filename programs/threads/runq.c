/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runq: how long do threads wait for a CPU?
 *
 * A thread is queued when it is woken, when it is born, and when it has to leave a CPU though it
 * could run on. It has waited when it is next.
 */
#include "runq.h"
#include "programs/shared/share.h"

static const struct asm_layout stats_layout =
	ASM_LAYOUT(struct runq_stats, (common, &rp_program_stats_layout), unknown, hists_full,
		   threads_full, backwards);
static const struct asm_layout thread_layout =
	ASM_LAYOUT(struct runq_thread, since, pid_tgid, waited);
static const struct asm_layout key_layout = ASM_LAYOUT(struct runq_key, cpu, process);
static const struct asm_layout hist_layout =
	ASM_LAYOUT(struct runq_hist, sum, not_least, greatest, slots, comm, payer);

const struct asm_map rp_runq_maps[RUNQ_MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_MAP(1), struct runq_stats, stats_layout),
	[RUNQ_MAP_THREADS] = { "threads", BPF_MAP_TYPE_HASH, 4, sizeof(struct runq_thread), 32768,
			       .value = &thread_layout },
	[RUNQ_MAP_GATE] = { "gate", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[RUNQ_MAP_HISTS] = { "hists", BPF_MAP_TYPE_HASH, sizeof(struct runq_key),
			     sizeof(struct runq_hist), 1024, .key = &key_layout,
			     .value = &hist_layout },
	/* What a new one starts with: it is too large for the stack. */
	[RUNQ_MAP_EMPTY] = { "empty", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct runq_hist), 1,
			     .value = &hist_layout },
	[RUNQ_MAP_SHARES] = SHARE_MAP(1),
};

_Static_assert(offsetof(struct runq_hist, slots) == offsetof(struct asm_hist, slots),
	       "HIST_ADD() writes it");

ASM_FRAME(runq_frame,
	(struct runq_thread, thread, THREAD, &thread_layout),
	(uint32_t, tid, TID));
/* The stack frame of runq_add. */
ASM_FRAME(add_frame,
	(struct runq_key, key, ADD_KEY, &key_layout),
	(key.cpu, KEY_CPU),
	(key.process, KEY_PROCESS));

enum {
	SINCE = offsetof(struct runq_thread, since),
	PID_TGID = offsetof(struct runq_thread, pid_tgid),
	WAITED = offsetof(struct runq_thread, waited)
};

/* clang-format off */
static const struct asm_insn add_lines[] = {
	/*
	 * runq_add(ns, process, task): a thread waited so long for this CPU. R0 = the histogram, 0:
	 * none. It is the task, which is not always the current one; classic, it is that.
	 */
FUNC(runq_add),
	MOV_REG(R7, R1),
	UNLESS(struct sched_config, classic),
		MOV_REG(R6, R3),
	END,
	ST(W, R10, KEY_PROCESS, 0),
	WHEN(struct sched_config, by_process),
		STX(W, R10, KEY_PROCESS, R2),
	END,
	ST(W, R10, KEY_CPU, 0),
	WHEN(struct sched_config, by_cpu),
		CALL(get_smp_processor_id),
		STX(W, R10, KEY_CPU, R0),
	END,
	MAP_LOOKUP(hists, KEY_CPU),
	JNE(R0, 0, there),
	WHEN(struct sched_config, by_process), /* anyone can have many */
		UNLESS(struct sched_config, classic),
			MOV_REG(R0, R6),
			SHARE_PAYER_OF(),
		END,
		WHEN(struct sched_config, classic),
			SHARE_PAYER(),
		END,
		MOV_REG(R6, R0),
		SHARE_TAKE(0, LD_PARAM(R2, struct sched_config, most_hists), full),
	END,
	LD_MAP(R1, hists),
	FRAME_PTR(R2, KEY_CPU),
	LD_MAP_VALUE(R3, empty, 0),
	MOV(R4, BPF_NOEXIST),
	CALL(map_update_elem),
	MAP_LOOKUP(hists, KEY_CPU),
	JEQ(R0, 0, full),
	WHEN(struct sched_config, by_process),
		STX(W, R0, offsetof(struct runq_hist, payer), R6),
	END,
LABEL(there),
	MOV_REG(R8, R0),
	HIST_ADD(R8, R7, RUNQ_HIST_BITS, RUNQ_HIST_SLOTS),
	MOV_REG(R0, R8),
	EXIT(),
LABEL(full),
	COUNT(stats, struct runq_stats, hists_full),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
static const struct asm_part add_part = { ASM_LINES(add_lines),
					  ASM_FRAMES({ "runq_add", &add_frame_layout }) };

/* clang-format off */
static const struct asm_insn runq_switch[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	CALL(ktime_get_ns),
	MOV_REG(R7, R0),

	/* The thread that leaves: R8 = since when it is queued, which is now if it could run on. */
	LD_SWITCH_STATE(R3, R9, R6, R1),
	LD_FIELD(R1, R9, "task_struct", "pid"),
	JEQ(R1, 0, comes), /* the idle task, on every CPU */
	STX(W, R10, TID, R1),
	JSET(R3, THREAD_DEAD, dead),
	MOV_REG(R8, R7),
	JEQ(R3, THREAD_RUNNABLE, still_queued),
	MOV(R8, 0),
LABEL(still_queued),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, new),
	STX(DW, R0, SINCE, R8),
	JA(comes),
LABEL(new),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, comes),
	STX(DW, R10, THREAD + SINCE, R8),
	LD_FIELD(R1, R9, "task_struct", "tgid"),
	LSH(R1, 32),
	LDX(W, R2, R10, TID),
	OR_REG(R1, R2),
	STX(DW, R10, THREAD + PID_TGID, R1),
	ST(DW, R10, THREAD + WAITED, 0),
	MAP_UPDATE(threads, TID, THREAD, BPF_ANY),
	JA(comes),
LABEL(dead),
	MAP_DELETE(threads, TID),

	/* The thread that comes. */
LABEL(comes),
	LDX(DW, R9, R6, 16),
	LD_FIELD(R1, R9, "task_struct", "pid"),
	JEQ(R1, 0, out),
	STX(W, R10, TID, R1),
	COUNT(stats, struct runq_stats, common.fired),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, stranger),
	LDX(DW, R1, R0, SINCE),
	JEQ(R1, 0, unknown),
	ST(DW, R0, SINCE, 0),
	SUB_REG(R7, R1),
	JSGE(R7, 0, forwards),
	COUNT(stats, struct runq_stats, backwards),
	MOV(R7, 0),
LABEL(forwards),

	MOV_REG(R1, R7),
	LD_FIELD(R2, R9, "task_struct", "tgid"),
	MOV_REG(R3, R9),
	CALL_FUNC(runq_add),
	WHEN(struct sched_config, by_process), /* an exec changes the name */
		JEQ(R0, 0, out),
		MOV_REG(R1, R0),
		ADD(R1, offsetof(struct runq_hist, comm)),
		MOV(R2, 16),
		LD_FIELD(R3, R9, "task_struct", "group_leader"),
		ADD_FIELD_OFFSET(R3, "task_struct", "comm"),
		CALL(probe_read_kernel),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(unknown),
	COUNT(stats, struct runq_stats, unknown),
	JA(out),
LABEL(stranger), /* queued before we looked; or not a target */
	WHEN(struct sched_config, common.filtering),
		COUNT(stats, struct runq_stats, common.filtered),
	END,
	UNLESS(struct sched_config, common.filtering),
		COUNT(stats, struct runq_stats, unknown),
	END,
	JA(out),

	INCLUDE(&add_part),
	INCLUDE(&rp_target_part),
};

/* sched_wakeup(struct task_struct *p), sched_wakeup_new(struct task_struct *p) */
static const struct asm_insn runq_wakeup[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LDX(DW, R6, R6, 0),
	LD_FIELD(R1, R6, "task_struct", "pid"),
	STX(W, R10, TID, R1),
	CALL(ktime_get_ns),
	MOV_REG(R7, R0),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, new),
	LDX(DW, R1, R0, SINCE),
	JNE(R1, 0, out),
	STX(DW, R0, SINCE, R7),
	JA(out),
LABEL(new),
	UNLESS(struct sched_config, common.filtering),
		STX(DW, R10, THREAD + SINCE, R7),
		LD_FIELD(R1, R6, "task_struct", "tgid"),
		LSH(R1, 32),
		LDX(W, R2, R10, TID),
		OR_REG(R1, R2),
		STX(DW, R10, THREAD + PID_TGID, R1),
		ST(DW, R10, THREAD + WAITED, 0),
		MAP_UPDATE(threads, TID, THREAD, BPF_ANY),
		JEQ(R0, 0, out),
		COUNT(stats, struct runq_stats, threads_full),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/*
 * For kernels without BTF. Of the thread that comes to a CPU only its id is known; so what it has
 * waited is kept until he leaves it, in his own context.
 */
static const struct asm_insn runq_switch_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	CALL(ktime_get_ns),
	MOV_REG(R7, R0),

	/* The thread that leaves. */
	LD_TP(R1, R6, "sched", "sched_switch", "prev_pid"),
	JEQ(R1, 0, comes), /* the idle task, on every CPU */
	STX(W, R10, TID, R1),
	CALL_FUNC(target_ids),
	JEQ(R0, -1, comes),
	MOV_REG(R9, R0),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, new),
	STX(DW, R0, PID_TGID, R9),
	LDX(DW, R8, R0, WAITED),
	JEQ(R8, 0, leaves),
	ST(DW, R0, WAITED, 0),
	COUNT(stats, struct runq_stats, common.fired),
	SUB(R8, 1),
	MOV_REG(R1, R8),
	MOV_REG(R2, R9),
	RSH(R2, 32),
	CALL_FUNC(runq_add),
	WHEN(struct sched_config, by_process),
		JEQ(R0, 0, leaves),
		MOV_REG(R1, R0),
		ADD(R1, offsetof(struct runq_hist, comm)),
		MOV(R2, 16),
		CALL(get_current_comm),
	END,
	JA(leaves),
LABEL(new),
	ST(DW, R10, THREAD + SINCE, 0),
	STX(DW, R10, THREAD + PID_TGID, R9),
	ST(DW, R10, THREAD + WAITED, 0),
	MAP_UPDATE(threads, TID, THREAD, BPF_ANY),
	JEQ(R0, 0, leaves),
	COUNT(stats, struct runq_stats, threads_full),
LABEL(leaves),

	/* He is queued at once if he could run on. */
	LD_CLASSIC_STATE(R8, R6),
	JEQ(R8, THREAD_DEAD, dead),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, comes),
	ST(DW, R0, SINCE, 0),
	JNE(R8, THREAD_RUNNABLE, comes),
	STX(DW, R0, SINCE, R7),
	JA(comes),
LABEL(dead),
	MAP_DELETE(threads, TID),

	/* The thread that comes. */
LABEL(comes),
	LD_TP(R1, R6, "sched", "sched_switch", "next_pid"),
	JEQ(R1, 0, out),
	STX(W, R10, TID, R1),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, stranger),
	LDX(DW, R1, R0, SINCE),
	JEQ(R1, 0, unknown),
	ST(DW, R0, SINCE, 0),
	SUB_REG(R7, R1),
	JSGE(R7, 0, forwards),
	MOV(R7, 0),
LABEL(forwards),
	ADD(R7, 1),
	STX(DW, R0, WAITED, R7),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

LABEL(stranger),
	WHEN(struct sched_config, common.filtering),
		COUNT(stats, struct runq_stats, common.fired),
		COUNT(stats, struct runq_stats, common.filtered),
		JA(out),
	END,
LABEL(unknown),
	COUNT(stats, struct runq_stats, common.fired),
	COUNT(stats, struct runq_stats, unknown),
	JA(out),

	INCLUDE(&add_part),
	INCLUDE(&rp_target_part),
};

/* sched_wakeup; of sched_wakeup_new the records are alike */
static const struct asm_insn runq_wakeup_classic[] = {
	MOV_REG(R6, R1),
	SCHED_GATE(out),
	LD_TP(R1, R6, "sched", "sched_wakeup", "pid"),
	STX(W, R10, TID, R1),
	CALL(ktime_get_ns),
	MOV_REG(R7, R0),
	MAP_LOOKUP(threads, TID),
	JEQ(R0, 0, new),
	LDX(DW, R1, R0, SINCE),
	JNE(R1, 0, out),
	STX(DW, R0, SINCE, R7),
	JA(out),
LABEL(new),
	UNLESS(struct sched_config, common.filtering),
		ZERO(THREAD, sizeof(struct runq_thread)),
		STX(DW, R10, THREAD + SINCE, R7),
		MAP_UPDATE(threads, TID, THREAD, BPF_ANY),
		JEQ(R0, 0, out),
		COUNT(stats, struct runq_stats, threads_full),
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct sched_config usual_config = {
	.state_argument = 1, .by_cpu = 1, .by_process = 1, .most_hists = 1024
};
static const struct sched_config classic_config = {
	.classic = 1, .by_cpu = 1, .by_process = 1, .most_hists = 1024
};

#define RUNQ_PROGRAM(role_, config_)                                                               \
	.role = (role_), RP_MAPS(rp_runq_maps, RUNQ_MAPS), RP_CONFIG(config_),                     \
	.code.frame = &runq_frame_layout

const struct rp_program rp_runq_programs[] = {
	{ RP_CODE("runq_wakeup", runq_wakeup), RP_ON_TP_BTF("sched_wakeup"),
	  RUNQ_PROGRAM(RUNQ_WAKEUP, usual_config), .summary = "notes when a thread is woken" },
	{ RP_CODE("runq_wakeup_tp", runq_wakeup_classic), RP_ON_TP("sched", "sched_wakeup"),
	  RUNQ_PROGRAM(RUNQ_WAKEUP, classic_config),
	  .summary = "without kernel BTF: notes when a thread is woken" },
	{ RP_CODE("runq_new", runq_wakeup), RP_ON_TP_BTF("sched_wakeup_new"),
	  RUNQ_PROGRAM(RUNQ_NEW, usual_config), .summary = "notes when a thread is born" },
	{ RP_CODE("runq_new_tp", runq_wakeup_classic), RP_ON_TP("sched", "sched_wakeup_new"),
	  RUNQ_PROGRAM(RUNQ_NEW, classic_config),
	  .summary = "without kernel BTF: notes when a thread is born" },
	{ RP_CODE("runq_switch", runq_switch), RP_ON_TP_BTF("sched_switch"),
	  RUNQ_PROGRAM(RUNQ_SWITCH, usual_config),
	  .summary = "measures how long threads wait for a CPU" },
	{ RP_CODE("runq_classic", runq_switch_classic), RP_ON_TP("sched", "sched_switch"),
	  RUNQ_PROGRAM(RUNQ_SWITCH, classic_config),
	  .summary = "without kernel BTF: measures how long threads wait for a CPU",
	  .instead = "no BTF tracepoints: classic ones; processes are named after the thread that "
		     "waited last" },
	RP_LIST_END,
};
