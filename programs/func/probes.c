/* SPDX-License-Identifier: BSD-2-Clause */
/* func: the programs at functions of programs. */
#include <linux/bpf_perf_event.h>

#include "func.h"
#include "base/machine.h"

ASM_FRAME(call_frame, (uint64_t, room, ROOM));

/* clang-format off */
/* thread and sp of the call that the registers at R6 are of. */
#define LD_CALLER(thread, sp, out)                                                                 \
	SCOPE("LD_CALLER(" #thread ", " #sp ", " #out ")"),                                        \
		UNLESS(struct func_config, kernel),                                                \
			LD_CALL(thread, sp, R6, ROOM, struct func_config, probe, out),             \
			WHEN(struct func_config, probe.go), /* others may have that address */     \
				CALL(get_current_pid_tgid),                                        \
				RSH(R0, 32),                                                       \
				LSH(R0, 42),                                                       \
				XOR_REG(thread, R0),                                               \
			END,                                                                       \
		END,                                                                               \
		WHEN(struct func_config, kernel),                                                  \
			FUNC_THREAD(thread),                                                       \
			MOV(sp, -1),                                                               \
		END,                                                                               \
	END

#define KEEP_ARG(n)                                                                                \
	LD_ARG(R1, R6, (n) + 1), STX(DW, R8, offsetof(struct func_call, args) + 8 * (n), R1)

/* A call begins: its arguments are in the registers at R6. R7 to R9 are lost. */
#define ENTER_CALL(out)                                                                            \
	SCOPE("ENTER_CALL(" #out ")"),                                                             \
		FUNC_GATE(out),                                                                    \
		LD_CALLER(R7, R8, out),                                                            \
		LD_PROBE_ID(R3, R6, struct func_config, probe),                                    \
		MOV_REG(R1, R6),                                                                   \
		MOV_REG(R2, R8),                                                                   \
		MOV_REG(R4, R7),                                                                   \
		CALL_FUNC(func_enter),                                                             \
		JEQ(R0, 0, out),                                                                   \
		MOV_REG(R8, R0),                                                                   \
		WHEN(struct func_config, args),                                                    \
			KEEP_ARG(0), KEEP_ARG(1), KEEP_ARG(2),                                     \
			KEEP_ARG(3), KEEP_ARG(4), KEEP_ARG(5),                                     \
		END,                                                                               \
		FUNC_BEGIN(R8, R7),                                                                \
	END

/* R7 = the first page of the thread of the call that ends, R8 = its stack pointer. */
#define FIND_THREAD(out)                                                                           \
	SCOPE("FIND_THREAD(" #out ")"),                                                            \
		CALL(ktime_get_ns),                                                                \
		MOV_REG(R9, R0),                                                                   \
		FUNC_GATE(out),                                                                    \
		LD_CALLER(R7, R8, out),                                                            \
		MOV_REG(R1, R7),                                                                   \
		CALL_FUNC(func_thread),                                                            \
		JEQ(R0, 0, .unknown),                                                              \
		MOV_REG(R7, R0),                                                                   \
		STX(DW, R7, offsetof(struct func_page, now), R9),                                  \
		JA(.found),                                                                        \
		LABEL(.unknown),                                                                   \
		COUNT(stats, struct func_stats, no_entry),                                         \
		JA(out),                                                                           \
		LABEL(.found),                                                                     \
	END

/* A call of the function in R3 ends. */
#define LEAVE_CALL                                                                                 \
	MOV_REG(R1, R6),                                                                           \
	MOV_REG(R2, R8),                                                                           \
	LD_RET(R4, R6),                                                                            \
	MOV_REG(R5, R7),                                                                           \
	CALL_FUNC(func_leave)

static const struct asm_insn session_lines[] = {
	/* At the return the instruction pointer is the caller's already. */
	MOV_REG(R6, R1),
	CALL(get_func_ip),
	LD_IP(R2, R6),
	JNE_REG(R0, R2, at_return),
	ENTER_CALL(not),
	MOV(R0, 0),
	EXIT(),
LABEL(not), /* its return is of no interest */
	MOV(R0, 1),
	EXIT(),

LABEL(at_return),
	FIND_THREAD(out),
	SUB(R8, RETURN_SLOT),
	LD_PROBE_ID(R3, R6, struct func_config, probe),
	LEAVE_CALL,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	FUNC_ENTER_PARTS,
	FUNC_LEAVE_PARTS,
	FUNC_BOTH_PARTS,
	WHEN(struct func_config, send),
		INCLUDE(&rp_func_send_part),
	END,
};

static const struct asm_insn enter_lines[] = {
	MOV_REG(R6, R1),
	ENTER_CALL(out),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	FUNC_ENTER_PARTS,
	FUNC_ENTER_BOTH_PARTS,
};

static const struct asm_insn leave_lines[] = {
	MOV_REG(R6, R1),
	FIND_THREAD(out),
	LD_PROBE_ID(R3, R6, struct func_config, probe),
	LEAVE_CALL,
	/* Who has jumped to this function ends with it, if its own returns cannot be seen. */
	WHEN(struct func_config, at_returns),
		JEQ(R0, 0, out),
		MOV_REG(R3, R0),
		SUB(R3, 1),
		LEAVE_CALL,
		JEQ(R0, 0, out),
		MOV_REG(R3, R0),
		SUB(R3, 1),
		LEAVE_CALL,
	END,
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	FUNC_LEAVE_PARTS,
	FUNC_BOTH_PARTS,
	WHEN(struct func_config, send),
		INCLUDE(&rp_func_send_part),
	END,
};

static const struct asm_insn count_lines[] = {
	MOV_REG(R6, R1),
	FUNC_GATE(out),
	LD_PROBE_ID(R1, R6, struct func_config, probe),
	CALL_FUNC(func_count),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	INCLUDE(&rp_func_count_part),
	INCLUDE(&rp_target_part),
	INCLUDE(&rp_func_sum_part),
};
/* clang-format on */

const struct func_config rp_func_usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .common.probe = 1,
						  .slot_bytes = FUNC_SHORT_CALL,
						  .most_depth = FUNC_DEPTH,
						  .knows_task = 1,
						  .sums = 1 };

#define FUNC_PROGRAM(role_)                                                                        \
	.role = (role_), RP_MAPS(rp_func_maps, FUNC_MAPS), RP_CONFIG(rp_func_usual_config),        \
	.code.frame = &call_frame_layout

const struct rp_program rp_func_programs[] = {
	{ RP_CODE("func_session", session_lines), RP_ON_UPROBE, FUNC_PROGRAM(FUNC_CALLED),
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_UPROBE_SESSION)),
	  .summary = "measures calls, at the entry and the return of a function" },
	{ RP_CODE("func_enter", enter_lines), RP_ON_UPROBE, FUNC_PROGRAM(FUNC_ENTERED),
	  .summary = "notes that a function is called" },
	{ RP_CODE("func_leave", leave_lines), RP_ON_UPROBE, FUNC_PROGRAM(FUNC_RETURNED),
	  .summary = "adds how long a call was, when it returns" },
	{ RP_CODE("func_count", count_lines), RP_ON_UPROBE, FUNC_PROGRAM(FUNC_COUNTED),
	  .summary = "counts calls" },
	RP_LIST_END,
};
