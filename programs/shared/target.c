/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target: is the task at hand one that was asked for?
 *
 * A filter that is off is not even assembled: WHEN drops its lines, so looking at the whole machine
 * costs one call.
 */
#include "stack.h"

/* Its stack frame. */
static const struct asm_layout ids_layout = ASM_LAYOUT(struct bpf_pidns_info, pid, tgid);
enum { CHANGES = offsetof(struct unwind_mappings, changes) };
ASM_FRAME(target_frame,
	/* { thread, process } as our pid namespace counts */
	(struct bpf_pidns_info, ns_ids, NS_IDS, &ids_layout),
	(ns_ids.tgid, NS_TGID),
	(ns_ids.pid, NS_PID),
	(char[16], comm, COMM),
	(uint64_t, id, ID), /* a pid, a tid: key of the filter maps */
	(uint32_t, first, FIRST)); /* 0: key of the first element of scratch */

/* clang-format off */
static const struct asm_insn target_lines[] = {
	/* target_ids(): the current task as process << 32 | thread; -1 if it was not asked for. */
FUNC(target_ids),
	CALL(get_current_pid_tgid),
	MOV_REG(R6, R0),

	/* In a container our pids are not the machine's: a task without one of ours is filtered. */
	WHEN(struct program_config, ns_inode),
		LD_PARAM(R1, struct program_config, ns_device),
		LD_PARAM(R2, struct program_config, ns_inode),
		FRAME_PTR(R3, NS_IDS),
		MOV(R4, sizeof(struct bpf_pidns_info)),
		CALL(get_ns_current_pid_tgid),
		JNE(R0, 0, not_asked_for),
		LDX(W, R6, R10, NS_TGID),
		LSH(R6, 32),
		LDX(W, R1, R10, NS_PID),
		OR_REG(R6, R1),
	END,

	WHEN(struct program_config, by_pid),
		MOV_REG(R1, R6),
		RSH(R1, 32),
		STX(W, R10, ID, R1),
		/* The last task found by this CPU is still there, unless a process has changed. */
		WHEN(struct program_config, eh),
			LD_MAP_VALUE(R7, unwind_mappings, CHANGES),
			LDX(W, R7, R7, 0),
			LSH(R1, 32),
			OR_REG(R7, R1),
			ST(W, R10, FIRST, 0),
			MAP_LOOKUP(scratch, FIRST),
			JEQ(R0, 0, not_asked_for), /* never */
			MOV_REG(R8, R0),
			LDX(DW, R1, R8, offsetof(struct stack_scratch, asked)),
			JEQ_REG(R1, R7, asked_for),
		END,
		FILTER_SET(pids, ID, not_asked_for),
		WHEN(struct program_config, eh),
			STX(DW, R8, offsetof(struct stack_scratch, asked), R7),
LABEL(asked_for),
		END,
	END,
	WHEN(struct program_config, by_tid),
		STX(W, R10, ID, R6),
		FILTER_SET(tids, ID, not_asked_for),
	END,
	FILTER_CGROUP(struct program_config, cgroup_id, cgroup_level, not_asked_for),
	WHEN(struct program_config, comm.mask[0]),
		READ_COMM(COMM),
		FILTER_COMM(struct program_config, comm, R10, COMM, not_asked_for),
	END,
	MOV_REG(R0, R6),
	EXIT(),

	WHEN(struct program_config, filtering),
LABEL(not_asked_for),
		MOV(R0, -1),
		EXIT(),
	END,
};
/* clang-format on */
const struct asm_part rp_target_part = { ASM_LINES(target_lines),
					 ASM_FRAMES({ "target_ids", &target_frame_layout }) };
