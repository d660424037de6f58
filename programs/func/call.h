/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs at the two ends of a call have in common; the context is at R6. */
#ifndef RAWPROF_FUNC_CALL_H
#define RAWPROF_FUNC_CALL_H

#include "func.h"

ASM_FRAME(call_frame, (uint64_t, room, ROOM), (uint32_t, number, NUMBER));

/* clang-format off */
/* R7 = the thread and R8 = the stack pointer of the call that the registers at R6 are of. */
#define LD_CALLER(out)                                                                             \
	SCOPE("LD_CALLER(" #out ")"),                                                              \
		UNLESS(struct func_config, kernel),                                                \
			LD_CALL(ROOM, struct func_config, probe, out),                             \
		END,                                                                               \
		WHEN(struct func_config, kernel),                                                  \
			FUNC_THREAD(R7),                                                           \
			MOV(R8, -1),                                                               \
		END,                                                                               \
	END

/* R8 = the call at R7's thread, of the function in R3, begins; out: it does not count. */
#define ENTER_FUNC(out)                                                                            \
	MOV_REG(R1, R6),                                                                           \
	MOV_REG(R2, R8),                                                                           \
	MOV_REG(R4, R7),                                                                           \
	CALL_FUNC(func_enter),                                                                     \
	JEQ(R0, 0, out),                                                                           \
	MOV_REG(R8, R0)

#define KEEP_ARG(n)                                                                                \
	LD_ARG(R1, R6, (n) + 1), STX(DW, R8, offsetof(struct func_call, args) + 8 * (n), R1)

/* A call begins: its arguments are in the registers at R6. R7 to R9 are lost. */
#define ENTER_CALL(out)                                                                            \
	SCOPE("ENTER_CALL(" #out ")"),                                                             \
		FUNC_GATE(out),                                                                    \
		LD_CALLER(out),                                                                    \
		LD_PROBE_ID(R3, R6, struct func_config, probe),                                    \
		ENTER_FUNC(out),                                                                   \
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
		LD_CALLER(out),                                                                    \
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

/* A call of the function in R3 ends, which returns R4. */
#define LEAVE_FUNC                                                                                 \
	MOV_REG(R1, R6),                                                                           \
	MOV_REG(R2, R8),                                                                           \
	MOV_REG(R5, R7),                                                                           \
	CALL_FUNC(func_leave)
#define LEAVE_CALL LD_RET(R4, R6), LEAVE_FUNC
/* Of a call of which they are not known. */
#define ZERO_ARGS(call)                                                                            \
	ST(DW, call, offsetof(struct func_call, args[0]), 0),                                      \
		ST(DW, call, offsetof(struct func_call, args[1]), 0),                              \
		ST(DW, call, offsetof(struct func_call, args[2]), 0),                              \
		ST(DW, call, offsetof(struct func_call, args[3]), 0),                              \
		ST(DW, call, offsetof(struct func_call, args[4]), 0),                              \
		ST(DW, call, offsetof(struct func_call, args[5]), 0)

/* What follows such programs. */
#define ENTER_TAIL FUNC_ENTER_PARTS, FUNC_ENTER_BOTH_PARTS
#define LEAVE_TAIL                                                                                 \
	FUNC_LEAVE_PARTS,                                                                          \
	FUNC_BOTH_PARTS,                                                                           \
	WHEN(struct func_config, send),                                                            \
		INCLUDE(&rp_func_send_part),                                                       \
	END
#define COUNT_TAIL                                                                                 \
	INCLUDE(&rp_func_count_part), INCLUDE(&rp_func_sum_part)
/* clang-format on */

#define FUNC_PROGRAM(role_, config_)                                                               \
	.role = (role_), RP_MAPS(rp_func_maps, FUNC_MAPS), RP_CONFIG(config_),                     \
	.code.frame = &call_frame_layout

#endif
