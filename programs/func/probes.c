/* SPDX-License-Identifier: BSD-2-Clause */
/* func: the programs at functions of programs. */
#include <linux/bpf_perf_event.h>

#include "call.h"
#include "base/machine.h"

/* clang-format off */
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
	LEAVE_TAIL,
};

static const struct asm_insn enter_lines[] = {
	MOV_REG(R6, R1),
	ENTER_CALL(out),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	ENTER_TAIL,
};

static const struct asm_insn leave_lines[] = {
	MOV_REG(R6, R1),
	FIND_THREAD(out),
	LD_PROBE_END(R3, R6, struct func_config, probe),
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

	LEAVE_TAIL,
};

static const struct asm_insn count_lines[] = {
	MOV_REG(R6, R1),
	FUNC_GATE(out),
	LD_PROBE_ID(R1, R6, struct func_config, probe),
	CALL_FUNC(func_count),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	COUNT_TAIL,
};
/* clang-format on */

const struct func_config rp_func_usual_config = { .common = PROGRAM_USUAL_CONFIG,
						  .common.probe = 1,
						  .slot_bytes = FUNC_SHORT_CALL,
						  .most_depth = FUNC_DEPTH,
						  .most_pages = FUNC_PLACES,
						  .knows_task = 1,
						  .sums = 1,
						  .by_function = 1 };

const struct rp_program rp_func_programs[] = {
	{ RP_CODE("func_session", session_lines), RP_ON_PROBE,
	  FUNC_PROGRAM(FUNC_CALLED, rp_func_usual_config),
	  RP_NEEDS(RP_NEED_FEATURE(RP_HAS_UPROBE_SESSION)),
	  .summary = "measures calls, at the entry and the return of a function" },
	{ RP_CODE("func_enter", enter_lines), RP_ON_PROBE,
	  FUNC_PROGRAM(FUNC_ENTERED, rp_func_usual_config),
	  .summary = "notes that a function is called" },
	{ RP_CODE("func_leave", leave_lines), RP_ON_PROBE,
	  FUNC_PROGRAM(FUNC_RETURNED, rp_func_usual_config),
	  .summary = "adds how long a call was, when it returns" },
	{ RP_CODE("func_count", count_lines), RP_ON_PROBE,
	  FUNC_PROGRAM(FUNC_COUNTED, rp_func_usual_config), .summary = "counts calls" },
	RP_LIST_END,
};
