/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script_walk: the frames of PHP, Ruby or Perl that the current thread has.
 *
 * They are written behind the native frames, and each run of them, which one call of the
 * interpreter's loop has executed, is placed at the native frame of that call: the next one whose
 * pc is in the loop. Each round takes one frame of the interpreter or passes one native frame. What
 * names a function goes through the ring when it is first seen: the process may be gone when user
 * space has its turn.
 */
#include "script_step.h"

ASM_FRAME(walk_frame,
	(uint64_t, task, WALK_TASK),
	(uint64_t, state, WALK_STATE));
ASM_FRAME(step_frame,
	(uint64_t, task, STEP_TASK));
ASM_FRAME(send_frame,
	(uint64_t, task, SEND_TASK),
	(uint32_t, first, FIRST));

enum {
	PCS = offsetof(struct stack_scratch, record.frames),
	N = offsetof(struct stack_scratch, walk.n),
	KNOWN_PID = offsetof(struct stack_scratch, walk.pid),
	ROUNDS = 4096,
};

/* clang-format off */
/* R1 = where the next words of the record are, n of them, or to the label: fewer than room. */
#define NEXT_WORDS(n, room, full)                                                                  \
	LDX(W, R1, R6, N),                                                                         \
	MOV_REG(R2, R1),                                                                           \
	ADD(R2, room),                                                                             \
	LDX(W, R3, R6, SCRIPT(max)),                                                               \
	JGT_REG(R2, R3, full),                                                                     \
	SUB(R2, (room) - (n)),                                                                     \
	LSH(R1, 3),                                                                                \
	JGE_PARAM(R1, struct program_config, all_bytes, full), /* never */                         \
	STX(W, R6, N, R2),                                                                         \
	ADD_REG(R1, R6)

/* Calls that function of language @member, whose number @number is, if that is the one in R4. */
#define IN_LANGUAGE(member, number, what)                                                          \
	WHEN(struct program_config, member),                                                       \
		JNE(R4, number, .not_##member),                                                    \
		CALL_FUNC(member##_##what),                                                        \
		JA(.called),                                                                       \
		LABEL(.not_##member),                                                              \
	END

/* Calls that function of the process's language. */
#define CALL_LANGUAGE(what, slot, otherwise)                                                       \
	SCOPE("CALL_LANGUAGE(" #what ", " #slot ", " #otherwise ")"),                              \
		MOV_REG(R1, R6),                                                                   \
		WHEN(struct program_config, of_task),                                              \
			LDX(DW, R2, R10, slot),                                                    \
		END,                                                                               \
		LDX(H, R4, R6, OF_SCRIPT(language)),                                               \
		IN_LANGUAGE(php, SCRIPT_PHP, what),                                                \
		IN_LANGUAGE(ruby, SCRIPT_RUBY, what),                                              \
		IN_LANGUAGE(perl, SCRIPT_PERL, what),                                              \
		JA(otherwise),                                                                     \
		LABEL(.called),                                                                    \
	END

static const struct asm_insn script_lines[] = {
	/* script_walk(scratch, task): how many words were written. */
FUNC(script_walk),
	MOV_REG(R6, R1),
	STX(DW, R10, WALK_STATE, R6),
	WHEN(struct program_config, of_task),
		STX(DW, R10, WALK_TASK, R2),
	END,
	LDX(H, R1, R6, OF_SCRIPT(language)),
	JEQ(R1, SCRIPT_NONE, none),
	LDX(W, R1, R6, KNOWN_PID),
	LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
	JNE_REG(R1, R2, none),
	CALL_LANGUAGE(begin, WALK_TASK, none),
	JNE(R0, 0, none),

	FETCH_SEEN,

	/* Where the words go. */
	LDX(W, R1, R6, OF_RECORD(kernel_bytes)),
	RSH(R1, 3),
	STX(W, R6, SCRIPT(base), R1),
	LDX(W, R2, R6, OF_RECORD(user_bytes)),
	RSH(R2, 3),
	STX(W, R6, SCRIPT(count), R2),
	ADD_REG(R1, R2),
	STX(W, R6, N, R1),
	MOV_REG(R7, R1),
	LD_PARAM(R1, struct program_config, all_bytes), /* what native ones leave too */
	RSH(R1, 3),
	STX(W, R6, SCRIPT(max), R1),
	ST(W, R6, SCRIPT(native), 0),
	ST(W, R6, SCRIPT(placing), 0),
	ST(W, R6, SCRIPT(unread), 0),
	ST(W, R6, SCRIPT(open), 0),
	ST(W, R6, SCRIPT(first), 1),

	MOV(R1, ROUNDS),
	LD_FUNC(R2, script_step),
	FRAME_PTR(R3, WALK_STATE),
	MOV(R4, 0),
	CALL(loop),
	LDX(W, R0, R6, N),
	SUB_REG(R0, R7),
	EXIT(),
LABEL(none),
	MOV(R0, 0),
	EXIT(),

	/* script_step(index, slot of the scratch): one frame of either kind; 1 at the end. */
FUNC(script_step),
	LDX(DW, R6, R2, 0),
	WHEN(struct program_config, of_task),
		LDX(DW, R1, R2, WALK_TASK - WALK_STATE),
		STX(DW, R10, STEP_TASK, R1),
	END,
	LDX(W, R1, R6, SCRIPT(placing)),
	JNE(R1, 0, place),
	CALL_LANGUAGE(frame, STEP_TASK, no_more),
	JSET(R0, SCRIPT_END, no_more),
	MOV_REG(R8, R0),
	JSET(R8, SCRIPT_FRAME, is_frame),
	JA(written),
LABEL(is_frame),
	WHEN(struct program_config, perl),
		LDX(H, R1, R6, OF_SCRIPT(language)),
		JNE(R1, SCRIPT_PERL, has_line),
		MOV_REG(R1, R6),
		WHEN(struct program_config, of_task),
			LDX(DW, R2, R10, STEP_TASK),
		END,
		CALL_FUNC(perl_line),
LABEL(has_line),
	END,
	LDX(W, R7, R6, SCRIPT(line)),
	JLE(R7, SCRIPT_LINE_MAX, line_fits),
	MOV(R7, 0),
LABEL(line_fits),
	LDX(W, R2, R6, SCRIPT(check)),
	LSH(R2, SCRIPT_CHECK_SHIFT),
	OR_REG(R7, R2),
	LD_IMM64(R4, MANAGED_WORD),
	OR_REG(R7, R4),
	LDX(DW, R9, R6, SCRIPT(function)),
	LD_IMM64(R3, SCRIPT_FUNCTION_MASK),
	AND_REG(R9, R3),
	STX(DW, R6, SCRIPT(function), R9),
	OR_REG(R9, R4),
	NEXT_WORDS(2, 3, no_more), /* and the place of its run */
	STX(DW, R1, PCS, R9),
	STX(DW, R1, PCS + 8, R7),
	LDX(W, R1, R6, SCRIPT(open)),
	ADD(R1, 2),
	STX(W, R6, SCRIPT(open), R1),

	/* Has it been sent? R7 = its hash. */
	LD_IMM64(R5, GOLDEN_RATIO_64),
	MOV_REG(R7, R9),
	LDX(W, R2, R6, SCRIPT(check)),
	LSH(R2, 32),
	XOR_REG(R7, R2),
	MUL_REG(R7, R5),
	FIND_SEEN(written),
	STX(DW, R6, SCRIPT(seen), R7),
	LDX(W, R1, R6, SCRIPT(unread)),
	JGE(R1, SCRIPT_UNREAD_MOST, written),
	MOV_REG(R1, R6),
	WHEN(struct program_config, of_task),
		LDX(DW, R2, R10, STEP_TASK),
	END,
	CALL_FUNC(script_send),
LABEL(written),
	AND(R8, SCRIPT_LAST),
	STX(W, R6, SCRIPT(placing), R8),
	MOV(R0, 0),
	EXIT(),
LABEL(no_more),
	LDX(W, R1, R6, SCRIPT(open)),
	JEQ(R1, 0, last),
	ST(W, R6, SCRIPT(placing), 1),
	MOV(R0, 0),
	EXIT(),
LABEL(last),
	MOV(R0, 1),
	EXIT(),

	/* Is it this native frame? */
LABEL(place),
	LDX(W, R7, R6, SCRIPT(native)),
	LDX(W, R8, R6, SCRIPT(count)),
	JGE_REG(R7, R8, nowhere),
	LDX(W, R1, R6, SCRIPT(base)),
	ADD_REG(R1, R7),
	LSH(R1, 3),
	JGE_PARAM(R1, struct program_config, both_bytes, placed), /* never */
	ADD_REG(R1, R6),
	MOV_REG(R2, R7),
	ADD(R2, 1),
	STX(W, R6, SCRIPT(native), R2),
	LDX(DW, R3, R1, PCS),
	LD_PARAM(R2, struct program_config, all_bytes),
	ADD_REG(R2, R1),
	LDX(DW, R2, R2, PCS + STACK_SLACK),
	JSET(R2, UNWIND_POINTER_GENERATED, placed), /* the loop has jumped to what the JIT made */
	LSH(R3, 1), /* UNWIND_PC_EXACT */
	RSH(R3, 1),
	MOV_REG(R5, R3),
	LDX(DW, R4, R6, OF_SCRIPT(loop)),
	SUB_REG(R3, R4),
	LDX(W, R4, R6, OF_SCRIPT(loop_bytes)),
	JLE_REG(R3, R4, in_loop), /* it may be a return address behind it */
	LDX(DW, R4, R6, OF_SCRIPT(cold)),
	SUB_REG(R5, R4),
	LDX(DW, R4, R6, OF_SCRIPT(cold_bytes)),
	JLT_REG(R5, R4, in_cold),
LABEL(passed),
	MOV(R0, 0),
	EXIT(),
LABEL(in_cold),
	WHEN(struct program_config, ruby),
		LDX(H, R4, R6, OF_SCRIPT(language)),
		JNE(R4, SCRIPT_RUBY, placed),
		LDX(DW, R3, R1, PCS - 8), /* if it has called the loop, that is the place */
		LSH(R3, 1),
		RSH(R3, 1),
		LDX(DW, R4, R6, OF_SCRIPT(loop)),
		SUB_REG(R3, R4),
		LDX(W, R4, R6, OF_SCRIPT(loop_bytes)),
		JLE_REG(R3, R4, passed),
	END,
	JA(placed),
LABEL(in_loop),
	WHEN(struct program_config, perl),
		LDX(DW, R3, R1, PCS + 8), /* if it goes on, so does the search, with no frames */
		LSH(R3, 1),
		RSH(R3, 1),
		LDX(DW, R4, R6, OF_SCRIPT(again)),
		SUB_REG(R3, R4),
		LDX(DW, R4, R6, OF_SCRIPT(again_bytes)),
		JLT_REG(R3, R4, place_known),
	END,
	JA(placed),
LABEL(nowhere),
	WHEN(struct program_config, perl),
		LDX(W, R1, R6, SCRIPT(kind)), /* a thread of Perl's does not run the program */
		JNE(R1, SCRIPT_MAIN, placed),
		LDX(H, R1, R6, OF_SCRIPT(language)),
		JNE(R1, SCRIPT_PERL, placed),
		LDX(W, R1, R6, OF_RECORD(pid_tgid)),
		LDX(W, R2, R6, OF_RECORD(pid_tgid) + 4),
		JNE_REG(R1, R2, not_run),
		LDX(W, R1, R6, OF_RECORD(user_end)),
		JGT(R1, UNWIND_RA_ZERO, placed), /* it may be where the stack was not seen */
LABEL(not_run),
		LDX(W, R1, R6, SCRIPT(open)),
		JLT(R1, 2, placed),
		SUB(R1, 2),
		STX(W, R6, SCRIPT(open), R1),
		LDX(W, R2, R6, N),
		SUB(R2, 2),
		STX(W, R6, N, R2),
		JEQ(R1, 0, last),
	END,
LABEL(placed),
	ST(W, R6, SCRIPT(placing), 0),
LABEL(place_known),
	ST(W, R6, SCRIPT(open), 0),
	LDX(H, R2, R6, OF_SCRIPT(language)),
	ADD(R2, MANAGED_PHP - SCRIPT_PHP),
	LSH(R2, MANAGED_LANGUAGE_SHIFT),
	LD_IMM64(R8, MANAGED_WORD | MANAGED_PLACE),
	OR_REG(R8, R2),
	OR_REG(R8, R7),
	NEXT_WORDS(1, 1, last),
	STX(DW, R1, PCS, R8),
	MOV(R0, 0),
	EXIT(),

	/* script_send(scratch, task): what names the function of the frame at hand. */
FUNC(script_send),
	MOV_REG(R6, R1),
	WHEN(struct program_config, of_task),
		STX(DW, R10, SEND_TASK, R2),
	END,
	ST(W, R10, FIRST, 0),
	MAP_LOOKUP(script_function, FIRST),
	JEQ(R0, 0, out),
	MOV_REG(R7, R0),
	MOV(R1, 1),
	ATOMIC_ADD(W, R7, OF_FUNCTION(busy), R1),
	LDX(W, R1, R7, OF_FUNCTION(busy)),
	JNE(R1, 1, unread), /* what we have interrupted is at it */
	LD_IMM64(R1, SCRIPT_FUNCTION_TAG),
	STX(DW, R7, OF_FUNCTION(tag), R1),
	LDX(DW, R1, R6, OF_RECORD(pid_tgid)),
	STX(DW, R7, OF_FUNCTION(pid_tgid), R1),
	LDX(DW, R1, R6, OF_RECORD(start_time)),
	LDX(DW, R2, R6, OF_RECORD(exec_id)),
	ADD_REG(R1, R2),
	STX(DW, R7, OF_FUNCTION(generation), R1),
	LDX(DW, R1, R6, SCRIPT(function)),
	STX(DW, R7, OF_FUNCTION(function), R1),
	LDX(W, R1, R6, SCRIPT(check)),
	STX(W, R7, OF_FUNCTION(check), R1),
	LDX(H, R1, R6, OF_SCRIPT(language)),
	STX(W, R7, OF_FUNCTION(language), R1),
	LDX(W, R1, R6, SCRIPT(kind)),
	STX(W, R7, OF_FUNCTION(kind), R1),
	MOV_REG(R3, R7),
	CALL_LANGUAGE(names, SEND_TASK, unread),
	JNE(R0, 0, unread),
	LD_MAP(R1, events),
	MOV_REG(R2, R7),
	MOV(R3, sizeof(struct script_function)),
	MOV(R4, BPF_RB_NO_WAKEUP),
	CALL(ringbuf_output),
	JNE(R0, 0, unread),

	LDX(DW, R2, R6, SCRIPT(seen)),
	REMEMBER_SEEN,
	JA(sent),
LABEL(unread),
	LDX(W, R1, R6, SCRIPT(unread)),
	ADD(R1, 1),
	STX(W, R6, SCRIPT(unread), R1),
LABEL(sent),
	MOV(R1, -1),
	ATOMIC_ADD(W, R7, OF_FUNCTION(busy), R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),

	WHEN(struct program_config, php),
		INCLUDE(&rp_script_php_part),
	END,
	WHEN(struct program_config, ruby),
		INCLUDE(&rp_script_ruby_part),
	END,
	WHEN(struct program_config, perl),
		INCLUDE(&rp_script_perl_part),
	END,
};
/* clang-format on */

const struct asm_part rp_script_part = { ASM_LINES(script_lines),
					 ASM_FRAMES({ "script_walk", &walk_frame_layout },
						    { "script_step", &step_frame_layout },
						    { "script_send", &send_frame_layout }) };
